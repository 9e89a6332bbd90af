// What torch asks of a backend in C++ and has no way to ask of one in Python: memory for the buckets
// of DDP. It hands the question on to a Python function; everything else stays where it is.

#include <torch/csrc/DynamicTypes.h>
#include <torch/csrc/Dtype.h>
#include <torch/csrc/distributed/c10d/Backend.hpp>
#include <torch/csrc/utils/pybind.h>

#include <utility>

namespace {

class Allocator : public c10d::Backend {
 public:
  // allocate(numel, dtype) returns a flat tensor on the CPU
  Allocator(int rank, int size, py::object allocate)
      : c10d::Backend(rank, size), allocate_(std::move(allocate)) {}

  ~Allocator() override {
    if (!Py_IsInitialized()) {
      allocate_.release();  // the interpreter has gone, and its objects with it
      return;
    }
    py::gil_scoped_acquire gil;
    allocate_ = py::object();
  }

  const std::string getBackendName() const override {
    return "argosy";
  }

  bool supportsTensorAlloc(c10::DeviceIndex device) override {
    return device < 0;  // the CPU has no number
  }

  at::Tensor allocateTensor(long numel, at::TensorOptions options) override {
    if (!options.device().is_cpu()) {
      return at::empty({numel}, options);
    }
    py::gil_scoped_acquire gil;
    auto type = c10::typeMetaToScalarType(options.dtype());
    auto dtype = py::reinterpret_borrow<py::object>(
        reinterpret_cast<PyObject*>(torch::getTHPDtype(type)));
    return allocate_(numel, dtype).cast<at::Tensor>();
  }

 private:
  py::object allocate_;
};

}  // namespace

PYBIND11_MODULE(argosy_allocator, module) {
  py::module_::import("torch._C._distributed_c10d");  // where the base class is known
  py::class_<Allocator, c10d::Backend, c10::intrusive_ptr<Allocator>>(module, "Allocator")
      .def(py::init([](int rank, int size, py::object allocate) {
        return c10::make_intrusive<Allocator>(rank, size, std::move(allocate));
      }));
}

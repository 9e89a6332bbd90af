import paddle.distributed.fleet as fleet
import paddle.fluid as fluid

fleet.init()

# build net
# fleet.distributed_optimizer(...)

exe = fluid.Executor(fluid.CPUPlace())
fleet.save_inference_model(exe, "dirname", ["feednames1"], [acc, loss], fluid.default_main_program())

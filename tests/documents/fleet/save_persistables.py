import paddle.distributed.fleet as fleet
import paddle.fluid as fluid

fleet.init()

# build net
# fleet.distributed_optimizer(...)

exe = fluid.Executor(fluid.CPUPlace())
fleet.save_persistables(exe, "dirname", fluid.default_main_program())

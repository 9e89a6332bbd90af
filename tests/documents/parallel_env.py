# 这个示例需要由paddle.distributed.launch启动, 用法为:
#   python -m paddle.distributed.launch --selected_gpus=0,1 example.py
# 脚本example.py中的代码是下面这个示例.

import numpy as np
import paddle.fluid as fluid
import paddle.fluid.dygraph as dygraph
from paddle.fluid.optimizer import AdamOptimizer
from paddle.fluid.dygraph.nn import Linear
from paddle.fluid.dygraph.base import to_variable

place = fluid.CUDAPlace(fluid.dygraph.ParallelEnv().dev_id)
with fluid.dygraph.guard(place=place):

    # 准备数据并行的环境
    strategy=dygraph.prepare_context()

    linear = Linear(1, 10, act="softmax")
    adam = fluid.optimizer.AdamOptimizer()

    # 配置模型为并行模型
    linear = dygraph.DataParallel(linear, strategy)

    x_data = np.random.random(size=[10, 1]).astype(np.float32)
    data = to_variable(x_data)

    hidden = linear(data)
    avg_loss = fluid.layers.mean(hidden)

    # 根据参与训练GPU卡的数量对loss值进行缩放
    avg_loss = linear.scale_loss(avg_loss)

    avg_loss.backward()

    # 收集各个GPU卡上的梯度值
    linear.apply_collective_grads()

    adam.minimize(avg_loss)
    linear.clear_gradients()

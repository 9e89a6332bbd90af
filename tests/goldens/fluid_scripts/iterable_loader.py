"""Train on two places with an iterable DataLoader and CompiledProgram.with_data_parallel; run with
CPU_NUM=2.
"""

import json
import sys

import digits_data
import numpy as np

import paddle
import paddle.fluid as fluid


def attr(rows, columns, seed):
    return fluid.ParamAttr(
        initializer=fluid.initializer.NumpyArrayInitializer(digits_data.weight(rows, columns, seed))
    )


def main(path):
    img = fluid.layers.data(name="img", shape=[64], dtype="float32")
    label = fluid.layers.data(name="label", shape=[1], dtype="int64")
    hidden = fluid.layers.fc(img, size=24, act="relu", param_attr=attr(64, 24, 10))
    prediction = fluid.layers.fc(hidden, size=10, act="softmax", param_attr=attr(24, 10, 11))
    avg_cost = fluid.layers.mean(fluid.layers.cross_entropy(input=prediction, label=label))
    fluid.optimizer.SGD(learning_rate=0.2).minimize(avg_cost)

    exe = fluid.Executor(fluid.CPUPlace())
    exe.run(fluid.default_startup_program())
    program = fluid.CompiledProgram(fluid.default_main_program()).with_data_parallel(
        loss_name=avg_cost.name
    )
    loader = fluid.io.DataLoader.from_generator(feed_list=[img, label], capacity=8)
    loader.set_sample_list_generator(
        paddle.batch(digits_data.reader(90, seed=1), batch_size=10), places=fluid.cpu_places()
    )
    result = {"places": [], "costs": []}
    for _ in range(2):
        for data in loader():
            result["places"].append(len(data))
            [costs] = exe.run(program, feed=data, fetch_list=[avg_cost.name])
            result["costs"].append(np.array(costs).ravel().tolist())
    with open(path, "w") as file:
        json.dump(result, file)


if __name__ == "__main__":
    main(sys.argv[1])

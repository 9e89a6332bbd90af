"""Train a multilayer perceptron with DataFeeder and Executor, and test it after each pass."""

import json
import sys

import digits_data
import numpy as np

import paddle
import paddle.fluid as fluid

BATCH_SIZE = 16
NUM_PASSES = 2


def attr(rows, columns, seed):
    return fluid.ParamAttr(
        initializer=fluid.initializer.NumpyArrayInitializer(digits_data.weight(rows, columns, seed))
    )


def network(img, label):
    hidden = fluid.layers.fc(input=img, size=32, act="relu", param_attr=attr(64, 32, 1))
    hidden = fluid.layers.fc(input=hidden, size=16, act="tanh", param_attr=attr(32, 16, 2))
    prediction = fluid.layers.fc(input=hidden, size=10, act="softmax", param_attr=attr(16, 10, 3))
    cost = fluid.layers.cross_entropy(input=prediction, label=label)
    return fluid.layers.mean(cost), fluid.layers.accuracy(input=prediction, label=label)


def main(path):
    img = fluid.layers.data(name="img", shape=[64], dtype="float32")
    label = fluid.layers.data(name="label", shape=[1], dtype="int64")
    avg_cost, acc = network(img, label)
    test_program = fluid.default_main_program().clone(for_test=True)
    optimizer = fluid.optimizer.Adam(
        learning_rate=0.01, regularization=fluid.regularizer.L2Decay(1e-3)
    )
    optimizer.minimize(avg_cost)

    use_cuda = False
    place = fluid.CUDAPlace(0) if use_cuda else fluid.CPUPlace()
    feeder = fluid.DataFeeder(feed_list=[img, label], place=place)
    exe = fluid.Executor(place)
    exe.run(fluid.default_startup_program())

    train_reader = paddle.batch(digits_data.reader(160, seed=1), batch_size=BATCH_SIZE)
    test_reader = paddle.batch(digits_data.reader(50, seed=2), batch_size=BATCH_SIZE)
    result = {"train": [], "test": []}
    for _ in range(NUM_PASSES):
        for data in train_reader():
            cost, share = exe.run(feed=feeder.feed(data), fetch_list=[avg_cost, acc])
            result["train"].append([float(cost[0]), float(share[0])])
        costs = [
            exe.run(test_program, feed=feeder.feed(d), fetch_list=[avg_cost, acc])
            for d in test_reader()
        ]
        result["test"].append(np.array(costs).mean(axis=0).ravel().tolist())
    with open(path, "w") as file:
        json.dump(result, file)


if __name__ == "__main__":
    main(sys.argv[1])

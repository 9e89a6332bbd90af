"""Train from a DataLoader that belongs to the program, until EOFException; test with a program and
a loader of its own.
"""

import json
import sys

import digits_data

import paddle
import paddle.fluid as fluid


def attr(name, rows, columns, seed):
    value = digits_data.weight(rows, columns, seed)
    return fluid.ParamAttr(name=name, initializer=fluid.initializer.NumpyArrayInitializer(value))


def build(is_train):
    img = fluid.data(name="img", shape=[None, 64], dtype="float32")
    label = fluid.data(name="label", shape=[None, 1], dtype="int64")
    loader = fluid.io.DataLoader.from_generator(
        feed_list=[img, label], capacity=4, use_double_buffer=True, iterable=False
    )
    hidden = fluid.layers.fc(img, 20, act="sigmoid", param_attr=attr("hidden.w", 64, 20, 4))
    logits = fluid.layers.fc(hidden, 10, param_attr=attr("out.w", 20, 10, 5))
    loss = fluid.layers.mean(fluid.layers.softmax_with_cross_entropy(logits, label))
    if is_train:
        optimizer = fluid.optimizer.Momentum(
            learning_rate=0.1, momentum=0.9, regularization=fluid.regularizer.L2Decay(1e-3)
        )
        optimizer.minimize(loss)
    return loader, loss


def run_epoch(exe, program, loader, loss):
    losses = []
    loader.start()
    try:
        while True:
            losses.append(float(exe.run(program, fetch_list=[loss.name])[0][0]))
    except fluid.core.EOFException:
        loader.reset()
    return losses


def main(path):
    startup = fluid.Program()
    train_program, test_program = fluid.Program(), fluid.Program()
    with fluid.program_guard(train_program, startup), fluid.unique_name.guard():
        train_loader, train_loss = build(is_train=True)
    with fluid.program_guard(test_program, startup), fluid.unique_name.guard():
        test_loader, test_loss = build(is_train=False)
    test_program = test_program.clone(for_test=True)

    train_loader.set_sample_list_generator(
        paddle.batch(digits_data.reader(70, seed=1), batch_size=10)
    )
    test_loader.set_sample_generator(digits_data.reader(25, seed=2), batch_size=10, drop_last=False)
    exe = fluid.Executor(fluid.CPUPlace())
    exe.run(startup)
    result = {"train": [], "test": []}
    for _ in range(2):
        result["train"].append(run_epoch(exe, train_program, train_loader, train_loss))
        result["test"].append(run_epoch(exe, test_program, test_loader, test_loss))
    with open(path, "w") as file:
        json.dump(result, file)


if __name__ == "__main__":
    main(sys.argv[1])

"""Go on training from ``save_persistables``, and fine-tune another head from the parameters of the
body.
"""

import json
import os
import sys
import tempfile

import digits_data

import paddle
import paddle.fluid as fluid


def attr(name, rows, columns, seed):
    value = digits_data.weight(rows, columns, seed)
    return fluid.ParamAttr(name=name, initializer=fluid.initializer.NumpyArrayInitializer(value))


def build(head, num_classes):
    main, startup = fluid.Program(), fluid.Program()
    with fluid.program_guard(main, startup), fluid.unique_name.guard():
        img = fluid.layers.data("img", [64])
        label = fluid.layers.data("label", [1], dtype="int64")
        body = fluid.layers.fc(
            img, 16, act="relu", param_attr=attr("body.w", 64, 16, 8), bias_attr="body.b"
        )
        scores = fluid.layers.fc(
            body,
            num_classes,
            act="softmax",
            param_attr=attr(head + ".w", 16, num_classes, 9),
            bias_attr=head + ".b",
        )
        loss = fluid.layers.mean(fluid.layers.cross_entropy(scores, label))
        fluid.optimizer.MomentumOptimizer(learning_rate=0.05, momentum=0.9).minimize(loss)
    return main, startup, loss


def train(exe, main, loss, seed, steps=3):
    feeder = fluid.DataFeeder(["img", "label"], fluid.CPUPlace(), program=main)
    batches = paddle.batch(digits_data.reader(steps * 20, seed), 20)
    return [
        float(exe.run(main, feed=feeder.feed(batch), fetch_list=[loss])[0][0])
        for batch in batches()
    ]


def main(path):
    exe = fluid.Executor(fluid.CPUPlace())
    result = {}
    with tempfile.TemporaryDirectory() as folder:
        program, startup, loss = build("head", 10)
        with fluid.scope_guard(fluid.Scope()):
            exe.run(startup)
            result["first"] = train(exe, program, loss, seed=1)
            fluid.io.save_persistables(exe, folder, main_program=program)
            fluid.io.save_persistables(exe, folder + "/one", main_program=program, filename="all")
            result["files"] = sorted(name for name in os.listdir(folder) if name != "one")
            result["uninterrupted"] = train(exe, program, loss, seed=2)
        for name, options in (("resumed", {}), ("resumed from one file", {"filename": "all"})):
            with fluid.scope_guard(fluid.Scope()):
                exe.run(startup)
                fluid.io.load_persistables(
                    exe, folder + "/one" if options else folder, program, **options
                )
                result[name] = train(exe, program, loss, seed=2)

        program, startup, loss = build("other_head", 12)
        with fluid.scope_guard(fluid.Scope()):
            exe.run(startup)

            def if_exist(var):
                return isinstance(var, fluid.framework.Parameter) and os.path.exists(
                    os.path.join(folder, var.name)
                )

            fluid.io.load_vars(exe, folder, main_program=program, predicate=if_exist)
            result["fine-tuned"] = train(exe, program, loss, seed=3)
    with open(path, "w") as file:
        json.dump(result, file)


if __name__ == "__main__":
    main(sys.argv[1])

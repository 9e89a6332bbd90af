"""Train a little, save the model for inference as a folder, and predict with it in a scope of its
own.
"""

import json
import os
import sys
import tempfile

import digits_data
import numpy as np

import paddle
import paddle.fluid as fluid


def attr(rows, columns, seed):
    return fluid.ParamAttr(
        initializer=fluid.initializer.NumpyArrayInitializer(digits_data.weight(rows, columns, seed))
    )


def train(exe):
    img = fluid.data(name="img", shape=[None, 64], dtype="float32")
    label = fluid.data(name="label", shape=[None, 1], dtype="int64")
    hidden = fluid.layers.fc(img, 12, param_attr=attr(64, 12, 6))
    hidden = fluid.layers.batch_norm(hidden, act="relu")
    hidden = fluid.layers.dropout(hidden, dropout_prob=0.0)
    prediction = fluid.layers.fc(hidden, 10, act="softmax", param_attr=attr(12, 10, 7))
    loss = fluid.layers.mean(fluid.layers.cross_entropy(prediction, label))
    fluid.optimizer.SGD(learning_rate=0.1).minimize(loss)
    exe.run(fluid.default_startup_program())
    loader = fluid.io.DataLoader.from_generator(feed_list=[img, label], capacity=4, iterable=True)
    loader.set_sample_list_generator(
        paddle.batch(digits_data.reader(60, seed=1), 20), places=fluid.cpu_places(1)
    )
    for data in loader():
        exe.run(feed=data, fetch_list=[loss])
    return prediction


def infer(exe, dirname, images, **names):
    with fluid.scope_guard(fluid.Scope()):
        program, feed_names, targets = fluid.io.load_inference_model(dirname, exe, **names)
        [scores] = exe.run(program, feed={feed_names[0]: images}, fetch_list=targets)
    return scores.tolist()


def main(path):
    exe = fluid.Executor(fluid.CPUPlace())
    prediction = train(exe)
    images = np.stack([image for image, _ in digits_data.reader(4, seed=3)()])
    result = {}
    with tempfile.TemporaryDirectory() as folder:
        apart, together = os.path.join(folder, "apart"), os.path.join(folder, "together")
        fluid.io.save_inference_model(apart, ["img"], [prediction], exe)
        result["apart"] = infer(exe, apart, images)
        result["files"] = sorted(os.listdir(apart))
        fluid.io.save_inference_model(
            together, ["img"], [prediction], exe, model_filename="model", params_filename="params"
        )
        result["together"] = infer(
            exe, together, images, model_filename="model", params_filename="params"
        )
        result["combined files"] = sorted(os.listdir(together))
    with open(path, "w") as file:
        json.dump(result, file)


if __name__ == "__main__":
    main(sys.argv[1])

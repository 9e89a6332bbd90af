"""What a first small program loads."""

import subprocess
import sys

PROGRAM = """
import sys
import paddle
paddle.enable_static()
x = paddle.static.data("x", [None, 4])
y = paddle.static.data("y", [None, 1], "int64")
hidden = paddle.static.nn.fc(x, 3, activation="relu")
loss = paddle.nn.functional.cross_entropy(hidden, y)
paddle.optimizer.SGD(0.1).minimize(loss)
paddle.static.Executor().run(paddle.static.default_startup_program())
assert "torch._dynamo" not in sys.modules
"""


def test_the_compiler_of_torch_stays_out():
    subprocess.run([sys.executable, "-c", PROGRAM], check=True, timeout=120)

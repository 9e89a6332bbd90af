"""What the golden files hold, for the script that writes them under Paddle and for the tests that
read them.
"""

import numpy as np

VALUES = {
    "weight": np.array([[0.5, -1.25, 2.0], [3.5, 0.0, -0.75]], dtype="float32"),
    "bias": np.array([0.25, -0.5, 1.0], dtype="float32"),
}
DTYPES = (
    "bool", "uint8", "int8", "int16", "int32", "int64",
    "float16", "bfloat16", "float32", "float64", "complex64", "complex128",
)  # fmt: skip

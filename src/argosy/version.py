"""The version of Paddle whose API this is, and the libraries under it. argosy's own version is
``argosy_version``.
"""

from __future__ import annotations

import torch

from argosy._release import VERSION

__all__ = ["cuda", "cuda_archs", "cudnn", "nccl", "show", "xpu", "cinn", "hip"]

full_version = "3.3.1"
major, minor, patch = full_version.split(".")
rc = "0"
is_tagged = istaged = True  # the second is the name of 2.x
commit = "7688495538f4d6c1893f084dd238a402e8f68ab6"  # of Paddle 3.3.1
cuda_version = str(torch.version.cuda or False)
cinn_version = "False"


def argosy_version() -> str:
    """The version of argosy."""
    return VERSION


def cuda() -> str:
    """The version of CUDA that torch was built with, 'False' for none."""
    return cuda_version


def cuda_archs() -> list[int]:
    """The CUDA architectures that torch was built for."""
    return [int(name[3:]) for name in torch.cuda.get_arch_list() if name[3:].isdigit()]


def cudnn() -> str:
    """The version of cuDNN, 'False' for none."""
    if torch.version.cuda is None:
        return "False"
    number = torch.backends.cudnn.version()  # type: ignore[no-untyped-call]
    return f"{number // 10000}.{number // 100 % 100}.{number % 100}" if number else "False"


def nccl() -> str:
    """The version of NCCL as a number in text, '0' for none."""
    if torch.version.cuda is None or not torch.cuda.is_available():
        return "0"
    parts = torch.cuda.nccl.version()  # type: ignore[no-untyped-call]
    return str(parts[0] * 10000 + parts[1] * 100 + parts[2])


def hip() -> str | None:
    """The version of ROCm's HIP, None for none."""
    return torch.version.hip


def xpu() -> str:
    return "False"


def cinn() -> str:
    return cinn_version


def show() -> None:
    """Print the versions."""
    for name in ("full_version", "major", "minor", "patch", "rc"):
        print(f"{name}: {globals()[name]}")
    print(
        f"cuda: {cuda()}\ncudnn: {cudnn()}\nnccl: {nccl()}\nhip: {hip()}\nxpu: {xpu()}\ncinn: "
        f"{cinn()}"
    )
    print(f"argosy: {argosy_version()} on torch {torch.__version__}")

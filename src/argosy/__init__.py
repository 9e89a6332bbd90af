"""argosy: Paddle's distributed training system on the PyTorch engine. ``import paddle`` is this
module.
"""

# ruff: noqa: E402
from argosy import _platform

_platform.require()  # before anything that only Linux has

from argosy import _alias, _defer, _paths

_paths.install()

if _defer.runs(__name__):
    import argosy as paddle  # scripts write paddle.paddle
    from argosy import (
        amp,
        autograd,
        device,
        distributed,
        fft,
        framework,
        io,
        linalg,
        metric,
        nn,
        optimizer,
        reader,
        regularizer,
        signal,
        static,
        sysconfig,
        tensor,
        utils,
        version,
        vision,
    )
    from argosy.autograd import enable_grad, grad, is_grad_enabled, no_grad, set_grad_enabled
    from argosy.batch import batch
    from argosy.device import (
        get_device,
        is_compiled_with_cinn,
        is_compiled_with_cuda,
        is_compiled_with_custom_device,
        is_compiled_with_distribute,
        is_compiled_with_ipu,
        is_compiled_with_rocm,
        is_compiled_with_xpu,
        set_device,
    )
    from argosy.foundation.dtypes import DType as dtype
    from argosy.foundation.dtypes import (
        bfloat16,
        complex64,
        complex128,
        float8_e4m3fn,
        float8_e5m2,
        float16,
        float32,
        float64,
        int8,
        int16,
        int32,
        int64,
        uint8,
    )
    from argosy.foundation.dtypes import bool_ as bool
    from argosy.framework import (
        CPUPlace,
        CUDAPinnedPlace,
        CUDAPlace,
        Generator,
        ParamAttr,
        XPUPlace,
        disable_static,
        enable_static,
        finfo,
        get_cuda_rng_state,
        get_default_dtype,
        get_flags,
        get_rng_state,
        iinfo,
        in_dynamic_mode,
        in_dynamic_or_pir_mode,
        load,
        save,
        seed,
        set_cuda_rng_state,
        set_default_dtype,
        set_flags,
        set_rng_state,
    )
    from argosy.nn.parameter import create_parameter
    from argosy.tensor import *
    from argosy.tensor import Tensor, from_numpy, from_torch, set_printoptions
    from argosy.utils.dlpack import from_dlpack, to_dlpack

    __version__ = version.full_version

    framework.mode.switch.promise(lambda: _defer.load_body(static.__name__))

    _paths.extend(_alias.target())

    # before the script does anything that could hang
    from argosy.foundation import env as _env

    if _env.get("ARGOSY_PROOF"):  # first: an update is seen before its step ends
        from argosy.runtime.prove import recorder as _recorder

        _recorder.attach()
    if _env.select(("ARGOSY_ACCOUNT", "ARGOSY_TRACE")):
        from argosy.runtime.observe import reporter as _reporter

        _reporter.attach()

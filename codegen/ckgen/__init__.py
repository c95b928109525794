"""ckgen: arch specs and tuning tables in, a dispatching C++ kernel library out.

From Python, `ckgen.jit(...)` builds a library and `ckgen.load(...)` loads one; both give a `ckgen.Library`, whose
operations take tensors. What is named here is imported when it is first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from ckgen.version import __version__

if TYPE_CHECKING:
    from ckgen.families.fmha.builder import FmhaBuilder, FmhaProblem
    from ckgen.families.gemm.reading import dequantize, unpack_4bit, unpreshuffle_b, unshuffle_mx_scale
    from ckgen.families.gemm.storing import pack_4bit, preshuffle_b, quantize, shuffle_mx_scale
    from ckgen.families.moe.asked import RoutedSizes
    from ckgen.just_in_time import JitDisabled, JitFailure, Kernel, jit, kernels
    from ckgen.model.errors import CkgenError, UsageError
    from ckgen.model.fmha_shape import FmhaShape
    from ckgen.model.groups import Groups, GroupSize, Routing
    from ckgen.model.tuned_row import Shape
    from ckgen.runtime import (
        InternalFailure,
        InvalidArgument,
        Library,
        NoDevice,
        Options,
        RuntimeFailure,
        Unsupported,
    )
    from ckgen.tensors import TensorError, TensorView

    load = Library.load

_HOMES = {
    "jit": "ckgen.just_in_time",
    "JitDisabled": "ckgen.just_in_time",
    "JitFailure": "ckgen.just_in_time",
    "Kernel": "ckgen.just_in_time",
    "kernels": "ckgen.just_in_time",
    "CkgenError": "ckgen.model.errors",
    "UsageError": "ckgen.model.errors",
    "FmhaBuilder": "ckgen.families.fmha.builder",
    "FmhaProblem": "ckgen.families.fmha.builder",
    "FmhaShape": "ckgen.model.fmha_shape",
    "GroupSize": "ckgen.model.groups",
    "Groups": "ckgen.model.groups",
    "InternalFailure": "ckgen.runtime",
    "InvalidArgument": "ckgen.runtime",
    "Library": "ckgen.runtime",
    "NoDevice": "ckgen.runtime",
    "Options": "ckgen.runtime",
    "RoutedSizes": "ckgen.families.moe.asked",
    "Routing": "ckgen.model.groups",
    "RuntimeFailure": "ckgen.runtime",
    "Shape": "ckgen.model.tuned_row",
    "TensorError": "ckgen.tensors",
    "TensorView": "ckgen.tensors",
    "Unsupported": "ckgen.runtime",
    "dequantize": "ckgen.families.gemm.reading",
    "pack_4bit": "ckgen.families.gemm.storing",
    "preshuffle_b": "ckgen.families.gemm.storing",
    "quantize": "ckgen.families.gemm.storing",
    "shuffle_mx_scale": "ckgen.families.gemm.storing",
    "unpack_4bit": "ckgen.families.gemm.reading",
    "unpreshuffle_b": "ckgen.families.gemm.reading",
    "unshuffle_mx_scale": "ckgen.families.gemm.reading",
}
"""Where each name is from."""

__all__ = [
    "CkgenError", "FmhaBuilder", "FmhaProblem", "FmhaShape", "GroupSize", "Groups", "InternalFailure",
    "InvalidArgument", "JitDisabled", "JitFailure", "Kernel", "Library", "NoDevice", "Options", "RoutedSizes",
    "Routing", "RuntimeFailure", "Shape", "TensorError", "TensorView", "Unsupported", "UsageError", "__version__",
    "dequantize", "jit", "kernels", "load", "pack_4bit", "preshuffle_b", "quantize", "shuffle_mx_scale",
    "unpack_4bit", "unpreshuffle_b", "unshuffle_mx_scale",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name == "load":
        return __getattr__("Library").load
    if name not in _HOMES:
        raise AttributeError(f"module 'ckgen' has no attribute {name!r}")
    found = getattr(import_module(_HOMES[name]), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted(__all__)

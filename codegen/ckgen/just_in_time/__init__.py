"""Libraries built where they are asked for, and loaded where they were built before."""

from ckgen.just_in_time.build import Request, jit
from ckgen.just_in_time.errors import JitDisabled, JitFailure
from ckgen.just_in_time.listing import Kernel, kernels

__all__ = ["JitDisabled", "JitFailure", "Kernel", "Request", "jit", "kernels"]

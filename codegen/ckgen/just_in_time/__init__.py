"""Libraries built where they are asked for, and loaded where they were built before."""

from ckgen.just_in_time.build import Request, jit
from ckgen.just_in_time.errors import JitDisabled, JitFailure

__all__ = ["JitDisabled", "JitFailure", "Request", "jit"]

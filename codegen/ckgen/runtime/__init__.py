"""The built library from Python, over the C ABI."""

from ckgen.runtime.abi import GemmArgsStruct, ProblemStruct, RuntimeFailure
from ckgen.runtime.library import Choice, Device, Dispatcher, InstanceInfo, Options, Plan, RuntimeLibrary, Timing

__all__ = [
    "Choice",
    "Device",
    "Dispatcher",
    "GemmArgsStruct",
    "InstanceInfo",
    "Options",
    "Plan",
    "ProblemStruct",
    "RuntimeFailure",
    "RuntimeLibrary",
    "Timing",
]

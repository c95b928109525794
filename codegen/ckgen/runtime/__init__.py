"""The built library from Python, over the C ABI."""

from ckgen.runtime.abi import InternalFailure, InvalidArgument, NoDevice, RuntimeFailure, Unsupported
from ckgen.runtime.dispatcher import Choice, Counters, Dispatcher, InstanceInfo, Timing
from ckgen.runtime.handles import Device, Plan
from ckgen.runtime.library import Options, RuntimeLibrary
from ckgen.runtime.operations import Library
from ckgen.runtime.structs import GemmArgsStruct, ProblemStruct

__all__ = [
    "Choice",
    "Counters",
    "Device",
    "Dispatcher",
    "GemmArgsStruct",
    "InstanceInfo",
    "InternalFailure",
    "InvalidArgument",
    "Library",
    "NoDevice",
    "Options",
    "Plan",
    "ProblemStruct",
    "RuntimeFailure",
    "RuntimeLibrary",
    "Timing",
    "Unsupported",
]

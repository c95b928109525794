"""The functions of ckgen/c_api.h, as ctypes sees them."""

from __future__ import annotations

from collections.abc import Mapping
from ctypes import POINTER, c_char_p, c_double, c_int32, c_int64, c_size_t, c_uint32, c_uint64, c_void_p
from typing import Any

from ckgen.runtime.fmha import FmhaArgsStruct
from ckgen.runtime.grouped import GroupedArgsStruct, GroupSizeStruct
from ckgen.runtime.moe import MoeArgsStruct, SortedTokensStruct
from ckgen.runtime.structs import (
    BenchStruct,
    CountersStruct,
    DeviceStruct,
    GemmArgsStruct,
    InstanceStruct,
    OptionsStruct,
    ProblemStruct,
    SelectionStruct,
    StreamKStruct,
)

Args = GemmArgsStruct | GroupedArgsStruct | MoeArgsStruct | FmhaArgsStruct
"""What runs of plans take, by their op."""

RUNS: Mapping[type[Args], str] = {
    GemmArgsStruct: "",
    GroupedArgsStruct: "_grouped",
    MoeArgsStruct: "_moe",
    FmhaArgsStruct: "_fmha",
}
"""What the functions that take such arguments have in their names."""

ARGS_OF_OP: Mapping[str, type[Args]] = {
    "gemm": GemmArgsStruct,
    "grouped_gemm": GroupedArgsStruct,
    "moe": MoeArgsStruct,
    "fmha": FmhaArgsStruct,
}
"""By the op of a signature."""

_H = c_void_p
FUNCTIONS: dict[str, tuple[Any, ...]] = {
    "parse_signature": (c_char_p, POINTER(c_uint64)),
    "signature_text": (c_uint64,),
    "stream_k_partition": (POINTER(c_int64), POINTER(c_int64), c_int64, c_int64, POINTER(StreamKStruct)),
    "stream_k_workgroup": (POINTER(StreamKStruct), c_int64, POINTER(c_int64), POINTER(c_int64)),
    "stream_k_tile": (POINTER(StreamKStruct), c_int64, POINTER(c_int64), POINTER(c_int64)),
    "fmha_split_defaults": (c_void_p,),
    "fmha_split_count": (c_void_p, c_void_p),
    "fmha_split_bound": (c_void_p, c_int32, c_int32, c_int64, c_void_p),
    "fmha_split_plan": (c_void_p, c_void_p, c_void_p),
    "fmha_split_workspace": (c_void_p, c_int32, c_int32, c_void_p, c_void_p),
    "preshuffle_b": (c_void_p, c_int64, c_void_p, c_int64, c_int64, c_int32),
    "unpreshuffle_b": (c_void_p, c_void_p, c_int64, c_int64, c_int64, c_int32),
    "packed_b_bytes": (c_uint64, c_int64, c_int64, c_int64, POINTER(c_uint64)),
    "pack_b": (c_uint64, c_void_p, c_int64, c_int64, c_int64, c_int64, c_int64, c_void_p, c_uint64),
    "check_packed_b": (c_uint64, c_int64, c_int64, c_int64, c_void_p),
    "registry_create": (POINTER(_H),),
    "registry_add_library": (_H, c_void_p),
    "registry_attach": (_H, c_void_p),
    "registry_provide_libraries": (_H,),
    "device_simulated": (c_char_p, c_uint32, POINTER(_H)),
    "device_host": (POINTER(_H),),
    "device_current": (POINTER(_H),),
    "device_describe": (_H, POINTER(DeviceStruct)),
    "dispatcher_create": (_H, POINTER(OptionsStruct), POINTER(_H)),
    "load_overrides": (_H, c_char_p),
    "load_tables": (_H, c_char_p),
    "tables_digest": (_H, POINTER(c_uint64)),
    "loaded_tables_digest": (_H, POINTER(c_uint64)),
    "read_counters": (_H, POINTER(CountersStruct)),
    "is_tuned": (_H, _H, POINTER(ProblemStruct), POINTER(c_int32)),
    "instance_count": (_H, POINTER(c_uint32)),
    "instance": (_H, c_uint32, POINTER(InstanceStruct)),
    "instance_device_archs": (_H, c_uint32),
    "find_instance": (_H, c_char_p, POINTER(c_uint32)),
    "external": (_H, c_uint32, POINTER(c_char_p), POINTER(c_char_p)),
    "select_many": (_H, _H, c_void_p, c_size_t, c_void_p),
    "next": (_H, _H, POINTER(ProblemStruct), POINTER(SelectionStruct), POINTER(SelectionStruct)),
    "enumerate": (_H, _H, POINTER(ProblemStruct), c_void_p, c_size_t, POINTER(c_size_t)),
    "reason": (POINTER(SelectionStruct),),
    "plan_create": (_H, _H, POINTER(ProblemStruct), POINTER(SelectionStruct), POINTER(_H)),
    "plan_selection": (_H, POINTER(SelectionStruct)),
    "plan_workspace": (_H, POINTER(c_uint64)),
    "plan_launchable": (_H,),
    "groups_create": (POINTER(GroupSizeStruct), c_int64, POINTER(_H)),
    "groups_on_device": (c_int64, c_int64, c_int64, c_int64, POINTER(_H)),
    "gpu_driver": (_H,),
    "gpu_bus": (_H,),
    "gpu_allocate": (_H, c_uint64, POINTER(c_void_p)),
    "gpu_release": (_H, c_void_p),
    "gpu_upload": (_H, c_void_p, c_void_p, c_uint64),
    "gpu_download": (_H, c_void_p, c_void_p, c_uint64),
    "gpu_synchronize": (_H, c_void_p),
    "event_create": (_H, POINTER(_H)),
    "event_record": (_H, c_void_p),
    "event_elapsed": (_H, _H, POINTER(c_double)),
    "event_capture": (_H, c_void_p),
    "stream_create": (_H, POINTER(c_void_p)),
    "stream_destroy": (_H, c_void_p),
    "capture_begin": (_H, c_void_p),
    "capture_end": (_H, c_void_p, POINTER(_H)),
    "graph_launch": (_H, c_void_p),
    "plan_block_m": (_H, POINTER(c_int32)),
    "sort_tokens": (c_void_p, c_void_p, c_int64, c_uint32, c_uint32, c_int64, POINTER(SortedTokensStruct)),
    "unsort_tokens": (POINTER(SortedTokensStruct), c_int64, c_uint32, c_uint32, c_int64, c_void_p, c_void_p),
    **{f"run{word}": (_H, _H, POINTER(args), c_void_p, c_void_p) for args, word in RUNS.items()},
    **{f"run{word}_pooled": (_H, _H, POINTER(args), c_void_p) for args, word in RUNS.items()},
    **{f"bench{word}": (_H, _H, POINTER(args), c_int32, c_int32, POINTER(BenchStruct)) for args, word in RUNS.items()},
}
"""Arguments before the message that ends every call's list."""

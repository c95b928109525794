"""The C ABI of ckgen/c_api.h: its structs and functions, as ctypes sees them."""

from __future__ import annotations

import ctypes
from ctypes import POINTER, byref, c_char_p, c_double, c_float, c_int32, c_int64, c_size_t, c_uint32, c_uint64, c_void_p
from typing import Any

NO_INDEX = 0xFFFFFFFF
_MESSAGE_SIZE = 512


class Sized(ctypes.Structure):
    """A struct whose first field is its own size."""

    def __init__(self, **fields: Any) -> None:
        super().__init__(size=ctypes.sizeof(self), **fields)


class Message(ctypes.Structure):
    """The caller's buffer for a text."""

    _fields_ = (("text", c_char_p), ("size", c_size_t))


class ProblemStruct(Sized):
    """ckgen_problem."""

    _fields_ = (
        ("size", c_uint64),
        ("signature", c_uint64),
        ("m", c_int64),
        ("n", c_int64),
        ("k", c_int64),
        ("batch", c_int64),
        ("deterministic", c_int32),
        ("strategy", c_int32),
        ("groups", c_void_p),
        ("experts", c_uint32),
        ("top_k", c_uint32),
        ("block_m", c_int32),
        ("reserved", c_int32),
        ("fmha", c_void_p),
    )


class StreamKStruct(Sized):
    """ckgen_stream_k."""

    _fields_ = (
        ("size", c_uint64),
        ("num_tiles", c_int64),
        ("iters_per_tile", c_int64),
        ("grid", c_int64),
        ("dp_tiles", c_int64),
        ("sk_tiles", c_int64),
        ("feasible", c_int32),
        ("reserved", c_int32),
        ("max_iters_per_workgroup", c_int64),
        ("max_splits", c_int64),
        ("slice_bytes", c_int64),
        ("flags_offset", c_int64),
        ("workspace", c_int64),
    )


class SelectionStruct(Sized):
    """ckgen_selection."""

    _fields_ = (
        ("size", c_uint64),
        ("instance", c_uint32),
        ("k_batch", c_uint32),
        ("table_m", c_uint64),
        ("external", c_uint32),
        ("tier", c_uint32),
        ("rule", c_uint32),
        ("reserved", c_uint32),
        ("measured", c_int64),
        ("limit", c_int64),
    )


class InstanceStruct(Sized):
    """ckgen_instance_info."""

    _fields_ = (
        ("size", c_uint64),
        ("name", c_char_p),
        ("id", c_uint64),
        ("signature", c_uint64),
        ("backend", c_uint32),
        ("archs", c_uint32),
        ("table_kernel", c_char_p),
        ("tile_m", c_int32),
        ("tile_n", c_int32),
        ("tile_k", c_int32),
        ("max_k_batch", c_int32),
        ("has_device", c_int32),
        ("has_twin", c_int32),
    )


class DeviceStruct(Sized):
    """ckgen_device_info."""

    _fields_ = (
        ("size", c_uint64),
        ("gfx", c_char_p),
        ("brand", c_char_p),
        ("note", c_char_p),
        ("cu_num", c_uint32),
        ("kind", c_uint32),
        ("id", c_int32),
        ("reserved", c_int32),
    )


class OptionsStruct(Sized):
    """ckgen_options."""

    _fields_ = (
        ("size", c_uint64),
        ("verbose", c_int32),
        ("reserved", c_int32),
        ("force", c_char_p),
        ("record", c_char_p),
        ("override_file", c_char_p),
    )


class GemmArgsStruct(Sized):
    """ckgen_gemm_args: pointers are addresses; sizes, leading dimensions and strides count elements."""

    _fields_ = (
        ("size", c_uint64),
        ("a", c_void_p),
        ("b", c_void_p),
        ("c", c_void_p),
        ("a_scale", c_void_p),
        ("b_scale", c_void_p),
        ("bias", c_void_p),
        ("a_scale_row_major", c_int32),
        ("mx_scale_shuffled", c_int32),
        ("m", c_int64),
        ("n", c_int64),
        ("k", c_int64),
        ("batch", c_int64),
        ("lda", c_int64),
        ("ldb", c_int64),
        ("ldc", c_int64),
        ("batch_stride_a", c_int64),
        ("batch_stride_b", c_int64),
        ("batch_stride_c", c_int64),
        ("d", c_void_p * 2),
        ("ldd", c_int64 * 2),
        ("batch_stride_d", c_int64 * 2),
        ("a1", c_void_p),
        ("b1", c_void_p),
        ("alpha", c_float),
        ("reserved", c_int32),
    )


class GroupSizeStruct(ctypes.Structure):
    """ckgen_group_size."""

    _fields_ = (("m", c_int64), ("n", c_int64), ("k", c_int64))


class GroupOperandsStruct(ctypes.Structure):
    """ckgen_group_operands: pointers are addresses; leading dimensions count elements."""

    _fields_ = (
        ("a", c_void_p),
        ("b", c_void_p),
        ("c", c_void_p),
        ("a_scale", c_void_p),
        ("b_scale", c_void_p),
        ("bias", c_void_p),
        ("d", c_void_p * 2),
        ("lda", c_int64),
        ("ldb", c_int64),
        ("ldc", c_int64),
        ("ldd", c_int64 * 2),
    )


class GroupedArgsStruct(Sized):
    """ckgen_grouped_args: addresses of arrays, of the host or of the device as the plan's groups are."""

    _fields_ = (
        ("size", c_uint64),
        ("operands", c_void_p),
        ("sizes", c_void_p),
        ("count", c_int64),
        ("a_scale_row_major", c_int32),
        ("mx_scale_shuffled", c_int32),
        ("alpha", c_float),
        ("reserved", c_int32),
    )


class SortedTokensStruct(ctypes.Structure):
    """ckgen_sorted_tokens."""

    _fields_ = (("token_ids", c_void_p), ("weights", c_void_p), ("expert_ids", c_void_p), ("valid", c_void_p))


class MoeArgsStruct(Sized):
    """ckgen_moe_args."""

    _fields_ = (
        ("size", c_uint64),
        ("a", c_void_p),
        ("w1", c_void_p),
        ("w2", c_void_p),
        ("c", c_void_p),
        ("a_scale", c_void_p),
        ("w1_scale", c_void_p),
        ("w2_scale", c_void_p),
        ("tokens", c_int64),
        ("lda", c_int64),
        ("ldc", c_int64),
        ("topk_ids", c_void_p),
        ("topk_weights", c_void_p),
        ("sorted", SortedTokensStruct),
        ("a_scale_row_major", c_int32),
        ("mx_scale_shuffled", c_int32),
    )


class BenchStruct(Sized):
    """ckgen_bench_result."""

    _fields_ = (
        ("size", c_uint64),
        ("median_us", c_double),
        ("min_us", c_double),
        ("max_us", c_double),
        ("runs", c_int32),
        ("reserved", c_int32),
    )


_H = c_void_p
_FUNCTIONS: dict[str, tuple[Any, ...]] = {
    "parse_signature": (c_char_p, POINTER(c_uint64)),
    "signature_text": (c_uint64,),
    "stream_k_partition": (POINTER(c_int64), POINTER(c_int64), c_int64, c_int64, POINTER(StreamKStruct)),
    "stream_k_workgroup": (POINTER(StreamKStruct), c_int64, POINTER(c_int64), POINTER(c_int64)),
    "stream_k_tile": (POINTER(StreamKStruct), c_int64, POINTER(c_int64), POINTER(c_int64)),
    "preshuffle_b": (c_void_p, c_int64, c_void_p, c_int64, c_int64, c_int32),
    "unpreshuffle_b": (c_void_p, c_void_p, c_int64, c_int64, c_int64, c_int32),
    "registry_create": (POINTER(_H),),
    "registry_add_library": (_H, c_void_p),
    "registry_attach": (_H, c_void_p),
    "device_simulated": (c_char_p, c_uint32, POINTER(_H)),
    "device_host": (POINTER(_H),),
    "device_current": (POINTER(_H),),
    "device_describe": (_H, POINTER(DeviceStruct)),
    "dispatcher_create": (_H, POINTER(OptionsStruct), POINTER(_H)),
    "load_overrides": (_H, c_char_p),
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
    "run": (_H, _H, POINTER(GemmArgsStruct), c_void_p, c_void_p),
    "run_pooled": (_H, _H, POINTER(GemmArgsStruct), c_void_p),
    "bench": (_H, _H, POINTER(GemmArgsStruct), c_int32, c_int32, POINTER(BenchStruct)),
    "groups_create": (POINTER(GroupSizeStruct), c_int64, POINTER(_H)),
    "groups_on_device": (c_int64, c_int64, c_int64, c_int64, POINTER(_H)),
    "run_grouped": (_H, _H, POINTER(GroupedArgsStruct), c_void_p, c_void_p),
    "run_grouped_pooled": (_H, _H, POINTER(GroupedArgsStruct), c_void_p),
    "bench_grouped": (_H, _H, POINTER(GroupedArgsStruct), c_int32, c_int32, POINTER(BenchStruct)),
    "run_moe": (_H, _H, POINTER(MoeArgsStruct), c_void_p, c_void_p),
    "run_moe_pooled": (_H, _H, POINTER(MoeArgsStruct), c_void_p),
    "bench_moe": (_H, _H, POINTER(MoeArgsStruct), c_int32, c_int32, POINTER(BenchStruct)),
    "run_fmha": (_H, _H, c_void_p, c_void_p, c_void_p),
    "run_fmha_pooled": (_H, _H, c_void_p, c_void_p),
    "bench_fmha": (_H, _H, c_void_p, c_int32, c_int32, POINTER(BenchStruct)),
    "plan_block_m": (_H, POINTER(c_int32)),
    "sort_tokens": (c_void_p, c_void_p, c_int64, c_uint32, c_uint32, c_int64, POINTER(SortedTokensStruct)),
    "unsort_tokens": (POINTER(SortedTokensStruct), c_int64, c_uint32, c_uint32, c_int64, c_void_p, c_void_p),
}
"""Arguments before the message that ends every call's list."""


class RuntimeFailure(Exception):
    """A call of the library was refused; the message is the library's own."""

    def __init__(self, code: int, message: str) -> None:
        self.code = code
        super().__init__(message)


class Abi:
    """The functions of one loaded library. Every refusal raises RuntimeFailure."""

    def __init__(self, library: ctypes.CDLL) -> None:
        self._library = library
        self._generated = [library]
        for name, arguments in _FUNCTIONS.items():
            function = getattr(library, f"ckgen_{name}")
            function.restype, function.argtypes = c_int32, (*arguments, Message)
        for handle in ("registry", "device", "dispatcher", "plan", "groups"):
            getattr(library, f"ckgen_{handle}_destroy").argtypes = (c_void_p,)
        library.ckgen_explain.argtypes = (_H, _H, POINTER(ProblemStruct), Message, POINTER(c_size_t))
        library.ckgen_registry_json.argtypes = (_H, Message, POINTER(c_size_t))
        library.ckgen_version.restype = c_char_p
        library.ckgen_preshuffle_layout.restype = c_int32
        library.ckgen_sorted_capacity.argtypes = (c_int64, c_uint32, c_uint32, c_int64)
        library.ckgen_sorted_capacity.restype = c_int64

    def call(self, name: str, *arguments: Any) -> str:
        """Calls `ckgen_<name>` and returns the text that it wrote."""
        buffer = ctypes.create_string_buffer(_MESSAGE_SIZE)
        message = Message(ctypes.cast(buffer, c_char_p), _MESSAGE_SIZE)
        code = getattr(self._library, f"ckgen_{name}")(*arguments, message)
        text = buffer.value.decode()
        if code:
            raise RuntimeFailure(code, text)
        return text

    def preshuffle_layout(self) -> int:
        """The number of the order in which the library shuffles B."""
        return int(self._library.ckgen_preshuffle_layout())

    def sorted_capacity(self, tokens: int, experts: int, top_k: int, block_m: int) -> int:
        """Entries that sorted tokens need room for; -1 where the sizes are illegal."""
        return int(self._library.ckgen_sorted_capacity(tokens, experts, top_k, block_m))

    def create(self, name: str, *arguments: Any) -> c_void_p:
        """Calls a function whose last output is a new handle."""
        handle = c_void_p()
        self.call(name, *arguments, byref(handle))
        return handle

    def destroy(self, name: str, handle: c_void_p) -> None:
        """Ends a handle of that kind."""
        getattr(self._library, f"ckgen_{name}_destroy")(handle)

    def explain(self, dispatcher: c_void_p, device: c_void_p, problem: ProblemStruct) -> str:
        """The trail, however long it is."""
        return self._long_text("explain", dispatcher, device, byref(problem))

    def registry_json(self, registry: c_void_p) -> str:
        """Every instance of a registry as JSON."""
        return self._long_text("registry_json", registry)

    def _long_text(self, name: str, *arguments: Any) -> str:
        size, needed = 4096, c_size_t()
        while True:
            buffer = ctypes.create_string_buffer(size)
            message = Message(ctypes.cast(buffer, c_char_p), size)
            code = getattr(self._library, f"ckgen_{name}")(*arguments, message, byref(needed))
            if code:
                raise RuntimeFailure(code, buffer.value.decode())
            if needed.value <= size:
                return buffer.value.decode()
            size = needed.value

    def add(self, library: ctypes.CDLL) -> None:
        """A further library in which `constants` are looked for."""
        self._generated.append(library)

    def constants(self, name: str) -> int:
        """The address that a library's function `ckgen_<name>()` returns; AttributeError where none has it."""
        symbol = f"ckgen_{name}"
        holder = next((library for library in self._generated if hasattr(library, symbol)), self._library)
        function = getattr(holder, symbol)
        function.restype = c_void_p
        return int(function())

    @property
    def version(self) -> str:
        """The version of the loaded library."""
        return str(self._library.ckgen_version().decode())

"""The C ABI of ckgen/c_api.h: calls, and what they refuse."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from ctypes import POINTER, byref, c_char_p, c_int32, c_int64, c_size_t, c_uint32, c_uint64, c_void_p
from functools import cached_property
from typing import Any

from ckgen.runtime.functions import FUNCTIONS
from ckgen.runtime.native import Native
from ckgen.runtime.structs import Message, ProblemStruct

NO_INDEX = 0xFFFFFFFF
_MESSAGE_SIZE = 512


class RuntimeFailure(Exception):
    """A call of the library was refused; the message is the library's own."""

    def __init__(self, code: int, message: str) -> None:
        self.code = code
        super().__init__(message)


class Unsupported(RuntimeFailure):
    """Legal, but no instance, device or build here can do it."""


class InvalidArgument(RuntimeFailure):
    """Sizes, strides or names that contradict each other."""


class NoDevice(RuntimeFailure):
    """There is no such device, or not here."""


class InternalFailure(RuntimeFailure):
    """A fault of the library or of the GPU's runtime, or no memory."""


_FAILURES = {1: Unsupported, 2: InvalidArgument, 3: NoDevice, 4: InternalFailure}


def failure_of(code: int, message: str) -> RuntimeFailure:
    """The failure of a ckgen_status."""
    return _FAILURES.get(code, RuntimeFailure)(code, message)


class Abi:
    """The functions of one loaded library. Every refusal raises RuntimeFailure."""

    def __init__(self, library: ctypes.CDLL) -> None:
        self._library = library
        self._generated = [library]
        for name, arguments in FUNCTIONS.items():
            function = getattr(library, f"ckgen_{name}")
            function.restype, function.argtypes = c_int32, (*arguments, Message)
        for handle in ("registry", "device", "dispatcher", "plan", "groups", "event", "graph"):
            getattr(library, f"ckgen_{handle}_destroy").argtypes = (c_void_p,)
        library.ckgen_explain.argtypes = (c_void_p, c_void_p, POINTER(ProblemStruct), Message, POINTER(c_size_t))
        library.ckgen_registry_json.argtypes = (c_void_p, Message, POINTER(c_size_t))
        library.ckgen_version.restype = c_char_p
        library.ckgen_generation.argtypes, library.ckgen_generation.restype = (c_void_p,), c_uint64
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
            raise failure_of(code, text)
        return text

    def caller(self, name: str, *arguments: Any, keep: object = None) -> Callable[[], None]:
        """What calls `ckgen_<name>` with the same arguments each time, and keeps these and `keep`."""
        function, buffer = getattr(self._library, f"ckgen_{name}"), ctypes.create_string_buffer(_MESSAGE_SIZE)
        message = Message(ctypes.cast(buffer, c_char_p), _MESSAGE_SIZE)

        def call(kept: object = keep) -> None:
            if code := function(*arguments, message):
                raise failure_of(code, buffer.value.decode())

        return call

    def generation(self, dispatcher: c_void_p) -> int:
        """A number that changes whenever a dispatcher's rows do."""
        return int(self._library.ckgen_generation(dispatcher))

    def address(self, name: str) -> int:
        """Where `ckgen_<name>` is."""
        return ctypes.cast(getattr(self._library, f"ckgen_{name}"), c_void_p).value or 0

    @cached_property
    def native(self) -> Native:
        """The library's own functions for Python."""
        return Native.of(self._library)

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
                raise failure_of(code, buffer.value.decode())
            if needed.value <= size:
                return buffer.value.decode()
            size = needed.value

    def add(self, library: ctypes.CDLL) -> None:
        """A further library in which `constants` are looked for."""
        self._generated.append(library)

    def constants(self, name: str, kind: str) -> int:
        """The address of a generated library of that name and kind, `library` or `device_library`.

        ValueError where no loaded library holds one.
        """
        symbol = f"ckgen_{name}_{kind}"
        is_name = name.isidentifier() and symbol.removeprefix("ckgen_") not in FUNCTIONS
        holder = next((library for library in self._generated if is_name and hasattr(library, symbol)), None)
        if holder is None:
            files = ", ".join(str(library._name) for library in self._generated)
            what = "GPU code" if kind == "device_library" else "generated library"
            hint = "names are those of `ckgen generate --name`; add() loads further files"
            raise ValueError(f"no {what} named {name!r} in {files}: {hint}")
        function = getattr(holder, symbol)
        function.restype = c_void_p
        return int(function())

    @property
    def version(self) -> str:
        """The version of the loaded library."""
        return str(self._library.ckgen_version().decode())

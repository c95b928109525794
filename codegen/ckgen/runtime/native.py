"""The functions of ckgen/c_api_python.h: cached calls without ctypes, which takes longer than a small GEMM."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ckgen.tensors.allocate import Maker

Site = Any
"""A capsule: a planned call, into which addresses are put."""
Sites = dict[bytes, dict[Any, Site]]
"""By what tensors are but for their addresses and whether a stream is given, and then by all that a call says beside
them, a tuple."""


@dataclass(frozen=True, slots=True)
class Native:
    """call(sites, options, results, operands, stream): runs sites[key(tensors, stream)][options], without the
    GIL, and returns the results, those among them that the site makes; None where no site may run as it is.
    call_one(sites, options, stream, result, *operands): the same of one result, which it returns.

    stream: None for that of the tensors' framework. key(tensors, stream): None where tensors are of a type that is not
    read. site(numbers, block, patches, tensors, kept, fail, makers, allocate): see src/python/site.hpp. launch(site,
    addresses, stream): runs it; results and workspace are the caller's to allocate. Both raise what `fail` makes of a
    status and its sentence. read_with(type, exchange): objects of exactly this type are read, by torch's capsule of C
    functions or by None.
    """

    call: Callable[[Sites, tuple[Any, ...], tuple[Any, ...], tuple[Any, ...], int | None], tuple[Any, ...] | None]
    call_one: Callable[..., Any]
    key: Callable[[tuple[Any, ...], int | None], bytes | None]
    site: Callable[
        [
            tuple[int, ...],
            bytes,
            bytes,
            bytes,
            object,
            Callable[[int, str], BaseException],
            tuple[Maker | None, ...] | None,
            Maker | None,
        ],
        Site,
    ]
    launch: Callable[[Site, tuple[int, ...], int], None]
    read_with: Callable[[type, object], None]

    @classmethod
    def of(cls, library: ctypes.CDLL) -> Native:
        """Of a loaded library, whose calls keep the GIL until they give it back themselves."""
        functions = ctypes.PyDLL(library._name, handle=library._handle).ckgen_python_functions
        functions.restype = ctypes.py_object
        return cls(*functions())

    def read_alike(self, tensor: Any) -> None:
        """From now on reads tensors of this one's type, if they can be."""
        kind = type(tensor)
        if hasattr(kind, "__dlpack_c_exchange_api__"):
            self.read_with(kind, kind.__dlpack_c_exchange_api__)
        elif hasattr(kind, "__array_struct__") and hasattr(kind, "dtype"):
            self.read_with(kind, None)

"""A built library from Python: load it, ask it, run it."""

from __future__ import annotations

import ctypes
from collections.abc import Iterable, Mapping
from ctypes import byref, c_uint64
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ckgen.families.moe.asked import RoutedSizes
from ckgen.families.registry import family_of_name
from ckgen.model.errors import UsageError
from ckgen.model.fmha_shape import FmhaShape
from ckgen.model.groups import NO_ROUTING, Groups, Routing
from ckgen.model.strategy import Strategy
from ckgen.model.tuned_row import Shape
from ckgen.runtime.abi import Abi
from ckgen.runtime.dispatcher import Dispatcher
from ckgen.runtime.fmha import FmhaProblemStruct
from ckgen.runtime.fmha_split import FmhaSplitPlanner
from ckgen.runtime.gpu import Gpu
from ckgen.runtime.grouped import GroupSizeStruct
from ckgen.runtime.handles import Device, GroupsHandle, Registry
from ckgen.runtime.moe import SortedTokensStruct
from ckgen.runtime.native import Native
from ckgen.runtime.prepack import check_packed_b, pack_b, packed_b_bytes
from ckgen.runtime.preshuffle import Buffer, preshuffle_b, unpreshuffle_b
from ckgen.runtime.stream_k import StreamKPartition, stream_k_partition
from ckgen.runtime.structs import OptionsStruct, ProblemStruct


@dataclass(frozen=True, slots=True)
class Options:
    """What a dispatcher says and writes beside its answers; see ckgen/verbose.hpp."""

    verbose: bool = False
    force: str = ""
    record: str = ""
    override_file: str = ""
    tables: str = ""
    count: bool = False


_TEXTS = ("force", "record", "override_file", "tables")
_SIZES: Mapping[str, type] = {"gemm": Shape, "grouped_gemm": Groups, "moe": RoutedSizes, "fmha": FmhaShape}
_MOST_THREADS = 2**31 - 1


class RuntimeLibrary:
    """A shared library that holds ckgen's own and generated ones; the file stays loaded until the process ends.

    `everywhere`: libraries that are loaded later may use its symbols.
    """

    def __init__(self, path: Path, *, everywhere: bool = False) -> None:
        self._abi = Abi(ctypes.CDLL(str(path), ctypes.RTLD_GLOBAL if everywhere else ctypes.DEFAULT_MODE))

    def add(self, path: Path) -> None:
        """Loads a further shared library with generated ones in it."""
        self._abi.add(ctypes.CDLL(str(path)))

    @property
    def version(self) -> str:
        """The version of the C++ library inside."""
        return self._abi.version

    def dispatcher(
        self,
        names: Iterable[str],
        options: Options | None = None,
        device_names: Iterable[str] = (),
        *,
        provide_libraries: bool = False,
    ) -> Dispatcher:
        """A dispatcher over the generated libraries of these names; without options, those of the environment.

        `device_names`: libraries of GPU code for their instances. `provide_libraries`: kernels of cuBLASLt and
        hipBLASLt that tables name answer where those libraries are here (docs/providers.md). ValueError for a name
        that no loaded file holds, TypeError for names that are no list of texts.
        """
        registry = self._registry(names)
        for name in _listed(device_names, "device_names"):
            self._abi.call("registry_attach", registry.handle, self._abi.constants(name, "device_library"))
        if provide_libraries:
            self._abi.call("registry_provide_libraries", registry.handle)
        given = None
        if options is not None:
            texts = {field: getattr(options, field).encode() for field in _TEXTS}
            given = byref(OptionsStruct(verbose=int(options.verbose), count=int(options.count), **texts))
        return Dispatcher(self._abi, self._abi.create("dispatcher_create", registry.handle, given))

    def registry_json(self, names: Iterable[str]) -> str:
        """Every instance of the generated libraries of these names, as ckgen/registry_json.hpp says."""
        registry = self._registry(names)
        return self._abi.registry_json(registry.handle)

    def _registry(self, names: Iterable[str]) -> Registry:
        registry = Registry(self._abi, self._abi.create("registry_create"))
        for name in _listed(names, "names"):
            self._abi.call("registry_add_library", registry.handle, self._abi.constants(name, "library"))
        return registry

    def simulated(self, target: str, cu_num: int = 0) -> Device:
        """`gfx942:304`, or an arch and its count."""
        return Device(self._abi, self._abi.create("device_simulated", target.encode(), cu_num))

    def host(self) -> Device:
        """This CPU."""
        return Device(self._abi, self._abi.create("device_host"))

    def current(self) -> Device:
        """The current HIP or CUDA device, or this CPU."""
        return Device(self._abi, self._abi.create("device_current"))

    def gpu(self, device: Device) -> Gpu:
        """Memory and events of a device; RuntimeFailure where it is no GPU."""
        return Gpu(self._abi, device)

    def signature(self, text: str) -> int:
        """The number of a canonical name or alias."""
        number = c_uint64()
        self._abi.call("parse_signature", text.encode(), byref(number))
        return number.value

    def signature_text(self, number: int) -> str:
        """The canonical name of such a number."""
        return self._abi.call("signature_text", number)

    def problem(
        self,
        signature: str,
        m: int,
        n: int,
        k: int,
        *,
        batch: int = 1,
        deterministic: bool = False,
        strategy: Strategy = Strategy.ANY,
        routing: Routing = NO_ROUTING,
        block_m: int = 0,
        batch_invariant: bool = False,
        num_threads: int = 0,
    ) -> ProblemStruct:
        """A problem from a signature's text; `routing` and `block_m` of op moe.

        `num_threads`: of this CPU, that runs of its plans may use at most; 0: all.
        """
        number = self.signature(signature)
        wishes = _wishes(deterministic, strategy, batch_invariant, num_threads)
        moe = {"experts": routing.experts, "top_k": routing.top_k, "block_m": block_m}
        return ProblemStruct(signature=number, m=m, n=n, k=k, batch=batch, **wishes, **moe)

    def grouped_problem(
        self,
        signature: str,
        groups: Groups,
        *,
        deterministic: bool = False,
        strategy: Strategy = Strategy.ANY,
        batch_invariant: bool = False,
        num_threads: int = 0,
    ) -> ProblemStruct:
        """A problem of op grouped_gemm, which keeps what it and its plans need of the groups."""
        if groups.are_on_device:
            (most,) = groups.sizes
            made = self._abi.create("groups_on_device", groups.count, most.m, most.n, most.k)
        else:
            sizes = [GroupSizeStruct(size.m, size.n, size.k) for size in groups.sizes]
            made = self._abi.create("groups_create", (GroupSizeStruct * len(sizes))(*sizes), len(sizes))
        handle = GroupsHandle(self._abi, made)
        wishes = _wishes(deterministic, strategy, batch_invariant, num_threads)
        problem = ProblemStruct(signature=self.signature(signature), batch=1, groups=handle.handle, **wishes)
        problem.kept_groups = handle
        return problem

    def fmha_problem(
        self,
        signature: str,
        shape: FmhaShape,
        *,
        deterministic: bool = False,
        strategy: Strategy = Strategy.ANY,
        batch_invariant: bool = False,
        num_threads: int = 0,
    ) -> ProblemStruct:
        """A problem of op fmha, which keeps its sizes."""
        sizes = FmhaProblemStruct.of(shape)
        wishes = _wishes(deterministic, strategy, batch_invariant, num_threads)
        problem = ProblemStruct(signature=self.signature(signature), fmha=ctypes.addressof(sizes), **wishes)
        problem.kept_fmha = sizes
        return problem

    def problem_of(
        self, signature: str, sizes: Shape | RoutedSizes | Groups | FmhaShape, **wishes: Any
    ) -> ProblemStruct:
        """The problem of an operation's own sizes; wishes as the methods for one operation take them."""
        op = family_of_name(self.signature_text(self.signature(signature))).op
        if not isinstance(sizes, _SIZES[op]):
            raise UsageError(f"sizes of {op} are {_SIZES[op].__name__}, got {type(sizes).__name__}")
        match sizes:
            case Groups():
                return self.grouped_problem(signature, sizes, **wishes)
            case FmhaShape():
                return self.fmha_problem(signature, sizes, **wishes)
            case RoutedSizes(shape, routing, block_m):
                return self.problem(signature, shape.m, shape.n, shape.k, routing=routing, block_m=block_m, **wishes)
            case Shape(batch, m, n, k):
                return self.problem(signature, m, n, k, batch=max(batch, 1), **wishes)
        raise AssertionError(sizes)

    @property
    def native(self) -> Native:
        """The library's own functions for Python."""
        return self._abi.native

    def sorted_capacity(self, tokens: int, routing: Routing, block_m: int) -> int:
        """Entries that sorted tokens need room for; -1 where the sizes are illegal."""
        return self._abi.sorted_capacity(tokens, routing.experts, routing.top_k, block_m)

    def sort_tokens(
        self, topk_ids: Any, topk_weights: Any, tokens: int, routing: Routing, block_m: int, out: SortedTokensStruct
    ) -> None:
        """Addresses of host memory, as ckgen/moe.hpp says; RuntimeFailure where a size or an id is illegal."""
        sizes = (tokens, routing.experts, routing.top_k, block_m)
        self._abi.call("sort_tokens", topk_ids, topk_weights, *sizes, byref(out))

    def stream_k_partition(
        self, sizes: tuple[int, int, int, int], tile: tuple[int, int, int], grid: int, *, each: bool = False
    ) -> StreamKPartition:
        """How stream-K shares a problem of (batch, M, N, K); see ckgen.runtime.stream_k."""
        return stream_k_partition(self._abi, sizes, tile, grid, each=each)

    @property
    def fmha_split(self) -> FmhaSplitPlanner:
        """How attention shares the keys of a batch among workgroups; see ckgen.runtime.fmha_split."""
        return FmhaSplitPlanner(self._abi)

    def preshuffle_layout(self) -> int:
        """The number of the order in which preshuffle_b writes; weights stored shuffled are to be stored with it."""
        return self._abi.preshuffle_layout()

    def preshuffle_b(self, rows: Buffer, n: int, *, layout: int = 1) -> bytearray:
        """B's `n` rows, without gaps, as instances of a preshuffled B read them; see ckgen/preshuffle.hpp.

        RuntimeFailure for another layout than the library's, n no multiple of 16, rows no multiple of 32 bytes.
        """
        return preshuffle_b(self._abi, rows, n, layout)

    def unpreshuffle_b(self, shuffled: Buffer, n: int, *, layout: int = 1) -> bytearray:
        """The inverse of preshuffle_b, with its refusals."""
        return unpreshuffle_b(self._abi, shuffled, n, layout)

    def packed_b_bytes(self, signature: str, n: int, k: int, *, batch: int = 1) -> int:
        """Bytes of what pack_b returns. RuntimeFailure for a B that is not packed, with what to do."""
        return packed_b_bytes(self._abi, self.signature(signature), n, k, batch)

    def pack_b(self, signature: str, b: Buffer, n: int, k: int, *, batch: int = 1) -> memoryview:
        """B, without gaps and as the signature's layout says, packed once for the CPU's own instances.

        A GemmArgsStruct takes its address as `b`, with b_prepacked = 1; the memory is aligned to 64 bytes and may be
        stored and read again as it is. ValueError for a B of another size.
        """
        return pack_b(self._abi, self.signature(signature), b, n, k, batch)

    def check_packed_b(self, signature: str, packed: Buffer, n: int, k: int, *, batch: int = 1) -> None:
        """RuntimeFailure or ValueError, with what is wrong, unless `packed` is a packed B of this signature."""
        check_packed_b(self._abi, self.signature(signature), packed, n, k, batch)


def _listed(names: Iterable[str], what: str) -> tuple[str, ...]:
    """The names; TypeError for one text in place of several, and for what is no text."""
    found = tuple(names) if not isinstance(names, str) else None
    if found is None or not all(isinstance(name, str) for name in found):
        raise TypeError(f"{what} is a list of names, such as ['ckgen_generated'], got {names!r}")
    return found


def _wishes(deterministic: bool, strategy: Strategy, batch_invariant: bool, num_threads: int) -> dict[str, int]:
    """The fields of a ckgen_problem; UsageError for a number of threads that it does not hold."""
    if not 0 <= num_threads <= _MOST_THREADS:
        raise UsageError(f"num_threads is {num_threads}, and 0 for all, to {_MOST_THREADS}, is asked for")
    return {
        "deterministic": int(deterministic),
        "strategy": strategy.code,
        "batch_invariant": int(batch_invariant),
        "num_threads": num_threads,
    }

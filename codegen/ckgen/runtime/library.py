"""A built library from Python: load it, ask it, run it. Nothing here decides; every answer is C++'s."""

from __future__ import annotations

import ctypes
from collections.abc import Iterable, Iterator, Mapping
from ctypes import byref, c_char_p, c_int32, c_size_t, c_uint32, c_uint64, c_void_p
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ckgen.model.fmha_shape import FmhaShape
from ckgen.model.groups import NO_ROUTING, Groups, Routing
from ckgen.model.selection import NO_WISHES, Tier, Wishes
from ckgen.model.strategy import Strategy
from ckgen.runtime import abi
from ckgen.runtime.abi import (
    NO_INDEX,
    Abi,
    GemmArgsStruct,
    GroupedArgsStruct,
    GroupSizeStruct,
    MoeArgsStruct,
    ProblemStruct,
    RuntimeFailure,
    SelectionStruct,
    SortedTokensStruct,
)
from ckgen.runtime.fmha import FmhaArgsStruct, FmhaProblemStruct
from ckgen.runtime.preshuffle import Buffer, preshuffle_b, unpreshuffle_b
from ckgen.runtime.stream_k import StreamKPartition, stream_k_partition

Args = GemmArgsStruct | GroupedArgsStruct | MoeArgsStruct | FmhaArgsStruct
"""What runs of plans take, by their op."""

_TIERS = tuple(Tier)
_BACKENDS = ("ck_tile", "ck", "hip", "asm", "host")
_KINDS = ("unknown", "simulated", "host", "gpu")
_RUNS: Mapping[type[Args], str] = {
    GemmArgsStruct: "",
    GroupedArgsStruct: "_grouped",
    MoeArgsStruct: "_moe",
    FmhaArgsStruct: "_fmha",
}


@dataclass(frozen=True, slots=True)
class Options:
    """What a dispatcher says and writes beside its answers; see ckgen/verbose.hpp."""

    verbose: bool = False
    force: str = ""
    record: str = ""
    override_file: str = ""


@dataclass(frozen=True, slots=True)
class Choice:
    """An answer. `instance` is the name, None where nothing was chosen; `reason` then says why."""

    tier: Tier
    instance: str | None
    k_batch: int
    table_m: int
    external: tuple[str, str] | None
    reason: str


@dataclass(frozen=True, slots=True)
class InstanceInfo:
    """One instance of a dispatcher, as its descriptor says."""

    name: str
    id: int
    signature: str
    backend: str
    table_kernel: str
    tile: tuple[int, int, int]
    max_k_batch: int
    has_device: bool
    has_twin: bool
    device_archs: tuple[str, ...]  # with GPU code attached


@dataclass(frozen=True, slots=True)
class Timing:
    """Microseconds of wall clock."""

    median_us: float
    min_us: float
    max_us: float
    runs: int


class _Handle:
    """Owns one C handle."""

    kind = ""

    def __init__(self, api: Abi, handle: c_void_p) -> None:
        self._abi = api
        self.handle = handle

    def __del__(self) -> None:
        self._abi.destroy(self.kind, self.handle)


class Device(_Handle):
    """Where a problem is to run."""

    kind = "device"

    def __str__(self) -> str:
        info = abi.DeviceStruct()
        self._abi.call("device_describe", self.handle, byref(info))
        return f"{info.gfx.decode()}:{info.cu_num} ({_KINDS[info.kind]})"


class _Registry(_Handle):
    kind = "registry"


class GroupsHandle(_Handle):
    """The sizes of a grouped GEMM's groups; made by RuntimeLibrary.groups."""

    kind = "groups"


class Plan(_Handle):
    """What a problem became on a device; made by Dispatcher.plan."""

    kind = "plan"

    def __init__(self, api: Abi, handle: c_void_p, groups: GroupsHandle | None = None) -> None:
        super().__init__(api, handle)
        self._groups = groups  # a plan points at them

    @property
    def block_m(self) -> int:
        """Of op moe: the block_m of sorted tokens that it reads."""
        found = c_int32()
        self._abi.call("plan_block_m", self.handle, byref(found))
        return found.value

    @property
    def workspace_size(self) -> int:
        """Bytes."""
        size = c_uint64()
        self._abi.call("plan_workspace", self.handle, byref(size))
        return size.value

    @property
    def refusal(self) -> str:
        """Why the plan cannot be launched on its device; empty where it can."""
        try:
            self._abi.call("plan_launchable", self.handle)
        except RuntimeFailure as failure:
            return str(failure)
        return ""


class Dispatcher(_Handle):
    """Chooses, explains, plans and runs; may be used by several threads."""

    kind = "dispatcher"

    def select(self, problem: ProblemStruct, device: Device) -> Choice:
        """The dispatcher's answer for one problem."""
        chosen = SelectionStruct()
        self._abi.call("select_many", self.handle, device.handle, byref(problem), 1, byref(chosen))
        return self._choice(chosen)

    def select_many(
        self, signature: int, shapes: npt.ArrayLike, device: Device, wishes: Wishes = NO_WISHES
    ) -> npt.NDArray[Any]:
        """One record per row (batch, M, N, K) of `shapes`, with the fields of SelectionStruct; batch 0 counts as 1."""
        rows = np.asarray(shapes, dtype=np.int64).reshape(-1, 4)
        problems = np.zeros(len(rows), dtype=np.dtype(ProblemStruct))
        problems["size"], problems["signature"] = ctypes.sizeof(ProblemStruct), signature
        problems["deterministic"], problems["strategy"] = wishes.deterministic, wishes.strategy.number
        problems["batch"] = np.where(rows[:, 0] == 0, 1, rows[:, 0])
        for column, field in enumerate("mnk", start=1):
            problems[field] = rows[:, column]
        chosen = np.zeros(len(rows), dtype=np.dtype(SelectionStruct))
        chosen["size"] = ctypes.sizeof(SelectionStruct)
        self._abi.call("select_many", self.handle, device.handle, problems.ctypes.data, len(rows), chosen.ctypes.data)
        return chosen

    def reason(self, record: Any) -> str:
        """The sentence of a record of select_many; empty where it holds an instance."""
        fields = {name: int(record[name]) for name in record.dtype.names if name != "size"}
        return self._abi.call("reason", byref(SelectionStruct(**fields)))

    def explain(self, problem: ProblemStruct, device: Device) -> str:
        """The whole trail."""
        return self._abi.explain(self.handle, device.handle, problem)

    def enumerate(self, problem: ProblemStruct, device: Device) -> list[str]:
        """The names of all instances that support the problem with k_batch 1."""
        count = c_size_t()
        self._abi.call("enumerate", self.handle, device.handle, byref(problem), None, 0, byref(count))
        found = (SelectionStruct * count.value)(*(SelectionStruct() for _ in range(count.value)))
        self._abi.call("enumerate", self.handle, device.handle, byref(problem), found, count.value, byref(count))
        return [self.instance(record.instance).name for record in found]

    def instances(self) -> Iterator[InstanceInfo]:
        """Every instance, by index."""
        count = c_uint32()
        self._abi.call("instance_count", self.handle, byref(count))
        return (self.instance(index) for index in range(count.value))

    def instance(self, index: int) -> InstanceInfo:
        """The instance with that index."""
        info = abi.InstanceStruct()
        self._abi.call("instance", self.handle, index, byref(info))
        return InstanceInfo(
            name=info.name.decode(),
            id=info.id,
            signature=self._abi.call("signature_text", info.signature),
            backend=_BACKENDS[info.backend],
            table_kernel=info.table_kernel.decode(),
            tile=(info.tile_m, info.tile_n, info.tile_k),
            max_k_batch=info.max_k_batch,
            has_device=bool(info.has_device),
            has_twin=bool(info.has_twin),
            device_archs=tuple(filter(None, self._abi.call("instance_device_archs", self.handle, index).split(","))),
        )

    def load_overrides(self, path: Path) -> None:
        """Reads an override file in place of the one before; RuntimeFailure names rows that were left out."""
        self._abi.call("load_overrides", self.handle, str(path).encode())

    def plan(self, problem: ProblemStruct, device: Device, instance: str | None = None, k_batch: int = 1) -> Plan:
        """The plan of the dispatcher's own choice, or of a named instance. RuntimeFailure says why there is none."""
        chosen = None
        if instance is not None:
            index = c_uint32()
            self._abi.call("find_instance", self.handle, instance.encode(), byref(index))
            chosen = SelectionStruct(instance=index.value, k_batch=k_batch, external=NO_INDEX)
        given = byref(chosen) if chosen is not None else None
        made = self._abi.create("plan_create", self.handle, device.handle, byref(problem), given)
        return Plan(self._abi, made, getattr(problem, "kept_groups", None))

    def run(self, plan: Plan, args: Args, workspace: int | None = None) -> None:
        """Launches on the default stream with the caller's workspace, an address, or one of the dispatcher's pool."""
        word = _RUNS[type(args)]
        if workspace is None:
            self._abi.call(f"run{word}_pooled", self.handle, plan.handle, byref(args), None)
        else:
            self._abi.call(f"run{word}", self.handle, plan.handle, byref(args), workspace, None)

    def bench(self, plan: Plan, args: Args, warmup: int = 3, runs: int = 11) -> Timing:
        """The median of timed runs."""
        timed = abi.BenchStruct()
        self._abi.call(f"bench{_RUNS[type(args)]}", self.handle, plan.handle, byref(args), warmup, runs, byref(timed))
        return Timing(timed.median_us, timed.min_us, timed.max_us, timed.runs)

    def _choice(self, chosen: SelectionStruct) -> Choice:
        found = chosen.instance != NO_INDEX
        return Choice(
            tier=_TIERS[chosen.tier],
            instance=self.instance(chosen.instance).name if found else None,
            k_batch=chosen.k_batch,
            table_m=chosen.table_m,
            external=self._external(chosen.external) if chosen.external != NO_INDEX else None,
            reason="" if found else self._abi.call("reason", byref(chosen)),
        )

    def _external(self, index: int) -> tuple[str, str]:
        library, name = c_char_p(), c_char_p()
        self._abi.call("external", self.handle, index, byref(library), byref(name))
        return (library.value or b"").decode(), (name.value or b"").decode()


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
        self, names: Iterable[str], options: Options | None = None, device_names: Iterable[str] = ()
    ) -> Dispatcher:
        """A dispatcher over the generated libraries of these names; without options, those of the environment.

        `device_names`: libraries of GPU code for their instances.
        """
        registry = self._registry(names)
        for name in device_names:
            self._abi.call("registry_attach", registry.handle, self._abi.constants(f"{name}_device_library"))
        given = None
        if options is not None:
            texts = {field: getattr(options, field).encode() for field in ("force", "record", "override_file")}
            given = byref(abi.OptionsStruct(verbose=int(options.verbose), **texts))
        return Dispatcher(self._abi, self._abi.create("dispatcher_create", registry.handle, given))

    def registry_json(self, names: Iterable[str]) -> str:
        """Every instance of the generated libraries of these names, as ckgen/registry_json.hpp says."""
        registry = self._registry(names)
        return self._abi.registry_json(registry.handle)

    def _registry(self, names: Iterable[str]) -> _Registry:
        registry = _Registry(self._abi, self._abi.create("registry_create"))
        for name in names:
            self._abi.call("registry_add_library", registry.handle, self._abi.constants(f"{name}_library"))
        return registry

    def simulated(self, target: str, cu_num: int = 0) -> Device:
        """`gfx942:304`, or an arch and its count."""
        return Device(self._abi, self._abi.create("device_simulated", target.encode(), cu_num))

    def host(self) -> Device:
        """This CPU."""
        return Device(self._abi, self._abi.create("device_host"))

    def current(self) -> Device:
        """The current HIP device, or this CPU."""
        return Device(self._abi, self._abi.create("device_current"))

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
    ) -> ProblemStruct:
        """A problem from a signature's text; `routing` and `block_m` of op moe."""
        number = self.signature(signature)
        wishes = {"deterministic": int(deterministic), "strategy": strategy.number}
        moe = {"experts": routing.experts, "top_k": routing.top_k, "block_m": block_m}
        return ProblemStruct(signature=number, m=m, n=n, k=k, batch=batch, **wishes, **moe)

    def grouped_problem(
        self, signature: str, groups: Groups, *, deterministic: bool = False, strategy: Strategy = Strategy.ANY
    ) -> ProblemStruct:
        """A problem of op grouped_gemm, which keeps what it and its plans need of the groups."""
        if groups.are_on_device:
            (most,) = groups.sizes
            made = self._abi.create("groups_on_device", groups.count, most.m, most.n, most.k)
        else:
            sizes = [GroupSizeStruct(size.m, size.n, size.k) for size in groups.sizes]
            made = self._abi.create("groups_create", (GroupSizeStruct * len(sizes))(*sizes), len(sizes))
        handle = GroupsHandle(self._abi, made)
        wishes = {"deterministic": int(deterministic), "strategy": strategy.number}
        problem = ProblemStruct(signature=self.signature(signature), batch=1, groups=handle.handle, **wishes)
        problem.kept_groups = handle
        return problem

    def fmha_problem(
        self, signature: str, shape: FmhaShape, *, deterministic: bool = False, strategy: Strategy = Strategy.ANY
    ) -> ProblemStruct:
        """A problem of op fmha, which keeps its sizes."""
        sizes = FmhaProblemStruct.of(shape)
        wishes = {"deterministic": int(deterministic), "strategy": strategy.number}
        problem = ProblemStruct(signature=self.signature(signature), fmha=ctypes.addressof(sizes), **wishes)
        problem.kept_fmha = sizes
        return problem

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

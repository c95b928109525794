"""Chooses, explains, plans and runs. Nothing here decides; every answer is C++'s."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterable, Iterator, Mapping
from ctypes import byref, c_char_p, c_int32, c_size_t, c_uint32, c_uint64
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ckgen.model.op_words import Backend
from ckgen.model.selection import NO_WISHES, Tier, Wishes
from ckgen.runtime.abi import NO_INDEX
from ckgen.runtime.functions import RUNS, Args
from ckgen.runtime.handles import Device, Handle, Plan
from ckgen.runtime.structs import BenchStruct, CountersStruct, InstanceStruct, ProblemStruct, SelectionStruct

_TIERS = tuple(Tier)
_BACKENDS = tuple(one.value for one in Backend)


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


@dataclass(frozen=True, slots=True)
class Counters:
    """Answers so far, all zero unless the options say `count` or `record`.

    `recorded`: distinct problems in this process's list of shapes; `unrecorded`: misses of those beyond its bound.
    """

    tiers: Mapping[Tier, int]
    hits: int
    misses: int
    recorded: int
    unrecorded: int


class Dispatcher(Handle):
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
        problems["deterministic"], problems["strategy"] = wishes.deterministic, wishes.strategy.code
        problems["batch_invariant"] = wishes.batch_invariant
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

    def instance_ids(self) -> dict[str, int]:
        """The id of every instance, by name."""
        return {info.name: info.id for info in self.instances()}

    def instance(self, index: int) -> InstanceInfo:
        """The instance with that index."""
        info = InstanceStruct()
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

    def load_tables(self, paths: Iterable[Path]) -> None:
        """Reads tuned tables of ckgen's own in place of those before; RuntimeFailure names rows that were left out."""
        if isinstance(paths, (str, Path)):
            raise TypeError(f"paths is a list of files, got {str(paths)!r}")
        self._abi.call("load_tables", self.handle, ":".join(map(str, paths)).encode())

    def tables_digest(self) -> int:
        """Equal where the same rows answer, compiled and loaded, among processes and machines."""
        digest = c_uint64()
        self._abi.call("tables_digest", self.handle, byref(digest))
        return digest.value

    def loaded_tables_digest(self) -> int:
        """Of the bytes of the loaded files in their order, as `ckgen tables digest` prints it; 0 without any."""
        digest = c_uint64()
        self._abi.call("loaded_tables_digest", self.handle, byref(digest))
        return digest.value

    def counters(self) -> Counters:
        """How often which tier answered."""
        read = CountersStruct()
        self._abi.call("read_counters", self.handle, byref(read))
        tiers = dict(zip(_TIERS, read.tiers, strict=True))
        return Counters(tiers, read.hits, read.misses, read.recorded, read.unrecorded)

    def is_tuned(self, problem: ProblemStruct, device: Device) -> bool:
        """Whether a measured row answers, at or near its sizes and for the device's own target. Not counted."""
        tuned = c_int32()
        self._abi.call("is_tuned", self.handle, device.handle, byref(problem), byref(tuned))
        return bool(tuned.value)

    def plan(self, problem: ProblemStruct, device: Device, instance: str | None = None, k_batch: int = 1) -> Plan:
        """The plan of the dispatcher's own choice, or of a named instance. RuntimeFailure says why there is none."""
        chosen = None
        if instance is not None:
            index = c_uint32()
            self._abi.call("find_instance", self.handle, instance.encode(), byref(index))
            chosen = SelectionStruct(instance=index.value, k_batch=k_batch, external=NO_INDEX)
        given = byref(chosen) if chosen is not None else None
        made = self._abi.create("plan_create", self.handle, device.handle, byref(problem), given)
        signature = self._abi.call("signature_text", problem.signature)
        return Plan(self._abi, made, signature, getattr(problem, "kept_groups", None))

    @property
    def generation(self) -> int:
        """Another number after each load_tables and load_overrides: plans made before it changed may be stale."""
        return self._abi.generation(self.handle)

    def run_addresses(self, kind: type[Args]) -> tuple[int, int]:
        """Where the functions are that run plans with such arguments: with the pool's workspace, with the caller's."""
        word = RUNS[kind]
        return self._abi.address(f"run{word}_pooled"), self._abi.address(f"run{word}")

    def run(self, plan: Plan, args: Args, workspace: int | None = None, stream: int | None = None) -> None:
        """Launches with the caller's workspace or one of the dispatcher's pool, on a stream or the default one.

        Both are addresses, which the caller keeps alive; `Library.run_plan` takes tensors and streams, and sees to it.
        """
        word = _run_word(args)
        if workspace is None:
            self._abi.call(f"run{word}_pooled", self.handle, plan.handle, byref(args), stream)
        else:
            self._abi.call(f"run{word}", self.handle, plan.handle, byref(args), workspace, stream)

    def launcher(self, plan: Plan, args: Args, workspace: int, stream: int | None = None) -> Callable[[], None]:
        """What runs the plan as `run` does, again and again, with the least time of this thread. It keeps the plan and
        the arguments."""
        word, kept = _run_word(args), (self, plan)
        return self._abi.caller(f"run{word}", self.handle, plan.handle, byref(args), workspace, stream, keep=kept)

    def bench(self, plan: Plan, args: Args, warmup: int = -1, runs: int = -1) -> Timing:
        """The median of timed runs; below 0: CK_TILE_BENCH_WARMUP or CK_TILE_BENCH_REPEAT, else 50 and 100."""
        timed = BenchStruct()
        self._abi.call(f"bench{_run_word(args)}", self.handle, plan.handle, byref(args), warmup, runs, byref(timed))
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


def _run_word(args: Args) -> str:
    word = RUNS.get(type(args))
    if word is None:
        known = ", ".join(kind.__name__ for kind in RUNS)
        raise TypeError(f"args is one of {known}, got {type(args).__name__}")
    return word

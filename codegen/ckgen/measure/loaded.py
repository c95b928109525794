"""A built library in this process, with the plan that it was generated of: what can run a problem, and what would."""

from __future__ import annotations

from pathlib import Path

from ckgen.families.common.query import Query
from ckgen.fuzz.case import Case
from ckgen.fuzz.chosen import supporting
from ckgen.fuzz.decide import decide, signature_of
from ckgen.fuzz.decision import Decision
from ckgen.fuzz.operations import operation_of
from ckgen.fuzz.space import Space
from ckgen.measure.conditions import Place
from ckgen.measure.device_memory import DeviceMemory, cache_bytes
from ckgen.measure.library import Contents, device_name, digest_of
from ckgen.measure.memory import HostMemory, Memory
from ckgen.measure.model import Candidate
from ckgen.measure.sweep import sweep_of
from ckgen.model.errors import CkgenError, UsageError
from ckgen.runtime import Device, Dispatcher, Options, RuntimeLibrary
from ckgen.specs.native import own_cpu

_MOST_SPLITS = 1 << 10


class Loaded:
    """CkgenError where the library does not hold the instances of the plan. Not for several threads.

    space: the plan of these contents, where it is there already. graphs: a GPU's kernels are timed in them.
    """

    def __init__(
        self, library: Path, name: str, contents: Contents, place: Place, space: Space | None = None, *,
        graphs: bool = False,
    ) -> None:  # fmt: skip
        self.space: Space = space if space is not None else contents.space()
        self.library = RuntimeLibrary(library)
        self.digest = digest_of(library)
        has_code = [device_name(name)] if place is Place.DEVICE else []
        self.dispatcher: Dispatcher = self.library.dispatcher([name], Options(), has_code)
        self.device: Device = self._device(contents, place)
        self.memory: Memory = HostMemory() if place is not Place.DEVICE else self._device_memory(contents, graphs)
        self._target = str(contents.target)
        if apart := self.space.apart(self.dispatcher.instance_ids()):
            raise CkgenError(
                f"{library} is stale: it does not hold the instances that are planned now, as {apart}; build it again"
            )

    @property
    def is_on_device(self) -> bool:
        """Whether a GPU runs its kernels."""
        return isinstance(self.memory, DeviceMemory)

    def device_words(self) -> dict[str, str]:
        """The product's name, its driver, and where it is on the machine's bus."""
        gpu = self.memory.gpu if isinstance(self.memory, DeviceMemory) else None
        driver, bus = (gpu.driver, gpu.bus) if gpu is not None else ("", "")
        return {"name": self.device.brand or str(self.device), "driver": driver, "bus": bus}

    def decision(self, case: Case) -> Decision:
        """What Python says of a case; UsageError where its signature means nothing or its target is another."""
        if case.target != self._target:
            raise UsageError(f"target={case.target}: the library is built for {self._target}")
        signature = signature_of(self.space, case)
        if isinstance(signature, str):
            raise UsageError(signature)
        return decide(self.space, case, signature, self.library.fmha_split)

    def candidates(self, problem: Case) -> tuple[Candidate, ...]:
        """Every instance that supports the problem, unsplit and in powers of two that leave a split a tile of K."""
        query = self.decision(problem).query
        names = sorted(supporting(query))
        return tuple(Candidate(name, splits) for name in names for splits in self._splits(query, name))

    def selected(self, problem: Case) -> Candidate | None:
        """What the dispatcher takes."""
        decision = self.decision(problem)
        asked = operation_of(decision.signature).work(problem, decision).problem(self.library)
        choice = self.dispatcher.select(asked, self.device)
        return Candidate(choice.instance, choice.k_batch) if choice.instance is not None else None

    def _splits(self, query: Query, name: str) -> tuple[int, ...]:
        instance = self.space.all_instances[name]
        most = min(getattr(instance.constraints, "max_k_batch", 1), _MOST_SPLITS)
        tile, k = getattr(instance.config, "macro_tile", None), getattr(query.shape, "k", None)
        if tile is not None and k is not None:
            most = min(most, k // tile.k)
        powers = (1 << power for power in range(max(most, 1).bit_length()))
        return tuple(splits for splits in powers if query.refusal(instance, splits) is None)

    def _device_memory(self, contents: Contents, graphs: bool) -> DeviceMemory:
        cache = cache_bytes(self.space.archs[contents.target.gfx])
        memory = DeviceMemory(self.library.gpu(self.device), cache, graphs=graphs)
        if (sweep := sweep_of(self.library, self.dispatcher, self.device, self.space, memory)) is not None:
            memory.sweep_by(sweep)
        return memory

    def _device(self, contents: Contents, place: Place) -> Device:
        if place is Place.DEVICE:
            found = self.library.current()
            if not found.is_gpu or not found.is_of(contents.target):
                what = found.target if found.is_gpu else f"none ({found.note})"
                raise CkgenError(f"{contents.target}: the current GPU of this process is {what}")
            return found
        is_own = place is Place.HOST and contents.target == own_cpu()
        return self.library.host() if is_own else self.library.simulated(str(contents.target))

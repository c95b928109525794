"""Calls with tensors: checked and planned once for each problem, then run from a cache."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

from ckgen.families.common.call import OperationCall
from ckgen.families.common.said import Said
from ckgen.families.registry import FAMILIES, family_of_name
from ckgen.model.dtype import DType
from ckgen.model.errors import UsageError
from ckgen.model.strategy import Strategy
from ckgen.runtime.abi import RuntimeFailure, failure_of
from ckgen.runtime.block import Block
from ckgen.runtime.checks import WORKSPACE, alignment, check_tensors, check_workspace
from ckgen.runtime.dispatcher import Dispatcher
from ckgen.runtime.functions import ARGS_OF_OP
from ckgen.runtime.handles import Device, Plan
from ckgen.runtime.library import RuntimeLibrary
from ckgen.runtime.native import Native, Site, Sites
from ckgen.runtime.source import LibrarySource
from ckgen.tensors.allocate import Maker, bytes_like, maker_like
from ckgen.tensors.sources import view
from ckgen.tensors.stream import stream_address, stream_of
from ckgen.tensors.view import PlaceKind, TensorView

MOST_SITES = 4096
"""Problems whose plans are kept; beyond, all are dropped and made again as they are asked for."""
_TENSOR = struct.Struct("=QII")


@dataclass(frozen=True, slots=True)
class CallWishes(Said):
    """What a problem asks for beside its sizes. instance: a name, in place of the dispatcher's choice."""

    deterministic: bool = False
    batch_invariant: bool = False
    num_threads: int = 0
    strategy: str = "any"
    instance: str | None = None
    k_batch: int = 1

    def __post_init__(self) -> None:
        super(CallWishes, self).__post_init__()  # a class with slots is made anew, which super() alone does not know
        if self.instance is None and self.k_batch != 1:
            raise UsageError(f"k_batch is {self.k_batch}, which is said of an instance alone: say instance= too")


_WISHES = len(fields(CallWishes))


@dataclass(frozen=True, slots=True)
class _Bound:
    """A device and what was planned for it. Another device is another of these, so that no plan outlives a change."""

    device: Device
    sites: Sites = field(default_factory=dict)


class Session:
    """Calls the operations of a dispatcher on a device; any number of threads may."""

    def __init__(
        self, library: RuntimeLibrary, dispatcher: Dispatcher, device: Device, source: LibrarySource | None = None
    ) -> None:
        self.library, self.dispatcher, self.source = library, dispatcher, source
        self._native: Native = library.native
        self._bound = _Bound(device)

    @property
    def device(self) -> Device:
        """Where calls run."""
        return self._bound.device

    def use_device(self, device: Device) -> None:
        """Runs calls that begin from now on there; plans for the device before are dropped."""
        self._bound = _Bound(device)

    def invoke(
        self, said: tuple[Any, ...], results: tuple[Any, ...], others: tuple[Any, ...], stream: Any
    ) -> tuple[Any, ...]:
        """Runs an operation and returns its results; those that are None and that it writes are allocated.

        said: the operation, the fields of its options as far as they are said, and all of CallWishes; one flat tuple,
        which takes least to make and to compare. others: operands, and the workspace.
        """
        bound = self._bound
        address = None if stream is None else stream_address(stream)
        done = self._native.call(bound.sites, said, results, others, address)
        return self._planned(bound, said, results, others, address) if done is None else done

    def run(self, plan: Plan, tensors: Mapping[str, Any], options: Mapping[str, Any], stream: Any) -> None:
        """Runs a plan that the caller keeps, with tensors by their names, `workspace` among them or none."""
        family = family_of_name(plan.signature)
        call = _call_of(family.name)
        given = call.options_type(**{**options, "signature": plan.signature})
        views = {name: view(name, tensor) for name, tensor in tensors.items() if tensor is not None}
        unknown = sorted(views.keys() - {*call.names(given), WORKSPACE})
        if unknown:
            raise UsageError(f"{', '.join(unknown)} is no tensor of {family.op}: {', '.join(call.names(given))}")
        address = None if stream is None else stream_address(stream)
        made = _Call(self, self._bound.device, family.op, call, given, views)
        allocate = made.workspace_maker(plan, address)
        made.launch(made.site(plan, None, allocate), made.stream(address), allocate)

    def maker(self, like: Any, shape: tuple[int, ...], dtype: DType) -> Maker:
        """What allocates a result beside `like`, an operand."""
        return maker_like(like, shape, dtype)

    def _makers(
        self, call: OperationCall, given: Any, results: tuple[Any, ...], operands: tuple[Any, ...]
    ) -> tuple[Maker | None, ...] | None:
        """What allocates each result that is None and that the call writes; None where there is no such result."""
        if all(one is not None for one in results):
            return None
        names = call.names(given)
        views = {n: view(n, t) for n, t in zip(names, (*results, *operands), strict=True) if t is not None}
        written = call.results(views, given)
        like = next(tensor for tensor in operands if tensor is not None)
        makers = tuple(
            self.maker(like, written[name].shape, written[name].dtype) if one is None and name in written else None
            for name, one in zip(names, results, strict=False)
        )
        return makers if any(makers) else None

    def _planned(
        self,
        bound: _Bound,
        said: tuple[Any, ...],
        results: tuple[Any, ...],
        others: tuple[Any, ...],
        stream: int | None,
    ) -> tuple[Any, ...]:
        """Checks and plans a call, keeps it, and runs it."""
        op, options, wishes = said[0], said[1:-_WISHES], said[-_WISHES:]
        call = _call_of(op)
        given = call.options_type(*options)
        makers = self._makers(call, given, results, others[:-1])
        made = results if makers is None else tuple(m() if m else one for m, one in zip(makers, results, strict=True))
        tensors = (*made, *others)
        names = (*call.names(given), WORKSPACE)
        views = {n: view(n, t) for n, t in zip(names, tensors, strict=True) if t is not None}
        planned = _Call(self, bound.device, FAMILIES[op].op, call, given, views)
        resolved = planned.stream(stream)  # what is wrong of it is said before the site is kept, which is asked no more
        plan = planned.plan(CallWishes(*wishes))
        allocate = planned.workspace_maker(plan, stream)
        site = planned.site(plan, makers, allocate)
        for tensor in tensors:
            if tensor is not None:
                self._native.read_alike(tensor)
        key = self._native.key((*results, *others), stream)
        if key is not None and call.is_kept(given):
            if sum(map(len, tuple(bound.sites.values()))) >= MOST_SITES:
                bound.sites.clear()
            bound.sites.setdefault(key, {})[said] = site
        planned.launch(site, resolved, allocate)
        return made


class _Call:
    """One call on its way to a site."""

    def __init__(
        self, session: Session, device: Device, op: str, call: OperationCall, options: Any, views: dict[str, TensorView]
    ) -> None:
        self._session, self._device, self._op, self._views = session, device, op, views
        self._names = (*call.names(options), WORKSPACE)
        self._generation = session.dispatcher.generation  # before the plan: rows that come meanwhile make it stale
        tensors = {name: one for name, one in views.items() if name != WORKSPACE}
        self._called = call.called(tensors, options)
        self._written = [name for name in call.results(tensors, options) if name in views]
        self._place = check_tensors(views, self._written, device)

    def plan(self, wishes: CallWishes) -> Plan:
        """The dispatcher's, or that of the instance."""
        strategies = [str(one) for one in Strategy]
        if wishes.strategy not in strategies:
            raise UsageError(f"strategy is {wishes.strategy!r}, and strategies are {', '.join(strategies)}")
        problem = self._session.library.problem_of(
            self._called.signature,
            self._called.problem,
            deterministic=wishes.deterministic,
            batch_invariant=wishes.batch_invariant,
            num_threads=wishes.num_threads,
            strategy=Strategy(wishes.strategy),
        )
        try:
            return self._session.dispatcher.plan(problem, self._device, wishes.instance, wishes.k_batch)
        except RuntimeFailure as failure:
            named = f": {wishes.instance}" if wishes.instance is not None else ""
            text = f"{self._called.signature} on {self._device}: {failure}{named}"
            raise failure_of(failure.code, text) from None

    def workspace_maker(self, plan: Plan, stream: int | None) -> Maker | None:
        """Of torch, which frees memory in the order of its current stream and keeps what a captured graph has of it.

        None where the plan asks for none, the caller brings it, or the pool has it: on CPUs, for tensors of other
        frameworks, and on a stream that is given, which may be another than the current one.
        """
        has_pool = self._place.kind is PlaceKind.CPU or stream is not None
        if has_pool or WORKSPACE in self._views or not plan.workspace_size:
            return None
        return bytes_like((one.owner for one in self._views.values()), plan.workspace_size)

    def site(self, plan: Plan, makers: tuple[Maker | None, ...] | None, allocate: Maker | None) -> Site:
        """The plan with the arguments' struct. makers, allocate: of results and workspace that calls leave out."""
        if plan.refusal:
            raise failure_of(1, plan.refusal)
        check_workspace(self._views, plan)
        numbers = {name: i for i, name in enumerate(self._names)}
        block = Block.of(ARGS_OF_OP[self._op], self._called.fields, numbers)
        dispatcher = self._session.dispatcher
        pooled, run = dispatcher.run_addresses(ARGS_OF_OP[self._op])
        has_workspace = WORKSPACE in self._views or allocate is not None
        plan_address, own_address = plan.address, dispatcher.address
        of_run = (pooled, run if has_workspace else 0, own_address, plan_address)
        kinds = tuple(getattr(one.owner, "dtype", None) for one in self._views.values())
        return self._session._native.site(
            (*of_run, self._generation, numbers[WORKSPACE]),
            bytes(block.content),
            bytes(block.patches),
            b"".join(self._tensor(name) for name in self._names),
            (plan, dispatcher, self._device, kinds),
            failure_of,
            makers,
            allocate,
        )

    def _tensor(self, name: str) -> bytes:
        one = self._views.get(name)
        if one is None:
            return _TENSOR.pack(0, 1, 0)
        return _TENSOR.pack(one.extent, alignment(one), int(name in self._written or name == WORKSPACE))

    def stream(self, given: int | None) -> int:
        """Where it runs; StreamMismatch for one that is given beside tensors of the CPU."""
        return stream_of(tuple(self._views.values()), self._place, given)

    def launch(self, site: Site, stream: int, allocate: Maker | None) -> None:
        """Runs it, as the site was made."""
        native, views = self._session._native, self._views
        if allocate is not None:
            made = allocate()
            native.read_alike(made)
            views = {**views, WORKSPACE: view(WORKSPACE, made)}
        addresses = tuple(views[name].address if name in views else 0 for name in self._names)
        native.launch(site, addresses, stream)


def _call_of(op: str) -> OperationCall:
    call = FAMILIES[op].call
    if call is None:
        raise UsageError(f"{op} is not called with tensors")
    return call


def sequence_of(tensors: Any, name: str, what: str = "one of each group") -> Sequence[Any]:
    """A list of tensors; UsageError for one tensor in place of several."""
    if not isinstance(tensors, (list, tuple)):
        raise UsageError(f"{name} is a list of tensors, {what}, and {type(tensors).__name__!r} is given")
    return tensors

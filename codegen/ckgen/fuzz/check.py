"""One case, from its text to a verdict: decided in both languages, planned, run, compared."""

from __future__ import annotations

import ctypes
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import zip_longest

import numpy as np

from ckgen.families.common.sensitivity import Sensitivity
from ckgen.families.common.signature import Signature
from ckgen.fuzz.case import Case, Data
from ckgen.fuzz.chosen import supporting
from ckgen.fuzz.decide import PLACE, answer, decide, signature_of, trail_of
from ckgen.fuzz.decision import Decision, target_of
from ckgen.fuzz.memory import Region
from ckgen.fuzz.operation import Given, Work
from ckgen.fuzz.operations import operation_of
from ckgen.fuzz.outcome import CaseFailure, CaseStatus, FailureKind, Outcome
from ckgen.fuzz.space import Space
from ckgen.model.arch import CPU_LEVELS
from ckgen.model.backend import Backend
from ckgen.model.selection import Tier
from ckgen.runtime import (
    Device,
    Dispatcher,
    Options,
    Plan,
    ProblemStruct,
    RuntimeFailure,
    RuntimeLibrary,
)
from ckgen.specs.native import own_cpu

_MOST_WORK, _MOST_ELEMENTS, _MOST_BYTES = 1 << 25, 1 << 21, 1 << 37
_RARE = 8
"""One case in so many is also explained, enumerated, or selected by force: what costs more than a selection."""


@dataclass(slots=True)
class Checker:
    """A loaded library and what Python knows of it; verbose: outcomes tell what was seen. Not for several threads."""

    space: Space
    library: RuntimeLibrary
    name: str
    verbose: bool = False
    dispatcher: Dispatcher = field(init=False)
    devices: dict[str, Device] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.dispatcher = self.library.dispatcher([self.name], Options())
        if apart := self.space.apart(self.dispatcher.instance_ids()):
            text = f"the built library does not hold the instances of the plan, as {apart}"
            raise CaseFailure(FailureKind.INTERNAL, text)

    def check(self, case: Case) -> Outcome:
        """The case's outcome; a CaseFailure becomes one."""
        try:
            return self._check(case)
        except CaseFailure as failure:
            return failure.outcome

    def _check(self, case: Case) -> Outcome:
        signature = signature_of(self.space, case)
        number = self._signature(case, signature)
        if isinstance(signature, str) or number is None:
            return Outcome(CaseStatus.REFUSED, tier="illegal signature")
        decision = decide(self.space, case, signature, self.library.fmha_split)
        work = operation_of(decision.signature).work(case, decision)
        problem = work.problem(self.library)
        device = self._device(case.target)
        self._compare_selection(decision, problem, device)
        if case.seed % _RARE == 0 or not decision.selection.instance:
            self._compare_explanation(decision, problem, device)
        if case.seed % _RARE == 1:
            self._compare_enumeration(decision, problem, device)
        if case.instance and case.k_batch == 1 and case.seed % _RARE == 2:
            self._compare_forced(decision, problem, device)
        tier = str(decision.selection.tier) if not case.instance else str(Tier.FORCED)
        plan = self._plan(case, work, decision, problem, device)
        if plan is None:
            return Outcome(CaseStatus.REFUSED, tier=tier)
        instance = decision.chosen.instance
        if not self._runs_here(case, work, instance):
            return Outcome(CaseStatus.PLANNED, tier=tier, instance=instance)
        if self._refuses_arguments(work, plan):
            return Outcome(CaseStatus.REFUSED, tier=tier, instance=instance)
        seen = {one.data.value: self._run(one, decision, plan) for one in _runs_of(case, decision)}
        told = {data: sensitivity for data, sensitivity in seen.items() if sensitivity is not None}
        return Outcome(CaseStatus.RAN, tier=tier, instance=instance, seen=told)

    def _signature(self, case: Case, signature: Signature | str) -> int | None:
        try:
            number = self.library.signature(case.signature)
        except RuntimeFailure as failure:
            if isinstance(signature, str):
                return None
            raise CaseFailure(FailureKind.SIGNATURE, f"C++ refuses what Python takes: {failure}") from failure
        if isinstance(signature, str):
            raise CaseFailure(FailureKind.SIGNATURE, f"C++ takes what Python refuses: {signature}")
        text = self.library.signature_text(number)
        if text != case.signature:
            raise CaseFailure(FailureKind.SIGNATURE, f"C++ writes the signature back as {text}")
        return number

    def _device(self, target: str) -> Device:
        if target not in self.devices:
            self.devices[target] = self.library.simulated(target)
        return self.devices[target]

    def _compare_selection(self, decision: Decision, problem: ProblemStruct, device: Device) -> None:
        chosen = self.dispatcher.select(problem, device)
        theirs = {
            "tier": str(chosen.tier),
            "instance": chosen.instance,
            "k_batch": chosen.k_batch if chosen.instance is not None else 1,
            "table_m": chosen.table_m if chosen.instance is not None else 0,
            "external": chosen.external,
            "reason": chosen.reason,
        }
        _same(FailureKind.SELECTION, answer(decision), theirs)

    def _compare_explanation(self, decision: Decision, problem: ProblemStruct, device: Device) -> None:
        found = trail_of(decision.query)
        if found.reason != decision.selection.reason:
            raise CaseFailure(
                FailureKind.EXPLANATION, f"Python explains '{found.reason}', selects '{decision.selection.reason}'"
            )
        mine = _without_measurements(found.text())
        theirs = self.dispatcher.explain(problem, device).replace(" (simulated)\n", "\n", 1).splitlines()
        for here, there in zip_longest(mine, theirs, fillvalue=""):
            if here != there:
                what = f"Python explains '{here}', C++ '{there}'"
                raise CaseFailure(FailureKind.EXPLANATION, what, " ".join({*here.split()} ^ {*there.split()}))

    def _compare_enumeration(self, decision: Decision, problem: ProblemStruct, device: Device) -> None:
        mine, theirs = supporting(decision.query), {*self.dispatcher.enumerate(problem, device)}
        for side, other, more in (("Python", "C++", mine - theirs), ("C++", "Python", theirs - mine)):
            if more:
                raise CaseFailure(
                    FailureKind.ENUMERATION, f"{side} lists {len(more)} instances that {other} does not: {min(more)}"
                )

    def _compare_forced(self, decision: Decision, problem: ProblemStruct, device: Device) -> None:
        forced = self.library.dispatcher([self.name], Options(force=decision.chosen.instance))
        chosen, finding = forced.select(problem, device), decision.finding_of_force
        mine = {
            "tier": str(Tier.FORCED if finding is None else Tier.UNSUPPORTED),
            "instance": decision.chosen.instance if finding is None else None,
            "reason": finding.text if finding is not None else "",
        }
        theirs = {"tier": str(chosen.tier), "instance": chosen.instance, "reason": chosen.reason}
        _same(FailureKind.SELECTION, mine, theirs)

    def _plan(self, case: Case, work: Work, decision: Decision, problem: ProblemStruct, device: Device) -> Plan | None:
        """The plan; None where there is rightly none."""
        finding = decision.chosen.finding
        wanted = finding.text if finding is not None else work.dense_refusal()
        try:
            plan = self.dispatcher.plan(problem, device, case.instance or None, case.k_batch)
        except RuntimeFailure as failure:
            text = str(failure)
            _same_text("the plan", wanted, decision.refusal_of(text))
            return None
        _same_text("the plan", wanted, "")
        if plan.refusal:
            raise CaseFailure(FailureKind.REFUSAL, f"a plan that cannot be launched: {plan.refusal}")
        return plan

    def _runs_here(self, case: Case, work: Work, name: str) -> bool:
        """Whether the problem is small enough, and of a CPU that this one is."""
        if not work.is_small(_MOST_WORK, _MOST_ELEMENTS, _MOST_BYTES):
            return False
        gfx = target_of(case).gfx
        if self.space.all_instances[name].backend is not Backend.HOST:
            return True
        return CPU_LEVELS.index(gfx) <= CPU_LEVELS.index(own_cpu().gfx)

    def _refuses_arguments(self, work: Work, plan: Plan) -> bool:
        """Whether the case's strides are refused, rightly; the pointers are then never followed."""
        wanted = work.refusal()
        if not wanted:
            return False
        one = ctypes.create_string_buffer(64)
        try:
            self.dispatcher.run(plan, work.null_args(ctypes.addressof(one)))
        except RuntimeFailure as failure:
            _same_text("the run", wanted, str(failure))
            return True
        raise CaseFailure(FailureKind.REFUSAL, f"the run is not refused, though {wanted}")

    def _run(self, case: Case, decision: Decision, plan: Plan) -> Sensitivity | None:
        """How small an error would have been seen, where that is asked for."""
        work = operation_of(decision.signature).work(case, decision)
        about, by = decision.signature.canonical(), f"{decision.chosen.instance} on data of {case.data.value}"
        with np.errstate(invalid="ignore", over="ignore"):
            given = work.given(self.library, plan.block_m, operation_of(decision.signature).parts(self.space, decision))
            self._launch(plan, given)
            text = given.wrong()
        if text:
            raise CaseFailure(FailureKind.RESULT, f"{text}, by {by}", about)
        text = given.out_of_bounds_writes()
        if text:
            raise CaseFailure(FailureKind.MEMORY, f"{text}, by {by}", about)
        return given.sensitivity() if self.verbose else None

    def _launch(self, plan: Plan, given: Given) -> None:
        """With a workspace of exactly the size that the plan tells."""
        workspace = Region(plan.workspace_size, 0xFF)
        try:
            self.dispatcher.run(plan, given.args, workspace.address)
        except RuntimeFailure as failure:
            raise CaseFailure(FailureKind.REFUSAL, f"a legal run is refused: {failure}") from failure
        if not workspace.has_clean_bands():
            raise CaseFailure(FailureKind.MEMORY, f"a byte beside the workspace of {plan.workspace_size} was written")


def _runs_of(case: Case, decision: Decision) -> tuple[Case, ...]:
    """The case, and where other data have wide bounds the same on exact data."""
    exact = (replace(case, data=Data.INTEGERS),) if operation_of(decision.signature).has_exact_data else ()
    return tuple(dict.fromkeys((case, *exact)))


def _same(kind: FailureKind, mine: Mapping[str, object], theirs: Mapping[str, object]) -> None:
    apart = [name for name in mine if mine[name] != theirs[name]]
    if apart:
        texts = (f"{name} is {mine[name]!r} in Python, {theirs[name]!r} in C++" for name in apart)
        raise CaseFailure(kind, "; ".join(texts), " ".join(apart))


def _same_text(what: str, python: str, cpp: str) -> None:
    if python != cpp:
        raise CaseFailure(FailureKind.REFUSAL, f"{what}: Python says '{python}', C++ '{cpp}'")


def _without_measurements(text: str) -> list[str]:
    """Without the places and times of rows, which only tables hold."""
    lines = [re.sub(rf"^( +){PLACE}(  \S+ us)? measured", r"\1measured", line) for line in text.splitlines()]
    return [line.removesuffix(f"  {PLACE}") for line in lines]

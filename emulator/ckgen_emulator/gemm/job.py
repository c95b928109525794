"""What goes into a worker process and what comes out: plain data, as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from ckgen.families.common.comparison import Comparison, Wrong
from ckgen.families.common.sensitivity import Sensitivity
from ckgen.model.groups import GroupSize, Routing
from ckgen.model.tuned_row import Shape
from ckgen_emulator.gemm.problem import Data, GemmProblem


@dataclass(frozen=True, slots=True)
class Job:
    """Problems of one instance on one target (`gfx950:256`). Paths are of shared libraries and of the two files that a
    worker writes: `report` by the HIP runtime, `answers` a JSON line per problem that began or ended. `trace_wrong`: a
    run with a wrong result is repeated, to trace it.
    """

    dispatcher: str
    hip: str
    kernel: str
    library: str
    device_library: str
    instance: str
    signature: str
    target: str
    report: str
    answers: str
    problems: tuple[GemmProblem, ...]
    trace_wrong: bool = False

    def to_json(self) -> dict[str, Any]:
        """All fields; `from_json` reads them."""
        fields = asdict(self)
        fields["problems"] = [{**asdict(one), "data": one.data.value} for one in self.problems]
        return fields

    @classmethod
    def from_json(cls, fields: Mapping[str, Any]) -> Job:
        """The inverse of `to_json`."""
        problems = tuple(
            GemmProblem(
                Shape(**one["shape"]),
                one["k_batch"],
                one["seed"],
                Data(one["data"]),
                tuple(GroupSize(**size) for size in one["groups"]),
                one["on_device"],
                Routing(**one["routing"]),
                one["block_m"],
            )
            for one in fields["problems"]
        )
        return cls(**{**fields, "problems": problems})


@dataclass(frozen=True, slots=True)
class Answer:
    """What became of one problem. `gpu` and `twin` are None where that run was refused or failed; `trouble` says why.

    `sensitivity` is the GPU result's; `launches` are the HIP runtime's own reports, in order; `seconds` of the GPU run.
    `origin`: what wrote the GPU's first wrong element, as core/c_api.h says; None where nothing was traced.
    """

    gpu: Comparison | None
    twin: Comparison | None
    sensitivity: Sensitivity | None
    trouble: tuple[str, ...]
    seconds: float
    launches: tuple[Mapping[str, Any], ...]
    origin: Mapping[str, Any] | None = None

    def to_json(self) -> dict[str, Any]:
        """All fields; `from_json` reads them."""
        return asdict(self)

    @classmethod
    def from_json(cls, fields: Mapping[str, Any]) -> Answer:
        """The inverse of `to_json`."""
        return cls(
            gpu=_comparison(fields["gpu"]),
            twin=_comparison(fields["twin"]),
            sensitivity=Sensitivity(**fields["sensitivity"]) if fields["sensitivity"] else None,
            trouble=tuple(fields["trouble"]),
            seconds=fields["seconds"],
            launches=tuple(fields["launches"]),
            origin=fields["origin"],
        )


def _comparison(fields: Mapping[str, Any] | None) -> Comparison | None:
    if fields is None:
        return None
    first = Wrong(**fields["first"]) if fields["first"] else None
    return Comparison(**{**fields, "first": first})

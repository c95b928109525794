"""One kernel on one arch, ready to be compiled and judged: plain data, so that it can be kept between runs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from ckgen.build.compile import Unit
from ckgen.build.device_code import device_code, variants_of
from ckgen.emit.device import render_device_unit
from ckgen.families.common.device.unit import Use
from ckgen.model.expectation import Expectation
from ckgen.plan.model import AnyInstance


@dataclass(frozen=True, slots=True)
class Planned:
    """`kernel` is the instance's name, `signature` its canonical signature, `table_name` empty where no table names it.

    `text` is the device unit, of a shipped kernel the list of its code objects, empty where the kernel is `unavailable`
    on the arch; `expected` has every symbol of it. `stages`: HIP that is compiled beside a shipped kernel.
    `splits_unavailable` is why problems that ask for K splits are refused, empty where none asks or all is well.
    """

    kernel: str
    id: int
    table_name: str
    backend: str
    module: str
    signature: str
    arch: str
    unavailable: str
    splits_unavailable: str
    text: str
    expected: tuple[tuple[str, Expectation], ...]
    stages: str = ""

    @property
    def unit(self) -> Unit:
        """What is compiled; without tables the op stands in for their module."""
        module = self.module or self.signature.partition("_")[0]
        return Unit(f"{self.kernel} on {self.arch}", self.backend, module, self.arch, self.text, self.stages)

    def to_json(self) -> dict[str, Any]:
        """All fields; `from_json` reads them."""
        return asdict(self)

    @classmethod
    def from_json(cls, fields: dict[str, Any]) -> Planned:
        """The inverse of `to_json`, also after a round trip through JSON."""
        expected = tuple(
            (symbol, Expectation(**{**demands, "steps": tuple((name, count) for name, count in demands["steps"])}))
            for symbol, demands in fields["expected"]
        )
        return cls(**{**fields, "expected": expected})


@dataclass(frozen=True, slots=True)
class PlannedHost:
    """The host unit of an instance, for the archs that it is compiled for; `symbols` are what it defines."""

    kernel: str
    id: int
    backend: str
    module: str
    text: str
    symbols: tuple[str, ...]

    @property
    def unit(self) -> Unit:
        """What is compiled."""
        return Unit(f"host unit of {self.kernel}", self.backend, self.module, "", self.text)

    def to_json(self) -> dict[str, Any]:
        """All fields; `from_json` reads them."""
        return asdict(self)

    @classmethod
    def from_json(cls, fields: dict[str, Any]) -> PlannedHost:
        """The inverse of `to_json`, also after a round trip through JSON."""
        return cls(**{**fields, "symbols": tuple(fields["symbols"])})


def plan_host(instance: AnyInstance, uses: Mapping[str, Iterable[Use]]) -> PlannedHost:
    """The host unit over the variants of every arch of `uses`, on each of which the instance is available."""
    variants = {arch: variants_of(instance, of_arch) for arch, of_arch in uses.items()}
    unit = device_code(instance).host_unit(variants)
    text = render_device_unit(unit)
    return PlannedHost(instance.name, instance.id, str(instance.backend), instance.module, text, unit.symbols)


def plan_kernel(instance: AnyInstance, arch: str, uses: Iterable[Use]) -> Planned:
    """The instance on an arch in the variants that the uses reach; in all of its variants where there are none."""
    code, known = device_code(instance), tuple(uses)
    splits = code.splits_unavailable(arch) if any(use.k_batch > 1 for use in known) else None
    reason, text, stages = code.unavailable(arch), "", ""
    expected: tuple[tuple[str, Expectation], ...] = ()
    if reason is None:
        variants = variants_of(instance, known)
        if not variants:
            reason = "no problem of the tables reaches a kernel of it"
        else:
            unit = code.device_unit(variants)
            text = render_device_unit(unit)
            stages = render_device_unit(unit.stages) if unit.stages is not None else ""
            expected = tuple((code.symbol(each), code.expected(arch, each)) for each in variants)
    return Planned(
        kernel=instance.name,
        id=instance.id,
        table_name=instance.table_kernel,
        backend=str(instance.backend),
        module=instance.module,
        signature=instance.signature.canonical(),
        arch=arch,
        unavailable=reason or "",
        splits_unavailable=splits or "",
        text=text,
        expected=expected,
        stages=stages,
    )

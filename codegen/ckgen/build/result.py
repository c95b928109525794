"""What came of one kernel on one arch: its figures and what the gate says, or why there are none."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from enum import Enum
from typing import Any


class Status(Enum):
    """UNAVAILABLE: the CK tree cannot make it. FAILED: a command failed. BUILT: there is a code object."""

    UNAVAILABLE = "unavailable"
    FAILED = "failed"
    BUILT = "built"


@dataclass(frozen=True, slots=True)
class ResultFinding:
    """A rule that something broke; `variant` is the device kernel's symbol, empty where it concerns the whole."""

    rule: str
    severity: str
    reason: str
    measured: int | float | str
    limit: int | float | str
    variant: str = ""


@dataclass(frozen=True, slots=True)
class Figures:
    """What is in a code object: counts and `code_bytes` of all its kernels together, of the rest the largest of one.

    Registers per lane (`vgpr` with `agpr` where the file is one) and per wave; `scratch` per lane, `lds` per workgroup,
    in bytes; `object_bytes` of the file, `packed_bytes` of it as a library embeds it; `variants` is how many kernels.
    """

    matrix_ops: Mapping[str, int]
    opcodes: Mapping[str, int]
    vgpr: int
    agpr: int
    sgpr: int
    spills: int
    scratch: int
    lds: int
    code_bytes: int
    object_bytes: int
    packed_bytes: int
    variants: int


@dataclass(frozen=True, slots=True)
class Result:
    """`figures` are those of a kernel that is BUILT, else None; `seconds` (wall),
    `cpu_seconds` and `peak_mb` are the compile's, when it ran.

    `key` identifies text, commands, compiler and CK tree; `flags` and `compiler` are ids that must be equal for figures
    to be compared.
    """

    kernel: str
    table_name: str
    backend: str
    module: str
    signature: str
    arch: str
    status: Status
    key: str
    flags: str
    compiler: str
    seconds: float | None
    cpu_seconds: float | None
    peak_mb: float | None
    figures: Figures | None
    findings: tuple[ResultFinding, ...]

    @property
    def passed(self) -> bool:
        """Whether it was built and no finding is an error."""
        return self.status is Status.BUILT and not self.errors

    @property
    def errors(self) -> tuple[ResultFinding, ...]:
        """The findings that fail a build."""
        return tuple(finding for finding in self.findings if finding.severity == "error")

    def entry(self) -> dict[str, Any]:
        """One entry of the array that `ckgen build --json` prints; null where there is no figure."""
        names = ("matrix_ops", "opcodes", "vgpr", "agpr", "sgpr", "spills", "scratch", "lds", "code_bytes")
        figures = {name: getattr(self.figures, name) if self.figures is not None else None for name in names}
        return {
            "kernel": self.kernel,
            "table_name": self.table_name or None,
            "arch": self.arch,
            "seconds": self.seconds,
            "peak_mb": self.peak_mb,
            **figures,
            "findings": [asdict(finding) for finding in self.findings],
        }

    def to_json(self) -> dict[str, Any]:
        """All fields; `from_json` reads them."""
        return {**asdict(self), "status": self.status.value}

    @classmethod
    def from_json(cls, fields: Mapping[str, Any]) -> Result:
        """The inverse of `to_json`; TypeError, KeyError or ValueError for anything else."""
        changed = {
            "status": Status(fields["status"]),
            "figures": Figures(**fields["figures"]) if fields["figures"] is not None else None,
            "findings": tuple(ResultFinding(**finding) for finding in fields["findings"]),
        }
        return cls(**{**fields, **changed})

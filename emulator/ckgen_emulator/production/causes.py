"""What a finding on a production kernel is about, and what documents say of that."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from pathlib import Path

from ckgen.model.errors import UsageError
from ckgen_emulator.bindings import Finding

_FILE = Path(__file__).with_name("causes.json")


class Witness(StrEnum):
    """What shows that a cause does harm: a wrong result in an order of waves and arrivals, any run, or nothing here."""

    ORDER = "order"
    RUN = "run"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class Cause:
    """Findings of a rule whose text fits `what`.

    `documents`: the guarantee that is missing. `pages`: of docs/upstream, where kernels with it are read.
    """

    name: str
    rule: str
    what: str
    witness: Witness
    documents: str
    pages: tuple[str, ...]
    example: str

    def fits(self, finding: Finding) -> bool:
        """Whether the finding is about this."""
        return finding.rule == self.rule and re.search(self.what, finding.what) is not None


@cache
def causes() -> tuple[Cause, ...]:
    """All that are known, in the order in which pages show them."""
    document = json.loads(_FILE.read_text(encoding="utf-8"))
    return tuple(
        Cause(**{**one, "witness": Witness(one["witness"]), "pages": tuple(one["pages"])}) for one in document["causes"]
    )


def cause_of(finding: Finding) -> Cause:
    """The first cause that fits; UsageError for a finding of which nobody has said what it is about."""
    for cause in causes():
        if cause.fits(finding):
            return cause
    raise UsageError(
        f"no cause in {_FILE.name} fits this finding: look at the code, and say what it is about\n"
        f"  {finding.rule} at {finding.address:#x}: {finding.instruction}: {finding.what}"
    )

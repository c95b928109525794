"""Opcodes of AMD's newest CDNA table that an older family lacks, and those that only an older one has.

What is absent: what clang 22.1.8 refuses to assemble with -mcpu= of a chip of that family
(tests/emulator/test_decode.py asks it).
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

Ranges = tuple[int | tuple[int, int], ...]

_CDNA4: Mapping[str, Ranges] = {
    "VOP1": ((88, 91),),
    "VOP3": ((408, 411), (563, 618), (678, 681)),
    "VOP3P": ((26, 28),),
    "VOP3P_MFMA": (45, 46, (53, 61), 67, 70, 71, 75, 78, 79, 83, 90, 91),
    "VOP3PX2": (45, 46),
    "DS": ((224, 227),),
    "GLOBAL": (125, 126),
    "MUBUF": (82,),
    "SOPP": (31,),
}

_ABSENT: Mapping[str, tuple[Mapping[str, Ranges], ...]] = {
    "cdna4": ({"SOPP": (31,)},),
    "cdna3": (_CDNA4, {"VOP2": (22,), "VOP3": (278,), "VOP3P_MFMA": (84, 85)}),
    "cdna2": (
        _CDNA4,
        {
            "VOP1": (56, (84, 87)),
            "VOP3": (376, (404, 407), 520, (674, 677)),
            "VOP3P_MFMA": (86, 87, (93, 98), 106, (112, 127)),
            "DS": (23, 24, 183, 184),
            "FLAT": (77, 78, 82),
            "GLOBAL": ((38, 42), 82),
            "SCRATCH": ((38, 42),),
        },
    ),
}

_OLDER: Mapping[str, Mapping[str, Mapping[int, str]]] = {"cdna2": {"VOP3": {278: "v_mac_f32"}}}

_OLDER_OPERANDS = {
    "v_mac_f32": ("src0", "src1", "vdst"),
    "v_mad_f32": ("src0", "src1", "src2", "vdst"),
    "v_mad_legacy_f32": ("src0", "src1", "src2", "vdst"),
}


FAMILIES = tuple(sorted(_ABSENT))
"""The families whose opcodes are known."""


@cache
def absent(family: str, form: str) -> frozenset[int]:
    """Numbers of a format's opcodes that the family does not have."""
    found: set[int] = set()
    for part in _ABSENT[family]:
        for one in part.get(form, ()):
            first, last = one if isinstance(one, tuple) else (one, one)
            found.update(range(first, last + 1))
    return frozenset(found)


def older_opcodes(family: str, form: str) -> Mapping[int, str]:
    """Mnemonics by number that only this family has, beside its renamed ones."""
    return _OLDER.get(family, {}).get(form, {})


def older_operands(mnemonic: str) -> list[str] | None:
    """`field:type:bits` of each operand; None where AMD's table has them."""
    fields = _OLDER_OPERANDS.get(mnemonic)
    return None if fields is None else [f"{field}:num_f32:32" for field in fields]

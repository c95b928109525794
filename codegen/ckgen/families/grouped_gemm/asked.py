"""The groups of a grouped GEMM as options say them."""

from __future__ import annotations

import re

from ckgen.families.common.asked import Asked
from ckgen.model.errors import UsageError
from ckgen.model.groups import Groups, GroupSize

_GROUP = re.compile(r"(?:(?P<times>[0-9]{1,6})\*)?(?P<m>-?[0-9]{1,19})x(?P<n>-?[0-9]{1,19})x(?P<k>-?[0-9]{1,19})")
_ON_DEVICE = re.compile(r"(?P<count>[0-9]{1,9}):(?P<m>[0-9]{1,19})x(?P<n>[0-9]{1,19})x(?P<k>[0-9]{1,19})")


def told_groups(op: str, text: str) -> Groups:
    """Those of a cell of a table or a list of shapes: as an option says them, but for `;` in place of commas."""
    if ":" in text:
        return asked_groups(op, Asked(op, groups_on_device=text))
    return asked_groups(op, Asked(op, groups=text.replace(";", ",")))


def asked_groups(op: str, asked: Asked) -> Groups:
    """What --groups or --groups-on-device says; UsageError for none or both, for other options, or no sizes."""
    asked.refuse_beside(op, ("groups", "groups_on_device", "module"))
    sizes, on_device = asked.groups, asked.groups_on_device
    if (sizes is None) == (on_device is None):
        raise UsageError(f"{op} needs either --groups or --groups-on-device")
    if on_device is not None:
        match = _ON_DEVICE.fullmatch(on_device.strip())
        if match is None:
            raise UsageError(f"--groups-on-device takes COUNT:MxNxK, as in 16:256x4096x7168; got '{on_device}'")
        return Groups.on_device(*(int(match[name]) for name in ("count", "m", "n", "k")))
    found: list[GroupSize] = []
    for word in (word.strip() for word in (sizes or "").split(",")):
        match = _GROUP.fullmatch(word)
        if match is None:
            raise UsageError(f"--groups takes MxNxK,… with COUNT* before alike ones, as in 3*64x256x512; got '{word}'")
        found += [GroupSize(*(int(match[axis]) for axis in "mnk"))] * int(match["times"] or 1)
    return Groups.of(found)

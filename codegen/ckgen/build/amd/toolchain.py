"""Which toolchain is in use: the one recorded in a prefix, or a ROCm that is named."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from ckgen.build.amd import pinned
from ckgen.build.amd.model import AmdToolchain, CkTree, Kind
from ckgen.build.amd.place import known_prefix
from ckgen.build.amd.rocm import rocm_toolchain
from ckgen.build.packages import record
from ckgen.build.packages.errors import toolchain_error

__all__ = ["AmdToolchain", "CkTree", "Kind", "Record", "load", "over_older_tree", "read_record", "write_record"]


@dataclass(frozen=True, slots=True)
class Record:
    """What a prefix was prepared for: the wheels, or a ROCm's root and the CK tree that was named for it."""

    kind: Kind
    rocm: Path | None = None
    ck: Path | None = None


def load(prefix: Path | None = None, rocm: Path | None = None, ck: Path | None = None) -> AmdToolchain:
    """The toolchain that `ckgen toolchain amd` prepared in `prefix` (default: `known_prefix()`), or a ROCm's.

    With `rocm`, that one, over the CK tree in `ck`, else its own, else the prefix's. InputError X001 when none is
    prepared, X005 and X006 for a ROCm that lacks a part.
    """
    place = prefix.absolute() if prefix is not None else known_prefix()
    if rocm is not None:
        return rocm_toolchain(rocm, place, ck)
    prepared = read_record(place)
    if prepared is None:
        raise toolchain_error("X001", "no AMD toolchain is prepared there", place, hint="run `ckgen toolchain amd`")
    if prepared.rocm is not None:
        return rocm_toolchain(prepared.rocm, place, prepared.ck)
    return pinned.pinned_toolchain(place)


def over_older_tree(toolchain: AmdToolchain) -> AmdToolchain:
    """The same compiler over the older CK tree of its prefix; X001 unless that was prepared with `--also older-ck`."""
    return replace(toolchain, ck=pinned.older_tree(toolchain.prefix))


def read_record(prefix: Path) -> Record | None:
    """What was prepared in the prefix; None when nothing was, or by a ckgen of another form."""
    found = record.read_record(prefix)
    if found is None:
        return None
    rocm, ck = found.get("rocm"), found.get("ck")
    return Record(Kind(found["kind"]), Path(rocm) if rocm else None, Path(ck) if ck else None)


def write_record(prefix: Path, prepared: Record) -> None:
    """Not at all when it is the same."""
    if read_record(prefix) != prepared:
        record.write_record(prefix, prepared.kind.value, rocm=prepared.rocm, ck=prepared.ck)

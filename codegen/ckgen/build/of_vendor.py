"""Which vendor's kernels a build is for, and its toolchain."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from ckgen.build.toolchain import Toolchain
from ckgen.model.arch import ArchSpec, Vendor
from ckgen.model.errors import UsageError
from ckgen.model.target import Target


def vendor_of(targets: Iterable[Target], archs: Mapping[str, ArchSpec]) -> Vendor:
    """The vendor of all GPUs among the targets, AMD where there is none; UsageError for GPUs of several."""
    known = {archs[target.gfx].vendor: target for target in targets}
    found = {vendor: target for vendor, target in known.items() if vendor is not None}
    if len(found) > 1:
        shown = ", ".join(
            f"{target} of {vendor}" for vendor, target in sorted(found.items(), key=lambda pair: str(pair[0]))
        )
        raise UsageError(f"one build is for one vendor's GPUs ({shown}): build a library for each, and attach both")
    return next(iter(found), Vendor.AMD)


def toolchain_of(vendor: Vendor, prefix: Path | None) -> Toolchain:
    """The vendor's toolchain in `prefix`, or where it is prepared by default; InputError X001 where it is not."""
    if vendor is Vendor.NVIDIA:
        from ckgen.build.nvidia.toolchain import load as load_nvidia

        return load_nvidia(prefix)
    from ckgen.build.amd.toolchain import load as load_amd

    return load_amd(prefix)

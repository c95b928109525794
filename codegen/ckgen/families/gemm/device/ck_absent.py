"""What of classic ck the pinned CK tree cannot do, by the conditions of ck_absent.json."""

from __future__ import annotations

from collections.abc import Mapping

from ckgen.families.gemm.config import CkConfig
from ckgen.families.gemm.device.absent import Absent, Fact, absent_rules, first_fit
from ckgen.families.gemm.instance import Instance
from ckgen.specs.archs import processor_of

_FILE = "ck_absent.json"


def absent(instance: Instance, arch: str) -> Absent | None:
    """Why the tree has no kernel of an instance for an arch; None where it has."""
    return first_fit(absent_rules(_FILE), _facts(instance, arch))


def absent_for_splits(instance: Instance, arch: str) -> Absent | None:
    """Why the tree cannot split K for an instance on an arch; None where it can."""
    return first_fit(absent_rules(_FILE, "k_splits"), _facts(instance, arch))


def unavailable(instance: Instance, arch: str) -> str | None:
    """The same as `absent`, as one line for people."""
    found = absent(instance, arch)
    return found.text if found is not None else None


def splits_unavailable(instance: Instance, arch: str) -> str | None:
    """The same as `absent_for_splits`, as one line for people."""
    found = absent_for_splits(instance, arch)
    return found.text if found is not None else None


def _facts(instance: Instance, arch: str) -> Mapping[str, Fact]:
    config = instance.config
    assert isinstance(config, CkConfig), f"{instance.name} is no classic ck instance"
    return {
        "module": instance.module,
        "processor": processor_of(arch),
        "pipeline": config.pipeline,
        "bias": instance.signature.bias,
    }

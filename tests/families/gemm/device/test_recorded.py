"""Recorded overflows: of kernels that the tables name, of variants that exist, and what the gate is told."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from ckgen.build.device_code import device_code
from ckgen.build.named import NamedKernel, named_kernels
from ckgen.cli.option_values import tuning_or_shipped
from ckgen.families.common.device.overflow import NO_OVERFLOW, Overflow
from ckgen.families.gemm.device import recorded
from ckgen.families.gemm.device.recorded import recorded_overflow
from ckgen.families.registry import make_instance
from ckgen.model.dtype import DType
from ckgen.plan.options import PlanOptions
from ckgen.specs.archs import load_archs

ENTRIES = json.loads(Path(recorded.__file__).with_suffix(".json").read_text(encoding="utf-8"))["kernels"]


@pytest.fixture(scope="module")
def named() -> dict[tuple[str, str], NamedKernel]:
    kernels = named_kernels(PlanOptions(targets=None, tuning=tuning_or_shipped(())), load_archs())
    return {(kernel.instance.name, kernel.arch): kernel for kernel in kernels}


def test_every_record_is_of_a_variant_that_the_tables_can_reach(named: dict[tuple[str, str], NamedKernel]) -> None:
    keys = [(entry["kernel"], entry["arch"], entry["variant"]) for entry in ENTRIES]
    assert keys == sorted(set(keys))
    for kernel, arch, variant in keys:
        instance = named[kernel, arch].instance
        assert variant in {each.name for each in device_code(instance).all_variants()}, (kernel, arch)
    assert all(entry["spills"] > 0 or entry["scratch_bytes"] > 0 for entry in ENTRIES)


def test_a_record_stands_for_the_other_result_type_and_for_nothing_else(
    named: dict[tuple[str, str], NamedKernel],
) -> None:
    entry = ENTRIES[0]
    instance = named[entry["kernel"], entry["arch"]].instance
    half = make_instance(
        replace(instance.signature, c=DType.FP16),
        instance.config,
        module=instance.module,
        table_kernel=instance.table_kernel,
        archs=instance.archs,
    )
    assert half.name != instance.name
    measured = Overflow(entry["spills"], entry["scratch_bytes"])
    assert recorded_overflow(half, entry["arch"], entry["variant"]) == measured
    assert recorded_overflow(half, "gfx90a", entry["variant"]) == NO_OVERFLOW
    assert recorded_overflow(half, entry["arch"], "none_such") == NO_OVERFLOW

"""Every rule of the gate: passes what was measured on real kernels, and names number and limit of what it refuses."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from amd_kernels import compiled
from ckgen.build.inspect.finding import CodeFinding, fails
from ckgen.build.inspect.gate import RULES, judge
from ckgen.build.inspect.report import KernelReport
from ckgen.model.arch import Vendor
from ckgen.model.backend import Backend
from ckgen.model.diagnostic import Severity
from ckgen.model.dtype import DType
from ckgen.model.expectation import Expectation
from ckgen.specs.archs import load_arch, load_archs

MEASURED: list[dict[str, Any]] = json.loads(Path(__file__).with_name("measured_kernels.json").read_text())["kernels"]
GFX942 = load_arch("gfx942")
GPUS = sorted(name for name, arch in load_archs().items() if arch.vendor is Vendor.AMD)
FP16 = "v_mfma_f32_32x32x8_f16"
PLAIN = Expectation(((FP16, 16),), copies=0, lds_bytes=65536, scratch_bytes=0, spills=0, waves_per_simd=1)


def report(**changes: Any) -> KernelReport:
    ops = changes.pop("matrix_ops", {FP16: 64})
    plain = KernelReport(
        kernel="k", arch="gfx942", matrix_ops=ops, opcodes={**ops, "s_endpgm": 1}, vgpr=186, agpr=0, sgpr=28, spills=0,
        scratch=0, lds=32768, code_bytes=19900,
    )  # fmt: skip
    return replace(plain, **changes)


def findings(expectation: Expectation = PLAIN, **changes: Any) -> list[tuple[str, object, object]]:
    return [(found.rule, found.measured, found.limit) for found in judge(report(**changes), expectation, GFX942)]


@dataclass(frozen=True)
class Measured:
    row: dict[str, Any]

    @property
    def name(self) -> str:
        return f"{self.row['backend']}-{self.row['arch']}-{self.row['types'][0]}-{'x'.join(map(str, self.row['tile']))}"

    def steps(self) -> tuple[tuple[str, int], ...]:
        """From the arch spec: instructions of one wave and K step, for every warp tile that the row can mean."""
        row = self.row
        types = [DType(name) for name in row["types"]]
        found = {}
        for tile in load_arch(row["arch"]).warp_tiles_for(Backend(row["backend"]), *types):
            if [tile.tile.m, tile.tile.n, tile.tile.k][: len(row["warp"])] == row["warp"]:
                m, n, k = row["tile"]
                per_wave = m * n * k // (row["waves"][0] * tile.tile.m * row["waves"][1] * tile.tile.n * tile.tile.k)
                found[tile.instruction] = per_wave * tile.issues
        return tuple(found.items())


@pytest.mark.parametrize("measured", [Measured(row) for row in MEASURED], ids=lambda one: one.name)
def test_measured_kernels_pass(measured: Measured) -> None:
    row = measured.row
    steps = measured.steps()
    assert row["opcode"] in dict(steps)
    arch = load_arch(row["arch"])
    seen = report(
        arch=row["arch"], matrix_ops={row["opcode"]: row["count"]}, vgpr=row["vgpr"], lds=row["lds"],
    )  # fmt: skip
    expectation = replace(PLAIN, steps=steps, lds_bytes=arch.lds_bytes)
    assert judge(seen, expectation, arch) == ()
    short = replace(seen, matrix_ops={row["opcode"]: row["count"] - 1})
    assert [found.rule for found in judge(short, expectation, arch)] == ["matrix_op_count"]


def test_a_kernel_without_matrix_instructions() -> None:
    assert findings(matrix_ops={}) == [("no_matrix_ops", 0, FP16)]


def test_other_matrix_instructions_than_the_config_means() -> None:
    other = "v_mfma_f32_16x16x16_f16"
    assert findings(matrix_ops={other: 64}) == [("wrong_matrix_op", other, FP16)]
    assert findings(matrix_ops={FP16: 64, other: 4}) == [("wrong_matrix_op", other, FP16)]
    assert findings(matrix_ops={FP16: 63, other: 4}) == [
        ("wrong_matrix_op", other, FP16),
        ("matrix_op_count", f"63 {FP16}", f"a multiple of 16 {FP16}"),
    ]


@pytest.mark.parametrize("count", [1, 8, 24, 63, 65])
def test_a_count_that_is_no_whole_number_of_k_steps(count: int) -> None:
    assert findings(matrix_ops={FP16: count}) == [
        ("matrix_op_count", f"{count} {FP16}", f"a multiple of 16 {FP16}"),
    ]


@pytest.mark.parametrize("copies", [1, 2, 3, 4])
def test_exact_copies_of_the_k_step(copies: int) -> None:
    exact = replace(PLAIN, copies=copies)
    assert findings(exact, matrix_ops={FP16: 16 * copies}) == []
    assert findings(exact, matrix_ops={FP16: 16 * copies + 16}) == [
        ("matrix_op_count", f"{16 * copies + 16} {FP16}", f"{copies} times 16 {FP16}"),
    ]


def test_alternatives_are_counted_in_their_own_k() -> None:
    short, long = "v_mfma_f32_16x16x32_fp8_fp8", "v_mfma_f32_16x16x128_f8f6f4"
    either = replace(PLAIN, steps=((short, 32), (long, 8)))
    assert findings(either, matrix_ops={short: 64}) == []
    assert findings(either, matrix_ops={long: 24}) == []
    assert findings(either, matrix_ops={short: 48, long: 4}) == []
    assert findings(either, matrix_ops={short: 8}) == [("matrix_op_count", f"8 {short}", f"a multiple of 32 {short}")]
    assert [rule for rule, _, _ in findings(either, matrix_ops={})] == ["no_matrix_ops"]


def test_lds_is_bounded_by_the_arch_and_by_the_family() -> None:
    assert findings(lds=65536) == []
    assert findings(lds=65537) == [("lds_over_arch", 65537, 65536)]
    assert findings(replace(PLAIN, lds_bytes=1 << 20), lds=65537) == [("lds_over_arch", 65537, 65536)]
    assert findings(replace(PLAIN, lds_bytes=32767)) == [("lds_over_arch", 32768, 32767)]
    big = judge(report(arch="gfx950", lds=163840), replace(PLAIN, lds_bytes=163840), load_arch("gfx950"))
    assert big == ()


def test_spills_and_scratch_have_the_family_s_bounds() -> None:
    assert findings(spills=1, scratch=4) == [("spills", 1, 0), ("scratch", 4, 0)]
    recorded = replace(PLAIN, spills=2, scratch_bytes=32)
    assert findings(recorded, spills=2, scratch=32) == []
    assert findings(recorded, spills=3, scratch=36) == [("spills", 3, 2), ("scratch", 36, 32)]


def test_a_stack_that_grows_is_scratch_without_bound() -> None:
    assert findings(replace(PLAIN, scratch_bytes=1 << 20), dynamic_stack=True) == [
        ("scratch", "dynamic stack", 1 << 20),
    ]


def test_occupancy_warns_and_does_not_fail() -> None:
    two = replace(PLAIN, waves_per_simd=2)
    assert judge(report(vgpr=256), two, GFX942) == ()
    (found,) = judge(report(vgpr=257), two, GFX942)
    assert (found.rule, found.measured, found.limit, found.severity) == ("occupancy", 1, 2, Severity.WARNING)
    assert not fails([found])


def test_workgroups_that_wait_for_each_other_must_be_resident() -> None:
    two = replace(PLAIN, waves_per_simd=2, resident=True)
    assert judge(report(vgpr=256), two, GFX942) == ()
    assert fails(judge(report(vgpr=257), two, GFX942))


def clobbering(vgprs: int) -> str:
    """A kernel that takes exactly so many VGPRs."""
    bounds = "__attribute__((global, amdgpu_flat_work_group_size(32, 32)))"
    return f'extern "C" {bounds} void k{vgprs}() {{ __asm__ volatile("" ::: "v{vgprs - 1}"); }}\n'


@pytest.mark.amd
@pytest.mark.parametrize("arch", GPUS)
def test_waves_per_simd_are_the_compiler_s_occupancy(arch: str) -> None:
    counts = (
        1,
        24,
        25,
        64,
        65,
        72,
        73,
        80,
        81,
        96,
        97,
        120,
        121,
        128,
        129,
        144,
        145,
        168,
        169,
        192,
        193,
        240,
        241,
        256,
    )
    assembly = compiled(arch, "".join(map(clobbering, counts))).assembly
    stated = re.findall(r"^; @?NumVgprs: (\d+)$.*?^; Occupancy: (\d+)$", assembly, re.MULTILINE | re.DOTALL)
    assert [int(vgprs) for vgprs, _ in stated] == list(counts)
    assert [load_arch(arch).waves_with(vgprs) for vgprs in counts] == [int(waves) for _, waves in stated]


def test_waves_per_simd_counts_agprs_too() -> None:
    assert GFX942.waves_with(512) == 1
    assert GFX942.waves_with(0) == 8


def test_every_finding_has_a_known_rule_and_all_but_occupancy_fail() -> None:
    worst = replace(PLAIN, waves_per_simd=8)
    found = judge(report(spills=1, scratch=4, lds=70000, matrix_ops={FP16: 3, "v_mfma_x": 1}), worst, GFX942)
    found += judge(report(matrix_ops={}), PLAIN, GFX942)
    rules = [one.rule for one in found]
    assert {*rules} == {*RULES} - {"undecoded", "changed_figures"}
    assert [one.rule for one in found if one.severity is not Severity.ERROR] == ["occupancy"]
    assert all(str(one.limit) and str(one.measured) and one.reason for one in found)


def test_a_finding_as_json() -> None:
    assert CodeFinding("spills", "2 registers are spilled", 2, 0).to_json() == {
        "rule": "spills",
        "severity": "error",
        "reason": "2 registers are spilled",
        "measured": 2,
        "limit": 0,
    }

"""Archs of another vendor in the one schema: what they state, how targets name them, what contradicts another spec."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ckgen import paths
from ckgen.model.arch import Vendor
from ckgen.model.dtype import DType
from ckgen.model.errors import InputError
from ckgen.model.target import Target
from ckgen.specs import load_arch, load_archs, parse_targets

HOPPER = "sm_90a"


def targets(text: str) -> tuple[Target, ...]:
    return parse_targets(text, env={}, archs=load_archs(), native=lambda: Target("x86_64_v3", 1))


@pytest.mark.parametrize(
    ("text", "target"),
    [
        ("sm_90a", Target(HOPPER, 132)),
        ("sm_90", Target(HOPPER, 132)),
        ("sm_90:114", Target(HOPPER, 114)),
        ("h100", Target(HOPPER, 132)),
        ("H200", Target(HOPPER, 132, "h200")),
        ("gh200", Target(HOPPER, 132, "gh200")),
        ("sm_90:132:h100", Target(HOPPER, 132, "h100")),
        ("h100pcie", Target(HOPPER, 114)),
    ],
)
def test_aliases_and_products_name_the_arch(text: str, target: Target) -> None:
    assert targets(text) == (target,)


def test_hopper_states_what_other_vendors_lack() -> None:
    arch = load_arch(HOPPER)
    assert (arch.vendor, arch.compute_capability, arch.max_cluster) == (Vendor.NVIDIA, 90, 8)
    assert (arch.lds_bytes, arch.lds_bytes_per_cu) == (227 * 1024, 228 * 1024)
    assert arch.vgprs_per_simd_lane * 4 * arch.wave_size == 65536
    assert not arch.warp_tiles and not arch.pipelines


def test_amd_archs_have_neither_clusters_nor_a_capability() -> None:
    for arch in load_archs().values():
        if arch.vendor is not Vendor.NVIDIA:
            assert (arch.compute_capability, arch.max_cluster) == (0, 1), arch.name
            assert arch.lds_bytes_per_cu == arch.lds_bytes, arch.name


def test_a_warpgroup_has_an_instruction_for_every_width() -> None:
    rows = load_arch(HOPPER).matrix_instructions
    for dtype, k in ((DType.BF16, 16), (DType.FP16, 16), (DType.FP8_OCP, 32)):
        widths = [row.tile.n for row in rows if (row.a, row.b, row.tile.m, row.tile.k) == (dtype, dtype, 64, k)]
        assert widths == list(range(8, 257, 8))


def test_the_peak_is_the_data_sheets() -> None:
    arch = load_arch(HOPPER)
    peak = arch.peak_ops(DType.BF16, DType.BF16, 132)
    assert peak is not None
    assert peak * 1830 / 1980 == pytest.approx(989.4e12, rel=1e-3)


def changed(folder: Path, name: str, **fields: Any) -> Path:
    spec = json.loads((paths.arch_specs_dir() / f"{HOPPER}.json").read_text(encoding="utf-8"))
    (folder / f"{name}.json").write_text(json.dumps({**spec, "name": name, **fields}), encoding="utf-8")
    return folder


def test_an_alias_means_one_arch(tmp_path: Path) -> None:
    code = {"processor": "sm_91a", "elf_machine": 91, "compute_capability": 91, "source": "cuda"}
    folder = changed(changed(tmp_path, HOPPER), "sm_91a", code=code)
    with pytest.raises(InputError, match=r"'sm_90' means another arch already"):
        load_archs(folder)


def test_a_number_of_one_vendor_is_none_of_anothers(tmp_path: Path) -> None:
    (tmp_path / "gfx942.json").write_text((paths.arch_specs_dir() / "gfx942.json").read_text(encoding="utf-8"))
    code = {"processor": HOPPER, "elf_machine": 76, "compute_capability": 90, "source": "cuda"}
    assert sorted(load_archs(changed(tmp_path, HOPPER, code=code))) == ["gfx942", HOPPER]


def test_what_ck_needs_is_no_key_of_another_vendor(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="unknown key 'pipelines'"):
        load_archs(changed(tmp_path, HOPPER, pipelines={"rows": [], "source": "cuda"}))

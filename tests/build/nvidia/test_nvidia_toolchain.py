"""The NVIDIA toolchain: what is pinned, what is said where a part is missing, and, where it is prepared, one kernel."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from ckgen.build.cache import Cache
from ckgen.build.compile import OBJECT, host_job
from ckgen.build.nvidia.pins import BESIDE_CUDA, Role, pins
from ckgen.build.nvidia.toolchain import load, write_record
from ckgen.build.of_vendor import vendor_of
from ckgen.build.planned import plan_host
from ckgen.build.pool import Outcome, default_limits, run_jobs
from ckgen.families.gemm.config import CutlassConfig, CutlassSchedule
from ckgen.families.gemm.signature import parse_canonical
from ckgen.families.registry import make_instance
from ckgen.model.arch import Vendor
from ckgen.model.config import Tile
from ckgen.model.errors import InputError, UsageError
from ckgen.model.target import Target
from ckgen.specs import load_archs
from commands import ok
from nvidia_support import nvidia_toolchain


def test_every_pin_is_a_wheel_of_its_name_and_version() -> None:
    assert set(pins()) == set(Role)
    for pin in pins().values():
        assert pin.file.startswith(f"{pin.name.replace('-', '_')}-{pin.version}-py3-none-")
        assert len(pin.sha256) == 64
        assert any("licenses/" in folder for folder in pin.unpack), "a licence goes with what it is of"


def test_without_one_the_command_that_prepares_it_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"X001.*no NVIDIA toolchain is prepared there(.|\n)*ckgen toolchain nvidia"):
        load(tmp_path)


def test_a_cuda_that_lacks_a_part_is_named_with_it(tmp_path: Path) -> None:
    write_record(tmp_path, tmp_path / "cuda")
    with pytest.raises(InputError, match=r"X005.*the CUDA lacks bin/nvcc, bin/ptxas"):
        load(tmp_path)
    assert {Role.CUTLASS, Role.DISASSEMBLER} == set(BESIDE_CUDA)


def test_a_build_is_for_one_vendor() -> None:
    archs = load_archs()
    assert vendor_of((Target("sm_90a", 132), Target("x86_64_v3", 1)), archs) is Vendor.NVIDIA
    assert vendor_of((), archs) is Vendor.AMD
    with pytest.raises(UsageError, match=r"gfx942:304 of amd, sm_90a:132 of nvidia"):
        vendor_of((Target("sm_90a", 132), Target("gfx942", 304)), archs)


def test_a_kernel_of_ours_compiles_and_has_what_it_promises(tmp_path: Path) -> None:
    nvidia_toolchain()
    kernel = "gemm_bf16_rcr_cutlass_64x16x128_1x1_kc4_swap"  # in 18 CPU seconds, of which few take as few
    build = ("build", "--targets", "h200", "--kernels", kernel, "--emit", "object", "--out", str(tmp_path))
    ok(*build)
    (entry,) = json.loads((tmp_path / "report.json").read_text())["results"]
    assert entry["kernel"] == kernel
    assert (entry["findings"], entry["figures"]["spills"], entry["figures"]["scratch"]) == ([], 0, 0)
    assert entry["figures"]["matrix_ops"] == {"hgmma_64x16x16_f32_bf16": 8}
    asks_for_maps_alone(tmp_path / "host" / f"{kernel}.o")


@pytest.mark.parametrize("signature", ["gemm_bf16_rcr_bias_epi_mul_gelu", "grouped_gemm_bf16_rcr"])
def test_a_host_unit_needs_neither_nvcc_nor_cudas_runtime(signature: str, tmp_path: Path) -> None:
    toolchain = nvidia_toolchain()
    config = CutlassConfig(Tile(64, 16, 128), (1, 1), CutlassSchedule.PP, swap=True)
    instance = make_instance(parse_canonical(signature), config, archs=("sm_90a",))
    made: list[Outcome] = []
    job = host_job(plan_host(instance, {"sm_90a": ()}).unit, toolchain)
    run_jobs([job], Cache(tmp_path), default_limits(1), made.append, lambda standing: None)
    (outcome,) = made
    assert outcome.entry.ok, outcome.entry.log
    asks_for_maps_alone(outcome.entry.output(OBJECT))


def asks_for_maps_alone(host_unit: Path) -> None:
    """Nothing of CUDA is linked: descriptors are made by the dispatcher, which has the driver open."""
    listed = subprocess.run(["nm", "-u", str(host_unit)], capture_output=True, text=True, check=True)
    asked = {line.split()[-1] for line in listed.stdout.splitlines()}
    assert "ckgen_encode_tensor_map" in asked
    assert not {name for name in asked if name.startswith(("cu", "__cuda"))}

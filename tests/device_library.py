"""A library for a GPU whose kernels run on this CPU: through the mock CUDA driver, each as its instance's host twin."""

from __future__ import annotations

import gzip
import struct
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from ckgen import paths
from ckgen.fuzz.case import Case
from ckgen.fuzz.decision import target_named
from ckgen.measure.conditions import Conditions, Limits, Place
from ckgen.measure.library import Contents
from ckgen.measure.local import LocalMeasurer
from ckgen.measure.model import Candidate
from ckgen.specs.native import only_gpu
from cpp_build import ROOT
from runtime_build import load_generated

TARGET = "sm_90a:132"
ACTS = ("right", "crashes", "loops", "writes_beside", "writes_a", "gives_garbage", "does_nothing")
"""As in device_kernels.cpp, by the number of an instance of the unit; further ones are right."""
_EM_CUDA = 190


@dataclass(frozen=True)
class OnDevice:
    """The library, which of its instances does what, and the variables with which a process finds the mock driver."""

    library: Path
    contents: Contents
    candidates: dict[str, Candidate]
    good: tuple[Candidate, ...]
    variables: Mapping[str, str]

    def problem(self, m: int = 24) -> Case:
        return Case("gemm_bf16_rcr", TARGET, m=m, n=64, k=256, seed=3)

    def measurer(self, conditions: Conditions | None = None, gpu: int = 0) -> LocalMeasurer:
        conditions, limits = conditions or Conditions(warmup=2), Limits(seconds=1.0)
        only = only_gpu(gpu)
        return LocalMeasurer(self.library, "good", self.contents, Place.DEVICE, conditions, limits, only)


def build_on_device(folder: Path) -> OnDevice:
    """Some seconds of the compiler."""
    driver = folder / "libmock_cuda.so"
    sources = sorted(map(str, (ROOT / "dispatcher_cpp" / "tests" / "mock_cuda").glob("*.cpp")))
    subprocess.run(["g++", "-std=c++20", "-O1", "-shared", "-fPIC", *sources, "-o", str(driver)], check=True)
    tables = (paths.tuning_dir() / "ckgen",)
    contents = Contents(target_named(TARGET), ("gemm", "stream_k"), ("gemm_bf16_rcr",), tables)
    plan = contents.space().plan
    (unit,) = plan.units
    kernels = folder / "kernels.cpp"
    kernels.write_text(_constants([one.id for one in unit.instances]), encoding="utf-8")
    load_generated(plan, "good", folder, kernels)
    every = [Candidate(one.name) for one in unit.instances]
    named = dict(zip(ACTS, every, strict=False))
    variables = {"CKGEN_CUDA_LIBRARY": str(driver), "CKGEN_HIP_LIBRARY": "none"}
    good = (named["right"], *every[len(ACTS) :])
    return OnDevice(folder / "libgood_runtime.so", contents, named, good, variables)


def _constants(ids: list[int]) -> str:
    """What device_kernels.cpp begins with, and that file."""
    header = bytearray(64)
    header[:5] = b"\x7fELF\x02"
    header[18:20] = struct.pack("<H", _EM_CUDA)
    texts = b"sm_90a\0run\0"
    image = bytes(header) + struct.pack("<I", 68 + len(texts)) + texts
    packed = gzip.compress(image)
    acts = [min(number, len(ACTS)) % len(ACTS) for number in range(len(ids))]
    return "\n".join((
        "#include <cstddef>",
        "#include <cstdint>",
        f"constexpr std::size_t kCount = {len(ids)}, kUnpacked = {len(image)};",
        f"constexpr std::uint64_t kIds[] = {{{', '.join(f'{one}ULL' for one in ids)}}};",
        f"constexpr int kActs[] = {{{', '.join(map(str, acts))}}};",
        f"constexpr unsigned char kObject[] = {{{', '.join(map(str, packed))}}};",
        f'#include "{Path(__file__).with_name("device_kernels.cpp")}"',
        "",
    ))  # fmt: skip

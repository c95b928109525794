"""The machine's own target, with and without a GPU."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from ckgen.model.target import Target
from ckgen.specs import load_archs, native

ARCHS = load_archs()

DRIVER = """
int cuInit(unsigned flags) { return flags ? 1 : INIT; }
int cuDeviceGetCount(int* count) { *count = 8; return INIT; }
int cuDeviceGetAttribute(int* value, int attribute, int device) {
  if (device != 0) return 101;
  *value = attribute == 16 ? 132 : attribute == 75 ? MAJOR : attribute == 76 ? 0 : -1;
  return 0;
}
int cuDeviceGetName(char* name, int length, int device) {
  const char text[] = PRODUCT;
  for (int i = 0; i < length && i < (int)sizeof text; ++i) name[i] = text[i];
  return device;
}
"""

HIP = """
int hipGetDeviceCount(int* count) { *count = 1; return 0; }
int hipDeviceGetAttribute(int* value, int attribute, int device) { *value = 304; return device; }
int hipGetDevicePropertiesR0600(char* out, int device) {
  const char product[] = PRODUCT, arch[] = "gfx942:sramecc+:xnack-";
  for (int i = 0; i < (int)sizeof product; ++i) out[i] = product[i];
  for (int i = 0; i < (int)sizeof arch; ++i) out[1160 + i] = arch[i];
  return device;
}
"""


def driver(source: str, folder: Path, **words: object) -> str:
    """A shared library of that C text."""
    file, library = folder / "driver.c", folder / "driver.so"
    file.write_text(source, encoding="utf-8")
    defines = [f"-D{name}={value}" for name, value in words.items()]
    subprocess.run(["gcc", "-shared", "-fPIC", *defines, "-o", str(library), str(file)], check=True)
    return str(library)


@pytest.mark.parametrize(
    ("init", "major", "expected"), [(0, 9, Target("sm_90a", 132, "h100")), (0, 4, None), (100, 9, None), (0, 0, None)]
)
def test_a_gpu_of_nvidia_is_named_by_its_capability(
    init: int, major: int, expected: Target | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    library = driver(DRIVER, tmp_path, INIT=init, MAJOR=major, PRODUCT='"NVIDIA H100 80GB HBM3"')
    monkeypatch.setattr(native, "_CUDA_LIBRARY", library)
    assert native.cuda_target(ARCHS) == expected
    assert native.gpu_count() == (0 if init else 8)


@pytest.mark.parametrize(
    ("product", "sku"), [("NVIDIA H200", "h200"), ("NVIDIA GH200 480GB", "gh200"), ("NVIDIA H200 NVL", ""), ("", "")]
)
def test_a_product_is_told_by_its_drivers_name(
    product: str, sku: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    library = driver(DRIVER, tmp_path, INIT=0, MAJOR=9, PRODUCT=f'"{product}"')
    monkeypatch.setattr(native, "_CUDA_LIBRARY", library)
    assert native.cuda_target(ARCHS) == Target("sm_90a", 132, sku)


@pytest.mark.parametrize(
    ("product", "sku", "native_sku"),
    [
        ("AMD Instinct MI300X", "mi300x", ""),
        ("AMD Instinct MI325X", "mi325x", "mi325x"),
        ("AMD Radeon Graphics", "", ""),
    ],
)
def test_native_leaves_out_the_usual_product(
    product: str, sku: str, native_sku: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(native, "_LIBRARY", driver(HIP, tmp_path, PRODUCT=f'"{product}"'))
    assert native.hip_target(ARCHS) == native.native_device() == Target("gfx942", 304, sku)
    assert native.native_target() == Target("gfx942", 304, native_sku)
    assert native.gpu_count() == 1


def test_without_a_driver_there_is_no_gpu_of_nvidia(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(native, "_CUDA_LIBRARY", "libno_such_driver.so")
    assert native.cuda_target(ARCHS) is None
    assert native.gpu_count() == 0


@pytest.mark.parametrize(
    ("hip", "cuda", "only"),
    [
        ("", "", ("1", "1")),
        ("", "4, GPU-8f2e,6", ("GPU-8f2e", "GPU-8f2e")),
        ("2,3", "", ("3", "1")),
        ("2,3", "4,5", ("3", "5")),
    ],
)
def test_one_gpu_of_those_that_a_process_may_use(
    hip: str, cuda: str, only: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """AMD's runtime reads NVIDIA's variable where its own is empty."""
    monkeypatch.setenv("HIP_VISIBLE_DEVICES", hip)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", cuda)
    assert native.only_gpu(1) == dict(zip(("HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES"), only, strict=True))


V4 = frozenset(ARCHS["x86_64_v4"].cpu.required if ARCHS["x86_64_v4"].cpu else ())

ROCMINFO = """
==========
HSA Agents
==========
*******
Agent 1
*******
  Name:                    AMD EPYC 9654
  Compute Unit:            96
*******
Agent 2
*******
  Name:                    {name}
  Marketing Name:          A product
  Compute Unit:            {units}
  ISA Info:
    ISA 1
      Name:                    amdgcn-amd-amdhsa--{name}:sramecc+:xnack-
"""


@pytest.mark.parametrize(
    ("added", "expected"),
    [
        (frozenset(), "x86_64_v4"),
        ({"avx512_bf16"}, "x86_64_v4"),
        ({"avx512_bf16", "avx512_vnni"}, "x86_64_v4"),
        ({"avx512_bf16", "avx512_vnni", "avx512vbmi"}, "x86_64_v4_bf16"),
        ({"avx512_bf16", "avx512_vnni", "avx512vbmi", "amx_tile", "amx_bf16", "amx_int8"}, "x86_64_amx"),
    ],
)
def test_the_cpu_is_the_most_demanding_arch_that_fits(added: set[str], expected: str) -> None:
    assert native.cpu_target(ARCHS, V4 | added, 56) == Target(expected, 56)


def test_a_cpu_below_every_level_is_taken_as_the_least_demanding() -> None:
    assert native.cpu_target(ARCHS, {"sse2"}, 4) == Target("x86_64_v3", 4)


AMX = V4 | {"avx512_bf16", "avx512_vnni", "avx512vbmi", "amx_tile", "amx_bf16", "amx_int8"}


@pytest.mark.parametrize(
    ("model", "sku"),
    [
        ("GenuineIntel 6 207", "emeraldrapids"),
        ("GenuineIntel 6 143", "sapphirerapids"),
        ("GenuineIntel 6 173", ""),
        ("AuthenticAMD 6 207", ""),
        ("", ""),
    ],
)
def test_a_cpu_is_of_the_product_that_cpuid_tells_on_any_number_of_cores(model: str, sku: str) -> None:
    for cores in (1, 2, 96):
        assert native.cpu_target(ARCHS, AMX, cores, model) == Target("x86_64_amx", cores, sku)
    assert native.cpu_target(ARCHS, V4, 2, model) == Target("x86_64_v4", 2)


def test_the_first_processor_is_read(tmp_path: Path) -> None:
    file = tmp_path / "cpuinfo"
    first = "processor\t: 0\nvendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 207\nmodel name\t: A CPU\n"
    file.write_text(first + "flags\t\t: fpu avx2\n\nprocessor : 1\nflags : other\n", encoding="utf-8")
    told = native.cpu_info(file)
    assert (told["flags"], native.cpu_model(told)) == ("fpu avx2", "GenuineIntel 6 207")
    assert native.cpu_info(tmp_path / "missing") == {}


@pytest.mark.parametrize(
    ("name", "units", "expected"),
    [
        ("gfx942", 304, Target("gfx942", 304)),
        ("gfx942", 80, Target("gfx942", 80)),
        ("gfx1100", 96, Target("gfx1100", 48)),
        ("gfx1030", 40, Target("gfx1030", 40)),
        ("gfx942", 0, None),
    ],
)
def test_rocminfo_is_read_as_hip_would_count(name: str, units: int, expected: Target | None) -> None:
    assert native.parse_rocminfo(ROCMINFO.format(name=name, units=units), ARCHS) == expected


def test_rocminfo_names_the_product() -> None:
    text = ROCMINFO.format(name="gfx942", units=304).replace("A product", "AMD Instinct MI325X")
    assert native.parse_rocminfo(text, ARCHS) == Target("gfx942", 304, "mi325x")


def test_without_any_gpu_the_cpu_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(native, "hip_target", lambda archs: None)
    monkeypatch.setattr(native, "rocminfo_target", lambda: None)
    found = native.native_target()
    assert found.gfx in ARCHS
    assert found.cu_num >= 1


def test_a_missing_hip_library_is_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(native, "_LIBRARY", "libno_such_thing.so")
    monkeypatch.setenv("PATH", "")
    assert native.hip_target(ARCHS) is None
    assert native.rocminfo_target() is None

"""Operations of a library called with tensors and run on the emulator, by their names and arguments."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from emulate_support import library_of
from hip_support import shim

from ckgen.build.cache import default_cache
from ckgen.cli.option_values import tuning_or_shipped
from ckgen.families.common.device.unit import Use
from ckgen.model.errors import UsageError
from ckgen.model.target import Target
from ckgen.model.tuned_row import Shape
from ckgen.runtime import InvalidArgument, Library
from ckgen.specs.archs import load_archs
from ckgen.tensors.errors import DeviceMismatch, DTypeMismatch, ShapeMismatch
from ckgen_emulator.choose import Place, choose_kernel
from ckgen_emulator.gemm.kernel import LIBRARY, units_of
from ckgen_emulator.operations import emulated
from ckgen_emulator.operations.wire import Stored, restored, stored

TARGET = Target("gfx942", 304)
KERNEL = "gemm_bf16_ccr_ck_tile_compv3_intrawave_cshuffle_pad111_16x64x64_1x4x1_16x16x16"
"""One that test_emulate.py compiles too."""
M, N, K = 20, 72, 136


def operands() -> tuple[Any, Any]:
    """a [M, K] and b [K, N] of small integers, both in columns, as the kernel reads them."""
    dice = np.random.default_rng(3)
    a, b = (dice.integers(-4, 5, sizes).astype(ml_dtypes.bfloat16) for sizes in ((K, M), (N, K)))
    return a.T, b.T


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Library:
    kernel = choose_kernel(KERNEL, TARGET, Place(tuning_or_shipped(())), load_archs(), default_cache())
    return library_of(units_of(kernel, [Use(Shape(0, M, N, K), 1)]), TARGET, tmp_path_factory.mktemp("operations"))


@pytest.fixture(scope="module")
def gpu(library: Library) -> emulated.Operations:
    found = library.emulated(seed=5)
    assert isinstance(found, emulated.Operations)
    found.hip = shim()
    return found


def test_a_call_goes_between_processes_as_it_is(tmp_path: Path) -> None:
    wide = np.arange(24, dtype=np.float32).reshape(4, 6)
    call = [wide[:, 1:3], (wide.T, None, "gelu"), np.float32(0.5), 3, np.zeros((0, 2), np.int8)]
    sent = json.loads(json.dumps(stored(call, "x", tmp_path)))

    def read(one: Stored) -> Any:
        content = np.frombuffer((tmp_path / one.file).read_bytes(), one.dtype)
        return np.lib.stride_tricks.as_strided(content, one.shape, [one.itemsize * step for step in one.strides])

    gaps, (turned, nothing, word), half, three, empty = restored(sent, read)
    assert np.array_equal(gaps, wide[:, 1:3]) and gaps.strides == (24, 4)
    assert np.array_equal(turned, wide.T) and turned.strides == wide.T.strides
    assert (nothing, word, half, three, empty.shape) == (None, "gelu", 0.5, 3, (0, 2))


class OnGpu:
    """Memory of a GPU."""

    __cuda_array_interface__ = {"data": (4096, False), "shape": (2,), "typestr": "<f4", "version": 3}  # noqa: RUF012


def test_memory_of_a_gpu_is_not_read(tmp_path: Path) -> None:
    with pytest.raises(DeviceMismatch, match="a is on cuda:0, and the emulator reads the CPU's memory: move it"):
        stored(OnGpu(), "a", tmp_path)


@pytest.mark.amd
@pytest.mark.cpp
@pytest.mark.slow
def test_a_kernel_by_its_name_gives_the_product(library: Library, gpu: emulated.Operations) -> None:
    a, b = operands()
    found = gpu.gemm(a, b, instance=KERNEL)
    exact = a.astype(np.float64) @ b.astype(np.float64)
    assert found.dtype == ml_dtypes.bfloat16 and np.array_equal(found, exact.astype(ml_dtypes.bfloat16))
    assert np.array_equal(found, library.gemm(a, b, instance=KERNEL))  # by the twin
    (launch,) = gpu.launches
    assert launch["findings"] == [] and launch["instructions"] > 100


@pytest.mark.amd
@pytest.mark.cpp
@pytest.mark.slow
def test_wrong_calls_are_the_errors_of_a_library(gpu: emulated.Operations) -> None:
    a, b = operands()
    with pytest.raises(UsageError, match="out: an emulated call has memory of its own, and returns its results"):
        gpu.gemm(a, b, out=np.empty((M, N), ml_dtypes.bfloat16))
    with pytest.raises(ShapeMismatch, match="K is 136 of a with shape"):
        gpu.gemm(a, b[:-1])
    with pytest.raises(TypeError, match="unexpected keyword argument 'instances'"):
        gpu.gemm(a, b, instances=KERNEL)
    with pytest.raises(DTypeMismatch, match="'int', no tensor"):
        gpu.gemm(a, 3)
    with pytest.raises(InvalidArgument, match="nobody"):
        gpu.gemm(a, b, instance="nobody")


@pytest.mark.amd
@pytest.mark.cpp
@pytest.mark.slow
def test_what_is_found_and_what_ends_the_process_are_errors(
    gpu: emulated.Operations, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A limit of instructions stands for a wrong kernel: it is a finding like any other."""
    told = emulated.worker_environment

    def limited(*given: Any) -> Mapping[str, str]:
        said = dict(told(*given))
        return {**said, "CKGEN_EMULATOR_OPTIONS": f"{said['CKGEN_EMULATOR_OPTIONS']},most_instructions=100"}

    monkeypatch.setattr(emulated, "worker_environment", limited)
    with pytest.raises(emulated.EmulatorFinding, match=r"1 found: \w+: no_progress: stopped after"):
        gpu.gemm(*operands(), instance=KERNEL)
    source = tmp_path / "crash.cpp"
    source.write_text("#include <cstdlib>\n__attribute__((constructor)) static void crash() { std::abort(); }\n")
    crash = tmp_path / "libcrash.so"
    subprocess.run(["g++", "-shared", "-fPIC", "-o", str(crash), str(source)], check=True)
    monkeypatch.setattr(gpu, "hip", crash)
    with pytest.raises(emulated.EmulatorEnded, match="the process ended with signal SIGABRT"):
        gpu.gemm(*operands(), instance=KERNEL)


@pytest.mark.amd
@pytest.mark.cpp
@pytest.mark.slow
def test_what_cannot_be_emulated_says_why(library: Library) -> None:
    with pytest.raises(UsageError, match="gfx1100 is not emulated: gfx90a, gfx942, gfx950 are"):
        library.emulated("gfx1100:96")
    assert library.source is not None
    without = Library.load(library.source.path, [LIBRARY], str(TARGET))
    with pytest.raises(UsageError, match=r"this library has no GPU code: ckgen.jit\(…, device_code=True\) or"):
        without.emulated()

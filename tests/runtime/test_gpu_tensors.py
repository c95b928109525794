"""Tensors of a GPU, through the mock CUDA driver and a stand-in for torch: streams, workspace, places."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from ckgen.model.target import Target
from ckgen.model.tuned_row import Shape
from ckgen.runtime import InvalidArgument, Library, NoDevice
from ckgen.tensors import DeviceMismatch, OverlappingOutput, StreamMismatch
from device_library import OnDevice, build_on_device
from fake_torch import FakeTorch, aligned

pytestmark = pytest.mark.cpp


class _Launch(ctypes.Structure):
    """MockCudaLaunch, up to what is read."""

    _fields_ = (("symbol", ctypes.c_char * 128), ("grid", ctypes.c_uint * 10), ("stream", ctypes.c_void_p))
    _fields_ = (*_fields_, ("rest", ctypes.c_char * 268))


@dataclass(frozen=True)
class Gpu:
    lib: Library
    torch: FakeTorch
    driver: ctypes.CDLL

    def stream(self) -> int:
        """Of the last launch."""
        self.driver.mock_cuda_last_launch.restype = _Launch
        return self.driver.mock_cuda_last_launch().stream or 0


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> OnDevice:
    return build_on_device(tmp_path_factory.mktemp("gpu"))


@pytest.fixture
def gpu(built: OnDevice, monkeypatch: pytest.MonkeyPatch) -> Iterator[Gpu]:
    torch = FakeTorch()
    monkeypatch.setitem(sys.modules, "torch", torch)  # type: ignore[arg-type]
    for name, value in built.variables.items():
        monkeypatch.setenv(name, value)
    lib = Library.load(built.library, ["good"], device_names=["good_device"])
    driver = ctypes.CDLL(built.variables["CKGEN_CUDA_LIBRARY"])
    yield Gpu(lib, torch, driver)
    driver.mock_cuda_fail(b"", 0)


class OwnedStream:
    """An object that owns a stream, as far as calls ask it. `outlived`: its end, and the launch before it was its."""

    def __init__(self, gpu: Gpu, address: int, outlived: list[bool]) -> None:
        self._gpu, self._address, self._outlived = gpu, address, outlived

    def __cuda_stream__(self) -> tuple[int, int]:
        return 0, self._address

    def __del__(self) -> None:
        self._outlived.append(self._gpu.stream() == self._address)


def operands(torch: FakeTorch, m: int = 24, n: int = 64, k: int = 256) -> tuple[Any, Any, Any]:
    """A, B of n rows, and their product, which bf16 holds exactly."""
    random = np.random.default_rng(5)
    a, w = (random.integers(-1, 2, (rows, k)) for rows in (m, n))
    a_of, w_of = (torch.tensor(one.astype(ml_dtypes.bfloat16)) for one in (a, w))
    return a_of, w_of, (a @ w.T).astype(ml_dtypes.bfloat16)


def test_it_is_the_gpu(gpu: Gpu) -> None:
    assert (gpu.lib.device.is_gpu, gpu.lib.device.target) == (True, str(Target("sm_90a", 132)))


def test_a_call_runs_on_the_current_stream_of_the_tensors_framework(gpu: Gpu) -> None:
    a, w, exact = operands(gpu.torch)
    for stream in (0x1000, 0x2000, 0x3000):  # planned by the first, found again by the others
        gpu.torch.stream = stream
        found = gpu.lib.gemm(a, w.T)
        assert np.array_equal(found.array, exact)
        assert gpu.stream() == stream


def test_a_stream_that_is_given_is_taken(gpu: Gpu) -> None:
    a, w, exact = operands(gpu.torch)
    out = gpu.torch.tensor(np.zeros_like(exact))
    gpu.torch.stream = 0x1000
    for stream in (2, 0x2000, 0x3000):
        out.array[:] = 0
        gpu.lib.gemm(a, w.T, out=out, stream=stream if stream == 2 else SimpleNamespace(cuda_stream=stream))
        assert np.array_equal(out.array, exact)
        assert gpu.stream() == stream
    with pytest.raises(StreamMismatch, match="stream is 'side': give a stream of torch or CuPy"):
        gpu.lib.gemm(a, w.T, out=out, stream="side")


def test_a_stream_outlives_its_call(gpu: Gpu) -> None:
    """Nobody but the call has it: planned, found again, and of a plan that the caller keeps."""
    a, w, exact = operands(gpu.torch, m=26)
    out, outlived = gpu.torch.tensor(np.zeros_like(exact)), list[bool]()
    plan = gpu.lib.plan("gemm_bf16_rcr", shape_of(a, w))
    for address in (0x2000, 0x3000):
        gpu.lib.gemm(a, w.T, out=out, stream=OwnedStream(gpu, address, outlived))
    gpu.lib.run_plan(plan, a=a, b=w.T, out=out, stream=OwnedStream(gpu, 0x4000, outlived))
    assert outlived == [True, True, True]
    for dead in (0x2000, 0x3000):  # what was their address is refused, and the driver is not asked
        with pytest.raises(StreamMismatch, match=f"stream is {dead}, an address alone, whose stream may be gone"):
            gpu.lib.gemm(a, w.T, out=out, stream=dead)
        with pytest.raises(StreamMismatch, match=f"stream is {dead}, an address alone, whose stream may be gone"):
            gpu.lib.run_plan(plan, a=a, b=w.T, out=out, stream=dead)
    assert gpu.stream() == 0x4000


def test_a_stream_that_the_driver_does_not_know_is_a_sentence(gpu: Gpu) -> None:
    """Of an object that vouches for it, or of the tensors' framework; planned, and found again."""
    a, w, exact = operands(gpu.torch, m=25)
    given, fine = (SimpleNamespace(ptr=address) for address in (0x2000, 0x1000))
    out = gpu.torch.tensor(np.zeros_like(exact))
    for error in (400, 709):
        gpu.driver.mock_cuda_fail(b"cuLaunchKernelEx", error)
        with pytest.raises(InvalidArgument, match="stream 0x2000 was destroyed, or is another device's"):
            gpu.lib.gemm(a, w.T, out=out, stream=given)
        gpu.torch.stream = 0x3000
        with pytest.raises(InvalidArgument, match="stream 0x3000 was destroyed, or is another device's"):
            gpu.lib.gemm(a, w.T, out=out)
        gpu.driver.mock_cuda_fail(b"", 0)
        gpu.lib.gemm(a, w.T, out=out, stream=fine)
        assert np.array_equal(out.array, exact)


def test_the_workspace_of_torch_s_tensors_is_torch_s(gpu: Gpu) -> None:
    """The driver's allocator must not be asked while a graph is captured, nor free what the graph writes to."""
    a, w, exact = operands(gpu.torch)
    out = gpu.torch.tensor(np.zeros_like(exact))
    gpu.driver.mock_cuda_fail(b"cuMemAlloc", 900)
    for calls in (1, 2):  # planned, and found again
        out.array[:] = 0
        gpu.lib.gemm(a, w.T, out=out)
        assert np.array_equal(out.array, exact)
        assert len(gpu.torch.made) == calls
    assert gpu.torch.made[0].array.nbytes > 0
    with pytest.raises(NoDevice, match="cuMemAlloc"):  # the pool's, on a stream that may be another
        gpu.lib.gemm(a, w.T, out=out, stream=SimpleNamespace(cuda_stream=0x1000))
    plan = gpu.lib.plan("gemm_bf16_rcr", shape_of(a, w))
    gpu.lib.run_plan(plan, a=a, b=w.T, out=out)
    assert len(gpu.torch.made) == 3
    given = gpu.torch.tensor(aligned(plan.workspace_size, np.int8))
    gpu.lib.gemm(a, w.T, out=out, workspace=given)
    assert len(gpu.torch.made) == 3


def shape_of(a: Any, w: Any) -> Shape:
    return Shape(0, a.shape[0], w.shape[0], a.shape[1])


def test_memory_of_another_place_is_refused(gpu: Gpu) -> None:
    a, w, exact = operands(gpu.torch)
    for wrong, where in (("cpu", "the CPU"), ("cuda:1", "cuda:1")):
        other = gpu.torch.tensor(w.array, wrong)
        with pytest.raises(DeviceMismatch, match=f"b is on {where}, and the memory of GPU 0, sm_90a:132"):
            gpu.lib.gemm(a, other.T)
    with pytest.raises(DeviceMismatch, match="out is on the CPU"):
        gpu.lib.gemm(a, w.T, out=np.zeros_like(exact))
    gpu.lib.use("sm_90a:132")
    with pytest.raises(DeviceMismatch, match=r"out is on cuda:0, and CPU memory, as sm_90a:132 \(simulated\) reads it"):
        gpu.lib.gemm(a, w.T)
    gpu.lib.use(None)
    assert np.array_equal(gpu.lib.gemm(a, w.T).array, exact)


def test_a_result_that_overlaps_is_refused_each_time(gpu: Gpu) -> None:
    a, w, _ = operands(gpu.torch, m=64, n=256)
    whole = np.zeros((128, 256), ml_dtypes.bfloat16)
    whole[:64] = a.array
    apart = gpu.torch.tensor(whole[64:]), gpu.torch.tensor(whole[:64])
    gpu.lib.gemm(apart[1], w.T, out=apart[0])
    with pytest.raises(OverlappingOutput):
        gpu.lib.gemm(apart[1], w.T, out=gpu.torch.tensor(whole[32:96]))

"""Kernels of a GPU, measured through the mock driver: their memory is this process's, and each call takes a
millisecond."""

from __future__ import annotations

import ctypes
import subprocess
from pathlib import Path

import pytest

from ckgen.measure import environment
from ckgen.measure.conditions import Conditions
from ckgen.measure.model import Candidate, Effort, MeasureStatus
from ckgen.measure.rows import Setting
from ckgen.model.errors import CkgenError
from device_library import OnDevice, build_on_device

pytestmark = pytest.mark.cpp

BRIEF = Effort(seconds=0.5, least=2, most=3, sample=0.002)


@pytest.fixture(scope="module")
def device(tmp_path_factory: pytest.TempPathFactory) -> OnDevice:
    return build_on_device(tmp_path_factory.mktemp("device"))


@pytest.fixture(autouse=True)
def _driver(device: OnDevice, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in device.variables.items():
        monkeypatch.setenv(name, value)


def test_right_kernels_are_verified_and_timed_by_the_device_s_events(device: OnDevice) -> None:
    with device.measurer() as measurer:
        found = measurer.measure(device.problem(), device.good, BRIEF)
        where = measurer.environment()
    assert [one.status for one in found] == [MeasureStatus.OK] * len(device.good)
    assert [(one.median_us, one.max_rel) for one in found] == [(1000.0, 0.0)] * len(device.good)
    assert all(one.checked == 24 * 64 for one in found)
    assert (where.device, where.driver, where.target, where.threads) == ("Mock 0", "CUDA 13000", "sm_90a:132", 1)


BAD = (
    ("crashes", MeasureStatus.CRASHED, "SIGABRT"),
    ("loops", MeasureStatus.HUNG, "no answer after 1 s"),
    ("writes_beside", MeasureStatus.OUT_OF_BOUNDS, "byte 3172 was written"),
    ("writes_a", MeasureStatus.OUT_OF_BOUNDS, "an operand or beside it were written"),
    ("gives_garbage", MeasureStatus.WRONG, "of 1536 wrong"),
    ("does_nothing", MeasureStatus.WRONG, "of 1536 wrong"),
)


def test_kernels_that_misbehave_are_rows_and_the_others_are_measured(device: OnDevice) -> None:
    bad = [device.candidates[act] for act, _, _ in BAD]
    with device.measurer() as measurer:
        *found, good = measurer.measure(device.problem(), [*bad, device.good[0]], BRIEF)
    assert good.status is MeasureStatus.OK
    for (act, status, reason), one in zip(BAD, found, strict=True):
        assert (act, one.status) == (act, status) and reason in one.reason


@pytest.mark.parametrize(
    ("conditions", "sets", "us"),
    [
        (Conditions(warmup=2, flush=True), 1, 1000.0),
        (Conditions(warmup=2, rotating=3, graph=True), 3, 500.0),
        (Conditions(warmup=2, flush=True, graph=True), 1, 500.0),
    ],
)
def test_caches_are_swept_or_operands_take_turns_call_by_call_or_in_a_graph(
    device: OnDevice, conditions: Conditions, sets: int, us: float
) -> None:
    """A kernel of a graph takes the mock half as long where the graph is replayed, but not at its first launch."""
    asked = (*device.good[:2], device.candidates["gives_garbage"])
    with device.measurer(conditions) as measurer:
        found = measurer.compare(device.problem(), asked, (), BRIEF)
    assert [found.outcome(one).median_us for one in asked] == [us, us, 0.0] and found.sets == sets


@pytest.fixture
def nvml(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    library, source = tmp_path / "libfake.so", Path(__file__).with_name("fake_nvml.cpp")
    subprocess.run(["g++", "-std=c++17", "-shared", "-fPIC", str(source), "-o", str(library)], check=True)
    monkeypatch.setattr(environment, "_nvml", lambda: ctypes.CDLL(str(library)))


@pytest.mark.usefixtures("nvml")
def test_each_of_several_gpus_has_a_process_and_a_clock_of_its_own(device: OnDevice) -> None:
    """The mock's fifth is of the target too, its second is not."""
    with device.measurer(gpu=0) as first, device.measurer(gpu=4) as fifth, device.measurer(gpu=1) as other:
        found = [one.measure(device.problem(), device.good[:1], BRIEF)[0].status for one in (first, fifth)]
        assert found == [MeasureStatus.OK] * 2
        for one, name, number in ((first, "Mock 0", 0), (fifth, "NVIDIA H200", 4)):
            told = Setting(one.environment(), one.conditions, BRIEF, device.library).document()
            assert (told["device"], told["driver"]) == (name, "580.1, CUDA 13000")
            assert (told["bus"], told["mhz"]) == (f"0000:1{number}:00.0", 1000.0 + number)
        with pytest.raises(CkgenError, match="sm_90a:132: the current GPU of this process"):
            other.measure(device.problem(), device.good[:1], BRIEF)


def test_another_gpu_is_refused(device: OnDevice, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CKGEN_CUDA_LIBRARY", "none")
    with device.measurer() as measurer, pytest.raises(CkgenError, match=r"sm_90a:132: the current GPU of this process"):
        measurer.measure(device.problem(), [Candidate("any")], BRIEF)


@pytest.fixture(scope="module")
def cublaslt(tmp_path_factory: pytest.TempPathFactory) -> Path:
    library = tmp_path_factory.mktemp("cublaslt") / "libfake.so"
    source = Path(__file__).with_name("fake_cublaslt.cpp")
    subprocess.run(["g++", "-std=c++17", "-O1", "-shared", "-fPIC", str(source), "-o", str(library)], check=True)
    return library


@pytest.mark.parametrize(
    ("named", "act", "said"),
    [
        ("", "", ""),
        ("", "wrong", "its result is not the same"),
        ("/no/such/file.so", "", "/no/such/file.so: cannot open"),
    ],
)
def test_cublaslt_is_verified_and_takes_turns_where_its_library_is_there(
    device: OnDevice, cublaslt: Path, monkeypatch: pytest.MonkeyPatch, named: str, act: str, said: str
) -> None:
    monkeypatch.setenv("CKGEN_CUBLASLT", named or str(cublaslt))
    monkeypatch.setenv("CKGEN_FAKE_CUBLASLT", act)
    with device.measurer(Conditions(warmup=2, rotating=2)) as measurer:
        found = measurer.compare(device.problem(), device.good[:2], ("cublaslt", "numpy"), BRIEF)
    (theirs, cpus) = found.peers()
    assert all(found.outcome(one).status is MeasureStatus.OK for one in device.good[:2])
    assert said in theirs.reason and cpus.reason == "it is a peer of CPUs"
    assert theirs.name == ("cublaslt" if named else "cuBLASLt 130100, first answer")
    assert (theirs.runs > 0) == (not said) and (theirs.max_rel == 0.0) == (act != "wrong")

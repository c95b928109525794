"""The order of a preshuffled B from Python: the permutation, its inverse, its number, its refusals."""

from __future__ import annotations

import subprocess

import numpy as np
import pytest

from ckgen.families.common.storage import encode
from ckgen.families.gemm.reference import preshuffle
from ckgen.model.dtype import DType
from ckgen.runtime import RuntimeFailure, RuntimeLibrary
from cpp_build import SYSTEM_LIBRARIES, dispatcher_archive

pytestmark = pytest.mark.cpp

PRESHUFFLED = [
    DType.INT8, DType.FP16, DType.BF16, DType.FP8_FNUZ, DType.FP8_OCP, DType.BF8_FNUZ, DType.BF8_OCP, DType.FP4,
]  # fmt: skip


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> RuntimeLibrary:
    """ckgen's own library without a generated one."""
    place = tmp_path_factory.mktemp("preshuffle") / "libckgen.so"
    archive = dispatcher_archive()
    whole = ["-Wl,--whole-archive", str(archive), "-Wl,--no-whole-archive", *SYSTEM_LIBRARIES]
    subprocess.run(["g++", "-shared", "-o", str(place), *whole], check=True)
    return RuntimeLibrary(place)


@pytest.mark.parametrize("dtype", PRESHUFFLED, ids=str)
@pytest.mark.parametrize(("n", "k"), [(16, 64), (48, 320)])
def test_every_type_there_and_back(library: RuntimeLibrary, dtype: DType, n: int, k: int) -> None:
    values = np.random.default_rng(n).integers(0, 2, (n, k)).astype(np.float64)
    rows = np.ascontiguousarray(encode(values, dtype)).view(np.uint8).reshape(n, -1)
    if dtype is DType.FP4:
        rows = rows[:, 0::2] | rows[:, 1::2] << 4
    assert rows.shape[1] == k * dtype.bits // 8
    shuffled = library.preshuffle_b(rows.tobytes(), n)
    assert shuffled == preshuffle(rows[None])[0].tobytes() != rows.tobytes()
    assert library.unpreshuffle_b(shuffled, n) == rows.tobytes()


def test_the_order_has_a_number(library: RuntimeLibrary) -> None:
    rows = bytes(range(256)) * 2
    assert library.preshuffle_layout() == 1
    assert library.preshuffle_b(rows, 16) == library.preshuffle_b(rows, 16, layout=library.preshuffle_layout())
    for call in (library.preshuffle_b, library.unpreshuffle_b):
        with pytest.raises(RuntimeFailure, match="layout 1 only"):
            call(rows, 16, layout=2)


@pytest.mark.parametrize(("size", "n"), [(512, 15), (510, 16), (16 * 48, 16), (512, 0), (512, -16)])
def test_what_is_no_whole_block_is_refused(library: RuntimeLibrary, size: int, n: int) -> None:
    for call in (library.preshuffle_b, library.unpreshuffle_b):
        with pytest.raises(RuntimeFailure, match="n must be a multiple of 16 and row_bytes one of 32"):
            call(bytes(size), n)

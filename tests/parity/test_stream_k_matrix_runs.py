"""Host twins compute the smallest problems of the stream-K matrix within its bounds, in every type and reduction."""

from __future__ import annotations

import pytest

from ckgen.runtime import Options, RuntimeLibrary
from runtime_build import load_generated
from stream_k_matrix import NAME, cases, matrix_plan, run

pytestmark = [pytest.mark.cpp, pytest.mark.slow]


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> RuntimeLibrary:
    return load_generated(matrix_plan(), NAME, tmp_path_factory.mktemp("matrix"))


def test_the_smallest_shape_in_every_type_and_reduction(library: RuntimeLibrary) -> None:
    """All shapes and layouts: `python tests/stream_k_matrix.py`."""
    for case in cases(shapes=[(256, 256, 256)], layouts=["rcr", "crr"]):
        result = run(library, case)
        assert result.ok, (case, result)
        assert result.instance.endswith(f"_streamk_{case.reduction}")


def test_a_twin_of_an_atomic_kernel_keeps_two_slices_for_each_workgroup(library: RuntimeLibrary) -> None:
    """On the GPU it has no workspace."""
    name = "gemm_fp16_rcr_ck_tile_compv3_intrawave_cshuffle_pad111_128x128x64_2x2x1_32x32x16_streamk_atomic"
    problem = library.problem("fp16", 1024, 1024, 1024)
    plan = library.dispatcher([NAME], Options()).plan(problem, library.simulated("gfx942:304"), name)
    slices = 2 * 304 * 128 * 128 * 4
    assert slices <= plan.workspace_size < slices * 1.2  # rows of a slice are padded to whole register tiles

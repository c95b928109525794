"""Weights packed once, from Python: the bytes that a definition in NumPy gives, products of them, what is refused."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from ckgen.runtime import RuntimeFailure, RuntimeLibrary
from cpp_build import SYSTEM_LIBRARIES, dispatcher_archive

pytestmark = pytest.mark.cpp

TYPES = {"fp32": np.float32, "bf16": np.uint16, "fp16": np.float16, "int8": np.int8}
SIGNATURES = {
    "fp32": "gemm_fp32_{layout}", "bf16": "gemm_bf16_{layout}", "fp16": "gemm_fp16_{layout}",
    "int8": "gemm_int8_int32_{layout}",
}  # fmt: skip


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> RuntimeLibrary:
    """ckgen's own library without a generated one."""
    place = tmp_path_factory.mktemp("prepack") / "libckgen.so"
    archive = dispatcher_archive()
    whole = ["-Wl,--whole-archive", str(archive), "-Wl,--no-whole-archive", *SYSTEM_LIBRARIES]
    subprocess.run(["g++", "-shared", "-o", str(place), *whole], check=True)
    return RuntimeLibrary(place)


def panels_of(b: npt.NDArray[Any]) -> bytes:
    """[ceil(N/16)][words][16] of 32-bit words, from B as [batch][N][K]."""
    batch, n, k = b.shape
    per_word = 4 // b.itemsize
    padded = np.zeros((batch, -(-n // 16) * 16, -(-k // per_word) * per_word), b.dtype)
    padded[:, :n, :k] = b
    in_words = padded.reshape(batch, padded.shape[1] // 16, 16, padded.shape[2] // per_word, per_word)
    return in_words.transpose(0, 1, 3, 2, 4).tobytes()


@pytest.mark.parametrize("name", TYPES)
@pytest.mark.parametrize("layout", ["rcr", "rrr"])
@pytest.mark.parametrize(("batch", "n", "k"), [(1, 16, 64), (3, 33, 37), (1, 1, 1), (1, 5, 0)])
def test_a_packed_b_is_what_its_definition_says(
    library: RuntimeLibrary, name: str, layout: str, batch: int, n: int, k: int
) -> None:
    random = np.random.default_rng(n)
    b = random.integers(-100, 100, (batch, n, k)).astype(TYPES[name])
    stored = b if layout == "rcr" else b.transpose(0, 2, 1)
    signature = SIGNATURES[name].format(layout=layout)
    packed = library.pack_b(signature, stored.tobytes(), n, k, batch=batch)
    assert len(packed) == library.packed_b_bytes(signature, n, k, batch=batch)
    assert bytes(packed[64:]) == panels_of(b)
    assert np.frombuffer(packed, np.uint8).ctypes.data % 64 == 0
    library.check_packed_b(signature, packed, n, k, batch=batch)


def test_what_is_wrong_with_a_packed_b_is_said(library: RuntimeLibrary, tmp_path: Path) -> None:
    packed = library.pack_b("gemm_fp32_rcr", np.ones((20, 30), np.float32).data, 20, 30)
    stored = tmp_path / "weights"
    stored.write_bytes(packed)
    library.check_packed_b("gemm_fp32_rcr", stored.read_bytes(), 20, 30)
    with pytest.raises(RuntimeFailure, match="N=20 K=30 batch=1, and N=30 K=20 batch=1 is wanted"):
        library.check_packed_b("gemm_fp32_rcr", packed, 30, 20)
    with pytest.raises(RuntimeFailure, match="of type fp32, and bf16 is wanted"):
        library.check_packed_b("gemm_bf16_rcr", packed, 20, 30)
    with pytest.raises(RuntimeFailure, match="is no packed B"):
        library.check_packed_b("gemm_fp32_rcr", b"", 20, 30)
    with pytest.raises(ValueError, match="is 3904 bytes, and 3903 are given"):
        library.check_packed_b("gemm_fp32_rcr", packed[:-1], 20, 30)
    packed[40] ^= 1
    with pytest.raises(RuntimeFailure, match="damaged"):
        library.check_packed_b("gemm_fp32_rcr", packed, 20, 30)


def test_what_is_not_packed_is_refused_with_what_to_do(library: RuntimeLibrary) -> None:
    with pytest.raises(RuntimeFailure, match=r"B of type fp8_ocp is not prepacked .*: pass it as it is"):
        library.packed_b_bytes("gemm_fp8_ocp_bf16_rcr_rowwise", 16, 16)
    with pytest.raises(ValueError, match="is 2400 bytes without gaps, and 4 are given"):
        library.pack_b("gemm_fp32_rcr", bytes(4), 20, 30)

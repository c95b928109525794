"""Any attention signature, Config and size, for property tests."""

from __future__ import annotations

from hypothesis import strategies as st

from ckgen.families.fmha.config import CkTileFmhaConfig, FmhaPipeline
from ckgen.families.fmha.enums import (
    FmhaBias,
    FmhaCorner,
    FmhaDropout,
    FmhaEntry,
    FmhaKv,
    FmhaKvLayout,
    FmhaQuant,
    FmhaRope,
    FmhaTraits,
)
from ckgen.families.fmha.hip_config import HipFmhaConfig
from ckgen.families.fmha.host_config import HostFmhaConfig
from ckgen.families.fmha.signature import FmhaSignature
from ckgen.model.config import Tile
from ckgen.model.dtype import DType
from ckgen.model.fmha_shape import FmhaShape

ANY_TRAITS = st.builds(
    FmhaTraits,
    st.sampled_from(FmhaEntry), st.booleans(), st.booleans(), st.booleans(), st.sampled_from(FmhaBias), st.booleans(),
    st.booleans(), st.booleans(), st.sampled_from(FmhaDropout), st.sampled_from(FmhaQuant), st.sampled_from(FmhaKv),
    st.sampled_from(FmhaKvLayout), st.sampled_from(FmhaRope),
)  # fmt: skip
ANY_SIGNATURES = st.builds(FmhaSignature, *[st.sampled_from(DType)] * 3, ANY_TRAITS)

_SIZE = st.integers(1, 512)
TILE_CONFIGS = st.builds(
    CkTileFmhaConfig,
    st.sampled_from(FmhaPipeline), _SIZE, _SIZE, _SIZE, _SIZE, _SIZE, _SIZE, st.tuples(_SIZE, _SIZE, _SIZE),
    st.builds(Tile, _SIZE, _SIZE, _SIZE), st.booleans(), st.booleans(), st.booleans(), st.booleans(), st.integers(0, 4),
)  # fmt: skip
HOST_CONFIGS = st.builds(HostFmhaConfig, _SIZE, _SIZE, st.integers(0, 64))
DECODE_CONFIGS = st.builds(HipFmhaConfig, _SIZE, _SIZE, _SIZE, _SIZE)
ANY_CONFIGS = st.one_of(TILE_CONFIGS, DECODE_CONFIGS, HOST_CONFIGS)

_LENGTH = st.sampled_from([-1, 0, 1, 7, 64, 100, 128, 384, 4096, 2**31 - 1, 2**31])
_HEADS = st.sampled_from([0, 1, 2, 8, 32, 65535, 65536])
_HEAD_DIM = st.sampled_from([0, 1, 8, 36, 64, 96, 128, 192, 256, 257])
_WINDOW = st.sampled_from([-2, -1, 0, 3, 127, 128, 1 << 20])
SHAPES = st.builds(
    FmhaShape,
    _LENGTH, _HEADS, _HEADS, _LENGTH, _LENGTH, _HEAD_DIM, _HEAD_DIM, st.sampled_from(FmhaCorner), _WINDOW, _WINDOW,
    _WINDOW, st.sampled_from([0, 1, 16, 2048, 2049]), _LENGTH, _LENGTH,
)  # fmt: skip

from __future__ import annotations

import pytest
from fmha_strategies import ANY_CONFIGS, ANY_SIGNATURES
from hypothesis import given

from ckgen.families.common.cpp import identifier
from ckgen.families.fmha.append_config import CkTileAppendConfig, HipAppendConfig
from ckgen.families.fmha.config import CkTileFmhaConfig
from ckgen.families.fmha.grammar import AnyFmhaConfig, describe_config, parse_config, parse_instance_name
from ckgen.families.fmha.signature import FmhaSignature
from ckgen.families.registry import make_instance
from ckgen.model.backend import Backend


@given(ANY_SIGNATURES, ANY_CONFIGS)
def test_the_name_of_an_instance_says_all_of_it(signature: FmhaSignature, config: AnyFmhaConfig) -> None:
    name = make_instance(signature, config, ["gfx942"]).name
    assert parse_instance_name(name) == (signature, config.backend, config)
    assert identifier(name) == name


@given(ANY_CONFIGS, ANY_CONFIGS)
def test_no_two_configs_of_a_backend_share_a_text(one: AnyFmhaConfig, other: AnyFmhaConfig) -> None:
    same = (one.backend, one.text()) == (other.backend, other.text())
    assert same == (one == other)


@pytest.mark.parametrize(
    "name",
    [
        "fmha_bf16",
        "fmha_bf16_host_16x64",
        "fmha_bf16_host_016x64_t0",
        "fmha_bf16_hip_decode_16x128_128",
        "gemm_bf16_rcr_host_16x64_t0",
        "fmha_bf16_ck_tile_qr_pad111_128x128x32x128x32x128_4x1x1_32x32x16",
        "fmha_bf16_ck_tile_qr_pad1111_128x128x32x128x32x128_4x1x1_32x32x16_bpc0",
    ],
)
def test_what_is_no_name_is_none(name: str) -> None:
    assert parse_instance_name(name) is None


def test_each_backend_has_configs_of_its_own() -> None:
    text = "qr_async_pad1111_128x128x32x192x32x192_4x1x1_32x32x16_bpc1"
    config = parse_config(Backend.CK_TILE, text)
    assert isinstance(config, CkTileFmhaConfig) and (config.block_per_cu, config.n1) == (1, 192)
    assert all(parse_config(backend, text) is None for backend in (Backend.CK, Backend.HIP, Backend.HOST))


def test_the_forms_for_people() -> None:
    assert describe_config(Backend.HOST) == "<m0>x<n0>_t<threads>"
    assert describe_config(Backend.HIP) == (
        "decode_<m0>x<n0>_<hdim_q>x<hdim_v>, or append_<rows> or fwd_<m0>x<n0>x<hdim> or bwd_<m0>x<n0>x<hdim>"
    )
    assert describe_config(Backend.CK_TILE) == (
        "<qr|qr_async|qr_async_trload|qr_pagedkv|qr_splitkv|qr_splitkv_merged|qr_async_gather>_"
        "pad<pad_q><pad_k><pad_hdim_q><pad_hdim_v>_"
        "<m0>x<n0>x<k0>x<n1>x<k1>x<k0_max>_<M>x<N>x<K>_<M>x<N>x<K>[_bpc<block_per_cu>]"
        ", or append_pad<pad_q>1<pad_hdim_q><pad_hdim_v>_<m0>x<n0>x<hdim>"
        " or bwd_pad<0|8|1>_<m0>x<n0>x<k4>x<hdim>_<dq_waves>[_grouped][_ordered]"
    )


def test_configs_that_append_have_forms_of_their_own() -> None:
    tile, ours = CkTileAppendConfig(64, 64, 128, False, True, False), HipAppendConfig(8)
    assert tile.text() == "append_pad0110_64x64x128" and parse_config(Backend.CK_TILE, tile.text()) == tile
    assert ours.text() == "append_8" and parse_config(Backend.HIP, ours.text()) == ours
    assert parse_config(Backend.CK_TILE, "append_pad0010_64x64x128") is None

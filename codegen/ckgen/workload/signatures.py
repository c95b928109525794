"""Which signature computes a layer, by the model's types and its quantization."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ckgen.workload.layer import Attention, Experts, Layer, Product
from ckgen.workload.model_config import ModelConfig

_TYPES: Mapping[str, str] = {"bfloat16": "bf16", "float16": "fp16", "float32": "fp32"}
_PRODUCTS: Mapping[str, str] = {"fp8": "a8w8:fp8", "fp8 blocks": "a8w8_blockscale"}
_UNQUANTIZED_PRODUCTS = ("", "mxfp4")
"""Of the quantizations those that leave products as they are."""
_EXPERTS: Mapping[str, str] = {
    "": "moe_{type}_rcr_preshuffle_layer_gated_epi_silu",
    "fp8": "moe_fp8_{type}_rcr_rowwise_preshuffle_layer_gated_epi_silu",
    "fp8 blocks": "moe_fp8_{type}_rcr_blockscale_preshuffle_layer_gated_epi_silu",
}


@dataclass(frozen=True, slots=True)
class Spelled:
    """What the caller says of quantized products and of experts; empty: as the config says."""

    product: str = ""
    experts: str = ""


def signature_of(model: ModelConfig, layer: Layer, spelled: Spelled) -> str:
    """A text of a signature, with plain fp8 for the target's own; empty for attention, whose sizes M does not tell, and
    where neither the config nor the caller says how the weights are quantized.
    """
    match layer.work:
        case Attention():
            return ""
        case Experts():
            return spelled.experts or _experts(model)
        case Product():
            return _product(model, layer, layer.work, spelled.product)


def _product(model: ModelConfig, layer: Layer, product: Product, spelled: str) -> str:
    quantization = quantization_of(model)
    if layer.quantized and spelled:
        return spelled
    if layer.quantized and quantization in _PRODUCTS:
        return _PRODUCTS[quantization]
    if layer.quantized and quantization not in _UNQUANTIZED_PRODUCTS:
        return ""
    batched = "_batched" if product.batch else ""
    return f"gemm_{_type(model)}_rcr{batched}{'_bias' if product.bias else ''}"


def _experts(model: ModelConfig) -> str:
    quantization = quantization_of(model)
    return _EXPERTS.get(quantization, "").format(type=_type(model))


def quantization_of(model: ModelConfig) -> str:
    """The config's own word for it, `fp8 blocks` where weights have scales by blocks; empty where there is none."""
    method = str(model.quantization.get("quant_method", ""))
    return "fp8 blocks" if method == "fp8" and model.quantization.get("weight_block_size") else method


def _type(model: ModelConfig) -> str:
    said = model.values.get("dtype", model.values.get("torch_dtype", "bfloat16"))
    if said not in _TYPES:
        raise model.wrong(f"unknown type {said!r}", "dtype" if "dtype" in model.values else "torch_dtype")
    return _TYPES[str(said)]

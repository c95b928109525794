"""Linear layers of vLLM through ckgen: weights become e4m3 with a scale per row when they are loaded, inputs with one
per token in each call.

`register` is a plugin of vLLM: it makes quantization="ckgen" known. As a program, it checks the layer without vLLM.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

import ckgen
import ckgen.torch

FP8 = torch.float8_e4m3fn
SIGNATURE = "gemm_fp8_ocp_bf16_rcr_rowwise"


def library() -> ckgen.Library:
    """The product on this machine's GPU or CPU: built by the first process that asks, loaded by the others."""
    return ckgen.jit(["gemm"], "native", signatures=[SIGNATURE], device_code=torch.cuda.is_available())


def quantised(rows: Tensor) -> tuple[Tensor, Tensor]:
    """Codes, and fp32 scales [rows, 1] that bring each row's largest magnitude to the type's."""
    scale = rows.float().abs().amax(-1, keepdim=True).clamp_min(1e-12) / torch.finfo(FP8).max
    return (rows.float() / scale).to(FP8), scale


def linear(x: Tensor, weight: Tensor, weight_scale: Tensor, bias: Tensor | None = None) -> Tensor:
    """x [..., K] by weight [N, K] of e4m3, as bf16 [..., N]."""
    codes, scale = quantised(x.reshape(-1, x.shape[-1]))
    out = ckgen.torch.gemm(codes, weight.T, a_scale=scale, b_scale=weight_scale, quant="rowwise")
    out = out.reshape(*x.shape[:-1], weight.shape[0])
    return out if bias is None else out + bias


def register(lib: ckgen.Library | None = None) -> None:
    """Makes quantization="ckgen" known to the vLLM that is installed. lib: that answers, in place of `library`."""
    from vllm.model_executor.layers.linear import LinearBase, UnquantizedLinearMethod
    from vllm.model_executor.layers.quantization import register_quantization_config
    from vllm.model_executor.layers.quantization.base_config import QuantizationConfig

    class LinearMethod(UnquantizedLinearMethod):  # weights are loaded as they are in the checkpoint, in 16 bits
        def process_weights_after_loading(self, layer: torch.nn.Module) -> None:
            for name, one in zip(("weight", "weight_scale"), quantised(layer.weight.data), strict=True):
                setattr(layer, name, torch.nn.Parameter(one, requires_grad=False))

        def apply(self, layer: torch.nn.Module, x: Tensor, bias: Tensor | None = None) -> Tensor:
            return linear(x, layer.weight, layer.weight_scale, bias)

    @register_quantization_config("ckgen")
    class Config(QuantizationConfig):
        def get_name(self) -> str:
            return "ckgen"

        def get_supported_act_dtypes(self) -> list[torch.dtype]:
            return [torch.bfloat16]

        @classmethod
        def get_min_capability(cls) -> int:
            return 90

        @staticmethod
        def get_config_filenames() -> list[str]:
            return []

        @classmethod
        def from_config(cls, config: dict[str, Any]) -> Config:
            return cls()

        def get_quant_method(self, layer: torch.nn.Module, prefix: str) -> LinearMethod | None:
            return LinearMethod() if isinstance(layer, LinearBase) else None

    ckgen.torch.use(lib or library())


def main() -> None:
    """A layer against the product of what was quantised, in fp64."""
    ckgen.torch.use(library())
    torch.manual_seed(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    x, w = torch.randn(2, 5, 256, device=device).bfloat16(), torch.randn(64, 256, device=device).bfloat16()
    codes, scale = quantised(w)
    (xq, xs), found = quantised(x), linear(x, codes, scale).double()
    exact = (xq.double() * xs.double()) @ (codes.double() * scale.double()).T
    worst = ((found - exact).abs() / exact.abs().amax()).max().item()
    print(f"{'correct' if worst < 2**-7 else 'wrong'}: {found.numel()} results, off by {worst:.1e} of the largest")


if __name__ == "__main__":
    main()

"""The example of a linear layer of vLLM: the layer alone, and in vLLM where that is installed."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import pytest
import torch
from torch import Tensor

import ckgen.torch
from calls_library import library_on
from ckgen.torch import state
from cpp_build import ROOT

pytestmark = pytest.mark.cpp
FILE = ROOT / "examples/13_vllm/ckgen_vllm.py"


@pytest.fixture
def example() -> Iterator[ModuleType]:
    spec = importlib.util.spec_from_file_location("ckgen_vllm", FILE)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    yield module
    state._library = None


def near(example: Any, found: Tensor, x: Tensor, w: Tensor) -> bool:
    """Within a sum in fp32 and one rounding of the product of what was quantised."""
    xq, wq = (codes.double() * scale.double() for codes, scale in map(example.quantised, (x, w)))
    exact, most = xq @ wq.T, xq.abs() @ wq.abs().T
    return bool(((found.double() - exact).abs() <= (x.shape[-1] + 8) * 2.0**-24 * most + 2.0**-8 * exact.abs()).all())


def test_the_layer_is_its_definition(example: Any) -> None:
    ckgen.torch.use(library_on("cpu"))
    torch.manual_seed(3)
    x, w, bias = torch.randn(2, 5, 128).bfloat16(), torch.randn(48, 128).bfloat16(), torch.randn(48).bfloat16()
    codes, scale = example.quantised(w)
    assert (codes.dtype, scale.shape) == (torch.float8_e4m3fn, (48, 1))
    # a rounding to e4m3 is off by 2^-4 of a normal number, by 2^-10 of what is smaller
    assert ((codes.float() * scale - w.float()).abs() <= 2.0**-4 * w.float().abs() + 2.0**-10 * scale).all()
    found = example.linear(x, codes, scale)
    assert found.shape == (2, 5, 48) and near(example, found.flatten(0, 1), x.flatten(0, 1), w)
    assert torch.equal(example.linear(x, codes, scale, bias), found + bias)


def test_it_runs_as_its_readme_says(
    example: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """But for the build of its library."""
    readme = FILE.with_name("README.md").read_text()
    assert f"\npython {FILE.relative_to(ROOT)}\n" in readme and 'ckgen = "ckgen_vllm:register"\n' in readme
    asked: dict[str, Any] = {}
    monkeypatch.setattr(ckgen, "jit", lambda *ops, **more: asked.update(more) or library_on("cpu"))
    example.main()
    assert asked == {"signatures": ["gemm_fp8_ocp_bf16_rcr_rowwise"], "device_code": False}
    assert capsys.readouterr().out.startswith("correct: 640 results, off by ")


def test_vllm_s_layers_take_it(example: Any) -> None:
    """A stand-in for vLLM would prove nothing: without it this is left out."""
    pytest.importorskip("vllm")
    from vllm.config import VllmConfig, set_current_vllm_config
    from vllm.distributed import init_distributed_environment, initialize_model_parallel
    from vllm.model_executor.layers.linear import MergedColumnParallelLinear
    from vllm.model_executor.layers.quantization import get_quantization_config

    example.register(library_on("cpu"))
    config = get_quantization_config("ckgen").from_config({})
    with set_current_vllm_config(VllmConfig()):
        init_distributed_environment(1, 0, "tcp://127.0.0.1:29511", 0, "gloo")
        initialize_model_parallel(1, 1)
        layer = MergedColumnParallelLinear(128, [64, 32], bias=False, params_dtype=torch.bfloat16, quant_config=config)
        w, x = torch.randn(96, 128).bfloat16(), torch.randn(7, 128).bfloat16()
        layer.weight.data.copy_(w)
        layer.quant_method.process_weights_after_loading(layer)
        assert layer.weight.dtype is torch.float8_e4m3fn and near(example, layer(x)[0], x, w)

"""The layers of a model on one rank of a tensor-parallel group, by the rules of vLLM's parallel linear layers.

Source: vllm/model_executor/layers/linear.py (column-parallel outputs and row-parallel inputs are divided, heads of K
and V are repeated where ranks outnumber them), vocab_parallel_embedding.py (vocabularies are padded to 64), and
vllm/model_executor/models/ for what each model fuses.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from ckgen.model.errors import InputError
from ckgen.workload.architecture import AttentionKind
from ckgen.workload.layer import Attention, Experts, Layer, Product
from ckgen.workload.model_config import ModelConfig

_VOCABULARY_MULTIPLE = 64


@dataclass(frozen=True, slots=True)
class Parallel:
    """How a model is divided: `tp` ranks; `ep` gives experts to ranks whole, else each is cut along its intermediate
    size; `fuse_shared` counts shared experts among the routed ones, as servers on AMD devices do.
    """

    tp: int
    ep: bool = False
    fuse_shared: bool = False


def layers_of(model: ModelConfig, parallel: Parallel) -> tuple[Layer, ...]:
    """Each distinct layer of a rank, in the order in which a token meets them.

    InputError M003 for a config that lacks a size, M004 for sizes that the ranks cannot share.
    """
    return tuple(_Rank(model, parallel.tp, parallel).layers())


@dataclass(frozen=True, slots=True)
class _Rank:
    model: ModelConfig
    tp: int
    parallel: Parallel

    def layers(self) -> Iterator[Layer]:
        full, linear = self._attention_layers()
        if full:
            yield from self._latent(full) if self.model.architecture.attention is AttentionKind.MLA else self._gqa(full)
        if linear:
            yield from self._linear_attention(linear)
        yield from self._mlps(full + linear)
        yield self._head()

    def _share(self, size: int, key: str) -> int:
        if size % self.tp:
            raise self._unshared(f"{key} of {size:,} is no multiple of {self.tp} ranks", key)
        return size // self.tp

    def _unshared(self, message: str, key: str) -> InputError:
        return self.model.wrong(message, key, code="M004", hint="leave this number of ranks out of --tp")

    @property
    def _hidden(self) -> int:
        return self.model.size("hidden_size")

    def _attention_layers(self) -> tuple[int, int]:
        """Layers of attention over keys, and of gated delta rules."""
        layers = self.model.size("num_hidden_layers")
        if not self.model.architecture.linear_attention:
            return layers, 0
        types = self.model.values.get("layer_types")
        if isinstance(types, list):
            counts = Counter(map(str, types))
            return counts["full_attention"], counts["linear_attention"]
        full = layers // self.model.size("full_attention_interval")
        return full, layers - full

    def _gqa(self, count: int) -> Iterator[Layer]:
        model, traits = self.model, self.model.architecture
        heads = model.size("num_attention_heads")
        hdim = model.size("head_dim", otherwise=self._hidden // heads) or self._hidden // heads
        q, kv = self._share(heads, "num_attention_heads"), self._kv_heads(heads)
        width = q * hdim * (2 if traits.output_gate else 1) + 2 * kv * hdim
        yield Layer("qkv", Product(width, self._hidden, bias=model.flag(traits.bias)), count)
        yield Layer("attention", Attention(q, kv, hdim, hdim), count)
        yield Layer("o", Product(self._hidden, q * hdim, bias=model.flag(traits.output_bias)), count)

    def _kv_heads(self, heads: int) -> int:
        key = "num_key_value_heads"
        kv = self.model.size(key, otherwise=heads)
        if kv >= self.tp and kv % self.tp == 0:
            return kv // self.tp
        if kv == 0 or kv > self.tp or self.tp % kv:
            raise self._unshared(f"{kv} heads of K and V and {self.tp} ranks: neither divides the other", key)
        return 1

    def _latent(self, count: int) -> Iterator[Layer]:
        """Latent attention; K and V come up from their latent in `kv_b`, or, absorbed, per head in `uk` and `uv`."""
        model, hidden = self.model, self._hidden
        heads = self._share(model.size("num_attention_heads"), "num_attention_heads")
        rope, nope = model.size("qk_rope_head_dim"), model.size("qk_nope_head_dim")
        latent, value = model.size("kv_lora_rank"), model.size("v_head_dim")
        q_latent = model.size("q_lora_rank", otherwise=0)
        if q_latent:
            yield Layer("qkv_a", Product(q_latent + latent + rope, hidden), count)
            yield Layer("q_b", Product(heads * (nope + rope), q_latent), count)
        else:
            yield Layer("q", Product(heads * (nope + rope), hidden), count)
            yield Layer("kv_a", Product(latent + rope, hidden), count)
        yield Layer("kv_b", Product(heads * (nope + value), latent), count)
        yield Layer("uk", Product(latent, nope, batch=heads), count, quantized=False)
        yield Layer("attention", Attention(heads, heads, nope + rope, value), count)
        yield Layer("absorbed attention", Attention(heads, 1, latent + rope, latent), count)
        yield Layer("uv", Product(value, latent, batch=heads), count, quantized=False)
        yield Layer("o", Product(hidden, heads * value), count)

    def _linear_attention(self, count: int) -> Iterator[Layer]:
        model = self.model
        keys = model.size("linear_num_key_heads") * model.size("linear_key_head_dim")
        heads = self._share(model.size("linear_num_value_heads"), "linear_num_value_heads")
        values = heads * model.size("linear_value_head_dim")
        self._share(model.size("linear_num_key_heads"), "linear_num_key_heads")
        yield Layer("linear qkvz", Product(2 * (keys // self.tp + values), self._hidden), count)
        yield Layer("linear ba", Product(2 * heads, self._hidden), count, quantized=False)
        yield Layer("linear out", Product(self._hidden, values), count)

    def _mlps(self, layers: int) -> Iterator[Layer]:
        traits = self.model.architecture
        experts = self.model.size(traits.experts, otherwise=0) if traits.experts else 0
        dense = self._dense_layers(layers) if experts else layers
        if dense:
            yield from self._mlp("", self.model.size("intermediate_size"), "intermediate_size", dense)
        if layers - dense:
            yield from self._experts(experts, layers - dense)

    def _dense_layers(self, layers: int) -> int:
        """Layers without experts in a model that has some."""
        traits, model = self.model.architecture, self.model
        if traits.dense_first:
            return min(layers, model.size(traits.dense_first, otherwise=0))
        step = model.size("decoder_sparse_step", otherwise=1) or 1
        named = model.values.get("mlp_only_layers")
        only = {layer for layer in named if isinstance(layer, int)} if isinstance(named, list) else set()
        return sum(layer in only or (layer + 1) % step != 0 for layer in range(layers))

    def _mlp(self, prefix: str, size: int, key: str, count: int) -> Iterator[Layer]:
        share = self._share(size, key)
        yield Layer(f"{prefix}gate_up", Product(2 * share, self._hidden), count)
        yield Layer(f"{prefix}down", Product(self._hidden, share), count)

    def _experts(self, experts: int, count: int) -> Iterator[Layer]:
        model, traits = self.model, self.model.architecture
        top_k = model.size("num_experts_per_tok")
        size = model.size(traits.expert_size)
        router = Product(experts, self._hidden, bias=traits.router_bias)
        yield Layer("router", router, count, quantized=False)
        shared, fused = self._shared(size), 0
        if shared and self.parallel.fuse_shared and traits.shared_count:
            fused = shared // size
        elif shared:
            yield from self._mlp("shared ", shared, traits.shared_size or traits.expert_size, count)
        ep = self.parallel.ep
        inter = size if ep else self._share(size, traits.expert_size)
        local = self._share(experts, traits.experts) if ep else experts
        yield Layer("experts", Experts(inter, self._hidden, local + fused, top_k + fused), count)

    def _shared(self, size: int) -> int:
        traits = self.model.architecture
        if traits.shared_size:
            return self.model.size(traits.shared_size, otherwise=0)
        return size * self.model.size(traits.shared_count, otherwise=0) if traits.shared_count else 0

    def _head(self) -> Layer:
        vocabulary = -(-self.model.size("vocab_size") // _VOCABULARY_MULTIPLE) * _VOCABULARY_MULTIPLE
        return Layer("lm_head", Product(self._share(vocabulary, "vocab_size"), self._hidden), 1, quantized=False)

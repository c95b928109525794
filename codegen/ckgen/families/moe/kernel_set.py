"""Documents of MoE layers in kernel sets: a block of `gate_up` and `down` makes pairs."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice, product

from ckgen.families.common.set_document import MOST_COMBINATIONS, too_many_combinations
from ckgen.families.gemm.config_space import OfSpace, config_products
from ckgen.families.gemm.kernel_set import GemmSetReader
from ckgen.families.moe.config import MoePairConfig
from ckgen.model.backend import Backend
from ckgen.model.config import Config
from ckgen.model.located_yaml import Located

_PARTS = ("gate_up", "down")


class MoeSetReader(GemmSetReader):
    """Turns documents into candidates."""

    def products(self, backend: Backend, block: Located) -> Iterator[Config]:
        """Those of a block; where each part has a block or a list of them, the pairs of one block_m."""
        if not isinstance(block.value, dict) or block.value.keys() != {*_PARTS}:
            yield from super().products(backend, block)
            return
        first, second = (
            [*islice(self._of_blocks(backend, block.value[part]), MOST_COMBINATIONS + 1)] for part in _PARTS
        )
        if wrong := too_many_combinations((len(first), len(second)), block.location):
            self.report(wrong)
            return
        for gate_up, down in product(first, second):
            if gate_up.macro_tile.m == down.macro_tile.m:
                yield MoePairConfig(gate_up, down)

    def _of_blocks(self, backend: Backend, blocks: Located) -> Iterator[OfSpace]:
        for one in blocks.items():
            yield from config_products(backend, one, self.report)

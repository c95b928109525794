"""Documents of GEMMs, and of what is made of them, in kernel sets.

They have the keys `op`, `name`, `signatures`, `backend`, `targets`, and `kernels` (names of the peer's tables) or
`configs` (lists and `"*"` multiply out).
"""

from __future__ import annotations

from collections.abc import Iterator

from ckgen.families.common.asm_config import ASM
from ckgen.families.common.set_document import SetCandidate, SetReader, too_many_combinations
from ckgen.families.gemm.config import strategy_of
from ckgen.families.gemm.config_space import config_products
from ckgen.families.gemm.enums import Op
from ckgen.families.gemm.grammar import describe_grammar, grammars, identify
from ckgen.families.gemm.signature import GemmSignature, module_of, parse_signature
from ckgen.model.backend import Backend
from ckgen.model.config import Config
from ckgen.model.diagnostic import Diagnostic, Location
from ckgen.model.errors import UsageError
from ckgen.model.located_yaml import Located

_KEYS = ("op", "name", "signatures", "backend", "targets", "kernels", "configs")
_REQUIRED = ("op", "name", "signatures", "backend", "targets")
_BACKENDS = (Backend.ASM, Backend.CK, Backend.CK_TILE, Backend.CUTLASS, Backend.HIP, Backend.HOST)
_STRATEGY_HINT = "stream_k needs 'strategy': atomic, linear or tree; other ops take none of them"
_NAMED = (Backend.ASM, Backend.CK)
"""Those whose kernels a set can only name."""

KernelCandidate = SetCandidate[GemmSignature, Config]


class GemmSetReader(SetReader):
    """Turns documents of one word of `--ops` into candidates."""

    def __init__(self, errors: list[Diagnostic], name: str, op: Op) -> None:
        super().__init__(errors)
        self.word = name
        self.op = op

    def products(self, backend: Backend, block: Located) -> Iterator[Config]:
        """The Configs of a block of `configs`."""
        return config_products(backend, block, self.report)

    def named(self, backend: Backend, signature: GemmSignature, item: Located) -> Config | None:
        """The Config of a kernel's name; None where it says what is wrong with it."""
        module, name = module_of(signature), str(item.value)
        if module is None:
            self.say("K007", item, f"{signature} has no kernel tables: give 'configs'")
            return None
        for library in sorted({ASM, *(grammar.library for grammar in grammars())}):
            identified = identify(module, library, name)
            if identified is not None and identified.backend is backend:
                return identified.config
        message = f"not a kernel name of {module} for backend {backend}: '{name}'"
        self.say("K007", item, message, f"expected {describe_grammar(module)}")
        return None

    def document(self, node: Located) -> list[KernelCandidate]:
        assert isinstance(node.value, dict)
        fields = node.value
        self.has_keys(node, _KEYS, _REQUIRED)
        if ("kernels" in fields) == ("configs" in fields):
            self.say("K004", node, "a document needs either 'kernels' or 'configs'")
        backend = self.backend(fields["backend"], _BACKENDS, "unknown backend:") if "backend" in fields else None
        signatures = self._signatures(fields.get("signatures"))
        name = self.name(fields["name"]) if "name" in fields else ""
        archs = self.targets(fields["targets"]) if "targets" in fields else None
        if backend is None:
            return []
        found: list[KernelCandidate] = []
        for signature in signatures:
            self._check_op(fields, signature)
            for config, kernel, location in self._configs(backend, signature, fields):
                self._check_strategy(fields, config)
                found.append(SetCandidate(name, signature, backend, config, archs, location, kernel))
                if wrong := too_many_combinations((len(found),), node.location):
                    self.report(wrong)
                    return []
        return found

    def _check_op(self, fields: dict[str, Located], signature: GemmSignature) -> None:
        is_said = "op" in fields and fields["op"].value == self.word
        if is_said and signature.op is not self.op:
            self.say("K005", fields["op"], f"op {self.word} does not hold {signature}", f"its op is {signature.op}")

    def _check_strategy(self, fields: dict[str, Located], config: Config) -> None:
        stream_k = strategy_of(config).is_stream_k
        if "op" in fields and stream_k != (fields["op"].value == "stream_k"):
            told = "is stream-K" if stream_k else "is not stream-K"
            self.say(
                "K005", fields["op"], f"op {fields['op'].value} does not hold a config that {told}", _STRATEGY_HINT
            )

    def _signatures(self, node: Located | None) -> list[GemmSignature]:
        found: list[GemmSignature] = []
        for item in node.items() if node is not None else []:
            try:
                found.append(parse_signature(str(item.value), None))
            except UsageError as error:
                self.say("K006", item, str(error))
        if node is not None and not node.items():
            self.say("K005", node, "signatures must name at least one")
        return found

    def _configs(
        self, backend: Backend, signature: GemmSignature, fields: dict[str, Located]
    ) -> Iterator[tuple[Config, str, Location]]:
        for item in fields["kernels"].items() if "kernels" in fields else []:
            config = self.named(backend, signature, item)
            if config is not None:
                yield config, str(item.value), item.location
        for block in fields["configs"].items() if "configs" in fields else []:
            if backend in _NAMED:
                self.say("K005", block, f"backend {backend} takes 'kernels' by their table names, not 'configs'")
                return
            for config in self.products(backend, block):
                yield config, "", block.location

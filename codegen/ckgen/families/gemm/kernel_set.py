"""Kernel sets: YAML that says which instances may be built, read strictly, with every error located.

A file holds documents of the keys `op`, `name`, `signatures`, `backend`, `targets`, and `kernels` (names of the peer's
tables) or `configs` (lists and `"*"` multiply out).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from ckgen.families.common.asm_config import ASM
from ckgen.families.common.set_document import SetCandidate, SetReader, once, too_many_combinations
from ckgen.families.fmha.kernel_set import is_fmha
from ckgen.families.gemm.config import GemmConfig, strategy_of
from ckgen.families.gemm.config_space import config_products
from ckgen.families.gemm.enums import Op
from ckgen.families.gemm.grammar import describe_grammar, grammars, identify
from ckgen.families.gemm.signature import GemmSignature, module_of, parse_signature
from ckgen.families.grouped_gemm.deepgemm import MODULE as DEEPGEMM
from ckgen.families.grouped_gemm.deepgemm import config_of, is_deepgemm, names
from ckgen.model.backend import Backend
from ckgen.model.diagnostic import Diagnostic, Location
from ckgen.model.document import YAML, DocumentError, read_text
from ckgen.model.errors import InputError, UsageError
from ckgen.model.located_yaml import Located, read_documents

_KEYS = ("op", "name", "signatures", "backend", "targets", "kernels", "configs")
_REQUIRED = ("op", "name", "signatures", "backend", "targets")
_BACKENDS = (Backend.ASM, Backend.CK, Backend.CK_TILE, Backend.HIP, Backend.HOST)
_STRATEGY_HINT = "stream_k needs 'strategy': atomic, linear or tree; other ops take none of them"
_NAMED = (Backend.ASM, Backend.CK)
"""Those whose kernels a set can only name."""
SHIPPED = ("default", "ci", "full", "matrix", "asm")
OPS = ("gemm", "stream_k", "grouped_gemm", "moe", "fmha")
"""Those that have kernel sets; stream-K ones come behind plain ones. Documents of fmha are read by its own family."""


@dataclass(frozen=True, slots=True)
class KernelCandidate(SetCandidate[GemmSignature, GemmConfig]):
    """`table_kernel` is the peer's name, or empty."""

    table_kernel: str


@cache
def load_kernel_set(text: str, file: str) -> tuple[KernelCandidate, ...]:
    """The candidates of a set, in file order, repeated ones once; InputError carries everything that is wrong.

    Documents of op fmha are left to `load_fmha_set`.
    """
    reader = GemmSetReader()
    documents = read_documents(text, file, reader.report)
    found = [candidate for node in documents if not is_fmha(node) for candidate in reader.document(node)]
    if not found and not reader.errors and not any(map(is_fmha, documents)):
        reader.report(Diagnostic("K008", "the kernel set asks for nothing", Location(file)))
    if reader.errors:
        raise InputError(reader.errors)
    return once(found)


def read_kernel_set(path: Path) -> tuple[KernelCandidate, ...]:
    """The candidates of a file, as `--kernel-set` takes it."""
    try:
        text = read_text(path, YAML)
    except DocumentError as error:
        hint = f"give a YAML file, or one of {', '.join(SHIPPED)}"
        raise InputError([error.diagnostic("K001", path, hint)]) from error
    return load_kernel_set(text, str(path))


def kernel_set_files(given: Path, ops: Iterable[str] = OPS) -> tuple[Path, ...]:
    """The files that `--kernel-set` means: a shipped set of these ops by its bare name, else the path itself."""
    if str(given) not in SHIPPED:
        return (given,)
    files = (_shipped_file(str(given), op) for op in OPS if op in ops)
    return tuple(file for file in files if file.is_file())


def shipped_name(path: Path) -> str | None:
    """The bare name of a file that comes with ckgen; None for any other."""
    return next((name for name in SHIPPED for op in OPS if path == _shipped_file(name, op)), None)


@cache
def shipped_set(name: str, op: str = "gemm") -> tuple[KernelCandidate, ...]:
    """One of SHIPPED of an op; empty where the op has none of that name."""
    if name not in SHIPPED:
        raise UsageError(f"unknown kernel set: '{name}' (a file, or one of {', '.join(SHIPPED)})")
    path = _shipped_file(name, op)
    return read_kernel_set(path) if path.is_file() else ()


def _shipped_file(name: str, op: str) -> Path:
    return Path(__file__).parents[1] / op / "kernel_sets" / f"{name}.yaml"


class GemmSetReader(SetReader):
    """Turns documents into candidates."""

    def document(self, node: Located) -> list[KernelCandidate]:
        if not isinstance(node.value, dict):
            self.say("K005", node, "a document must be a mapping", f"keys: {', '.join(_KEYS)}")
            return []
        fields = node.value
        self.has_keys(node, _KEYS, _REQUIRED)
        if ("kernels" in fields) == ("configs" in fields):
            self.say("K004", node, "a document needs either 'kernels' or 'configs'")
        backend = self.backend(fields["backend"], _BACKENDS, "unknown backend:") if "backend" in fields else None
        signatures = self._signatures(fields.get("signatures"))
        name = self.name(fields["name"]) if "name" in fields else ""
        if "op" in fields and fields["op"].value not in OPS:
            self.say("K005", fields["op"], f"unknown op: {fields['op'].value!r}", f"known: {', '.join(OPS)}")
        archs = self.targets(fields["targets"]) if "targets" in fields else None
        if backend is None:
            return []
        found: list[KernelCandidate] = []
        for signature in signatures:
            self._check_op(fields, signature)
            for config, kernel, location in self._configs(backend, signature, fields):
                self._check_strategy(fields, config)
                found.append(KernelCandidate(name, signature, backend, config, archs, location, kernel))
                if wrong := too_many_combinations((len(found),), node.location):
                    self.report(wrong)
                    return []
        return found

    def _check_op(self, fields: dict[str, Located], signature: GemmSignature) -> None:
        op = fields["op"].value if "op" in fields else None
        if op in OPS and (Op.GEMM.value if op == "stream_k" else op) != signature.op.value:
            self.say("K005", fields["op"], f"op {op} does not hold {signature}", f"its op is {signature.op}")

    def _check_strategy(self, fields: dict[str, Located], config: GemmConfig) -> None:
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
    ) -> Iterator[tuple[GemmConfig, str, Location]]:
        for item in fields["kernels"].items() if "kernels" in fields else []:
            config = self._named(backend, signature, item)
            if config is not None:
                yield config, str(item.value), item.location
        for block in fields["configs"].items() if "configs" in fields else []:
            if backend in _NAMED:
                self.say("K005", block, f"backend {backend} takes 'kernels' by their table names, not 'configs'")
                return
            for config in config_products(backend, block, self.report):
                yield config, "", block.location

    def _named(self, backend: Backend, signature: GemmSignature, item: Located) -> GemmConfig | None:
        module, name = module_of(signature), str(item.value)
        if is_deepgemm(signature):
            return self._deepgemm(backend, signature, item)
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

    def _deepgemm(self, backend: Backend, signature: GemmSignature, item: Located) -> GemmConfig | None:
        name = str(item.value)
        if backend is Backend.CK_TILE and name in names():
            return config_of(name, signature.a)
        message = f"not a kernel name of {DEEPGEMM} for backend {backend}: '{name}'"
        self.say("K007", item, message, f"expected one of {', '.join(names())}, of backend {Backend.CK_TILE}")
        return None

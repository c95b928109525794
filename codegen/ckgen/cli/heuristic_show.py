"""`ckgen heuristic show`: the rule that answers, as text, or its way for one shape."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from ckgen.cli.errors import Command
from ckgen.cli.heuristic_input import arch_of, rule_options
from ckgen.cli.output import show, show_json
from ckgen.model.errors import UsageError

if TYPE_CHECKING:
    from ckgen.families.common.decision_rule import Asked, DecisionRule, Next


@click.command(cls=Command, name="show", short_help="Print the rule that answers, or its way for one shape.")
@rule_options
@click.option("--shape", metavar="M,N,K", help="Only the conditions that this shape meets, with their values.")
@click.option("--cu", type=click.IntRange(1), metavar="N", help="Compute units of --shape.  [default: the arch's]")
def command(**params: Any) -> int:
    """Print the decision rule that answers for a module on an arch, or its way for one shape."""
    from ckgen.families.gemm.heuristic import heuristic_for
    from ckgen.specs.archs import load_arch

    device = arch_of(params["arch"])
    arch = load_arch(device.gfx)
    rule = heuristic_for(params["module"], arch.name, device.sku)
    if rule is None:
        raise UsageError(_none_ships(params["module"], arch.name))
    if params["shape"]:
        asked = _asked(params["shape"], params["cu"] or device.cu_num or arch.default_cu_num)
        lines = list(_way(rule, asked))
    else:
        lines = list(_lines(rule, 0 if rule.nodes else ~0, ""))
    if params["as_json"]:
        show_json({"module": rule.module, "arch": arch.name, "sku": rule.sku, "lines": lines})
    else:
        show("\n".join(lines))
    return 0


def _none_ships(module: str, arch: str) -> str:
    from ckgen.families.gemm.heuristic import rules_for

    skus = [rule.sku for rule in rules_for(module, arch)]
    known = f"; of products: {', '.join(f'{arch}:CUS:{sku}' for sku in skus)}" if skus else ""
    return f"no rule of {module!r} on {arch} ships{known}"


def _asked(text: str, cu_num: int) -> Asked:
    from ckgen.families.common.decision_rule import Asked

    words = text.split(",")
    if len(words) != 3 or not all(word.strip().isdecimal() and int(word) > 0 for word in words):
        raise UsageError(f"--shape: '{text}' is not M,N,K")
    m, n, k = map(int, words)
    return Asked(m, n, k, m, cu_num)


def _end(rule: DecisionRule, at: Next) -> str:
    if at is None:
        return "no answer: the tiers below"
    leaf = rule.leaves[~at]
    return f"{leaf.library} {leaf.kernel}" + (f"  k_batch {leaf.k_batch}" if leaf.k_batch > 1 else "")


def _lines(rule: DecisionRule, at: Next, indent: str) -> Iterator[str]:
    if at is None or at < 0:
        yield f"{indent}{_end(rule, at)}"
        return
    node = rule.nodes[at]
    yield f"{indent}if {node.condition}"
    yield from _lines(rule, node.then, f"{indent}  ")
    yield f"{indent}else"
    yield from _lines(rule, node.otherwise, f"{indent}  ")


def _way(rule: DecisionRule, asked: Asked) -> Iterator[str]:
    from ckgen.families.common.decision_rule import value_of

    at: Next = 0 if rule.nodes else ~0
    while at is not None and at >= 0:
        node = rule.nodes[at]
        condition = node.condition
        value = value_of(condition.feature, asked, condition.tile_m, condition.tile_n)
        yield f"{condition}: {'yes' if condition.holds(asked) else 'no'}, it is {value}"
        at = node.then if condition.holds(asked) else node.otherwise
    yield _end(rule, at)

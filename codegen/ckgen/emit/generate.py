"""One generation from options to a published tree, and the short way when nothing has changed."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ckgen.emit.leftovers import leftovers
from ckgen.emit.manifest import MANIFEST, Manifest, digest, generator_digest, intact, read_manifest
from ckgen.emit.writer import Changes, compare, exclusive, publish
from ckgen.model.document import JSON, YAML, Bounds, DocumentError, read_bytes
from ckgen.model.errors import InputError
from ckgen.plan.options import PlanOptions

if TYPE_CHECKING:
    from ckgen.model.arch import ArchSpec
    from ckgen.plan.model import GenerationPlan
    from ckgen.tables.load import TableSource

_UNREADABLE = "unreadable"


@dataclass(frozen=True, slots=True)
class Generation:
    """What a run found: the whole tree as text (empty when nothing had to be parsed), and what it would change.

    `changed_inputs` names what has changed since the tree was written; empty where there is none.
    """

    manifest: Manifest
    texts: Mapping[str, str]
    changes: Changes
    plan: GenerationPlan | None
    phases: tuple[tuple[str, float], ...]
    changed_inputs: tuple[str, ...] = ()

    @property
    def up_to_date(self) -> bool:
        """Whether the tree already was what it should be."""
        return not self.changes


@dataclass(slots=True)
class _Phases:
    """Seconds by phase, in order."""

    started: float = field(default_factory=time.perf_counter)
    done: list[tuple[str, float]] = field(default_factory=list)

    def end(self, name: str) -> None:
        now = time.perf_counter()
        self.done.append((name, now - self.started))
        self.started = now


def generate(
    options: PlanOptions,
    archs: Mapping[str, ArchSpec],
    name: str,
    out: Path,
    *,
    dry_run: bool,
    plans_anyway: bool = False,
) -> Generation:
    """Plans, renders and, unless `dry_run`, publishes. InputError carries every error; then nothing is written.

    Nothing is planned where nothing has changed, unless `plans_anyway`.
    """
    phases = _Phases()
    known = read_manifest(out)
    wanted = Manifest(generator_digest(), _described(options, name), _inputs(options), {}, {})
    phases.end("digest")
    unjudged = options.strict or options.strict_layers  # rows that were let pass when the tree was written
    plans = plans_anyway or unjudged
    if known is not None and not plans and known.same_source(wanted) and intact(out, known):
        if not dry_run and leftovers(out):
            with exclusive(out):
                pass  # who publishes here sweeps, as who has nothing to publish does
        phases.end("compare")
        return Generation(known, {}, Changes((), (), ()), None, tuple(phases.done))
    plan, texts = _rendered(options, archs, name, phases)
    files = {path: digest(text.encode()) for path, text in texts.items()}
    manifest = Manifest(wanted.generator, wanted.options, wanted.inputs, files, summary(plan))
    texts[MANIFEST] = manifest.to_text()
    if dry_run:
        changes = compare(out, texts)
        phases.end("compare")
    else:
        with exclusive(out):
            changes = compare(out, texts)
            phases.end("compare")
            publish(out, texts, changes)
        phases.end("write")
    changed_inputs = known.changed_inputs(manifest) if known is not None else ()
    return Generation(manifest, texts, changes, plan, tuple(phases.done), changed_inputs)


def summary(plan: GenerationPlan) -> dict[str, Any]:
    """Counts that people ask for: rows by fate, selected rows per target, instances per signature.

    `left_out`: kernels that the profiles leave out, by where they come from; rows have a fate of that name.
    """
    fates: dict[str, int] = {}
    for report in plan.reports:
        for kind, count in report.fates.items():
            fates[kind.value] = fates.get(kind.value, 0) + count
    return {
        "rows": sum(report.rows for report in plan.reports),
        "fates": dict(sorted(fates.items())),
        "selected": {str(target): count for target, count in plan.selected.items()},
        "instances": {unit.name: len(unit.instances) for unit in plan.units},
        "left_out": dict(plan.left_out),
    }


def _rendered(
    options: PlanOptions, archs: Mapping[str, ArchSpec], name: str, phases: _Phases
) -> tuple[GenerationPlan, dict[str, str]]:
    from ckgen.emit.render import render
    from ckgen.plan.planner import has_errors, make_plan
    from ckgen.plan.registry_read import read_registry

    phases.end("imports")
    plan = read_registry(options.registry, archs) if options.registry is not None else make_plan(options, archs)
    phases.end("plan")
    if has_errors(plan):
        raise InputError(plan.diagnostics)
    texts = render(plan, name)
    phases.end("render")
    return plan, texts


def _described(options: PlanOptions, name: str) -> dict[str, Any]:
    """The options that decide files, as they stand in the manifest: no paths, for those are told by the inputs."""
    return {
        "name": name,
        "targets": [str(target) for target in options.targets or ()],
        "ops": sorted(options.ops),
        "module": options.module,
        "kernels": sorted(options.kernels),
        "signatures": sorted(options.signatures),
        "backends": sorted(options.backends),
        "m_policy": options.m_policy.value,
        "assume_gfx": {str(cu_num): gfx for cu_num, gfx in sorted(options.assume_gfx.items())},
        "assume_dtype": str(options.assume_dtype.torch) if options.assume_dtype is not None else None,
    }


def _inputs(options: PlanOptions) -> dict[str, str]:
    """Digests by `layer:relative path` of every table, and of every kernel set, profile and registry document."""
    from ckgen.tables.load import find_tables

    found = {f"tuning/{source.layer}/{source.path}": _of_table(source) for source in find_tables(options.tuning)}
    found |= {f"kernel_sets/{at}/{path.name}": _of_document(path, YAML) for at, path in enumerate(options.kernel_sets)}
    found |= {f"profiles/{at}/{path.name}": _of_document(path, YAML) for at, path in enumerate(options.profiles)}
    if options.registry is not None:
        found[f"registry/{options.registry.name}"] = _of_document(options.registry, JSON)
    return found


def _of_table(table: TableSource) -> str:
    try:
        return digest(table.source.read_bytes())
    except OSError:
        return _UNREADABLE


def _of_document(path: Path, bounds: Bounds) -> str:
    try:
        return digest(read_bytes(path, bounds))
    except DocumentError:
        return _UNREADABLE

"""What a generation did or would do, as text or JSON; the diff, and the command that mends a drift."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from difflib import unified_diff
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ckgen.cli.output import columns, fates_text, plural, show, show_verbatim
from ckgen.emit.manifest import MANIFEST
from ckgen.families.common.policy import MPolicy
from ckgen.model.fate import FateKind
from ckgen.plan.options import PlanOptions

if TYPE_CHECKING:
    from ckgen.emit.generate import Generation
    from ckgen.emit.writer import Changes


class Mode(Enum):
    """What is done with the result; the values of all but WRITE are options."""

    WRITE = "write"
    CHECK = "check"
    DIFF = "diff"
    DRY_RUN = "dry-run"
    LIST = "list-outputs"


@dataclass(frozen=True, slots=True)
class Request:
    """The command line: paths as given; `tuning` empty for the shipped tables."""

    options: PlanOptions
    name: str
    out: Path
    tuning: tuple[Path, ...]
    kernel_sets: tuple[Path, ...]
    profiles: tuple[Path, ...]
    mode: Mode

    def filters(self) -> list[str]:
        """The profiles by name, and the other options that leave kernels out."""
        options = self.options
        given = {"--kernels": options.kernels, "--signatures": options.signatures, "--backend": options.backends}
        return [path.stem for path in self.profiles] + [word for word, values in given.items() if values]

    def command_line(self) -> str:
        """The `ckgen generate …` that makes the same tree, quoted for a shell."""
        options = self.options
        if options.registry is not None:
            return self._line(["ckgen", "generate", "--registry", str(options.registry)])
        parts = ["ckgen", "generate", "--targets", ";".join(map(str, options.targets or ()))]
        parts += ["--ops", ";".join(sorted(options.ops))]
        parts += _repeated("--tuning", map(str, self.tuning))
        parts += ["--module", options.module] if options.module is not None else []
        parts += _repeated("--assume-gfx", (f"{cu}={gfx}" for cu, gfx in sorted(options.assume_gfx.items())))
        parts += ["--assume-dtype", str(options.assume_dtype.torch)] if options.assume_dtype is not None else []
        parts += _repeated("--kernel-set", map(str, self.kernel_sets))
        parts += _repeated("--profile", map(str, self.profiles))
        parts += _repeated("--kernels", options.kernels)
        parts += _repeated("--signatures", options.signatures)
        parts += _repeated("--backend", sorted(options.backends))
        parts += ["--m-policy", options.m_policy.value] if options.m_policy is not MPolicy.LADDER else []
        parts += ["--strict"] if options.strict else []
        parts += ["--strict-layers"] if options.strict_layers else []
        return self._line(parts)

    def _line(self, parts: list[str]) -> str:
        name = ["--name", self.name] if self.name != "ckgen_generated" else []
        return shlex.join([*parts, *name, "--out", str(self.out)])


def reported(request: Request, made: Generation) -> Changes:
    """The changes that the mode is about: a check that is not strict leaves the manifest out."""
    if request.mode is Mode.CHECK and not request.options.strict:
        return made.changes.but_for_the_manifest()
    return made.changes


def stale_note(request: Request, made: Generation) -> str | None:
    """That a check passes although the manifest is of other inputs; None where that is not so."""
    if not _is_stale(request, made):
        return None
    changed = ", ".join(made.changed_inputs) or "ckgen or its options"
    return f"note: {changed} changed since {request.out.as_posix()} was written, nothing generated did"


def _is_stale(request: Request, made: Generation) -> bool:
    return request.mode is Mode.CHECK and bool(made.changes) and not reported(request, made)


def report_text(request: Request, made: Generation, out: Path) -> None:
    """Prints the result of the mode."""
    changes = reported(request, made)
    match request.mode:
        case Mode.LIST:
            show("\n".join(outputs(request, made)))
        case Mode.DRY_RUN:
            listed = (("added", changes.added), ("changed", changes.changed), ("removed", changes.removed))
            rows = [(word, f"{request.out.as_posix()}/{path}") for word, places in listed for path in places]
            show(columns(rows) if rows else f"{request.out.as_posix()}: up to date")
        case Mode.DIFF:
            if changes:
                show_verbatim(diff_text(made, changes, out).removesuffix("\n"))
        case Mode.CHECK if changes:
            show_verbatim(_drift(request, made, out))
        case _:
            show(_summary(request, made))


def report_json(request: Request, made: Generation, out: Path, *, phases: bool) -> Any:
    """The document of the mode: an array of paths for --list-outputs, else an object."""
    if request.mode is Mode.LIST:
        return outputs(request, made)
    changes = reported(request, made)
    document: dict[str, Any] = {
        "out": request.out.as_posix(),
        "name": request.name,
        "targets": [str(target) for target in request.options.targets or ()],
        "status": _status(request.mode, bool(changes)),
        "added": list(changes.added),
        "changed": list(changes.changed),
        "removed": list(changes.removed),
        **made.manifest.summary,
        "selected": _selected(request, made),
    }
    if request.mode in (Mode.CHECK, Mode.DIFF):
        document["diff"] = diff_text(made, changes, out)
    if request.mode is Mode.CHECK:
        document["manifest"] = "stale" if made.changes else "up_to_date"
        document["changed_inputs"] = list(made.changed_inputs)
    if request.mode is Mode.CHECK and changes:
        document["command"] = request.command_line()
    if phases:
        document["phases"] = dict(made.phases)
    return document


def outputs(request: Request, made: Generation) -> list[str]:
    """Every file of the tree, under --out as it was given."""
    return [f"{request.out.as_posix()}/{path}" for path in sorted({*made.manifest.files, MANIFEST})]


def diff_text(made: Generation, changes: Changes, out: Path) -> str:
    """A unified diff of the changes, from the tree at `out` to what would be written, as `patch -p1` takes it."""
    return "".join(
        line
        for path in sorted((*changes.added, *changes.changed, *changes.removed))
        for line in _diff_of(path, out, made, new=path in changes.added)
    )


def _diff_of(path: str, out: Path, made: Generation, *, new: bool) -> Iterator[str]:
    old_lines = [] if new else _lines((out / path).read_text(encoding="utf-8", errors="replace"))
    new_lines = _lines(made.texts.get(path, ""))
    before = "/dev/null" if new else f"a/{path}"
    after = f"b/{path}" if path in made.texts else "/dev/null"
    for line in unified_diff(old_lines, new_lines, before, after):
        yield line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"


def _lines(text: str) -> list[str]:
    """The lines with their ends; only \\n ends a line."""
    lines = [f"{line}\n" for line in text.split("\n")]
    last = lines.pop().removesuffix("\n")
    return [*lines, last] if last else lines


def _drift(request: Request, made: Generation, out: Path) -> str:
    changes = reported(request, made)
    out_text = request.out.as_posix()
    if (out / MANIFEST).is_file():
        count = len(changes.added) + len(changes.changed) + len(changes.removed)
        verb = "is" if count == 1 else "are"
        found = (
            f"{diff_text(made, changes, out)}{plural(count, 'file')} of {out_text} {verb} out of date; this mends it:"
        )
    else:
        found = f"{out_text} holds no generated files, {len(changes.added)} are missing; this writes them:"
    return f"{found}\n{request.command_line()}"


def _summary(request: Request, made: Generation) -> str:
    summary, changes = made.manifest.summary, reported(request, made)
    done = f"{len(changes.added)} added, {len(changes.changed)} changed, {len(changes.removed)} removed"
    counts = (
        plural(len(made.manifest.files) + 1, "file"),
        plural(sum(summary["instances"].values()), "instance"),
        plural(len(summary["instances"]), "signature"),
    )
    lines = [
        f"{request.out.as_posix()}: {done if changes else 'up to date'}; {', '.join(counts)}",
        columns(
            [(f"  {target}", f"{plural(count, 'row')} selected") for target, count in _selected(request, made).items()]
        ),
    ]
    if request.options.registry is None:
        lines.append(f"  {plural(summary['rows'], 'row')}: {fates_text(summary['fates'])}")
    if names := request.filters():
        lines.append(f"  left out of {' + '.join(names)}: {_left_out(summary)}")
    return "\n".join(filter(None, lines))


def _left_out(summary: Mapping[str, Any]) -> str:
    """What profiles and filters cost: rows that would have selected or named a kernel, and kernels by their source."""
    counts = [plural(summary["fates"].get(FateKind.LEFT_OUT.value, 0), "row")]
    counts += [f"{plural(count, 'kernel')} of {source}" for source, count in summary["left_out"].items()]
    return ", ".join(counts)


def _selected(request: Request, made: Generation) -> dict[str, int]:
    """Selected rows by target, in the order of targets."""
    counts = made.manifest.summary["selected"]
    return {str(target): counts[str(target)] for target in request.options.targets or ()}


def _status(mode: Mode, changed: bool) -> str:
    if not changed:
        return "up_to_date"
    return "written" if mode is Mode.WRITE else "drift"


def _repeated(option: str, values: Iterable[str]) -> list[str]:
    return [part for value in values for part in (option, value)]

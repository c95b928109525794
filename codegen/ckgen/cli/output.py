"""Printing: results to stdout, everything else to stderr."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import click

from ckgen.model.diagnostic import Diagnostic, Severity, printable
from ckgen.progress import Progress


def show(text: str) -> None:
    """A result, on stdout; what would move a terminal's cursor or colour it is escaped."""
    click.echo(printable(text))


def show_verbatim(text: str) -> None:
    """A result whose every byte counts, on stdout."""
    click.echo(text)


def show_json(value: Any) -> None:
    """The one JSON document of a run, on stdout; ASCII, so that any locale prints it."""
    click.echo(json.dumps(value, indent=1))


def say(text: str) -> None:
    """A message, on stderr, escaped as a result is."""
    click.echo(printable(text), err=True)


def say_diagnostics(diagnostics: Iterable[Diagnostic]) -> None:
    """Every diagnostic, on stderr."""
    text = "\n".join(diagnostic.render() for diagnostic in diagnostics)
    if text:
        say(text)


def errors_of(diagnostics: Iterable[Diagnostic]) -> tuple[Diagnostic, ...]:
    """Those that forbid to go on."""
    return tuple(diagnostic for diagnostic in diagnostics if diagnostic.severity is Severity.ERROR)


def error_summary(diagnostics: Iterable[Diagnostic], files: int) -> str:
    """As in `2 errors in 2 of 31 files`."""
    errors = errors_of(diagnostics)
    places = (place for error in errors for place in (error.location, *error.related) if place is not None)
    return f"{plural(len(errors), 'error')} in {len({place.file for place in places})} of {plural(files, 'file')}"


def plural(count: int, noun: str) -> str:
    """`1 file`, `1,200 files`."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def fates_text(fates: Mapping[str, int]) -> str:
    """`selected 1,200, external 34`, in the order given."""
    return ", ".join(f"{fate} {count:,}" for fate, count in fates.items())


def columns(rows: Sequence[Sequence[str]]) -> str:
    """Left-aligned columns, two spaces apart, as wide as they need to be."""
    if not rows:
        return ""
    widths = [max(len(row[index]) for row in rows) for index in range(len(rows[0]))]
    lines = ("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows)
    return "\n".join(lines)


@contextmanager
def progress(what: str) -> Iterator[Progress]:
    """Says on stderr that something takes its time: see Progress."""
    line = Progress()
    line.step(what)
    try:
        yield line
    finally:
        line.clear()

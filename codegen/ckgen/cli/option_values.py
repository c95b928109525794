"""Texts of shared options as what the plan takes; UsageError for those that mean nothing."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import click
from click.core import ParameterSource

from ckgen import paths
from ckgen.cli.output import say
from ckgen.model.arch import ArchSpec
from ckgen.model.backend import Backend
from ckgen.model.dtype import TORCH_NAMES, DType
from ckgen.model.errors import UsageError
from ckgen.model.suggestion import nearest_or_all
from ckgen.model.target import Target

_SEPARATORS = re.compile(r"[;,\s]+")
_MOST_RANKS = 1024
_ASSUMPTION = re.compile(r"([0-9]{1,9})=(\S+)")


def words(texts: Iterable[str]) -> tuple[str, ...]:
    """The distinct words of lists that are separated by ; , or white space, in order."""
    return tuple(dict.fromkeys(word for text in texts for word in _SEPARATORS.split(text) if word))


def targets_of(texts: Sequence[str], archs: Mapping[str, ArchSpec], env: Mapping[str, str]) -> tuple[Target, ...]:
    """The targets of the option, else of `env`; notes about them go to stderr."""
    from ckgen.specs.native import native_target
    from ckgen.specs.targets import resolve_targets

    text = ";".join(texts) if texts else None
    found = resolve_targets(text, env=env, archs=archs, native=native_target)
    for note in found.notes:
        say(f"note: {note}")
    return found.targets


def one_target(text: str, archs: Mapping[str, ArchSpec]) -> Target:
    """The device of --target; UsageError where it names several."""
    (target, *others) = targets_of((text,), archs, {})
    if others:
        raise UsageError(f"--target takes one device, got '{text}'")
    return target


def targets_or_env(texts: Sequence[str], archs: Mapping[str, ArchSpec]) -> tuple[Target, ...]:
    """The targets of `targets_option`, whose texts may be those of CKGEN_TARGETS or GPU_ARCHS."""
    ctx = click.get_current_context(silent=True)
    if ctx is not None and ctx.get_parameter_source("targets") is ParameterSource.ENVIRONMENT:
        return targets_of((), archs, os.environ)
    return targets_of(texts, archs, {})


def ops_of(texts: Sequence[str]) -> frozenset[str]:
    """The ops that a list names; all where there is no list."""
    from ckgen.families.registry import names_of

    named = words(texts)
    if texts and not named:
        raise UsageError("the list of ops names no op")
    return frozenset(names_of(named))


def backends_of(texts: Sequence[str]) -> frozenset[str]:
    """The backends that a list names; empty, which leaves out none, where there is no list."""
    known = [str(backend) for backend in Backend]
    named = words(texts)
    unknown = sorted(set(named) - set(known))
    if unknown or (texts and not named):
        problem = f"unknown backend: {', '.join(unknown)}" if unknown else "the list of backends names none"
        raise UsageError(f"{problem} (known: {', '.join(known)})")
    return frozenset(named)


def assumptions(texts: Iterable[str], archs: Mapping[str, ArchSpec]) -> dict[int, str]:
    """CU count → arch."""
    found: dict[int, str] = {}
    for text in words(texts):
        match = _ASSUMPTION.fullmatch(text)
        if match is None or int(match[1]) == 0:
            raise UsageError(f"--assume-gfx takes CU=GFX, as in 256=gfx950; got '{text}'")
        if match[2] not in archs:
            raise UsageError(f"--assume-gfx {text}: unknown arch '{match[2]}' (known: {', '.join(sorted(archs))})")
        if found.setdefault(int(match[1]), match[2]) != match[2]:
            raise UsageError(f"--assume-gfx names two archs for {match[1]} CUs")
    return found


def assumed_dtype(text: str | None) -> DType | None:
    """The type of the option, in the words of tables."""
    if text is not None and text not in TORCH_NAMES:
        hint = nearest_or_all(text, TORCH_NAMES)
        raise UsageError(f"--assume-dtype takes a type as tables spell it; got '{text}' ({hint})")
    return TORCH_NAMES[text] if text is not None else None


def kernel_sets_of(given: Iterable[Path], ops: Iterable[str]) -> tuple[Path, ...]:
    """The files of --kernel-set for these ops; a shipped set is meant by its bare name."""
    from ckgen.families.kernel_sets import kernel_set_files

    wanted = frozenset(ops)
    return tuple(file for path in given for file in kernel_set_files(path, wanted))


def profiles_of(given: Iterable[Path]) -> tuple[Path, ...]:
    """The files of --profile; a shipped one is meant by its bare name, CK's receipts by `receipt:N`."""
    from ckgen.plan.profile_file import profile_files

    return profile_files(given)


def check_name(name: str) -> None:
    """UsageError for a --name that cannot be a C++ namespace."""
    from ckgen.families.common.cpp import identifier

    try:
        identifier(name)
    except ValueError as error:
        raise UsageError(f"--name: {error}") from None


def check_target_name(name: str) -> None:
    """UsageError for a --name that cannot be a C++ namespace and a CMake target."""
    from ckgen.emit.target_names import why_not_a_target

    check_name(name)
    if (reason := why_not_a_target(name)) is not None:
        raise UsageError(f"--name: not usable as a CMake target: {name!r} ({reason}); {name}_kernels would do")


def tuning_or_shipped(given: Sequence[Path], *, has_shipped: bool = True) -> tuple[Path, ...]:
    """The layers of tables: those asked for, or the shipped ones, or both where each is given as +PATH.

    A note says which where any is given. `has_shipped`: whether there are shipped tables of what is asked.
    """
    layers, adds = layers_of(given)
    if layers and has_shipped:
        names = ", ".join(map(str, layers))
        place = f"the shipped ones, then {names}; later rows win" if adds else f"{names} in place of the shipped ones"
        say(f"note: tables: {place}")
    shipped = _shipped_tables() if has_shipped and (adds or not layers) else ()
    return (*shipped, *layers)


def layers_of(given: Sequence[Path]) -> tuple[tuple[Path, ...], bool]:
    """The paths of --tuning, and whether they add to the shipped tables."""
    adding = [path for path in map(str, given) if path.startswith("+")]
    if not adding:
        return tuple(given), False
    if len(adding) < len(given):
        raise UsageError("--tuning +PATH adds to the shipped tables, PATH alone replaces them: give + to all or none")
    if "+" in adding:
        raise UsageError("--tuning +: a path is expected behind the +")
    return tuple(Path(path[1:]) for path in adding), True


def _shipped_tables() -> tuple[Path, ...]:
    shipped = paths.shipped_tables()
    missing = next((folder for folder in shipped if not folder.is_dir()), None)
    if missing is not None:
        raise UsageError(f"no shipped tables in {missing}: give --tuning")
    return shipped


def ranks(text: str) -> list[int]:
    """Numbers of tensor-parallel ranks; UsageError for what is none."""
    found = words((text,))
    wrong = [word for word in found if not (word.isdecimal() and 1 <= int(word[:9]) <= _MOST_RANKS)]
    if wrong or not found:
        raise UsageError(f"--tp takes numbers of 1 to {_MOST_RANKS}, as in 1,2,4,8; got '{text}'")
    return [int(word) for word in found]

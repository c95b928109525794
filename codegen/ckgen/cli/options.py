"""Options that several commands share, which a file of settings may answer; `option_values` reads their texts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Protocol, TypeVar

import click

from ckgen.cli.option_values import assumed_dtype, assumptions, backends_of, layers_of, ops_of
from ckgen.cli.shared import Form, Shared
from ckgen.cluster import place_of
from ckgen.model.errors import UsageError
from ckgen.model.suggestion import nearest_or_all
from ckgen.progress import quiet
from ckgen.specs.targets import ENVIRONMENT

F = TypeVar("F", bound=Callable[..., Any])


class Decorator(Protocol):
    """What adds an option to a command."""

    def __call__(self, function: F, /) -> F: ...


class _Path(click.Path):
    """A path; an empty word, such as an unset variable leaves, is none."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The Path; a usage error for an empty one."""
        if value == "":
            self.fail("a path is expected, got an empty word", param, ctx)
        return super().convert(value, param, ctx)


class _Glob(click.types.StringParamType):
    """A glob of names; an empty word fits none."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The glob; a usage error for an empty one."""
        if value == "":
            self.fail("a glob is expected, got an empty word: leave the option out to keep all", param, ctx)
        return super().convert(value, param, ctx)


PATH = _Path(path_type=Path)
GLOB = _Glob()


def _shared(*names: str, **attributes: Any) -> Decorator:
    return click.option(*names, cls=Shared, **attributes)


def tuning_option(function: F) -> F:
    """--tuning, one layer each."""
    text = "Table or folder in place of the shipped tables, +PATH beside them; may be repeated, later ones win."
    return _shared("--tuning", form=Form.PATHS, check=layers_of, type=PATH, metavar="PATH", help=text)(function)


def module_option(function: F) -> F:
    """--module."""
    text = "Module of tables whose name does not tell it."
    return _shared("--module", form=Form.WORD, metavar="NAME", help=text)(function)


def assume_option(function: F) -> F:
    """--assume-gfx and --assume-dtype."""
    text = "The arch of rows that only tell a CU count, as in 256=gfx950; may be repeated."
    arch = _shared("--assume-gfx", form=Form.WORDS, check=_check_assumptions, metavar="CU=GFX", help=text)
    text = "The type of operands that neither rows nor their module tell, as in torch.int8."
    return arch(_shared("--assume-dtype", form=Form.WORD, check=assumed_dtype, metavar="TYPE", help=text)(function))


def policy_option(function: F) -> F:
    """--m-policy."""
    text = "How M between measured sizes is answered."
    policies = ("ladder", "aiter")

    def check(value: str) -> None:
        if value not in policies:
            raise UsageError(f"unknown policy '{value}' ({nearest_or_all(value, policies)})")

    choice = click.Choice(policies)
    option = _shared(
        "--m-policy", form=Form.WORD, check=check, type=choice, default=policies[0], show_default=True, help=text
    )
    return option(function)


def json_option(function: F) -> F:
    """--json."""
    return click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout.")(function)


GRAPH = "Time a GPU's calls in a graph that is replayed, not launched one by one."
ROTATING = "Sets of operands in turn; 0: one that stays in the cache, or so many that none is found there."


def quiet_option(function: F) -> F:
    """--quiet, of commands that show progress."""

    def callback(ctx: click.Context, _: click.Parameter, value: bool) -> None:
        if value:
            ctx.with_resource(quiet())

    text = "Show no progress."
    return click.option("--quiet", is_flag=True, expose_value=False, callback=callback, help=text)(function)


def targets_option(function: F) -> F:
    """--targets, else CKGEN_TARGETS, else GPU_ARCHS; `targets_or_env` reads it."""
    text = "Targets such as 'gfx942;gfx942:80;mi355x'; separated by ; , or spaces."
    return _targets(text)(function)


def beside_option(function: F) -> F:
    """--targets of commands that are about one device of them, which --target names."""
    return _targets("What the library is built for beside it.")(function)


def target_option(help_text: str = "The device, such as gfx942:80 or mi308x.", *, required: bool = True) -> Decorator:
    """--target, one device; `one_target` reads it."""
    return _shared("--target", form=Form.WORD, check=_check_target, required=required, metavar="T", help=help_text)


def ops_option(function: F) -> F:
    """--ops; `ops_of` reads it."""
    text = "Operations, separated by ; , or spaces.  [default: all]"
    return _shared("--ops", form=Form.WORDS, check=ops_of, metavar="LIST", help=text)(function)


def backends_option(help_text: str = "Only kernels of these backends.") -> Decorator:
    """--backend; `backends_of` reads it."""
    return _shared("--backend", "backends", form=Form.WORDS, check=backends_of, metavar="LIST", help=help_text)


def jobs_option(function: F) -> F:
    """--jobs."""
    text = "Compiles at once.  [default: one per core]"
    return _shared("--jobs", form=Form.COUNT, type=click.IntRange(1), metavar="N", help=text)(function)


def scheduler_option(function: F) -> F:
    """--scheduler; `ckgen.cluster.place_of` reads it."""
    text = "Run on the workers of a dask scheduler: its address, or local or local:N for processes here."
    return _shared("--scheduler", form=Form.WORD, check=place_of, metavar="ADDRESS", help=text)(function)


def build_only_option(function: F) -> F:
    """`--build-only` of commands that time."""
    return click.option("--build-only", is_flag=True, help="Build the library and measure nothing.")(function)


def work_option(function: F) -> F:
    """`--work` of commands that time."""
    text = "Folder of the library: built into it, or found there as it was built elsewhere."
    return click.option("--work", type=PATH, metavar="DIR", help=text)(function)


def timing_scheduler_option(function: F) -> F:
    """The same of commands that time, never from a file of settings: what suits compiles would spoil times."""

    def check(_: click.Context, __: click.Parameter, value: str | None) -> str | None:
        if value is not None:
            place_of(value)
        return value

    text = "Time on the workers of a dask scheduler that are tagged with the target: its address, or local or local:N."
    return click.option("--scheduler", callback=check, metavar="ADDRESS", help=text)(function)


def kernel_set_option(function: F) -> F:
    """--kernel-set; `kernel_sets_of` reads it."""
    return kernel_set_option_with("Further kernels.")(function)


def kernel_set_option_with(help_text: str) -> Decorator:
    """The same, with another text."""
    attributes = {"form": Form.PATHS, "names": _shipped_sets, "type": PATH, "metavar": "YAML|NAME", "help": help_text}
    return _shared("--kernel-set", "kernel_sets", **attributes)


def kernels_option(function: F) -> F:
    """--kernels, of which any may fit."""
    text = "Only kernels whose name fits one of the globs."
    return click.option("--kernels", type=GLOB, multiple=True, metavar="GLOB", help=text)(function)


def signatures_option(function: F) -> F:
    """--signatures, of which any may fit."""
    text = "Only signatures whose canonical name fits a glob."
    return _shared("--signatures", form=Form.WORDS, type=GLOB, metavar="GLOB", help=text)(function)


def profile_option(function: F) -> F:
    """--profile, of which several are their union."""
    text = "Only what a profile keeps: its name (`ckgen list profiles`) or a file; of several, what any of them keeps."
    option = _shared(
        "--profile", "profiles", form=Form.PATHS, names=_shipped_profiles, type=PATH, metavar="NAME|YAML", help=text
    )
    return option(function)


def choosing_options(function: F) -> F:
    """What chooses instances, as `generate` has it: --targets … --profile."""
    return _with(_choosing(kernels_option), function)


def all_shared_options(function: F) -> F:
    """Every option that a file of settings may answer."""
    further = (
        target_option(required=False),
        module_option,
        assume_option,
        policy_option,
        jobs_option,
        scheduler_option,
    )
    return _with((*_choosing(), *further), function)


def shared_options() -> tuple[Shared, ...]:
    """The same, as what a file may say."""
    command = click.command()(all_shared_options(lambda: None))
    return tuple(one for one in command.params if isinstance(one, Shared))


def _choosing(*beside: Decorator) -> tuple[Decorator, ...]:
    first = (targets_option, ops_option, tuning_option, kernel_set_option)
    return (*first, *beside, signatures_option, backends_option(), profile_option)


def _with(options: Sequence[Decorator], function: F) -> F:
    """In the order of --help."""
    for option in reversed(options):
        function = option(function)
    return function


def _targets(text: str) -> Decorator:
    return _shared(
        "--targets", form=Form.WORDS, check=_check_targets, envvar=list(ENVIRONMENT), metavar="LIST", help=text
    )


def _check_targets(texts: Sequence[str]) -> None:
    from ckgen.specs.archs import load_archs
    from ckgen.specs.native import native_target
    from ckgen.specs.targets import resolve_targets

    resolve_targets(";".join(texts), env={}, archs=load_archs(), native=native_target)


def _check_target(text: str) -> None:
    _check_targets((text,))


def _check_assumptions(texts: Sequence[str]) -> None:
    from ckgen.specs.archs import load_archs

    assumptions(texts, load_archs())


def _shipped_sets() -> tuple[str, ...]:
    from ckgen.families.kernel_sets import SHIPPED

    return SHIPPED


def _shipped_profiles() -> tuple[str, ...]:
    from ckgen.plan.profile_file import shipped_names
    from ckgen.plan.receipts import receipt_words

    return (*shipped_names(), *receipt_words())

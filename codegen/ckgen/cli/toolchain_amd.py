"""`ckgen toolchain amd`: prepare the cross toolchain, or take a ROCm into use; say what its CK tree can do."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ckgen.cli.errors import Command
from ckgen.cli.options import json_option, quiet_option
from ckgen.cli.output import columns, progress, say, show, show_json
from ckgen.model.errors import UsageError

if TYPE_CHECKING:
    from ckgen.build.amd.prepare import Prepared

_FOLDER = click.Path(path_type=Path, file_okay=False)
_ROCM_PATH = "ROCM_PATH"
_OLDER = "older-ck"


@click.command(cls=Command, name="amd", short_help="Prepare clang, lld, HIP headers and a CK tree for AMD GPUs.")
@click.option(
    "--prefix", type=_FOLDER, help="where it lies  [default: $CKGEN_AMD_PREFIX, else amd in the user's cache]"
)
@click.option("--rocm", type=_FOLDER, help="use the ROCm in this folder  [default: $ROCM_PATH, where it is set]")
@click.option("--pinned", is_flag=True, help="use the pinned wheels although $ROCM_PATH is set")
@click.option("--ck", type=_FOLDER, help="with a ROCm: the CK tree to use  [default: the ROCm's own, else the wheels']")
@click.option(
    "--also", type=click.Choice([_OLDER]), multiple=True, help="an optional package: an older CK tree to judge"
)
@quiet_option
@json_option
def command(
    prefix: Path | None, rocm: Path | None, pinned: bool, ck: Path | None, also: tuple[str, ...], as_json: bool
) -> int:
    """Prepare what compiles kernels for AMD GPUs, with no GPU and no ROCm needed, and judge its CK tree.

    Downloads pinned wheels with pip, by sha256; a second run has nothing to do. `generate` never needs it.
    """
    from ckgen.build.amd.capabilities import capabilities
    from ckgen.build.amd.describe import describe, describe_tree
    from ckgen.build.amd.toolchain import over_older_tree

    started = time.monotonic()
    with progress("preparing") as line:
        prepared = _prepare(prefix, rocm, pinned, ck, also, line.step)
        toolchain = prepared.toolchain
        document = describe(toolchain, capabilities(toolchain, line.step))
        if also:
            older = over_older_tree(toolchain)
            document["older_ck"] = describe_tree(older.ck, capabilities(older, line.step))
    document |= {"done": list(prepared.done), "seconds": round(time.monotonic() - started, 3)}
    for tree in (document[name] for name in ("ck", "older_ck") if name in document):
        for half, error in tree["unjudged"].items():
            say(f"warning: {tree['include']}: its {half} does not compile at all: {error}")
    if as_json:
        show_json(document)
    else:
        show(_text(document))
    return 0


def _prepare(
    prefix: Path | None,
    rocm: Path | None,
    pinned: bool,
    ck: Path | None,
    also: tuple[str, ...],
    say_step: Callable[[str], None],
) -> Prepared:
    from ckgen.build.amd.pins import Role
    from ckgen.build.amd.place import new_prefix
    from ckgen.build.amd.prepare import prepare_pinned, prepare_rocm

    place = prefix.absolute() if prefix is not None else new_prefix()
    if pinned and rocm is not None:
        raise UsageError("--pinned and --rocm exclude each other")
    if rocm is None and not pinned and os.environ.get(_ROCM_PATH):
        rocm = Path(os.environ[_ROCM_PATH])
    if rocm is None:
        if ck is not None:
            raise UsageError("--ck goes with --rocm: the pinned toolchain has its own CK tree")
        return prepare_pinned(place, say_step, [Role(name) for name in also])
    if also:
        raise UsageError("--also goes with the pinned toolchain, not with a ROCm")
    return prepare_rocm(place, rocm, ck, say_step)


def _text(document: Mapping[str, Any]) -> str:
    what = {"pinned": "pinned wheels", "rocm": "a ROCm"}[document["kind"]]
    lines = [*document["done"]] or ["nothing to do"]
    rows = [
        ("toolchain", f"{what} in {document['root']}"),
        ("compiler", f"{document['compiler_version']}  {document['compiler_id'][:16]}"),
        ("C++ library", document["libstdcxx"] or "–"),
        *_tree("CK tree", document["ck"]),
        *(_tree("older CK tree", document["older_ck"]) if "older_ck" in document else ()),
    ]
    return "\n".join([*lines, "", columns(rows)])


def _tree(name: str, tree: Mapping[str, Any]) -> list[tuple[str, str]]:
    return [(name, f"{tree['include']}  {tree['id'][:16]}"), *tree["capabilities"].items()]

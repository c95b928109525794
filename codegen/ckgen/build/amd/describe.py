"""A toolchain and what its CK tree can do, as a JSON document."""

from __future__ import annotations

from typing import Any

from ckgen.build.amd.capabilities import Capabilities
from ckgen.build.amd.model import AmdToolchain, CkTree


def describe(toolchain: AmdToolchain, found: Capabilities | None) -> dict[str, Any]:
    """Paths, versions, ids and capabilities; `capabilities` is null while the tree was not judged."""
    return {
        "kind": toolchain.kind.value,
        "prefix": str(toolchain.prefix),
        "root": str(toolchain.root),
        "compiler": list(toolchain.compiler),
        "linker": list(toolchain.linker),
        "compiler_version": toolchain.compiler_version,
        "compiler_id": toolchain.compiler_id,
        "headers_id": toolchain.headers_id,
        "libstdcxx": toolchain.libstdcxx,
        "decoder": str(toolchain.decoder) if toolchain.decoder is not None else None,
        "identity": toolchain.identity,
        "ck": describe_tree(toolchain.ck, found),
    }


def describe_tree(tree: CkTree, found: Capabilities | None) -> dict[str, Any]:
    """Where a CK tree is, its digest, the answer to every probe and the compiler's error behind each no."""
    return {
        "include": str(tree.includes[0]),
        "id": tree.id,
        "instance_tables": str(tree.instance_tables) if tree.instance_tables is not None else None,
        "capabilities": dict(found.values) if found is not None else None,
        "errors": dict(found.errors) if found is not None else None,
        "unjudged": dict(found.unjudged) if found is not None else None,
    }

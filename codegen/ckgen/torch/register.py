"""Functions as operations of torch: `torch.ops.ckgen.<name>`, with shapes for tracing and gradients."""

from __future__ import annotations

from collections.abc import Callable
from inspect import signature
from typing import Any

import torch

from ckgen.model.errors import UsageError

_LIBRARY = torch.library.Library("ckgen", "DEF")


def register(
    name: str,
    kernel: Callable[..., Any],
    shape: Callable[..., Any],
    gradients: Callable[..., Any] | None = None,
    keep: Callable[..., Any] | None = None,
) -> Callable[..., Any]:
    """The operation `ckgen::name`, whose schema is that of `kernel`; no argument is written, no result is an argument.

    shape: results that are not computed, for tracing, from those of the arguments that it names. gradients, keep: the
    backward and what it needs, as `torch.library.register_autograd` has them; without, a backward is refused when it is
    asked for. Registered by schema, as `torch.library.custom_op` compares the memory of results and arguments in every
    call, which takes as long as a small product does.
    """
    qualified = f"ckgen::{name}"
    _LIBRARY.define(name + torch.library.infer_schema(kernel, mutates_args=()))
    _LIBRARY.impl(name, kernel, "CompositeExplicitAutograd")
    torch.library.register_fake(qualified, _by_name(shape, kernel), lib=_LIBRARY)
    torch.library.register_autograd(qualified, gradients or _refusal(qualified), setup_context=keep, lib=_LIBRARY)
    operation: Callable[..., Any] = getattr(torch.ops.ckgen, name).default
    return operation


def _by_name(shape: Callable[..., Any], kernel: Callable[..., Any]) -> Callable[..., Any]:
    """`shape`, called as `kernel` is, with those of the arguments that it names."""
    whole, named = signature(kernel), signature(shape).parameters

    def called(*arguments: Any, **words: Any) -> Any:
        given = whole.bind(*arguments, **words).arguments
        return shape(**{name: given[name] for name in named})

    return called


def _refusal(qualified: str) -> Callable[..., Any]:
    def refuse(ctx: Any, *gradients: Any) -> Any:
        raise UsageError(f"{qualified} has no backward")

    return refuse

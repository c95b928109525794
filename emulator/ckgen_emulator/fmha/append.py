"""Runs a kernel that appends to a cache on small problems, checked, and holds it against the definition."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ckgen.families.common.comparison import Expected
from ckgen.families.common.storage import Storage, decode, encode
from ckgen.families.fmha.append_config import CkTileAppendConfig, HipAppendConfig
from ckgen.families.fmha.append_operands import (
    NOT_NEW,
    AppendOperands,
    Integers,
    appended,
    make_append_operands,
    new_elements,
    paged_elements,
)
from ckgen.families.fmha.enums import FmhaKv, FmhaKvLayout, FmhaRope
from ckgen.families.fmha.exact_append import exact_append_operands
from ckgen.families.fmha.pages import block_table, page_list
from ckgen.families.fmha.signature import FmhaSignature
from ckgen.model.fmha_shape import FmhaShape
from ckgen.specs.archs import load_archs
from ckgen_emulator.bindings import Options
from ckgen_emulator.fmha.call import prepare
from ckgen_emulator.fmha.pages import page_count
from ckgen_emulator.fmha.run import FmhaKernel
from ckgen_emulator.gemm.problem import Data
from ckgen_emulator.production.model import Outcome, Output
from ckgen_emulator.unit_run import run_call

_UNWRITTEN = 0xFF


@dataclass(frozen=True, slots=True)
class AppendProblem:
    """Rows of each sequence before, and new ones, which a signature of batches has the same of all.

    rows_q: of Q, -1 for as many as are new. in_place: O is Q. `seed` decides the data, exact or random ones.
    """

    before: tuple[int, ...]
    added: tuple[int, ...]
    heads_q: int = 1
    heads_k: int = 1
    hdim_q: int = 64
    hdim_v: int = 64
    page_size: int = 0
    rotary_dim: int = 0
    rows_q: int = -1
    in_place: bool = False
    seed: int = 0
    data: Data = Data.SMALL_INTEGERS

    def __str__(self) -> str:
        lengths = ",".join(f"{old}+{new}" for old, new in zip(self.before, self.added, strict=True))
        words = f"{lengths} h{self.heads_q}/{self.heads_k} d{self.hdim_q}/{self.hdim_v}"
        words += f" r{self.rotary_dim}" if self.rotary_dim else ""
        words += f" q{self.rows_q}" if self.rows_q >= 0 else ""
        return words + (f" p{self.page_size}" if self.page_size else "")


def run_append(
    kernel: FmhaKernel, problem: AppendProblem, options: Options | None = None, *, trace_wrong: bool = False
) -> Outcome:
    """One launch; `trace_wrong` as run_calls. UsageError where the host unit refuses the problem."""
    shape, args, inputs, outputs = append_data(kernel.signature, problem)
    call = prepare(kernel.library, shape, args, cu_num=load_archs()[kernel.arch].default_cu_num)
    chosen = options or Options()
    what = ("fmha", kernel.arch, kernel.code_object, call, str(problem))
    return run_call(*what, inputs, outputs, chosen, trace_wrong=trace_wrong)


def append_cases(signature: FmhaSignature, config: CkTileAppendConfig | HipAppendConfig) -> tuple[AppendProblem, ...]:
    """One token; several tiles and pages with rests; shared heads; other rows of Q; parts of heads that turn."""
    return tuple(dict.fromkeys(_cases(signature, config)))


def append_data(
    signature: FmhaSignature, problem: AppendProblem
) -> tuple[FmhaShape, Mapping[str, Any], tuple[Storage, ...], tuple[Output, ...]]:
    """Sizes, arguments by names of FmhaArgs, arrays that are only read, and what must come out."""
    shape = launched_shape(signature, problem)
    make = make_append_operands if problem.data is Data.RANDOM else exact_append_operands
    operands = make(signature, shape, problem.seed, problem.before, problem.added)
    exact = appended(operands)
    args: dict[str, Any] = _small(operands)
    for name, values in (("k_new", operands.k_new), ("v_new", operands.v_new)):
        args[name] = _joined(operands, encode(values, signature.a), operands.added)
        args[f"{name}_strides"] = _strides(values.shape)
    outputs = []
    for name, of, dims in (("k", exact.k, problem.hdim_q), ("v", exact.v, problem.hdim_v)):
        output, args[f"{name}_strides"] = _cache(operands, name, of, dims)
        args[f"{name}_cache"] = output.actual
        outputs.append(output)
    if shape.seqlen_q:
        q = _joined(operands, encode(operands.q, signature.a), operands.rotated)
        args["q_strides"] = args["o_strides"] = _strides(operands.q.shape)
        held = q if problem.in_place else None
        expected, bound = (_joined(operands, one, operands.rotated) for one in (exact.q.c, exact.q.bound))
        output = Output("o", np.empty_like(q), expected, bound, held=held)
        args |= {"q": output.actual if problem.in_place else q, "o": output.actual}
        outputs.append(output)
    written = {id(one.actual) for one in outputs}
    inputs = tuple(one for one in args.values() if isinstance(one, np.ndarray) and id(one) not in written)
    return shape, args, inputs, tuple(outputs)


def launched_shape(signature: FmhaSignature, problem: AppendProblem) -> FmhaShape:
    """The sizes as a launch has them, with some room in the cache behind the longest sequence."""
    traits = signature.traits
    after = [old + new for old, new in zip(problem.before, problem.added, strict=True)]
    rows = max(problem.added) if problem.rows_q < 0 else problem.rows_q
    rows = rows if traits.rope is not FmhaRope.NONE else 0
    room = max(*after, *(old + rows for old in problem.before)) + 3
    return FmhaShape(
        len(after), problem.heads_q, problem.heads_k, rows, room, problem.hdim_q, problem.hdim_v,
        page_size=problem.page_size, pages=page_count(tuple(after), problem.page_size) if problem.page_size else 0,
        total_q=sum(problem.added) if traits.varlen else 0, seqlen_new=max(problem.added),
        rotary_dim=problem.rotary_dim,
    )  # fmt: skip


def _cases(signature: FmhaSignature, config: CkTileAppendConfig | HipAppendConfig) -> Iterator[AppendProblem]:
    traits = signature.traits
    rope = traits.rope is not FmhaRope.NONE
    whole = False
    if isinstance(config, CkTileAppendConfig):
        whole = rope and not config.pad_q  # rows of Q are whole tiles, or none
        hdim, rows, page, turning = config.hdim, config.n0, config.n0, 16
        smaller, of_v = hdim - 8 * config.pad_hdim_q, hdim - 8 * config.pad_hdim_v
    else:
        hdim, rows, page, turning, smaller, of_v = 80, config.rows, 16, 6, 64, 33
    is_tile = isinstance(config, CkTileAppendConfig)
    one = AppendProblem((5,), (1,), 2, 1, hdim, hdim, in_place=is_tile, rotary_dim=hdim if rope else 0)
    one = replace(one, page_size=page if traits.is_paged else 0, rows_q=rows if whole else -1)
    yield one
    several = replace(one, heads_q=4, heads_k=2)
    if traits.varlen:
        yield replace(several, before=(0, 2 * rows - 3, 7, 40), added=(rows + 1, 5, 0, 1))
    else:
        yield replace(several, before=(0, 2 * rows - 3, 40), added=(rows + 5,) * 3, seed=1)
    rested = replace(several, before=(rows + 1, 3), added=(7, 7), seed=2, in_place=True)
    yield rested
    yield replace(rested, hdim_q=smaller, hdim_v=of_v, rotary_dim=turning if rope else 0, seed=3)
    if rope and not traits.varlen:
        yield replace(rested, rows_q=0, seed=5)
        if not whole:
            yield replace(rested, rows_q=3, seed=4)


def _small(operands: AppendOperands) -> dict[str, Any]:
    signature, shape, single = operands.signature, operands.shape, np.dtype(np.float32)
    found: dict[str, Any] = {}
    if operands.k_descale is not None and operands.v_descale is not None:
        found |= {"k_descale": operands.k_descale.astype(single), "v_descale": operands.v_descale.astype(single)}
    if operands.rotary is not None:
        found["rotary_cos"] = encode(operands.rotary.cos, signature.a)
        found["rotary_sin"] = encode(operands.rotary.sin, signature.a)
    if signature.traits.varlen:
        found["seqstart_q"] = np.cumsum([0, *operands.added]).astype(np.int32)
    match signature.traits.kv:
        case FmhaKv.PAGE_LIST:
            lists = page_list(operands.pages, operands.after, shape.page_size)
            return found | {"kv_indptr": lists.indptr, "kv_pages": lists.pages, "kv_last_page": lists.last_page}
        case FmhaKv.BLOCK_TABLE:
            table = block_table(operands.pages, -(-shape.seqlen_k // shape.page_size))
            found |= {"block_table": table, "block_table_stride": table.shape[1]}
        case FmhaKv.CONTIGUOUS if signature.traits.varlen:
            found["seqstart_k"] = (np.arange(shape.batch + 1) * shape.seqlen_k).astype(np.int32)
    return found | {"seqlen_k": np.array(operands.before, np.int32)}


def _cache(operands: AppendOperands, name: str, of: Expected, dims: int) -> tuple[Output, tuple[int, int, int]]:
    """What it must hold: new elements, and else what it held, which is never written; with its strides."""
    traits, shape, of_v = operands.signature.traits, operands.shape, name == "v"
    heads, rows = shape.heads_k, shape.page_size if traits.is_paged else shape.seqlen_k
    strides = (heads * dims, dims, rows * heads * dims)
    if traits.is_paged:
        places: Integers = paged_elements(operands, dims, of_v=of_v)
        if traits.kv_layout is FmhaKvLayout.VECTORIZED:
            strides = (dims, rows * dims, rows * heads * dims)
    else:
        places = new_elements(operands, dims)
        if of_v and traits.v_column:
            entries = 1 if traits.varlen else shape.batch
            places = places.reshape(entries, -1, heads, dims).transpose(0, 2, 3, 1)
            line = places.shape[-1]
            strides = (line, dims * line, heads * dims * line)
    flat = np.ascontiguousarray(places).reshape(-1)
    item = encode(np.zeros(1), operands.signature.b)
    actual = np.empty(flat.size, item.dtype)
    left = decode(np.full(item.itemsize, _UNWRITTEN, np.uint8).view(item.dtype))[0]
    is_new = flat != NOT_NEW
    expected, bound = np.full(flat.size, left), np.zeros(flat.size)
    expected[is_new], bound[is_new] = of.c.reshape(-1)[flat[is_new]], of.bound.reshape(-1)[flat[is_new]]
    return Output(name, actual, expected, bound), strides


def _joined(operands: AppendOperands, values: Storage, lengths: tuple[int, ...]) -> Storage:
    """[batch, rows, heads, D] in memory: of varlen without what does not count."""
    if not operands.signature.traits.varlen:
        return np.ascontiguousarray(values).reshape(-1)
    return np.concatenate([one[:length].reshape(-1) for one, length in zip(values, lengths, strict=True)])


def _strides(sizes: tuple[int, ...]) -> tuple[int, int, int]:
    _, rows, heads, dims = sizes
    return heads * dims, dims, rows * heads * dims

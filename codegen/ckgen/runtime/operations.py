"""A library whose operations are called with tensors of NumPy, torch, or any framework with DLPack."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, Unpack

from ckgen.model.errors import UsageError
from ckgen.runtime.dispatcher import Choice
from ckgen.runtime.gemm_words import PLAIN, GemmWords, GroupedWords, gemm_words, grouped_words
from ckgen.runtime.handles import Device, Plan
from ckgen.runtime.library import Options, RuntimeLibrary
from ckgen.runtime.session import Session, sequence_of
from ckgen.runtime.source import LibrarySource
from ckgen.tensors.errors import ShapeMismatch
from ckgen.tensors.stream import stream_address

if TYPE_CHECKING:
    from ckgen.extension import EmulatedOperations, EmulateOperations

_NOTHING: tuple[Any, ...] = ()
_NO_STEPS = (None, None)


class Library(Session):
    """The operations of generated libraries on one device. Any number of threads may call them.

    Tensors are read where they are, without a copy: objects with `__dlpack__`, `__array_interface__` or
    `__cuda_array_interface__`, of NumPy, ml_dtypes, torch, CuPy and others, in the memory of the library's device; of
    a simulated device that is the CPU's. A result that is left out is allocated by the framework of the first operand.
    No gradient is recorded.

    All operations take: `stream`, the object that owns it, of torch, CuPy or any other with `__cuda_stream__`, or 0, 1
    or 2 for the driver's own, by default the current one of the tensors' framework, and none on a CPU; `workspace`,
    memory of the plan's size aligned to 64 bytes, by default the dispatcher's pool; `deterministic`,
    `batch_invariant`, `num_threads` and `strategy` as ckgen::Problem has them; `instance` and `k_batch`, to run a
    kernel by its name. A call of a GPU returns when it is launched, another when it is done.

    A call is checked and planned once for each problem; plans are kept until tables, overrides or the device change.

    Errors: TensorError (of ckgen.tensors) names the argument that a call cannot take; UsageError what it says beside
    tensors; RuntimeFailure (Unsupported, InvalidArgument, NoDevice, InternalFailure) carries the library's sentence.
    """

    @classmethod
    def load(
        cls,
        path: Path | str,
        names: Iterable[str],
        device: str | None = None,
        *,
        device_names: Iterable[str] = (),
        options: Options | None = None,
    ) -> Self:
        """Loads a shared library with ckgen's own and the generated libraries `names` in it.

        device: None for the current GPU, else this CPU; "cpu"; or a target such as "gfx942:304", whose kernels' twins
        run on the CPU. device_names: of libraries of GPU code. options: of the dispatcher, else the environment's.
        """
        library = RuntimeLibrary(Path(path))
        said, of_code = (one if isinstance(one, str) else tuple(one) for one in (names, device_names))
        dispatcher = library.dispatcher(said, options, of_code)
        source = LibrarySource(Path(path).absolute(), tuple(said), tuple(of_code))
        return cls(library, dispatcher, device_of(library, device), source)

    def use(self, device: str | None) -> None:
        """Another device, as `load` takes it, for calls that begin from now on."""
        self.use_device(device_of(self.library, device))

    def emulated(
        self, target: str | None = None, *, checked: bool = True, seed: int = 0, threads: int = 1
    ) -> EmulatedOperations:
        """The same operations on an emulated GPU, which runs the library's GPU code instruction by instruction.

        target: such as "gfx942:304", by default the simulated device's. checked: races, waits, hazards and reads of
        what nobody wrote are followed; bounds always are. seed: of the order of waves, 0 the plain one. threads: of
        the emulator. Each call runs in a process of its own; tables and overrides that were loaded later are not its.

        UsageError where ckgen-emulator is not installed (it says what to install), for a library without GPU code, and
        for a GPU that is not emulated.
        """
        from ckgen.extension import OPERATIONS, extension

        emulate: EmulateOperations = extension(OPERATIONS, "emulate", "`Library.emulated`")
        if self.source is None:
            raise UsageError("this library was not loaded from a file: Library.load")
        return emulate(self.source, target or self.device.target, checked, seed, threads)

    def gemm(
        self,
        a: Any,
        b: Any,
        *,
        out: Any = None,
        a_scale: Any = None,
        b_scale: Any = None,
        bias: Any = None,
        d: Sequence[Any] = _NOTHING,
        stream: Any = None,
        workspace: Any = None,
        **words: Unpack[GemmWords],
    ) -> Any:
        """out = epilogue(a @ b), with scales and bias as ckgen/gemm_types.hpp says.

        a: [M, K] or [B, M, K]; b: [K, N] or [B, K, N], so weights of N rows are `w.T`; out: [M, N] or [B, M, N], in
        rows. a and b may lie in rows or columns, without gaps inside them. 4-bit types are two to a byte along K.
        dtype: of a result that is left out, a name or a type of NumPy's or torch's, by default a's, of 8 and 4 bits
        bfloat16.
        a_scale, b_scale: fp32 [1] and [1], [M] and [N], or [M, ceil(K/128)] and [ceil(N/128), ceil(K/128)]; e8m0
        [M, ceil(K/32)] and [N, ceil(K/32)]. bias: fp32 [N]. d: up to two tensors [M, N] or [N] of out's type, taken by
        the steps `add` and `mul` of `epilogue`; others are relu, gelu, silu and scale, by alpha.
        """
        said = gemm_words(**words) if words else PLAIN
        first, second = _NO_STEPS if d is _NOTHING else _of_steps(d)
        bound, address = self._bound, None if stream is None else stream_address(stream)
        done = self._native.call_one(  # not by `invoke`: nothing is packed on the way to a small GEMM
            bound.sites, said, address, out, a, b, a_scale, b_scale, bias, first, second, workspace
        )
        if done is not None:
            return done
        return self._planned(bound, said, (out,), (a, b, a_scale, b_scale, bias, first, second, workspace), address)[0]

    def grouped(
        self,
        a: Sequence[Any],
        b: Sequence[Any],
        *,
        out: Sequence[Any] | None = None,
        a_scale: Sequence[Any] | None = None,
        b_scale: Sequence[Any] | None = None,
        bias: Sequence[Any] | None = None,
        stream: Any = None,
        workspace: Any = None,
        **words: Unpack[GroupedWords],
    ) -> list[Any]:
        """out[g] = a[g] @ b[g] of every group, in one launch. Lists of tensors as those of `gemm`, of one signature.

        Block scales of a may have gaps between their lines, alike in all groups: slices of one matrix of all rows.
        """
        groups = len(sequence_of(a, "a"))
        lists = (("b", b), ("a_scale", a_scale), ("b_scale", b_scale), ("bias", bias))
        others = (*a, *(one for name, given in lists for one in _of_groups(given, name, groups)), workspace)
        results = _of_groups(out, "out", groups) or (None,)
        return list(self.invoke(grouped_words(groups, **words), results, others, stream))

    def moe(
        self,
        a: Any,
        w1: Any,
        w2: Any,
        topk_ids: Any,
        topk_weights: Any,
        *,
        out: Any = None,
        a_scale: Any = None,
        w1_scale: Any = None,
        w2_scale: Any = None,
        activation: str = "silu",
        weight_first: bool = False,
        dtype: Any = None,
        quant: str | None = None,
        preshuffled: bool = False,
        mx_scale_shuffled: bool = False,
        signature: str | None = None,
        stream: Any = None,
        workspace: Any = None,
        deterministic: bool = False,
        batch_invariant: bool = False,
        num_threads: int = 0,
        strategy: str = "any",
        instance: str | None = None,
        k_batch: int = 1,
    ) -> Any:
        """A mixture of experts, as ckgen/moe.hpp says: gate and up, the activation, down, and the sum over slots.

        a: [tokens, D]; w1: [experts, 2 I, D], gate rows first, or [experts, I, D] without a gate; w2: [experts, D, I];
        topk_ids: int32, topk_weights: fp32, both [tokens, top_k]; out: [tokens, D]. Scales of the weights are those of
        a GEMM's b for each expert: [experts], [experts, rows], [experts, ceil(rows/128), ceil(columns/128)], or e8m0.
        """
        said = (
            "moe", signature, dtype, activation, weight_first, quant, preshuffled, mx_scale_shuffled,
            deterministic, batch_invariant, num_threads, strategy, instance, k_batch,
        )  # fmt: skip
        others = (a, w1, w2, topk_ids, topk_weights, a_scale, w1_scale, w2_scale, workspace)
        return self.invoke(said, (out,), others, stream)[0]

    def attention(
        self,
        q: Any,
        k: Any,
        v: Any,
        *,
        out: Any = None,
        lse: Any = None,
        with_lse: bool = False,
        scale: float | None = None,
        causal: bool = False,
        window: tuple[int, int] | None = None,
        top_left: bool = False,
        sink_tokens: int = 0,
        softcap: float = 0.0,
        bias: Any = None,
        sink: Any = None,
        q_descale: Any = None,
        k_descale: Any = None,
        v_descale: Any = None,
        seqstart_q: Any = None,
        seqstart_k: Any = None,
        seqlen_k: Any = None,
        block_table: Any = None,
        max_q: int = 0,
        max_k: int = 0,
        dropout: float = 0.0,
        seed: int = 0,
        offset: int = 0,
        dtype: Any = None,
        signature: str | None = None,
        stream: Any = None,
        workspace: Any = None,
        deterministic: bool = False,
        batch_invariant: bool = False,
        num_threads: int = 0,
        strategy: str = "any",
        instance: str | None = None,
        k_batch: int = 1,
    ) -> Any:
        """softmax(scale · q kᵀ, masked and biased) v, as ckgen/fmha.hpp says; (out, lse) with `with_lse`.

        q: [B, Sq, Hq, D]; k: [B, Sk, Hk, D]; v: [B, Sk, Hk, Dv]; out: [B, Sq, Hq, Dv]; Hk divides Hq. With seqstart_q
        and seqstart_k, int32 [B + 1], rows of all sequences lie one after the other, [rows, heads, D], the longest of
        max_q and max_k. With block_table, int32 [B, pages], and seqlen_k, int32 [B], k and v are pages
        [pages, rows, Hk, D], or of vectors of 16 bytes, x elements, [pages, Hk, D / x, rows, x] and [pages, Hk,
        rows / x, Dv, x]. lse: fp32 [B, Hq, Sq] or [Hq, rows], natural logarithm.
        scale: 1 / sqrt(D) where it is None. window: (left, right) columns beside the diagonal, which ends at the last
        key, or starts at the first one of `top_left`; below 0 is no limit. bias: [1 or B, 1 or Hq, Sq, Sk] of q's type,
        or slopes fp32 [Hq] or [B, Hq]. sink: fp32 [Hq], a logit without value. descales: fp32 [1], of 8-bit types.
        dropout: the share of P that is dropped, by the bytes that seed and offset, 64 bits each, draw; such calls are
        planned anew each time.
        """
        has_lse = with_lse or lse is not None
        said = (
            "fmha", signature, dtype, scale, causal, window, top_left, sink_tokens, softcap, has_lse, max_q, max_k,
            dropout, seed, offset, deterministic, batch_invariant, num_threads, strategy, instance, k_batch,
        )  # fmt: skip
        others = (
            q, k, v, bias, sink, q_descale, k_descale, v_descale, seqstart_q, seqstart_k, seqlen_k, block_table,
            workspace,
        )  # fmt: skip
        found = self.invoke(said, (out, lse), others, stream)
        return found if has_lse else found[0]

    def attention_backward(
        self,
        dout: Any,
        q: Any,
        k: Any,
        v: Any,
        out: Any,
        lse: Any,
        *,
        dq: Any = None,
        dk: Any = None,
        dv: Any = None,
        dbias: Any = None,
        dsink: Any = None,
        with_dbias: bool = False,
        with_dsink: bool = False,
        scale: float | None = None,
        causal: bool = False,
        window: tuple[int, int] | None = None,
        top_left: bool = False,
        sink_tokens: int = 0,
        softcap: float = 0.0,
        bias: Any = None,
        sink: Any = None,
        seqstart_q: Any = None,
        seqstart_k: Any = None,
        max_q: int = 0,
        max_k: int = 0,
        dropout: float = 0.0,
        seed: int = 0,
        offset: int = 0,
        signature: str | None = None,
        stream: Any = None,
        workspace: Any = None,
        batch_invariant: bool = False,
        num_threads: int = 0,
        strategy: str = "any",
        instance: str | None = None,
        k_batch: int = 1,
    ) -> tuple[Any, ...]:
        """(dq, dk, dv, dbias, dsink) of what `attention` was given, from what it gave with lse and dout, the gradient
        by its result. dbias, of a bias of elements, and dsink are None unless they are asked for or given.

        All have the type of q, but dsink fp32, and the shapes of what they are gradients of. Deterministic. Errors as
        of `attention`.
        """
        said = (
            "fmha", signature, None, scale, causal, window, top_left, sink_tokens, softcap, False, max_q, max_k,
            dropout, seed, offset, True, with_dbias, with_dsink,
            True, batch_invariant, num_threads, strategy, instance, k_batch,
        )  # fmt: skip
        others = (q, k, v, out, lse, dout, bias, sink, seqstart_q, seqstart_k, None, None, workspace)
        return self.invoke(said, (dq, dk, dv, dbias, dsink), others, stream)

    def plan(
        self, signature: str, problem: Any, *, instance: str | None = None, k_batch: int = 1, **wishes: Any
    ) -> Plan:
        """The plan of sizes: ckgen.Shape, ckgen.Groups, ckgen.RoutedSizes or ckgen.FmhaShape. Kept, it does not follow
        tables that are loaded later."""
        made = self.library.problem_of(signature, problem, **wishes)
        return self.dispatcher.plan(made, self.device, instance, k_batch)

    def run_plan(
        self, plan: Plan, *, stream: Any = None, options: dict[str, Any] | None = None, **tensors: Any
    ) -> None:
        """Runs a plan with tensors by their names, `out` and `workspace` among them, and options of the operation."""
        self.run(plan, tensors, options or {}, stream)

    def choice(self, signature: str, problem: Any, **wishes: Any) -> Choice:
        """The dispatcher's answer for sizes as `plan` takes them."""
        return self.dispatcher.select(self.library.problem_of(signature, problem, **wishes), self.device)

    def is_tuned(self, signature: str, problem: Any) -> bool:
        """Whether a measured row answers, at or near the sizes and for the device's own target."""
        return self.dispatcher.is_tuned(self.library.problem_of(signature, problem), self.device)

    def load_tables(self, paths: Iterable[Path]) -> None:
        """Tuned tables in place of those before; kept plans are made again. RuntimeFailure names rows left out."""
        self.dispatcher.load_tables(paths)

    def load_overrides(self, path: Path) -> None:
        """Overrides in place of those before, likewise."""
        self.dispatcher.load_overrides(path)


def device_of(library: RuntimeLibrary, device: str | None) -> Device:
    """As Library.load takes it; RuntimeFailure for a target that does not exist."""
    if device is None:
        return library.current()
    return library.host() if device == "cpu" else library.simulated(device)


def _of_steps(d: Sequence[Any]) -> tuple[Any, Any]:
    """The tensors of an epilogue's steps, None where they are left out."""
    match sequence_of(d, "d", "one of each step that takes one"):
        case []:
            return None, None
        case [first]:
            return first, None
        case [first, second]:
            return first, second
    raise ShapeMismatch(f"d has {len(d)} tensors, and an epilogue takes two at most")


def _of_groups(given: Sequence[Any] | None, name: str, groups: int) -> tuple[Any, ...]:
    """An entry per group, all None where nothing is given."""
    if given is None:
        return (None,) * groups
    found = tuple(sequence_of(given, name))
    if len(found) != groups:
        raise ShapeMismatch(f"{name} has {len(found)} tensors, a has {groups}")
    return found

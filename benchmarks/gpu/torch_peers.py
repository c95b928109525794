"""What torch takes for the problems of a table of `on_device`, timed alike: rows of that table, of kernel `torch`.

    python3 benchmarks/gpu/torch_peers.py TABLE.csv [ROUNDS] > ROWS.csv

One launch after the other, the L2 swept before each by reading, by events, medians. A signature or a problem that torch
does not compute is said on stderr. Operands are of a normal distribution; scales are 1, and biases of the type of C. Of
int8 it is the bare sums in int32, which torch has alone, beside ours with scales too; of groups one after the other.
"""

from __future__ import annotations

import csv
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median
from typing import Any

PEER = "torch"
NOT_OF_A_PROBLEM = ("kernel", "us", "is_selected")
_SWEPT = 64 << 20  # floats
_SIGNATURE = re.compile(r"(?:grouped_)?gemm_(\w+?)_([rc])([rc])r(?:_(\w+))?")


def problems(table: Path) -> tuple[list[str], list[dict[str, str]]]:
    """The header, and each problem once."""
    with table.open(encoding="utf-8", newline="") as lines:
        reader = csv.DictReader(lines)
        rows = [{name: row[name] for name in row if name not in NOT_OF_A_PROBLEM} for row in reader]
        header = list(reader.fieldnames or [])
    return header, [dict(one) for one in dict.fromkeys(tuple(row.items()) for row in rows)]


class Products:
    """torch's calls."""

    def __init__(self) -> None:
        import torch

        self.torch: Any = torch
        torch.manual_seed(5)

    def of(self, problem: dict[str, str]) -> Callable[[], Any]:
        """A call of the problem; ValueError where torch has none."""
        signature = problem["signature"]
        m, n, k = (int(problem[name]) for name in "mnk")
        read = _SIGNATURE.fullmatch(signature)
        if read is None:
            raise ValueError(f"no call for {signature}")
        types, of_a, of_b, words = read[1], read[2], read[3], read[4] or ""
        if problem.get("groups"):
            return self.groups(list(map(int, problem["groups"].split(";"))), n, k, types, words)
        batch, is_integer = int(problem.get("batch") or 0), types.startswith("int8")
        if batch and is_integer:
            raise ValueError("no batches of int8")
        if batch:
            return self.batch(batch, m, n, k, words)
        if is_integer:
            return self.integers(m, n, k)
        if (of_a, of_b) != ("r", "c"):
            return self.of_layout(m, n, k, of_a, of_b)
        return self.one(m, n, k, words)

    def operand(self, *sizes: int, is_narrow: bool) -> Any:
        """Of the type that is multiplied."""
        drawn = self.torch.randn(*sizes, device="cuda", dtype=self.torch.bfloat16)
        return drawn.to(self.torch.float8_e4m3fn) if is_narrow else drawn

    def ones(self, *sizes: int) -> Any:
        """Scales."""
        return self.torch.ones(*sizes, device="cuda")

    def groups(self, rows: list[int], n: int, k: int, types: str, words: str) -> Callable[[], Any]:
        """Rows of A of all groups, one behind the other, and a matrix B for each; integers one after the other."""
        torch, is_narrow = self.torch, "fp8" in types
        if types.startswith("int8"):
            calls = [self.integers(m, n, k) for m in rows if m]
            return lambda: [call() for call in calls]
        if words not in (("rowwise",) if is_narrow else ("", "epi_silu_mul")):
            raise ValueError(f"no groups with '{words}'")
        ends = torch.tensor(rows, device="cuda").cumsum(0).to(torch.int32)
        a = self.operand(sum(rows), k, is_narrow=is_narrow)
        b = torch.stack([self.operand(n, k, is_narrow=is_narrow) for _ in rows]).transpose(1, 2)
        if words == "epi_silu_mul":
            other, silu = self.operand(sum(rows), n, is_narrow=False), torch.nn.functional.silu
            return lambda: silu(torch._grouped_mm(a, b, offs=ends, out_dtype=torch.bfloat16)) * other
        if not is_narrow:
            return lambda: torch._grouped_mm(a, b, offs=ends, out_dtype=torch.bfloat16)
        of_a, of_b = self.ones(sum(rows)), self.ones(len(rows), n)
        return lambda: torch._scaled_grouped_mm(
            a, b, of_a, of_b, offs=ends, out_dtype=torch.bfloat16, use_fast_accum=True
        )

    def batch(self, batch: int, m: int, n: int, k: int, words: str) -> Callable[[], Any]:
        """Alike products."""
        torch, is_narrow = self.torch, words != "batched"
        a = self.operand(batch, m, k, is_narrow=is_narrow)
        b = self.operand(batch, n, k, is_narrow=is_narrow).transpose(1, 2)
        if words == "batched":
            c = torch.empty(batch, m, n, device="cuda", dtype=torch.bfloat16)
            return lambda: torch.bmm(a, b, out=c)
        if words != "rowwise_batched":
            raise ValueError("no batches with such scales")
        of_a, of_b = self.ones(batch, m), self.ones(batch, n)
        return lambda: torch._scaled_grouped_mm(a, b, of_a, of_b, out_dtype=torch.bfloat16, use_fast_accum=True)

    def integers(self, m: int, n: int, k: int) -> Callable[[], Any]:
        """Sums of products of int8, without scales."""
        torch = self.torch
        a, b = (torch.randint(-128, 128, (rows, k), device="cuda", dtype=torch.int8) for rows in (m, n))
        sums = torch.empty(m, n, device="cuda", dtype=torch.int32)
        return lambda: torch._int_mm(a, b.t(), out=sums)

    def of_layout(self, m: int, n: int, k: int, of_a: str, of_b: str) -> Callable[[], Any]:
        """A product without more of A by rows or columns, and of B."""
        a = self.operand(m, k, is_narrow=False) if of_a == "r" else self.operand(k, m, is_narrow=False).t()
        b = self.operand(k, n, is_narrow=False) if of_b == "r" else self.operand(n, k, is_narrow=False).t()
        return lambda: a @ b

    def one(self, m: int, n: int, k: int, words: str) -> Callable[[], Any]:
        """A product and what follows it."""
        torch = self.torch
        is_narrow = words.startswith("rowwise")
        follows = words.removeprefix("rowwise").lstrip("_")
        a, b = self.operand(m, k, is_narrow=is_narrow), self.operand(n, k, is_narrow=is_narrow).t()
        bias = self.operand(n, is_narrow=False) if follows.startswith("bias") else None
        other = self.operand(m, n, is_narrow=False)
        gelu, silu = torch.nn.functional.gelu, torch.nn.functional.silu
        of_a, of_b = self.ones(m, 1), self.ones(1, n)

        def product() -> Any:
            if is_narrow:
                kind = {"out_dtype": torch.bfloat16, "use_fast_accum": True}
                return torch._scaled_mm(a, b, scale_a=of_a, scale_b=of_b, bias=bias, **kind)
            return a @ b if bias is None else torch.addmm(bias, a, b)

        calls: dict[str, Callable[[], Any]] = {
            "": product,
            "bias": product,
            "bias_epi_gelu": lambda: gelu(product(), approximate="tanh"),
            "epi_add": lambda: product() + other,
            "epi_add_gelu": lambda: gelu(product() + other, approximate="tanh"),
            "epi_silu_mul": lambda: silu(product()) * other,
        }
        if not is_narrow:
            calls["bias_epi_gelu"] = lambda: torch._addmm_activation(bias, a, b, use_gelu=True)
        if follows not in calls:
            raise ValueError(f"no call for '{words}'")
        return calls[follows]


def timed(torch: Any, call: Callable[[], Any], swept: Any, rounds: int) -> float:
    """Microseconds."""
    call()
    torch.cuda.synchronize()
    events = [[torch.cuda.Event(enable_timing=True) for _ in range(2)] for _ in range(rounds)]
    for begin, end in events:
        swept.sum()
        begin.record()
        call()
        end.record()
    torch.cuda.synchronize()
    return float(median(begin.elapsed_time(end) * 1000 for begin, end in events))


def rows(table: Path, rounds: int) -> Iterator[dict[str, str]]:
    """Of every problem that torch computes."""
    _, asked = problems(table)
    products = Products()
    swept = products.torch.zeros(_SWEPT, device="cuda")
    for problem in asked:
        try:
            us = timed(products.torch, products.of(problem), swept, rounds)
        except (ValueError, RuntimeError, TypeError) as error:
            print(f"{problem}: {str(error).splitlines()[0]}", file=sys.stderr)
            continue
        yield {**problem, "kernel": PEER, "us": f"{us:.2f}", "is_selected": "0"}


def main(table: str, rounds: str = "11") -> int:
    """0."""
    header, _ = problems(Path(table))
    writer = csv.DictWriter(sys.stdout, header, lineterminator="\n")
    for row in rows(Path(table), int(rounds)):
        writer.writerow(row)
        sys.stdout.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))

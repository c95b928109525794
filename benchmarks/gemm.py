"""Products on this CPU: what `select` takes against torch and numpy, on the same threads; twins of GPU kernels too."""

from __future__ import annotations

from collections.abc import Iterator

from gemm_operands import Operands, Product
from ours import Ours
from support import Row, Run, main

from ckgen.model.strategy import Strategy
from ckgen.model.target import Target

_CUBE = (1, 1024, 1024, 1024)
_LONG_K = 131072
PRODUCTS = {
    "fp32": Product("gemm_fp32_rcr", _CUBE),
    "bf16": Product("gemm_bf16_rcr", _CUBE),
    "fp16": Product("gemm_fp16_rcr", _CUBE),
    "int8-rowwise": Product("gemm_int8_bf16_rcr_rowwise", _CUBE),
    "fp8-rowwise": Product("gemm_fp8_ocp_bf16_rcr_rowwise", _CUBE),
    "fp8-blockscale": Product("gemm_fp8_ocp_bf16_rcr_blockscale", _CUBE),
    "mxfp8": Product("gemm_fp8_ocp_bf16_rcr_mx", _CUBE),
    "mxfp4": Product("gemm_fp4_bf16_rcr_mx", _CUBE),
    "bf16-rows16": Product("gemm_bf16_rcr", (1, 16, 4096, 4096), cold=True),
    "bf16-rows64": Product("gemm_bf16_rcr", (1, 64, 4096, 4096), cold=True),
    "bf16-batch64": Product("gemm_bf16_rcr_batched", (64, 64, 64, 64)),
    "fp16-batch64": Product("gemm_fp16_rcr_batched", (64, 64, 64, 64)),
}
LONG = {
    f"{dtype}-longk{tiles}": Product(f"gemm_{dtype}_rcr", (1, 14, 32 * tiles, _LONG_K))
    for dtype in ("bf16", "fp32")
    for tiles in (1, 3)
}
TWINS = {
    "twin-bf16": Product("gemm_bf16_rcr", _CUBE),
    "twin-fp8-blockscale": Product("gemm_fp8_fnuz_bf16_rcr_blockscale", _CUBE),
}
TWIN_TARGET = Target("gfx942", 304)


def rows(run: Run) -> Iterator[Row]:
    """A row for each product; those of a long K also against our own kernels that do not share a tile."""
    own = {name: product for name, product in (PRODUCTS | LONG).items() if run.wants(name)}
    shared = {f"{name}-whole": product for name, product in LONG.items() if run.wants(f"{name}-whole")}
    if own or shared:
        signatures = (product.signature for product in (own | shared).values())
        host = Ours(run, signatures, ("gemm", "stream_k"))
        for name, product in own.items():
            yield _row(run, host, name, product, "product")
        for name, product in shared.items():
            yield _stream_k(run, host, name, product)
    twins = {name: product for name, product in TWINS.items() if run.wants(name)}
    if twins:
        simulated = Ours(run, (product.signature for product in twins.values()), ("gemm",), TWIN_TARGET)
        for name, product in twins.items():
            yield _row(run, simulated, name, product, f"host twin on a simulated {TWIN_TARGET}")


def _row(run: Run, ours: Ours, name: str, product: Product, what: str) -> Row:
    operands = Operands(product)
    selected, body = operands.ours(ours)
    selected.call()
    operands.check()
    title = f"{what}, {product.signature}"
    return run.measure(name, title, product.shape, body, operands.peers(), kernel=selected.kernel)


def _stream_k(run: Run, ours: Ours, name: str, product: Product) -> Row:
    operands = Operands(product)
    selected, body = operands.ours(ours)
    _, whole = operands.ours(ours, Strategy.DATA_PARALLEL)
    title = f"shared tiles against whole ones, {product.signature}"
    peers = {"ckgen, data_parallel asked for": whole}
    return run.measure(name, title, product.shape, body, peers, kernel=selected.kernel)


if __name__ == "__main__":
    main(rows, __doc__)

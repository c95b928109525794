"""ckgen's operations as torch's own: `torch.ops.ckgen.*`, with shapes for tracing, and AITER's names over them.

`use(library)` says which library answers; `ckgen.torch.aiter` has functions of AITER's signatures.
"""

from ckgen.torch.attention import attention
from ckgen.torch.ops import gemm, grouped, moe
from ckgen.torch.state import current, is_tuned, use

__all__ = ["attention", "current", "gemm", "grouped", "is_tuned", "moe", "use"]

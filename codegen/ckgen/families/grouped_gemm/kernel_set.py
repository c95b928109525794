"""Documents of grouped GEMMs in kernel sets: the kernels of AITER's module `deepgemm` are named too."""

from __future__ import annotations

from ckgen.families.gemm.kernel_set import GemmSetReader
from ckgen.families.gemm.signature import GemmSignature
from ckgen.families.grouped_gemm.deepgemm import MODULE, config_of, is_deepgemm, names
from ckgen.model.backend import Backend
from ckgen.model.config import Config
from ckgen.model.located_yaml import Located


class GroupedSetReader(GemmSetReader):
    """Turns documents into candidates."""

    def named(self, backend: Backend, signature: GemmSignature, item: Located) -> Config | None:
        """The Config of a kernel's name; None where it says what is wrong with it."""
        if not is_deepgemm(signature):
            return super().named(backend, signature, item)
        name = str(item.value)
        if backend is Backend.CK_TILE and name in names():
            return config_of(name, signature.a)
        message = f"not a kernel name of {MODULE} for backend {backend}: '{name}'"
        self.say("K007", item, message, f"expected one of {', '.join(names())}, of backend {Backend.CK_TILE}")
        return None

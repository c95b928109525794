"""Libraries of vendors whose kernels a row may name, and a program may have: docs/providers.md.

They answer in a program that has the library, of the version that the description begins with. Nothing here opens one.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum

from ckgen.model.arch import Vendor

_DESCRIPTION = re.compile(r"\d+\.\d+\.\d+_(first|[a-z]+\d+(_[a-z]+\d+)*)")
FORM = "cublaslt:VERSION_first or cublaslt:VERSION_<word and number>_…"


class Provider(Enum):
    """A library, by the name that tables and `Registry::provide_libraries` have for it."""

    CUBLASLT = "cublaslt"
    HIPBLASLT = "hipblaslt"

    @property
    def title(self) -> str:
        """Its name for people."""
        return {Provider.CUBLASLT: "cuBLASLt", Provider.HIPBLASLT: "hipBLASLt"}[self]

    @property
    def vendor(self) -> Vendor:
        """Whose GPUs it is for."""
        return {Provider.CUBLASLT: Vendor.NVIDIA, Provider.HIPBLASLT: Vendor.AMD}[self]

    def __str__(self) -> str:
        return self.value


@dataclass(frozen=True, slots=True)
class ProvidedKernel:
    """A provider's kernel, as `cublaslt:13.1.0_algo66_…` names it."""

    provider: Provider
    description: str


def is_provider(library: str) -> bool:
    """Whether a program may have kernels of that library."""
    return library in {str(one) for one in Provider}


def provided_kernel(name: str) -> ProvidedKernel | None:
    """What a name says; None for a name that is no provider's, or whose description is none."""
    library, colon, description = name.partition(":")
    if not colon or not is_provider(library) or _DESCRIPTION.fullmatch(description) is None:
        return None
    return ProvidedKernel(Provider(library), description)


def assumption(library: str, kernel: str, us: float | None, instead: str) -> str:
    """What an answer without a device takes for granted of a row's winner; empty where no program may have its library.

    `instead` is what answers; empty: nothing does.
    """
    if not is_provider(library):
        return ""
    time = f", in {us:g} us," if us is not None else ""
    version = kernel.partition("_")[0]
    has = f"a program with {Provider(library).title} {version} that calls provide_libraries() runs it{time}"
    return f"not to be there: {has} in place of {instead or 'nothing'}"

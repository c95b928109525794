"""The frozen view of a tensor: where its elements are, of which type, and who keeps them alive."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from ckgen.tensors.errors import LayoutMismatch


class PlaceKind(Enum):
    """Whose memory it is."""

    CPU = "cpu"
    CUDA = "cuda"
    ROCM = "rocm"


@dataclass(frozen=True, slots=True)
class Place:
    """A device's memory, by the number that its framework counts with."""

    kind: PlaceKind = PlaceKind.CPU
    index: int = 0

    def __str__(self) -> str:
        return "the CPU" if self.kind is PlaceKind.CPU else f"{self.kind.value}:{self.index}"


@dataclass(frozen=True, slots=True)
class TensorView:
    """Elements in memory. The view reads nothing and owns nothing: `owner` keeps the memory alive.

    name: of the argument, for messages. address: of the first element, in bytes. dtype: by its NumPy or ml_dtypes name,
    `float4_e2m1fn_x2` for two to a byte. itemsize: bytes. strides: in elements, none below 0.
    """

    name: str
    address: int
    dtype: str
    itemsize: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    place: Place
    read_only: bool
    owner: object

    def __post_init__(self) -> None:
        if any(stride < 0 for stride in self.strides):
            raise LayoutMismatch(f"{self.name} has a stride below 0 {self.strides}: copy it to memory of its own")

    @property
    def size(self) -> int:
        """Elements."""
        count = 1
        for length in self.shape:
            count *= length
        return count

    @property
    def extent(self) -> int:
        """Bytes from the address to behind the last element; 0 without any."""
        if self.size == 0:
            return 0
        return (1 + sum((n - 1) * s for n, s in zip(self.shape, self.strides, strict=True))) * self.itemsize

    @property
    def is_contiguous(self) -> bool:
        """Whether elements lie in the order of their indices, without gaps."""
        return self._is_dense(range(len(self.shape) - 1, -1, -1))

    @property
    def is_transposed(self) -> bool:
        """Whether the same holds with the last two dimensions exchanged."""
        order = [*range(len(self.shape) - 1, -1, -1)]
        order[:2] = order[1::-1]
        return len(self.shape) > 1 and self._is_dense(order)

    def _is_dense(self, order: range | list[int]) -> bool:
        expected = 1
        for axis in order:
            if self.shape[axis] != 1 and self.strides[axis] != expected:
                return False
            expected *= self.shape[axis]
        return True

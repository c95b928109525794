"""What is a stream, and which are refused before a driver sees their address."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from ckgen.tensors import StreamMismatch
from ckgen.tensors.stream import stream_address


class Owning:
    """A stream with the protocol and nothing else."""

    def __init__(self, address: Any, version: int = 0) -> None:
        self._said = version, address

    def __cuda_stream__(self) -> tuple[int, Any]:
        return self._said


class Closable(Owning):
    """As cuda.core's: it forgets its address when it is closed."""

    def close(self) -> None:
        self._said = 0, 0


class ClosableThatSaysSo(Closable):
    """As cuda.core's from 1.0 on."""

    is_closed = False

    def close(self) -> None:
        super().close()
        self.is_closed = True


@pytest.mark.parametrize(
    "stream",
    [
        Owning(0x2000),
        SimpleNamespace(cuda_stream=0x2000),
        SimpleNamespace(ptr=0x2000),
        SimpleNamespace(cuda_stream=0x2000, ptr=0x3000),
        Closable(0x2000),
        ClosableThatSaysSo(0x2000),
    ],
)
def test_the_address_is_what_the_owner_says(stream: Any) -> None:
    assert stream_address(stream) == 0x2000


def test_a_stream_of_torch_is_asked_in_full_once_and_for_its_address_in_each_call() -> None:
    class Stream(Owning):
        __module__ = "torch.cuda.streams"
        asked = 0

        @property
        def cuda_stream(self) -> int:
            return int(self._said[1])

        def __cuda_stream__(self) -> tuple[int, Any]:
            type(self).asked += 1
            return super().__cuda_stream__()

    with pytest.raises(StreamMismatch, match="has version 1, and version 0 is read"):
        stream_address(Stream(0x2000, version=1))
    assert [stream_address(Stream(address)) for address in (0x2000, 0x3000, 0)] == [0x2000, 0x3000, 0]
    assert Stream.asked == 2


@pytest.mark.parametrize("address", [0, 1, 2])
def test_the_driver_s_own_streams_need_no_owner(address: int) -> None:
    assert stream_address(address) == address
    assert stream_address(Owning(address)) == address
    assert stream_address(SimpleNamespace(ptr=address)) == address


@pytest.mark.parametrize("address", [3, 0x2000, 2**64 - 1, 2**64, -1, True, False])
def test_an_address_alone_is_refused(address: int) -> None:
    with pytest.raises(StreamMismatch, match=f"stream is {address!r}, an address alone, whose stream may be gone: "):
        stream_address(address)


@pytest.mark.parametrize("kind", [Closable, ClosableThatSaysSo])
def test_a_closed_stream_is_refused_and_not_taken_for_the_default_one(kind: type[Closable]) -> None:
    stream = kind(0x2000)
    stream.close()
    with pytest.raises(StreamMismatch, match=f"stream is a {kind.__name__} that was closed: give one that is open"):
        stream_address(stream)


def test_what_a_stream_says_when_it_is_asked_is_passed_on() -> None:
    class Closed:
        def __cuda_stream__(self) -> tuple[int, int]:
            raise RuntimeError("Stream has been closed")

    with pytest.raises(StreamMismatch, match="stream is a Closed that gives no address: Stream has been closed"):
        stream_address(Closed())


def test_a_stream_that_can_be_closed_may_be_the_default_one() -> None:
    assert stream_address(ClosableThatSaysSo(0)) == 0


@pytest.mark.parametrize("stream", ["side", 4.0, object(), Owning("side"), Owning(-1), Owning(2**64), Owning(None)])
def test_what_is_no_stream_is_refused(stream: Any) -> None:
    with pytest.raises(StreamMismatch, match=r"give a stream of torch or CuPy, or an object with __cuda_stream__"):
        stream_address(stream)


def test_another_version_of_the_protocol_is_refused() -> None:
    with pytest.raises(StreamMismatch, match="stream's __cuda_stream__ has version 1, and version 0 is read"):
        stream_address(Owning(0x2000, version=1))

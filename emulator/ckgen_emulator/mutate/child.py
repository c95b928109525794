"""A function's answer from a forked process, which may crash or never end."""

from __future__ import annotations

import json
import os
import select
import signal
import time
from collections.abc import Callable
from typing import Any


class ChildFailure(Exception):
    """The process gave no answer; the text says how it ended."""


def in_child(work: Callable[[], Any], seconds: float) -> Any:
    """What `work` returns, through JSON; what it prints is lost. ChildFailure where nothing comes back.

    The caller has a single thread; libraries that it loaded are the child's too.
    """
    source, sink = os.pipe()
    child = os.fork()
    if child == 0:
        _be_child(work, source, sink)
    os.close(sink)
    try:
        text = _read(source, time.monotonic() + seconds)
    finally:
        os.close(source)
        if not os.waitpid(child, os.WNOHANG)[0]:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
    if text is None:
        raise ChildFailure(f"no answer after {seconds:g} s")
    if not text:
        raise ChildFailure("the process crashed")
    answer = json.loads(text)
    if "failure" in answer:
        raise ChildFailure(answer["failure"])
    return answer["answer"]


def _read(source: int, until: float) -> bytes | None:
    """All that is written, None if it does not end in time."""
    parts: list[bytes] = []
    while True:
        ready, _, _ = select.select([source], [], [], max(until - time.monotonic(), 0))
        if not ready:
            return None
        part = os.read(source, 1 << 16)
        if not part:
            return b"".join(parts)
        parts.append(part)


def _be_child(work: Callable[[], Any], source: int, sink: int) -> None:
    """Never returns: nothing of the parent's is cleaned up or written twice."""
    os.close(source)
    silence = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silence, 1)
    os.dup2(silence, 2)
    try:
        answer = {"answer": work()}
    except Exception as failure:  # reported to the parent, whatever it is
        answer = {"failure": f"{type(failure).__name__}: {failure}"}
    with os.fdopen(sink, "w", encoding="ascii") as file:
        json.dump(answer, file)
    os._exit(0)

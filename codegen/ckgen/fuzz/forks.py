"""A process that prepares once, and then forks whenever `worker_process.py` asks it to: each fork answers in lines."""

from __future__ import annotations

import ctypes
import gc
import mmap
import os
import random
import select
import signal
import socket
import struct
import sys
import traceback
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")
STANDARD = 3
"""Files that come with a request: the fork's standard input, output and errors."""
NUMBER = struct.Struct("=q")
"""What is told of a fork: its process when it begins, its wait status when it has ended."""
_PAGES = 1 << 14
_DEATH_SIGNAL = 1
"""PR_SET_PDEATHSIG of prctl(2)."""


def serve(prepared: T, answer: Callable[[T], int]) -> int:
    """Forks for each request of standard input, a socket, until nobody is there to ask.

    A fork calls `answer`, whose result is its exit code. It is killed where that is asked meanwhile, or where nobody
    is there any more; who asks decides what an interrupt means.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    gc.collect()
    gc.freeze()  # what is here lasts, and a fork need not look through it
    with socket.socket(fileno=os.dup(0)) as channel:
        while True:
            message, files, _, _ = socket.recv_fds(channel, 1, STANDARD)
            if not message:
                return 0
            if files:  # none: one that had ended was to be killed
                try:
                    _fork(channel, files, lambda: answer(prepared))
                except BrokenPipeError:
                    return 0


def _fork(channel: socket.socket, files: list[int], answer: Callable[[], int]) -> None:
    """A fork's whole life."""
    ends, lives = os.pipe()  # open at the fork's side as long as it lives
    forking = os.getpid()
    process = os.fork()
    if process == 0:
        channel.close()
        os.close(ends)
        for number, file in enumerate(files):
            os.dup2(file, number)
            os.close(file)
        _end_with(forking)
        os._exit(_answered(answer))
    for file in (*files, lives):
        os.close(file)
    channel.sendall(NUMBER.pack(process))
    with os.fdopen(ends, "rb", buffering=0):
        ready, _, _ = select.select([ends, channel.fileno()], [], [])
        if channel.fileno() in ready:
            channel.recv(1)
            os.kill(process, signal.SIGKILL)
        status = os.waitpid(process, 0)[1]
    channel.sendall(NUMBER.pack(status))


def _answered(answer: Callable[[], int]) -> int:
    """What is mapped from here on, but for what fits in a hole, lies elsewhere in each fork, as in other processes."""
    apart = mmap.mmap(-1, mmap.PAGESIZE * random.SystemRandom().randint(1, _PAGES))
    try:
        return answer()
    except BaseException:
        traceback.print_exc()
        return 1
    finally:
        apart.close()
        sys.stdout.flush()
        sys.stderr.flush()


def _end_with(forking: int) -> None:
    """Linux ends this process, whatever runs in it, when that one is gone: nobody would end a kernel that hangs.

    A thread that looks would do it too, but malloc gives it room of its own, by whose bounds lies what is mapped next.
    """
    ctypes.CDLL(None).prctl(_DEATH_SIGNAL, ctypes.c_ulong(signal.SIGKILL))
    if os.getppid() != forking:
        os._exit(1)

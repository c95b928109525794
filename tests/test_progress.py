"""One line on a terminal, lines every few seconds elsewhere, and nothing of what is quick."""

from __future__ import annotations

import io
import re
import threading
import time

import pytest

from ckgen.progress import Pace, PartDone, Progress, Standing, duration, quiet, rate_text


class Stream(io.StringIO):
    """A stream that is a terminal or not, and tells when it was written to."""

    def __init__(self, *, terminal: bool) -> None:
        super().__init__()
        self.terminal = terminal
        self.written = threading.Semaphore(0)

    def isatty(self) -> bool:
        return self.terminal

    def write(self, text: str) -> int:
        done = super().write(text)
        self.written.release()
        return done

    def wait(self, lines: int) -> None:
        for _ in range(lines):
            assert self.written.acquire(timeout=60)


def test_off_a_terminal_a_step_is_said_again_and_again_with_its_seconds() -> None:
    stream = Stream(terminal=False)
    line = Progress(stream, seconds=0.02)
    line.step("configuring")
    stream.wait(2)
    line.step("compiling")
    while "compiling" not in stream.getvalue():
        stream.wait(1)
    line.clear()
    said = stream.getvalue().splitlines()
    assert said[0] == "configuring, 0 s" and re.fullmatch("configuring, [1-9][0-9]* s", said[1])
    assert re.fullmatch("compiling, [1-9][0-9]* s", said[-1])


def test_off_a_terminal_a_count_is_said_once() -> None:
    stream = Stream(terminal=False)
    line = Progress(stream, seconds=0.02)
    line.show("1 of 2")
    stream.wait(1)
    time.sleep(0.1)
    line.show("2 of 2")
    stream.wait(1)
    line.clear()
    assert stream.getvalue() == "1 of 2\n2 of 2\n"


def test_what_ends_before_the_first_line_says_nothing() -> None:
    stream = Stream(terminal=False)
    line = Progress(stream, seconds=3600)
    line.step("reading")
    line.clear()
    assert stream.getvalue() == "" and not [one for one in threading.enumerate() if one is line._thread]


def test_after_a_clear_it_is_quiet_until_the_next_step() -> None:
    stream = Stream(terminal=False)
    line = Progress(stream, seconds=0.02)
    line.step("one")
    stream.wait(1)
    line.clear()
    length = len(stream.getvalue())
    time.sleep(0.1)
    assert len(stream.getvalue()) == length
    line.step("two")
    while "two" not in stream.getvalue():
        stream.wait(1)
    line.clear()


def shown(stream: Stream) -> str:
    """What was written, without what moves the cursor and colours."""
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", stream.getvalue())


def test_on_a_terminal_a_bar_shows_what_is_done_and_goes_away(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    stream = Stream(terminal=True)
    line = Progress(stream)
    line.clear()
    assert stream.getvalue() == ""
    line.step("configuring [red]")
    stream.wait(1)
    for count in range(1001):
        line.count(count, 1000)
    line.clear()
    assert "configuring [red]" in shown(stream) and "━" in stream.getvalue()
    assert "1,000 of 1,000" in shown(stream) and len(stream.getvalue()) < 20_000
    line.count(1, 2)
    line.clear()
    assert "1 of 2" in shown(stream) and stream.getvalue().count("\x1b[?25h") == 2  # the cursor is there again


def test_a_bar_is_filled_as_far_as_a_part_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    line = Progress(Stream(terminal=True))
    filled = []
    for told in ("reading", PartDone("compiling", 0.25), "linking"):
        line.step(told)
        assert line._bars is not None
        (task,) = line._bars.tasks
        filled.append((task.description, task.total, task.completed))
    line.clear()
    assert filled[1] == ("compiling", 1.0, 0.25)
    assert [total for _, total, _ in filled] == [None, 1.0, None], "it pulses where nobody knows"


def test_counted_things_are_named_and_have_their_own_pace() -> None:
    heard: list[str] = []
    line = Progress(Stream(terminal=False), seconds=0)
    line.show = heard.append  # type: ignore[method-assign]
    heard_by = line.counting("ladders")
    heard_by(Standing(4, 1))
    heard_by(Standing(4, 4, failed=1))
    assert heard[0] == "ladders: 1 of 4" and heard[1].startswith("ladders: 4 of 4, 1 failed, ")
    assert [one.fraction for one in heard if isinstance(one, PartDone)] == [0.25, 1.0]


def test_a_terminal_that_cannot_move_its_cursor_gets_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "dumb")
    stream = Stream(terminal=True)
    line = Progress(stream, seconds=0.02)
    line.count(3, 4)
    stream.wait(1)
    line.clear()
    assert stream.getvalue() == "3 of 4\n"


@pytest.mark.parametrize("terminal", [True, False])
def test_within_quiet_nothing_is_said(terminal: bool) -> None:
    stream = Stream(terminal=terminal)
    with quiet():
        line = Progress(stream, seconds=0.001)
    line.step("reading")
    line.count(1, 2)
    time.sleep(0.05)
    line.clear()
    assert stream.getvalue() == ""
    line = Progress(stream, seconds=0.001)
    line.step("reading")
    stream.wait(1)
    line.clear()


def test_rate_and_time_left_are_by_what_was_done_since_the_first_standing() -> None:
    pace = Pace()
    assert pace.text(Standing(100, 40), now=10.0) == "40 of 100"
    assert pace.text(Standing(100, 60), now=20.0) == "60 of 100, 2.0/s, 20 s left"
    assert pace.text(Standing(100, 60, failed=1, running=2), now=30.0) == (
        "60 of 100, 2 running, 1 failed, 1.0/s, 40 s left"
    )
    assert pace.text(Standing(100, 60, seconds_left=600), now=30.0) == "60 of 100, 1.0/s, 10 min left"
    assert pace.text(Standing(100, 100), now=40.0) == "100 of 100, 2.0/s"


def test_what_is_slower_than_one_in_a_second_is_counted_by_minutes() -> None:
    assert [rate_text(one) for one in (0.05, 0.999, 1, 99.94, 1234)] == [
        "3.0/min", "59.9/min", "1.0/s", "99.9/s", "1,234/s",
    ]  # fmt: skip
    assert [duration(one) for one in (3, 119, 120, 7100, 7260)] == ["3 s", "119 s", "2 min", "118 min", "2 h 1 min"]


def test_a_step_begins_a_pace_of_its_own() -> None:
    stream = Stream(terminal=False)
    line = Progress(stream, seconds=0.02)
    line.count(5, 10)
    time.sleep(0.03)
    line.step("next")
    line.count(7, 20)
    while "20" not in stream.getvalue():
        stream.wait(1)
    line.clear()
    assert stream.getvalue().splitlines()[-1] == "7 of 20"

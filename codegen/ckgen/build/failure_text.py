"""What to tell of a kernel that failed: the command as it can be run again, its output, the rules that were broken."""

from __future__ import annotations

import shlex

from ckgen.build.pool import Outcome
from ckgen.build.result import Result


def failure_text(result: Result, outcome: Outcome | None) -> str:
    """Lines for stderr; empty for a kernel without errors."""
    if outcome is not None and not outcome.entry.ok:
        return failed_command(outcome)
    lines = [f"{result.kernel} on {result.arch}:"] if result.errors else []
    for finding in result.errors:
        where = f" [{finding.variant}]" if finding.variant else ""
        lines.append(f"  {finding.rule}: {finding.reason} (found {finding.measured}, limit {finding.limit}){where}")
    return "\n".join(lines)


def failed_command(outcome: Outcome) -> str:
    """The command that failed, with folders as they are here, and everything that it printed."""
    entry, job = outcome.entry, outcome.job
    places = {f"${root.name}": str(root.path) for root in job.roots}
    words = []
    for word in entry.failed:
        for name, path in places.items():
            word = word.replace(name, path)
        words.append(word)
    kept = " (kept from an earlier run; --retry compiles it again)" if outcome.cached else ""
    head = f"{job.label}: exit code {entry.code}{kept}"
    return "\n".join([head, f"  command: {shlex.join(words)}", *(f"  {line}" for line in entry.log.splitlines())])

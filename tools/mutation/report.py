"""A campaign as text and as JSON."""

from __future__ import annotations

from typing import Any

from .campaign import Campaign, Verdict
from .mutant import Fate


def verdict_text(verdict: Verdict) -> str:
    """What was changed, and which test noticed."""
    mutant, key = verdict.mutant, verdict.mutant.site.key
    head = f"{verdict.outcome.fate.value:10} {verdict.name} {key.file}:{mutant.site.line} {key.operator}"
    if verdict.outcome.fate is not Fate.SURVIVED:
        return f"{head}  {verdict.outcome.by}"
    return f"{head} #{key.occurrence}\n  - {mutant.before}\n  + {mutant.after}"


def campaign_text(campaign: Campaign) -> str:
    """The figures, and which entries of the list of equivalents are stale."""
    figures = (
        f"{campaign.room}, seed {campaign.seed}: drawn {len(campaign.verdicts)} of {campaign.possible}, "
        f"invalid {campaign.invalid}, "
        f"equivalent {campaign.count(Fate.EQUIVALENT)}, killed {campaign.killed} "
        f"({campaign.count(Fate.TIMEOUT)} by time), survived {campaign.count(Fate.SURVIVED)}: "
        f"{campaign.percentage:.1f} %"
    )
    return "\n".join([figures, *(f"listed as equivalent, but no mutant: {key}" for key in campaign.stale)])


def campaign_json(campaign: Campaign) -> dict[str, Any]:
    """The same as data, with every verdict."""
    return {
        "room": campaign.room,
        "seed": campaign.seed,
        "possible": campaign.possible,
        "drawn": len(campaign.verdicts),
        "invalid": campaign.invalid,
        "equivalent": campaign.count(Fate.EQUIVALENT),
        "killed": campaign.killed,
        "timeout": campaign.count(Fate.TIMEOUT),
        "survived": campaign.count(Fate.SURVIVED),
        "percentage": round(campaign.percentage, 1),
        "stale": [str(key) for key in campaign.stale],
        "mutants": [
            {
                "name": verdict.name,
                "file": verdict.mutant.site.key.file,
                "line": verdict.mutant.site.line,
                "column": verdict.mutant.site.column,
                "operator": verdict.mutant.site.key.operator,
                "occurrence": verdict.mutant.site.key.occurrence,
                "before": verdict.mutant.before,
                "after": verdict.mutant.after,
                "fate": verdict.outcome.fate.value,
                "by": verdict.outcome.by,
            }
            for verdict in campaign.verdicts
        ],
    }

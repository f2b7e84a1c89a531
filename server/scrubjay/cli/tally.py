"""Counts what `scrubjay import --from` found and imported, by project and program."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from scrubjay.cli.display import plural

# How the engine's outcomes are shown.
OUTCOMES = {
    "completed": "completed",
    "updated": "updated",
    "known": "already known",
    "different": "different here",
    "restored": "restored",
}
# What is counted; turns are left out if the policy does not record them, or if they belong to no project.
COUNTS = ("sessions", "turns", "facts", "added", *OUTCOMES, "redacted", "left_out")


@dataclass(eq=False)
class Tally:
    """The outcome of importing one project's past from one program."""

    host: str
    folder: str | None
    scope: str | None
    why: str | None = None  # the reason, if all turns and facts were left out
    counts: Counter[str] = field(default_factory=Counter)  # by the names in COUNTS

    def add(self, outcome: Mapping[str, Any]) -> None:
        """Add the counts of one session or fact."""
        self.scope = outcome.get("scope", self.scope)
        self.counts += Counter({name: outcome.get(name, 0) for name in COUNTS})

    @property
    def has_contents(self) -> bool:
        """Return True if anything was found, even if it was left out."""
        return bool(self.counts["turns"] or self.counts["facts"] or self.counts["left_out"])

    def as_json(self) -> dict[str, Any]:
        """Return this tally for programs."""
        counts = {name: self.counts[name] for name in COUNTS}
        return {"host": self.host, "folder": self.folder, "scope": self.scope, "why": self.why} | counts

    def describe(self, *, dry_run: bool) -> str:
        """Describe the counts in words."""
        counts, amounts = self.counts, []
        if counts["turns"]:
            amounts.append(f"{plural(counts['turns'], 'turn')} of {plural(counts['sessions'], 'session')}")
        if counts["facts"]:
            amounts.append(plural(counts["facts"], "fact"))
        if self.why:
            return f"{' and '.join(amounts)} left out: {self.why}"
        if counts["left_out"] and self.scope:
            amounts = amounts or ["no turn"]
            reasons = "said in a pause or an excluded folder, or too short"
            amounts[0] += f" ({counts['left_out']:,} more left out: {reasons})"
        outcomes = [f"{counts[name]:,} {words}" for name, words in OUTCOMES.items() if counts[name]]
        outcomes = [f"{counts['added']:,} imported", *outcomes]
        return " and ".join(amounts) + ("" if dry_run else f": {', '.join(outcomes)}")

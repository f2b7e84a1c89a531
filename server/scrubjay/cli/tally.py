"""Counts what an import brought, by program and project."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from scrubjay.cli.display import plural

OUTCOMES = {
    "completed": "completed",
    "updated": "updated",
    "known": "already known",
    "different": "different here",
    "restored": "restored",
}
COUNTS = ("sessions", "turns", "facts", "added", *OUTCOMES, "redacted", "left_out")


@dataclass(eq=False)
class Tally:
    """The outcome of importing one project's past from one program."""

    host: str
    folder: str | None
    scope: str | None
    sessions: int = 0
    turns: int = 0
    facts: int = 0
    added: int = 0
    completed: int = 0
    updated: int = 0  # facts that got a newer version
    known: int = 0
    different: int = 0  # facts that have another content here
    restored: int = 0  # facts that a host's memory holds again
    redacted: int = 0
    left_out: int = 0  # turns that the policy does not record, or that belong to no project
    why: str | None = None  # the reason, if all turns and facts were left out

    def add(self, outcome: Mapping[str, Any]) -> None:
        """Add the counts of one session or fact."""
        self.scope = outcome.get("scope", self.scope)
        for name in COUNTS:
            setattr(self, name, getattr(self, name) + outcome.get(name, 0))

    def describe(self, *, dry_run: bool) -> str:
        """Describe the counts in words."""
        amounts = [
            *([f"{plural(self.turns, 'turn')} of {plural(self.sessions, 'session')}"] if self.turns else []),
            *([plural(self.facts, "fact")] if self.facts else []),
        ]
        if self.why:
            return f"{' and '.join(amounts)} left out: {self.why}"
        if self.left_out and self.scope:
            amounts = amounts or ["no turn"]
            amounts[0] += (
                f" ({self.left_out:,} more left out: said in a pause or an excluded folder, or too short)"
            )
        if dry_run:
            return " and ".join(amounts)
        counts = ((getattr(self, name), words) for name, words in OUTCOMES.items())
        parts = [f"{count:,} {words}" for count, words in counts if count]
        return f"{' and '.join(amounts)}: {', '.join([f'{self.added:,} imported', *parts])}"

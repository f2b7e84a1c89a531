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
    """What came of the past of one project in one program."""

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
    left_out: int = 0  # turns that the policy does not record, or of no project
    why: str | None = None  # they were left out, if all of them were

    def add(self, came: Mapping[str, Any]) -> None:
        """Count what came of a session or fact."""
        self.scope = came.get("scope", self.scope)
        for name in COUNTS:
            setattr(self, name, getattr(self, name) + came.get(name, 0))

    def told(self, *, dry_run: bool) -> str:
        """Say it in words."""
        what = [
            *([f"{plural(self.turns, 'turn')} of {plural(self.sessions, 'session')}"] if self.turns else []),
            *([plural(self.facts, "fact")] if self.facts else []),
        ]
        if self.why:
            return f"{' and '.join(what)} left out: {self.why}"
        if self.left_out and self.scope:
            what = what or ["no turn"]
            what[0] += (
                f" ({self.left_out:,} more left out: said in a pause or an excluded folder, or too short)"
            )
        if dry_run:
            return " and ".join(what)
        counts = ((getattr(self, name), words) for name, words in OUTCOMES.items())
        parts = [f"{count:,} {words}" for count, words in counts if count]
        return f"{' and '.join(what)}: {', '.join([f'{self.added:,} imported', *parts])}"

"""Writes the opening of a project's next session to a file, so that a hook need not wait for an engine.

An outdated opening is removed before the change is acknowledged, and rewritten when the engine is quiet. A
shared store has no openings, because another engine may forget their records.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Any

from scrubjay.engine.background.tasks import failures_logged, quiet_for
from scrubjay.home import openings
from scrubjay.home.paths import Home
from scrubjay.home.scopes import USER_SCOPE
from scrubjay.models.records import AnyRecord, Document, Memory
from scrubjay.search.opening import Opening

log = logging.getLogger("scrubjay.engine.background.openings")

# Openings are written after this time without a commit. It is short, because a session may start right after
# another one ended, but longer than the 1.1 s or so between the commits of a program that writes.
QUIET_SECONDS = 2.0


class Openings:
    """Keeps a home's openings up to date. `compose` makes a scope's opening, or None if it needs none."""

    def __init__(self, home: Home, compose: Callable[[str], Awaitable[Opening | None]]) -> None:
        self._home, self._compose = home, compose
        self._due: set[str] = set()  # scopes whose opening has to be written
        self._composed: str | None = None  # the scope whose opening is being made
        self._wake = asyncio.Event()

    def consider(self, record: AnyRecord) -> None:
        """Remove the openings that a written record may change, and queue them."""
        if isinstance(record, Document) or record.scope in self._due:
            return
        if isinstance(record, Memory):
            # Facts alone cause no first opening, because a program may add facts to thousands of scopes.
            is_of_user = record.scope == USER_SCOPE  # every project's opening has facts of the user
            scopes = openings.scopes_with_opening(self._home) if is_of_user else [record.scope]
            self._due.update([scope for scope in scopes if openings.remove(self._home, scope)])
            if self._composed is not None and (is_of_user or record.scope == self._composed):
                self._due.add(self._composed)
        elif record.role is None:
            openings.remove(self._home, record.scope)
            self._due.add(record.scope)

    def refresh(self, scope: str) -> None:
        """Write an opening again soon; the existing one stays until then."""
        self._due.add(scope)
        self._wake.set()

    def wake(self) -> None:
        """Start soon after a commit, if an opening is due."""
        if self._due:
            self._wake.set()

    async def run(self) -> None:
        """Write the openings that are due, whenever nothing was committed for a while, forever."""
        while True:
            await self._wake.wait()
            self._wake.clear()
            if await quiet_for(QUIET_SECONDS, self._wake):
                await self.work()

    async def work(self) -> None:
        """Write every opening that is due now; a failed one is due again with its scope's next change."""
        # Those that become due meanwhile wait until it is quiet again: while a program adds facts, reading
        # all records for an opening takes more processor time than writing the facts.
        due, self._due = self._due, set()
        for scope in due:
            self._composed = scope
            with failures_logged(log, "the opening of a project was not written"):
                opening = await self._compose(scope)
                if opening is not None and scope not in self._due:
                    await asyncio.to_thread(_write, self._home, scope, opening)
                    if scope in self._due:  # a change came during the write, and found nothing to remove
                        openings.remove(self._home, scope)
            self._composed = None


def _write(home: Home, scope: str, opening: Opening) -> None:
    variants = (opening, *opening.by_host.values())
    until = min((variant.until.timestamp() for variant in variants if variant.until), default=None)
    by_host = {host: _shown(variant) for host, variant in opening.by_host.items()}
    openings.write(home, scope, until=until, by_host=by_host, hints=opening.hints, **_shown(opening))


def _shown(opening: Opening) -> dict[str, Any]:
    return {name: getattr(opening, name) for name in ("text", *openings.COUNTS)}

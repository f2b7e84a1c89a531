"""Writes down what the next session of a project is to be shown, so that a hook need not wait for an engine.

An outdated opening is removed before the change is acknowledged, and rewritten when the engine is quiet. In a
shared store another engine may forget its records, so it has no openings.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable

from scrubjay.engine.background.tasks import failures_logged, passed
from scrubjay.home import openings
from scrubjay.home.paths import Home
from scrubjay.home.scopes import USER_SCOPE
from scrubjay.models.records import AnyRecord, Document, Memory
from scrubjay.search.opening import Opening

log = logging.getLogger("scrubjay.engine.background.openings")

# Without a commit: a session may start right after another one ended. While programs write there is one every
# 1.1 s or so.
QUIET_SECONDS = 2.0


class Openings:
    """Keeps the openings of a home right. `compose` makes the one of a scope, None where none is wanted."""

    def __init__(self, home: Home, compose: Callable[[str], Awaitable[Opening | None]]) -> None:
        self._home, self._compose = home, compose
        self._due: set[str] = set()  # scopes whose opening is removed, and to be written
        self._composed: str | None = None  # the scope whose opening is being made, of what was read before
        self._wake = asyncio.Event()

    def consider(self, record: AnyRecord) -> None:
        """A record was written: openings that it may be part of are not right any more."""
        if isinstance(record, Document) or record.scope in self._due:
            return
        if isinstance(record, Memory):
            # What a project's sessions have not asked for is not written for its facts alone: a program may
            # add facts to thousands of scopes.
            users = record.scope == USER_SCOPE  # whose facts every project is told
            scopes = openings.written(self._home) if users else [record.scope]
            self._due.update([scope for scope in scopes if openings.remove(self._home, scope)])
            if self._composed is not None and (users or record.scope == self._composed):
                self._due.add(self._composed)
        elif record.role is None:
            openings.remove(self._home, record.scope)
            self._due.add(record.scope)

    def refresh(self, scope: str) -> None:
        """Write an opening again soon; the existing one stays until then."""
        self._due.add(scope)
        self._wake.set()

    def wake(self) -> None:
        """Something was committed."""
        if self._due:
            self._wake.set()

    async def run(self) -> None:
        """Write what is due for ever, whenever nothing was written for a while."""
        while True:
            await self._wake.wait()
            self._wake.clear()
            if await passed(QUIET_SECONDS, self._wake):
                await self.work()

    async def work(self) -> None:
        """Write every opening that is due; what fails is due again with the next change of its scope.

        What becomes due meanwhile waits until it is quiet again: to read all for an opening, while a program
        adds facts, took more of the processor than the facts.
        """
        due, self._due = self._due, set()
        for scope in due:
            self._composed = scope
            with failures_logged(log, "the opening of a project was not written"):
                opening = await self._compose(scope)
                if opening is not None and scope not in self._due:
                    await asyncio.to_thread(_write, self._home, scope, opening)
                    if scope in self._due:  # a change came in between, and found nothing to remove
                        openings.remove(self._home, scope)
            self._composed = None


def _write(home: Home, scope: str, opening: Opening) -> None:
    every = (opening, *opening.by_host.values())
    until = min((one.until.timestamp() for one in every if one.until), default=None)
    said, *others = ({each: getattr(one, each) for each in ("text", *openings.COUNTS)} for one in every)
    by_host = dict(zip(opening.by_host, others, strict=True))
    openings.write(home, scope, until=until, by_host=by_host, hints=opening.hints, **said)

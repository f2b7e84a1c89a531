"""Compares sessions with their transcripts, which have what hooks could not know or did not report.

A transcript lags behind the Stop hook and its format is the host's own, so it is read later, more than once,
and never trusted to be there. What it has is recorded as an import of the same session would record it.
"""

import asyncio
import logging
from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any

from scrubjay.engine.background import prompts
from scrubjay.engine.background.pairing import wishes_of
from scrubjay.engine.writing import Writer
from scrubjay.errors import InputError, ScrubjayError
from scrubjay.histories.keeping import in_parts, kept_turns
from scrubjay.histories.stored import keyed, seconds
from scrubjay.home import capture, spool
from scrubjay.home.files import last_lines
from scrubjay.home.paths import Home
from scrubjay.home.scopes import USER_SCOPE, project_of
from scrubjay.models.envelopes import Envelope, envelope
from scrubjay.models.kept import KeptSessions
from scrubjay.models.records import Turn
from scrubjay.models.requests import parse
from scrubjay.records.sessions import BEFORE, has_news
from scrubjay.redaction.redact import redact
from scrubjay.store.store import Store
from scrubjay.transcripts import formats, matching, turn

log = logging.getLogger("scrubjay.engine.background.completion")

DELAYS = (0.5, 3.0, 20.0)  # seconds after a Stop; the host writes its transcript when it gets round to it
MAX_TRANSCRIPT = 64 * 1024 * 1024  # bytes from the end; a longer session's beginning was compared before


@dataclass(frozen=True)
class _Job:
    due: float  # event-loop seconds
    run: Callable[[], Any]


@dataclass(frozen=True)
class _Session:
    """A session to compare: its transcript, and the folder of its hooks with that folder's scope.

    Without a scope, each turn belongs to that of its own folder; without a folder, all belong to the scope.
    """

    id: str
    path: str
    host: str
    scope: str | None
    folder: str | None


class Completion:
    """Works through transcripts in the background, one at a time."""

    def __init__(
        self,
        home: Home,
        writer: Writer,
        store: Store,
        clock: Callable[[], datetime],
        policy: Callable[[], capture.Policy],
    ) -> None:
        self._home, self._writer, self._store, self._clock, self._policy = home, writer, store, clock, policy
        self._jobs: asyncio.Queue[_Job] = asyncio.Queue()
        self.waiting = 0

    def consider(self, recorded: Envelope) -> None:
        """Schedule reads of a transcript that will have the rest of a turn that a hook recorded."""
        if recorded.kind != "turn" or not recorded.transcript_path or recorded.source != "hook:stop":
            return
        args = recorded.args
        host = recorded.host or "claude-code"
        where = recorded.transcript_path, host, recorded.scope, recorded.folder
        session = _Session(args["session_id"], *where)
        # Without an answer, its host may have ended long ago.
        attempt = 0 if args.get("assistant") else len(DELAYS) - 1
        delay = DELAYS[0] if args.get("assistant") else 0.0
        self._later(lambda: self._complete(session, args, attempt), delay)

    def reconcile(self, request: dict[str, Any]) -> None:
        """Compare the session that a request names with its transcript."""
        self._later(lambda: self._reconcile(request), 0.0)

    def reconcile_file(self, path: str) -> None:
        """Compare the session that a request in a file names, and remove the file."""
        self._later(partial(self._reconcile_file, path), 0.0)

    def _later(self, run: Callable[[], Any], seconds: float) -> None:
        self.waiting += 1
        self._jobs.put_nowait(_Job(asyncio.get_running_loop().time() + seconds, run))

    async def run(self) -> None:
        """Do the scheduled work for ever; begin with the requests that hooks wrote while no engine ran."""
        for path in spool.requests(self._home):
            self.reconcile_file(path)
        pending: list[_Job] = []
        while True:
            pending.sort(key=lambda job: job.due)
            wait = max(0.0, pending[0].due - asyncio.get_running_loop().time()) if pending else None
            try:
                async with asyncio.timeout(wait):  # Python 3.11's wait_for can swallow a cancellation
                    pending.append(await self._jobs.get())
                continue
            except TimeoutError:
                job = pending.pop(0)
            try:
                await job.run()
            except (ScrubjayError, OSError, RuntimeError, ValueError) as error:
                # A transcript is the host's: whatever is wrong with it stays its matter.
                log.info("a transcript was passed over: %s", type(error).__name__)
            finally:
                self.waiting -= 1

    async def _reconcile_file(self, path: str) -> None:
        try:
            await self._reconcile(spool.read(path))
        finally:
            spool.remove([path])

    async def _reconcile(self, request: dict[str, Any]) -> None:
        session, path, scope = request.get("session_id"), request.get("transcript_path"), request.get("scope")
        if not (isinstance(session, str) and isinstance(path, str) and isinstance(scope, str | None)):
            raise InputError("A request to compare a session needs session_id and transcript_path.")
        host, folder = request.get("host"), request.get("cwd")
        host = host if isinstance(host, str) else "claude-code"
        folder = folder if isinstance(folder, str) and folder else None
        await self._writer.drain()
        turns = await asyncio.to_thread(_read, path, host)
        await self._compare(_Session(session, path, host, scope, folder), turns)

    async def _complete(self, session: _Session, args: dict[str, Any], attempt: int) -> None:
        """Compare the turns up to a hook's turn; if that one is incomplete, compare again later."""
        turns = await asyncio.to_thread(_read, session.path, session.host)
        turns, is_whole = _until(turns, args)
        if is_whole and not turns[-1]["started_at"]:  # the hook knows the time that the host does not write
            turns[-1] = {**turns[-1], "started_at": args.get("ts")}
        if not is_whole and attempt + 1 < len(DELAYS):
            self._later(lambda: self._complete(session, args, attempt + 1), DELAYS[attempt + 1])
        await self._compare(session, turns, matching.RECENT)

    async def _compare(self, session: _Session, turns: list[dict[str, Any]], most: int | None = None) -> None:
        """Record turns of a transcript that are missing or incomplete in the store; the last `most` if given.

        The last turn is left out while it goes on, and so are prompts that wait for their Stop.
        """
        turns = turns[:-1] if turns and not turn.has_ended(turns[-1]) else turns
        told, untimed = await asyncio.to_thread(self._told, session, turns, most or len(turns))
        keys = [each["prompt_id"] for its in told.values() for each in its]
        for scope, its in told.items():
            mine = {each["prompt_id"] for each in its}
            about: dict[str, Any] = {"session_id": session.id, "host": session.host, "scope": scope}
            about |= {"others": [key for key in keys if key not in mine], "untimed": untimed}
            for part in in_parts(its):
                request = parse(KeptSessions, {"sessions": [{**about, "turns": part}]})
                rows = await self._recorded(scope, session.id, None if untimed else part[0]["ts"])
                if has_news(request.sessions[0], rows, self._clock()):
                    await self._record(request)

    async def _recorded(self, scope: str, session: str, since: str | None) -> list[Turn]:
        """Return the recorded turns since a time, and some before it, which may hold queued prompts."""
        places = (await self._store.sessions.of([(scope, session)]))[(scope, session)].places
        if (first := seconds(since)) is not None:
            at = bisect_left(places, first * 1e6, key=lambda place: place.started_at)
            places = places[max(0, at - BEFORE) :]
        rows = await self._store.get(Turn, [place.id for place in places])
        return sorted(rows.values(), key=lambda turn: (turn.started_at, turn.turn))

    def _told(
        self, session: _Session, turns: list[dict[str, Any]], most: int
    ) -> tuple[dict[str, list[dict[str, Any]]], list[str]]:
        """Return the last `most` turns that may be recorded, by scope, and keys of those without time."""
        policy, now = self._policy(), self._clock().timestamp()
        if policy.capture == "off":
            return {}, []
        wishes = wishes_of(self._home, policy, session.id)
        wishes = wishes._replace(policy=policy._replace(paused=False))
        waiting = prompts.unnamed(self._home, session.id)
        own = [turn for turn in turns if turn["session_id"] in (None, session.id)]
        begun = next((folder for turn in own for folder in turn["folders"]), None)
        recent = keyed(session.id, own)[-most:] if most else []
        told: dict[str, list[dict[str, Any]]] = {}
        untimed: list[str] = []
        for each in kept_turns(session.id, recent, session.folder, wishes, now, now, _clean):
            if (
                each.told is None
                or each.told.get("user", "") in waiting
                or capture.may_be_excluded(policy, [each.folder] if each.folder else [])
            ):
                continue
            if scope := self._scope(session, each.folder, begun):
                told.setdefault(scope, []).append(each.told)
                untimed += [] if each.is_timed else [each.told["prompt_id"]]
        return told, untimed

    def _scope(self, session: _Session, folder: str | None, begun: str | None) -> str | None:
        """Return the scope of words said in a folder, in a session that began in another."""
        if session.scope is None and folder:
            return project_of(self._home, folder, begun)[1]
        if session.folder is None or folder in (None, session.folder):
            return session.scope
        place, own = project_of(self._home, str(folder), session.folder)
        return session.scope if place == session.folder else own

    async def _record(self, request: KeptSessions) -> None:
        told = envelope("sessions", request, scope=USER_SCOPE, source="hook:transcript", at=self._clock())
        chosen = self._policy().capture
        chosen_by_user = chosen if chosen in ("salient", "summary_only") else None
        await self._writer.write(told.model_copy(update={"capture": chosen_by_user}))
        log.info("completed from a transcript")


def _until(turns: list[dict[str, Any]], args: dict[str, Any]) -> tuple[list[dict[str, Any]], bool]:
    """Return the turns up to a hook's turn, and True if that turn is complete."""
    answer, end = "".join((args.get("assistant") or "").split()), seconds(args.get("ts"))

    def is_recorded(turn: dict[str, Any]) -> bool:
        began = seconds(turn["started_at"])
        is_named = args.get("prompt_id") in (turn["prompt_id"], turn["uuid"])
        is_near = began is None or end is None or began <= end + matching.SLACK_S
        is_said = turn["prompts"][0] in (args.get("user") or "")
        return (is_named or is_near or is_said) and answer in "".join(turn["assistant"].split())

    for number in range(len(turns), 0, -1):
        if answer and is_recorded(turns[number - 1]):
            return turns[:number], True
    slack = 0.0 if answer else matching.SLACK_S
    return [turn for turn in turns if end and (seconds(turn["started_at"]) or end) <= end + slack], False


def _read(path: str, host: str) -> list[dict[str, Any]]:
    """Return the turns of a host's transcript, raw; none without a file."""
    try:
        return formats.turns(last_lines(path, MAX_TRANSCRIPT), host)
    except FileNotFoundError:
        return []


def _clean(text: str) -> str:
    """Return a text cleaned as in a hook: redacted, storable, cut."""
    return capture.cut(redact(capture.storable(text))[0].strip())

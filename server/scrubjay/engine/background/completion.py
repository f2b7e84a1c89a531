"""Compares sessions with their transcripts, which contain what hooks did not know or did not report.

A transcript lags behind the Stop hook and has the host's own format, so it is read later and more than once,
and it may be missing. Its turns are recorded as an import of the same session would record them.
"""

import asyncio
import logging
from bisect import bisect_left
from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import Any, NamedTuple

from scrubjay.engine.background import prompts
from scrubjay.engine.background.pairing import wishes_of
from scrubjay.engine.writing import Writer
from scrubjay.errors import InputError, ScrubjayError
from scrubjay.histories.keeping import in_parts, kept_turns
from scrubjay.histories.stored import seconds, with_keys
from scrubjay.home import capture, spool
from scrubjay.home.files import last_lines
from scrubjay.home.paths import Home
from scrubjay.home.scopes import USER_SCOPE, project_of
from scrubjay.models.envelopes import Envelope, envelope
from scrubjay.models.kept import KeptSessions
from scrubjay.models.records import Turn
from scrubjay.models.requests import parse
from scrubjay.records.sessions import BEFORE, has_news
from scrubjay.redaction.redact import Redactor
from scrubjay.store.store import Store
from scrubjay.transcripts import formats, matching, turn

log = logging.getLogger("scrubjay.engine.background.completion")

DELAYS = (0.5, 3.0, 20.0)  # seconds before each read after a Stop, because hosts write transcripts late
MAX_TRANSCRIPT = 64 * 1024 * 1024  # bytes that are read from the end; earlier ones were compared before


class _Session(NamedTuple):
    """A session to compare with the transcript at `path`; its hooks ran in `folder`, which has `scope`.

    Without a scope, each turn belongs to the scope of its folder. Without a folder, all belong to `scope`.
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
        self._jobs: asyncio.Queue[Callable[[], Awaitable[None]]] = asyncio.Queue()
        self.waiting = 0

    def consider(self, recorded: Envelope) -> None:
        """Schedule reads of the transcript for the rest of a turn that a hook recorded."""
        if recorded.kind != "turn" or not recorded.transcript_path or recorded.source != "hook:stop":
            return
        args, host = recorded.args, recorded.host or "claude-code"
        origin = recorded.transcript_path, host, recorded.scope, recorded.folder
        session = _Session(args["session_id"], *origin)
        # If the turn has no answer, its host may have ended long ago, so its transcript is read only once.
        attempt = 0 if args.get("assistant") else len(DELAYS) - 1
        delay = DELAYS[0] if args.get("assistant") else 0.0
        self._schedule(lambda: self._complete(session, args, attempt), delay)

    def reconcile(self, path: str) -> None:
        """Compare the session that a request in a file names with its transcript, and remove the file."""
        self._schedule(lambda: self._reconcile(path), 0.0)

    def _schedule(self, run: Callable[[], Awaitable[None]], delay: float) -> None:
        self.waiting += 1
        asyncio.get_running_loop().call_later(delay, self._jobs.put_nowait, run)

    async def run(self) -> None:
        """Do the scheduled work forever, starting with the requests that hooks wrote while no engine ran."""
        for path in spool.json_files(self._home.reconcile):
            self.reconcile(path)
        while True:
            run = await self._jobs.get()
            try:
                await run()
            except (ScrubjayError, OSError, RuntimeError, ValueError) as error:
                # The transcript belongs to the host, and so do its errors.
                log.info("a transcript was skipped: %s", type(error).__name__)
            finally:
                self.waiting -= 1

    async def _reconcile(self, request_path: str) -> None:
        try:
            await self._compare_whole(spool.read(request_path))
        finally:
            spool.remove([request_path])

    async def _compare_whole(self, request: dict[str, Any]) -> None:
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
        """Compare the turns up to a hook's turn; if that turn is incomplete, compare again later."""
        turns = await asyncio.to_thread(_read, session.path, session.host)
        turns, is_whole = _turns_until(turns, args)
        if is_whole and not turns[-1]["started_at"]:  # the host writes no time, but the hook knows it
            turns[-1] = {**turns[-1], "started_at": args.get("ts")}
        if not is_whole and attempt + 1 < len(DELAYS):
            self._schedule(lambda: self._complete(session, args, attempt + 1), DELAYS[attempt + 1])
        await self._compare(session, turns, matching.RECENT)

    async def _compare(
        self, session: _Session, turns: list[dict[str, Any]], limit: int | None = None
    ) -> None:
        """Record the last `limit` turns of a transcript, unless the store already has them complete.

        The last turn is left out while it continues, and so are prompts that wait for their Stop.
        """
        turns = turns[:-1] if turns and not turn.has_ended(turns[-1]) else turns
        by_scope, untimed = await asyncio.to_thread(
            self._recordable_turns, session, turns, limit or len(turns)
        )
        keys = [each["prompt_id"] for scope_turns in by_scope.values() for each in scope_turns]
        for scope, scope_turns in by_scope.items():
            scope_keys = {each["prompt_id"] for each in scope_turns}
            fields: dict[str, Any] = {"session_id": session.id, "host": session.host, "scope": scope}
            fields |= {"others": [key for key in keys if key not in scope_keys], "untimed": untimed}
            for part in in_parts(scope_turns):
                request = parse(KeptSessions, {"sessions": [{**fields, "turns": part}]})
                rows = await self._recorded_turns(scope, session.id, None if untimed else part[0]["ts"])
                if has_news(request.sessions[0], rows, self._clock()):
                    await self._record(request)

    async def _recorded_turns(self, scope: str, session: str, since: str | None) -> list[Turn]:
        """Return a session's recorded turns since a time, and some before that may have queued prompts."""
        places = (await self._store.sessions.of([(scope, session)]))[(scope, session)].places
        if (start := seconds(since)) is not None:
            index = bisect_left(places, start * 1e6, key=lambda place: place.started_at)
            places = places[max(0, index - BEFORE) :]
        rows = await self._store.get(Turn, [place.id for place in places])
        return sorted(rows.values(), key=lambda turn: (turn.started_at, turn.turn))

    def _recordable_turns(
        self, session: _Session, turns: list[dict[str, Any]], limit: int
    ) -> tuple[dict[str, list[dict[str, Any]]], list[str]]:
        """Return the recordable turns of the last `limit`, by scope, and the keys of turns without a time."""
        policy, now = self._policy(), self._clock().timestamp()
        if policy.capture == "off":
            return {}, []
        wishes = wishes_of(self._home, policy, session.id)
        wishes = wishes._replace(policy=policy._replace(paused=False))
        waiting_texts = prompts.unnamed(self._home, session.id)
        session_turns = [turn for turn in turns if turn["session_id"] in (None, session.id)]
        first_folder = next((folder for turn in session_turns for folder in turn["folders"]), None)
        recent = with_keys(session.id, session_turns)[-limit:] if limit else []
        by_scope: dict[str, list[dict[str, Any]]] = {}
        untimed: list[str] = []
        for kept_turn in kept_turns(session.id, recent, session.folder, wishes, now, now, _cleaner):
            if (
                kept_turn.arguments is None
                or kept_turn.arguments.get("user", "") in waiting_texts
                or capture.may_be_excluded(policy, [kept_turn.folder] if kept_turn.folder else [])
            ):
                continue
            if scope := self._scope(session, kept_turn.folder, first_folder):
                by_scope.setdefault(scope, []).append(kept_turn.arguments)
                untimed += [] if kept_turn.is_timed else [kept_turn.arguments["prompt_id"]]
        return by_scope, untimed

    def _scope(self, session: _Session, folder: str | None, first_folder: str | None) -> str | None:
        """Return the scope of a turn in `folder`, in a session that began in `first_folder`."""
        if session.scope is None and folder:
            return project_of(self._home, folder, first_folder)[1]
        if session.folder is None or folder in (None, session.folder):
            return session.scope
        project_folder, folder_scope = project_of(self._home, str(folder), session.folder)
        return session.scope if project_folder == session.folder else folder_scope

    async def _record(self, request: KeptSessions) -> None:
        record = envelope("sessions", request, scope=USER_SCOPE, source="hook:transcript", at=self._clock())
        setting = self._policy().capture
        limit = setting if setting in ("salient", "summary_only") else None
        await self._writer.write(record.model_copy(update={"capture": limit}))
        log.info("completed from a transcript")


def _turns_until(turns: list[dict[str, Any]], args: dict[str, Any]) -> tuple[list[dict[str, Any]], bool]:
    """Return the turns up to a hook's turn, and True if that turn has its answer."""
    answer, end = "".join((args.get("assistant") or "").split()), seconds(args.get("ts"))

    def is_the_hooks_turn(turn: dict[str, Any]) -> bool:
        began = seconds(turn["started_at"])
        has_id = args.get("prompt_id") in (turn["prompt_id"], turn["uuid"])
        began_before = began is None or end is None or began <= end + matching.SLACK_S
        has_prompt = turn["prompts"][0] in (args.get("user") or "")
        return (has_id or began_before or has_prompt) and answer in "".join(turn["assistant"].split())

    for number in range(len(turns), 0, -1):
        if answer and is_the_hooks_turn(turns[number - 1]):
            return turns[:number], True
    slack = 0.0 if answer else matching.SLACK_S
    return [turn for turn in turns if end and (seconds(turn["started_at"]) or end) <= end + slack], False


def _read(path: str, host: str) -> list[dict[str, Any]]:
    """Return the raw turns of a host's transcript; an empty list if there is no file."""
    try:
        return formats.turns(last_lines(path, MAX_TRANSCRIPT), host)
    except FileNotFoundError:
        return []


def _cleaner() -> Callable[[str], str]:
    """Return a function that cleans the texts of one turn as hooks do: redacted, storable and cut."""
    redactor = Redactor()
    return lambda text: capture.cut(redactor.redact(capture.storable(text)).strip())

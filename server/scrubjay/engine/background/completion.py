"""Completes turns from the host's transcript, with what a hook could not know yet or did not report.

The transcript lags behind the Stop hook and its format is the host's own, so it is read later, more than
once, and never trusted to be there. Everything goes through the same write path, redaction included, and is
known by the same keys.
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
from scrubjay.engine.background.pairing import is_hidden
from scrubjay.engine.writing import Writer
from scrubjay.errors import InputError, ScrubjayError
from scrubjay.home import capture, spool
from scrubjay.home.files import last_lines
from scrubjay.home.paths import Home
from scrubjay.home.scopes import project_of
from scrubjay.home.settings import captured_since
from scrubjay.models.envelopes import Envelope
from scrubjay.models.fields import parse_instant
from scrubjay.models.records import Turn, derived_id
from scrubjay.models.requests import RecordTurn, parse
from scrubjay.records.sessions import has_name, said_at
from scrubjay.redaction.redact import redact
from scrubjay.store import conditions
from scrubjay.store.store import Store
from scrubjay.text import host_transcripts, transcripts

log = logging.getLogger("scrubjay.engine.background.completion")

DELAYS = (0.5, 3.0, 20.0)  # seconds after a Stop; the host writes its transcript when it gets round to it
_BEFORE = 3  # recorded turns before the first of a transcript's part that are compared with it, too
MAX_TRANSCRIPT = 64 * 1024 * 1024  # bytes from the end; a longer session's beginning was reconciled before


@dataclass(frozen=True)
class _Job:
    due: float  # event-loop seconds
    run: Callable[[], Any]


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
        """A hook's turn was recorded: look into its transcript for what came before its last words."""
        if recorded.kind == "turn" and recorded.transcript_path and recorded.source == "hook:stop":
            if recorded.args.get("assistant"):
                self._later(lambda: self._complete(recorded, 0), DELAYS[0])
            else:  # its host may have ended long ago
                self._later(lambda: self._complete(recorded, -1), 0.0)

    def reconcile(self, request: dict[str, Any]) -> None:
        """A session began or went on: record the turns of its transcript that no hook reported."""
        self._later(lambda: self._reconcile(request), 0.0)

    def reconcile_file(self, path: str) -> None:
        """Do what a request in a file asks, and remove it."""
        self._later(partial(self._reconcile_file, path), 0.0)

    def _later(self, run: Callable[[], Any], seconds: float) -> None:
        self.waiting += 1
        self._jobs.put_nowait(_Job(asyncio.get_running_loop().time() + seconds, run))

    async def run(self) -> None:
        """Do what is due, for ever; begins with the requests that hooks left while no engine was there."""
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

    async def _complete(self, recorded: Envelope, attempt: int) -> None:
        turns, args = await self._turns(recorded.transcript_path, recorded.host), recorded.args
        known = {name: args.get(name) for name in ("prompt_id", "user", "assistant")}
        turn = transcripts.completion(turns, since=args.get("ts"), **known)
        if turn is None and attempt + 1 < len(DELAYS):
            self._later(lambda: self._complete(recorded, attempt + 1), DELAYS[attempt + 1])
            return
        if turn is not None and args.get("prompt_id") and not self._is_hidden(turn):
            key = {name: args[name] for name in ("session_id", "prompt_id")}
            fields = await asyncio.to_thread(transcripts.fields_of, turn, _clean)
            await self._record({**key, **fields}, recorded.scope, recorded.host, recorded.id)
        # What a hook could not write down, on a full disk or because it was killed, is there as well.
        before = transcripts.began_before(turns, args.get("ts"))[-transcripts.RECENT :]
        folder = next(iter(turn["folders"]), None) if turn else None
        await self._record_missing(before, args["session_id"], recorded.scope, recorded.host, folder)

    async def _reconcile(self, request: dict[str, Any]) -> None:
        session, path, scope = request.get("session_id"), request.get("transcript_path"), request.get("scope")
        if not (isinstance(session, str) and isinstance(path, str) and isinstance(scope, str)):
            raise InputError("A request to reconcile needs session_id, transcript_path and scope.")
        await self._writer.drain()
        turns = await self._turns(path, request.get("host"))
        for lacking in await self._recorded(turns, session, scope):
            if not lacking.prompt_id or lacking.assistant:
                continue
            asked_at = lacking.started_at.isoformat()
            whole = transcripts.completion(turns, lacking.prompt_id, lacking.user, None, asked_at)
            if whole is not None and not self._is_hidden(whole):
                args = {"session_id": session, "prompt_id": lacking.prompt_id}
                args |= await asyncio.to_thread(transcripts.fields_of, whole, _clean)
                await self._record(args, scope, lacking.host, lacking.id)
        folder = request.get("cwd")
        folder = folder if isinstance(folder, str) and folder else None
        await self._record_missing(turns, session, scope, request.get("host"), folder)

    async def _record_missing(
        self, turns: list[dict[str, Any]], session: str, scope: str, host: object, folder: str | None
    ) -> None:
        """Record those turns of a transcript that no hook reported and nobody deleted.

        `folder` is where the hook ran whose `scope` this is. It stands for that of turns that tell none.
        """
        policy, recorded = self._policy(), await self._recorded(turns, session, scope)
        if not (lacking := _missing(turns, recorded, [])):
            return  # as nearly always, so what is rarely needed is read below
        waiting, hidden = await asyncio.to_thread(_kept_prompts, self._home, session)
        # A host that went to another folder began the session in another scope, and one that copies a session
        # keeps the names of its turns.
        ids = {turn["prompt_id"] or turn["uuid"] for turn in lacking} - {None}
        where = conditions.one_of("session_id", [session])
        if ids:
            where = conditions.either(where, conditions.one_of("prompt_id", ids))
        elsewhere = await self._store.select_newest(
            Turn, where, lambda turn: turn.session_id == session or turn.prompt_id in ids
        )
        named = {turn["prompt_id"] or turn["uuid"]: _told(turn) for turn in lacking}
        of_host = host if isinstance(host, str) else None
        recorded += [
            turn
            for turn in elsewhere
            if (turn.session_id == session and turn.scope != scope)
            or (
                turn.session_id != session
                and (told := named.get(turn.prompt_id))
                and has_name(turn, told, of_host)
            )
        ]
        for turn in _missing(turns, recorded, waiting):
            fields = await asyncio.to_thread(transcripts.fields_of, turn, _clean)
            args = {
                "session_id": session,
                "prompt_id": turn["prompt_id"] or turn["uuid"],
                "ts": turn["started_at"],
                **fields,
            }
            folders = list(turn["folders"]) or ([folder] if folder else [])
            own = await asyncio.to_thread(self._scope, folders, folder, scope)
            if (
                own is not None
                and turn["session_id"] in (None, session)
                and not capture.may_be_excluded(policy, folders)
                and not self._is_hidden(turn)
                and not _may_be_known(turn, recorded)
                and not _is_near(turn, hidden)
                and capture.should_record((*turn["prompts"], fields.get("assistant")), policy)
            ):
                origin = derived_id("reconciled", session, args["prompt_id"] or "")
                await self._record(args, own, host, origin)

    def _scope(self, folders: list[str], folder: str | None, scope: str) -> str | None:
        """The scope of what was said in some folders: that of its hook if it ran there, else their own."""
        if folder is None or not folders or folders[0] == folder:
            return scope
        place, own = project_of(self._home, folders[0], folder)
        return scope if place == folder else own

    async def _recorded(self, turns: list[dict[str, Any]], session: str, scope: str) -> list[Turn]:
        """The recorded turns of a session that these of its transcript may be; all of them, in doubt."""
        places = (await self._store.sessions.of([(scope, session)]))[(scope, session)].places
        if turns and (first := _instant(turns[0]["started_at"])):
            # One that was recorded before may hold what was said since, as prompts that were queued.
            at = bisect_left(places, first.timestamp() * 1e6, key=lambda place: place.started_at)
            places = places[max(0, at - _BEFORE) :]
        ids = [place.id for place in places]
        rows = await self._store.get(Turn, ids) if ids else {}
        return [rows[each] for each in ids if each in rows]

    def _is_hidden(self, turn: dict[str, Any]) -> bool:
        """Whether a part of a turn may have been said where or while the user did not want it captured."""
        since = captured_since(self._home)
        return is_hidden(turn, self._policy(), since.isoformat() if since else None)

    async def _record(self, args: dict[str, Any], scope: str, host: object, origin: str) -> None:
        request = parse(RecordTurn, {name: value for name, value in args.items() if value})
        turn = await self._writer.sealed(
            "turn",
            request,
            scope=scope,
            source="hook:transcript",
            at=self._clock(),
            host=host if isinstance(host, str) else None,
        )
        policy = self._policy()
        chosen = policy.capture if policy.capture in ("salient", "summary_only") else None
        await self._writer.write(turn.model_copy(update={"capture": chosen}))
        log.info("completed from a transcript: %s", origin)

    async def _turns(self, path: str | None, host: object) -> list[dict[str, Any]]:
        """The turns of a host's transcript, cleaned as a hook cleans them: redacted, storable, cut.

        No file gives no turns.
        """
        name = host if isinstance(host, str) else None
        return await asyncio.to_thread(_read, path, name) if path else []


def _told(turn: dict[str, Any]) -> RecordTurn:
    """A turn of a transcript, for what tells that it is a copy."""
    return RecordTurn.model_construct(
        prompt_id=turn["prompt_id"] or turn["uuid"],
        ts=_instant(turn["started_at"]),
        user="\n\n".join(turn["prompts"]),
        assistant=turn["assistant"],
    )


def _missing(turns: list[dict[str, Any]], recorded: list[Turn], waiting: list[str]) -> list[dict[str, Any]]:
    """The turns that are not recorded, nor of the prompts that still wait for their Stop."""
    in_order = sorted(recorded, key=lambda turn: turn.started_at)
    captured = [(turn.prompt_id, turn.user) for turn in in_order]
    return transcripts.missing(turns, [*captured, *((None, text) for text in waiting)])


def _kept_prompts(home: Home, session: str) -> tuple[list[str], list[datetime]]:
    """What hooks keep of a session's prompts: the words of those that wait, and when hidden ones were said.

    Of those that wait, the ones without an id of the host: their Stop would keep them once more.
    """
    try:
        pair, hidden = prompts.pair(home, session, None), prompts.hidden(home, session)
    except (ScrubjayError, OSError, ValueError):  # of which one is damaged, or goes while we look
        return [], []
    waiting = [each for each in (pair.waiting if pair else ()) if each.key.startswith(transcripts.PROMPT_KEY)]
    return [each.user for each in waiting if each.user], [at for each in hidden if (at := _instant(each))]


def _is_near(turn: dict[str, Any], moments: list[datetime]) -> bool:
    at = _instant(turn["started_at"])
    return at is not None and any(
        abs((at - each).total_seconds()) <= transcripts.SAME_MOMENT for each in moments
    )


def _may_be_known(turn: dict[str, Any], recorded: list[Turn]) -> bool:
    """Whether a turn may be a recorded one of which neither words nor an id of the host tell.

    Some hosts write other words than they tell their hooks. The words of one that was deleted are gone; what
    was said from then until the next turn may have been queued for it.
    """
    if (at := _instant(turn["started_at"])) is None:
        return False
    own = (transcripts.PROMPT_KEY, transcripts.ANSWER_KEY)
    nameless = [
        each
        for each in recorded
        if not turn["prompt_id"] or (each.prompt_id or own[0]).startswith(own) or each.purged_at
    ]
    before = [each for each in recorded if (each.started_at - at).total_seconds() <= transcripts.SAME_MOMENT]
    last = max(before, key=lambda each: each.started_at, default=None)
    return said_at(at, nameless) is not None or (last is not None and last.purged_at is not None)


def _instant(written: str | None) -> datetime | None:
    """Read the time of a turn as its host wrote it; None where nobody can."""
    try:
        instant: datetime = parse_instant(written)
    except ValueError:
        return None
    return instant


def _read(path: str, host: str | None) -> list[dict[str, Any]]:
    try:
        turns = host_transcripts.turns(last_lines(path, MAX_TRANSCRIPT), host)
    except FileNotFoundError:
        return []
    return [
        {**turn, "prompts": list(map(_clean, turn["prompts"])), "assistant": _clean(turn["assistant"])}
        for turn in turns
    ]


def _clean(text: str) -> str:
    return capture.cut(redact(capture.storable(text))[0])

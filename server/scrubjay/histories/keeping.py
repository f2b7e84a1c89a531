"""Decides which turns of a session may be recorded, each by its own folder and time, and with what content.

The engine uses this for transcripts of running sessions, `scrubjay import` for stored ones, so that both
record the same turns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from scrubjay.histories.stored import Fields, instant, seconds
from scrubjay.home import capture
from scrubjay.transcripts.matching import SAME_MOMENT
from scrubjay.transcripts.turn import fields_of

PART_TURNS, PART_SIZE = 2_000, 8_000_000  # most turns and characters of a session in one request
_DAY = 86_400.0
_FOREVER = float("inf")


class Wishes(NamedTuple):
    """The user's policy, with the times that are not recorded, in seconds since 1970.

    `pauses` are pairs of beginning and end, `hidden` the times of prompts in a pause or an excluded folder.
    Nothing from before `since` is recorded. A turn without a time may be from any pause, unless its session
    is from another machine (`is_elsewhere`).
    """

    policy: capture.Policy
    pauses: tuple[tuple[float, float], ...] = ()
    hidden: tuple[float, ...] = ()
    since: float = 0.0
    is_elsewhere: bool = False


class KeptTurn(NamedTuple):
    """A turn of a session: its folder and time, and the arguments of its `RecordTurn` (None to leave it out).

    `at` is ISO 8601; `is_timed` is False if the host wrote no time, so that `at` is the previous turn's.
    """

    folder: str | None
    at: str
    is_timed: bool
    arguments: dict[str, Any] | None


def kept_turns(
    session_id: str,
    turns: Sequence[tuple[str, Fields]],
    folder: str | None,
    wishes: Wishes,
    written_at: float,
    now: float,
    cleaner: Callable[[], Callable[[str], str]],
) -> Iterator[KeptTurn]:
    """Yield the part of each turn of a session that may be recorded.

    Args:
        session_id: the id under which the session is recorded.
        turns: each with its key, from `stored.with_keys`.
        folder: the folder, if known, of turns that name no folder.
        wishes: the user's policy.
        written_at: the last change of the session, for turns without a time (seconds since 1970).
        now: seconds since 1970; a time a day or more after it is treated as missing.
        cleaner: returns, for each turn, the function that is applied to its texts before they are stored.
    """
    previous_start: float | None = None
    folders: tuple[str, ...] = () if folder is None else (folder,)
    for key, turn in turns:
        started_at = seconds(turn["started_at"])
        is_timed = started_at is not None and 0 < started_at < now + _DAY
        if started_at is None or not is_timed:
            started_at = previous_start or written_at
        previous_start, at = started_at, instant(started_at) or ""
        folders = tuple(turn["folders"]) or folders[-1:]
        turn_folder = folders[0] if folders else None
        context = {"folders": dict.fromkeys(folders), "started_at": at if is_timed else None}
        part = allowed({**turn, **context}, wishes, written_at)
        fields = fields_of(part, cleaner()) if part else {}
        texts = (*(part["prompts"] if part and "user" in fields else ()), fields.get("assistant"))
        if part is None or not capture.should_record(texts, wishes.policy):
            yield KeptTurn(turn_folder, at, is_timed, None)
            continue
        about = {"session_id": session_id, "prompt_id": capture.storable(key), "ts": at}
        yield KeptTurn(turn_folder, at, is_timed, about | fields)


def allowed(turn: Fields, wishes: Wishes, written_at: float) -> Fields | None:
    """Return the part of a turn that may be recorded: all of it, the prompt alone, or None.

    Only the prompt may be recorded if a pause began, or the assistant entered an excluded folder, before the
    turn ended. `written_at` is the last change of its session, in seconds since 1970.
    """
    folders, started_at = tuple(turn["folders"]), seconds(turn["started_at"])
    if capture.is_excluded(wishes.policy, *folders[:1]):
        return None
    if started_at is None:
        may_be_hidden = wishes.since or any(off <= written_at for off, _ in wishes.pauses)
        return None if may_be_hidden and not wishes.is_elsewhere else turn
    is_hidden = any(abs(started_at - each) <= SAME_MOMENT for each in wishes.hidden)
    if is_hidden or started_at < wishes.since or any(off <= started_at < on for off, on in wishes.pauses):
        return None
    until = seconds(turn.get("until")) or started_at
    is_cut = any(off <= until and started_at < on for off, on in wishes.pauses)
    if is_cut or capture.is_excluded(wishes.policy, *folders):
        no_answer: Fields = {"assistant": "", "tools": [], "files": [], "commands": [], "runs": []}
        return {**turn, "prompts": turn["prompts"][:1], **no_answer}
    return turn


def in_parts(turns: Sequence[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    """Split turns into parts that one request can carry."""
    part: list[dict[str, Any]] = []
    size = 0
    for turn in turns:
        if part and (len(part) >= PART_TURNS or size + size_of(turn) > PART_SIZE):
            yield part
            part, size = [], 0
        part.append(turn)
        size += size_of(turn)
    if part:
        yield part


def size_of(turn: dict[str, Any]) -> int:
    """Return the number of characters in a turn."""
    return len(turn.get("user", "")) + len(turn.get("assistant", ""))


def pauses(
    pairs: Sequence[tuple[str, str | None]], is_paused: bool = False
) -> tuple[tuple[float, float], ...]:
    """Return the pauses of capture.json in seconds since 1970; the current one has no end.

    If `is_paused` but no current pause is listed, a pause without a beginning is added.
    """
    times = tuple((seconds(off) or 0.0, seconds(on) or _FOREVER) for off, on in pairs)
    has_current = any(on == _FOREVER for _, on in times)
    return times if has_current or not is_paused else (*times, (0.0, _FOREVER))

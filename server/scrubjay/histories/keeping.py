"""Which turns of a session may be kept, each by its own folder and time, and what is recorded of them.

The engine asks this of transcripts while a session goes on, and `scrubjay import` of everything that a host
keeps, so both record the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from scrubjay.histories.stored import Fields, instant, keyed, seconds
from scrubjay.home import capture
from scrubjay.text.transcripts import SAME_MOMENT, fields_of

PART_TURNS, PART_SIZE = 2_000, 8_000_000  # turns and characters of a session that one request carries
_DAY = 86_400.0
_FOREVER = float("inf")


class Wishes(NamedTuple):
    """What the user wants captured now, and when they wanted something else; times in seconds since 1970.

    Nothing was captured in the `pauses`, each from when until when. Prompts of the `hidden` moments were said
    where or while nothing was to be recorded. Nothing is taken from before `since`. A turn without a time may
    have been said in any pause, unless it was said elsewhere than on this machine (`is_elsewhere`).
    """

    policy: capture.Policy
    pauses: tuple[tuple[float, float], ...] = ()
    hidden: tuple[float, ...] = ()
    since: float = 0.0
    is_elsewhere: bool = False


class Kept(NamedTuple):
    """A turn of a session: where and when it was said, and what a `RecordTurn` takes of it.

    `at` is ISO 8601; `is_timed` is False if it is the time of the turn before, because the host tells none.
    `told` is None if the turn is left out.
    """

    folder: str | None
    at: str
    is_timed: bool
    told: dict[str, Any] | None


def kept_turns(
    session_id: str,
    turns: Sequence[Fields],
    folder: str | None,
    wishes: Wishes,
    written_at: float,
    now: float,
    clean: Callable[[str], str],
) -> Iterator[Kept]:
    """Tell of each turn of a session what may be kept of it.

    Args:
        session_id: as it is recorded.
        turns: as `host_transcripts.turns` gives them.
        folder: where turns were said that do not tell it, if it is known.
        wishes: of the user.
        written_at: when the session was written last, for turns without a time (seconds since 1970).
        now: seconds since 1970; a time of tomorrow is none.
        clean: what each text goes through before it is stored.
    """
    last: float | None = None
    folders: tuple[str, ...] = () if folder is None else (folder,)
    for key, turn in keyed(session_id, turns):
        said = seconds(turn["started_at"])
        is_timed = said is not None and 0 < said < now + _DAY
        if said is None or not is_timed:
            said = last or written_at
        last, at = said, instant(said) or ""
        folders = tuple(turn["folders"]) or folders[-1:]
        place = folders[0] if folders else None
        known = {"folders": dict.fromkeys(folders), "started_at": at if is_timed else None}
        part = allowed({**turn, **known}, wishes, written_at)
        fields = fields_of(part, clean) if part else {}
        texts = (*(part["prompts"] if part and "user" in fields else ()), fields.get("assistant"))
        if part is None or not capture.should_record(texts, wishes.policy):
            yield Kept(place, at, is_timed, None)
            continue
        about = {"session_id": session_id, "prompt_id": capture.storable(key), "ts": at}
        yield Kept(place, at, is_timed, about | fields)


def allowed(turn: Fields, wishes: Wishes, written_at: float) -> Fields | None:
    """Return the part of a turn that may be kept: all, the prompt alone, or None.

    A prompt that was said while it was to be recorded is kept although a pause began, or the assistant went
    to an excluded folder, before the turn was over. `written_at` is when its session was written last.
    """
    folders, said = tuple(turn["folders"]), seconds(turn["started_at"])
    if capture.is_excluded(wishes.policy, *folders[:1]):
        return None
    if said is None:
        may_be_hidden = wishes.since or any(off <= written_at for off, _ in wishes.pauses)
        return None if may_be_hidden and not wishes.is_elsewhere else turn
    is_hidden = any(abs(said - each) <= SAME_MOMENT for each in wishes.hidden)
    if is_hidden or said < wishes.since or any(off <= said < on for off, on in wishes.pauses):
        return None
    until = seconds(turn.get("until")) or said
    is_cut = any(off <= until and said < on for off, on in wishes.pauses)
    if is_cut or capture.is_excluded(wishes.policy, *folders):
        nothing: Fields = {"assistant": "", "tools": [], "files": [], "commands": []}
        return {**turn, "prompts": turn["prompts"][:1], **nothing}
    return turn


def in_parts(turns: Sequence[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    """Split what `kept_turns` tells into parts that one request can carry."""
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
    """Return the number of characters that were said in a turn."""
    return len(turn.get("user", "")) + len(turn.get("assistant", ""))


def pauses(
    pairs: Sequence[tuple[str, str | None]], is_paused: bool = False
) -> tuple[tuple[float, float], ...]:
    """Return the pauses of capture.json in seconds since 1970; one that goes on has no end.

    If it `is_paused` since a time that is not known, the pause has no beginning.
    """
    times = tuple((seconds(off) or 0.0, seconds(on) or _FOREVER) for off, on in pairs)
    is_known = any(on == _FOREVER for _, on in times)
    return times if is_known or not is_paused else (*times, (0.0, _FOREVER))

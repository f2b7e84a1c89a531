"""Finds which turns of a transcript were captured, and to which of them an answer belongs.

Standard library only, Python 3.9 syntax.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from scrubjay.transcripts.turn import has_ended

TYPE_CHECKING = False  # typing is slow to import
if TYPE_CHECKING:
    from scrubjay.transcripts.turn import Fields

SLACK_S = 30  # how far a host's time may be behind a hook's, including the host's work between them
# Seconds within which a prompt and one in the host's file are the same, if neither words nor ids show it: a
# turn that was deleted permanently must not come back. A hook runs while the host writes.
SAME_MOMENT = 10.0
RECENT = 50  # the last turns, among which a waiting prompt is searched


def placed(
    turns: list[Fields], captured: list[tuple[str | None, str | None, float | None]]
) -> list[int | None]:
    """Find the position of each turn among the captured ones; None for a turn that was not captured.

    A turn was captured if its `prompt_id` or `uuid` was, or if a captured prompt contains the paragraphs of
    its prompt and no other turn has used them: queued prompts are recorded as one.

    Args:
        turns: from `turns`, with prompts cleaned like the captured ones (redacted, cut), each with its time
            `at` in seconds if it is known.
        captured: (prompt_id or None, user text or None, time in seconds or None) of each recorded turn of the
            session, in order of time.
    """
    left = [_flat(user) for _, user, _ in captured]
    keys = {prompt_id: place for place, (prompt_id, _, _) in enumerate(captured) if prompt_id}
    places = [keys.get(turn["prompt_id"], keys.get(turn["uuid"])) for turn in turns]
    for number, place in enumerate(places):
        if place is not None:
            left[place] = _without(left[place], turns[number]) or left[place]
    holding: dict[str, list[int]] = {}  # paragraph -> the captured turns that have it, in order
    for place, flat in enumerate(left):
        for paragraph in dict.fromkeys(flat.split(_GAP)):
            holding.setdefault(paragraph, []).append(place)
    pairs = []
    for number, turn in enumerate(turns):
        if places[number] is None:
            at, first = turn.get("at"), _flat(turn["prompts"][0]).split(_GAP)[1]
            near = sorted(
                (_apart(at, captured[place][2]), place)
                for place in holding.get(first, ())
                if not _is_earlier(at, captured[place][2])
            )
            pairs += [(apart, number, place) for apart, place in near[:RECENT]]
    for _, number, place in sorted(pairs):  # the nearest in time first
        if places[number] is None and (rest := _without(left[place], turns[number])) is not None:
            left[place], places[number] = rest, place
    return places


def ended_before(
    turns: list[Fields], prompts: list[str], clean: Callable[[str], str], *, over: bool = False
) -> list[Fields | None]:
    """Find which of the prompts that wait for one answer were separate turns, and return those turns.

    A prompt that was interrupted or answered, or whose answer failed, does not wait for a later answer. A
    prompt that the transcript lacks, or shows without an end, was queued.

    Args:
        turns: those of the transcript; only the last `RECENT` count.
        prompts: in order, cleaned; the last one has just been answered.
        clean: the function that cleaned the prompts.
        over: True if the session is over, and so none of them has just been answered.

    Returns:
        For each prompt its turn, or None if it belongs to the last one.
    """
    recent = [(turn, _flat(clean(turn["prompts"][0]))) for turn in turns[-RECENT:]]
    ended: list[Fields | None] = []
    for prompt in reversed(prompts):
        wanted = _flat(prompt)
        place = next((at for at in range(len(recent) - 1, -1, -1) if recent[at][1] == wanted), None)
        turn = None if place is None else recent[place][0]
        ended.append(turn if turn and (ended or over) and has_ended(turn) else None)
        recent = recent[:place]
    return ended[::-1]


def follows_at_once(at: str | None, other: str | None) -> bool:
    """Return True if a time is at most a second after another; False if one cannot be read."""
    one, before = _seconds(at), _seconds(other)
    return one is not None and before is not None and one <= before + 1


def _seconds(instant: str | None) -> float | None:
    """Return an instant in seconds from a fixed day; UTC unless it names an offset.

    Importing datetime would cost each hook 2 ms.
    """
    pattern = r"(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)[.,\d]*(?:([+-]\d\d):?(\d\d))?"
    parts = re.match(pattern, instant or "", re.ASCII)
    if parts is None:
        return None
    year, month, day, hour, minute, second = map(int, parts.groups()[:6])
    if parts[7]:  # an offset from UTC
        hour -= int(parts[7])
        minute -= int(parts[7][0] + parts[8])
    # years from March, so that a leap day ends one
    year, month = (year - 1, month + 9) if month < 3 else (year, month - 3)
    days = 365 * year + year // 4 - year // 100 + year // 400 + (153 * month + 2) // 5 + day
    return 86_400.0 * days + 3_600 * hour + 60 * minute + second


_GAP = "\n\n"


def _flat(text: str | None) -> str:
    """Put a text's paragraphs between empty lines, every run of blanks in them one blank."""
    flat = (" ".join(paragraph.split()) for paragraph in re.split(r"\n\s*\n", text or ""))
    return "".join(f"{_GAP}{paragraph}" for paragraph in flat if paragraph) + _GAP


def _take(flat: str, wanted: str) -> str | None:
    """Remove a run of paragraphs from a flat text; return None if the text lacks it."""
    start = flat.find(wanted) if wanted != _GAP else -1
    return None if start < 0 else flat[:start] + flat[start + len(wanted) - len(_GAP) :]


def _without(flat: str, turn: Fields) -> str | None:
    """Remove the prompts of a turn from a flat text; return None if the text lacks the first."""
    left = _take(flat, _flat(turn["prompts"][0]))
    for prompt in turn["prompts"][1:]:
        left = left and (_take(left, _flat(prompt)) or left)
    return left


def _apart(one: float | None, other: float | None) -> float:
    """Return the seconds between two times, 0 if one is unknown."""
    return 0.0 if one is None or other is None else abs(one - other)


def _is_earlier(at: float | None, captured: float | None) -> bool:
    """Return True if a turn was said well before the captured one, which may hold prompts queued later."""
    return at is not None and captured is not None and at < captured - SLACK_S

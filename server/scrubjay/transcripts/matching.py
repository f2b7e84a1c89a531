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

SLACK_S = 30  # seconds by which a host's time may be behind a hook's, including the host's work in between
# A captured prompt and a prompt in the host's file are the same if they are at most this many seconds apart,
# even if neither words nor ids show it: a turn that was deleted permanently must not come back. A hook runs
# while the host writes.
SAME_MOMENT = 10.0
RECENT = 50  # last turns in which a waiting prompt is searched


def placed(
    turns: list[Fields], captured: list[tuple[str | None, str | None, float | None]]
) -> list[int | None]:
    """Return the position of each turn among the captured ones; None for a turn that was not captured.

    A turn was captured if its `prompt_id` or `uuid` was, or if a captured prompt contains the paragraphs of
    its prompt and they match no other turn: queued prompts are recorded as one.

    Args:
        turns: the turns of the transcript, with prompts cleaned like the captured ones (redacted, cut). Each
            has its time `at`, in seconds, if it is known.
        captured: the prompt id, the user's text and the time in seconds of each recorded turn of the session,
            in order of time; each may be None.
    """
    unmatched = [_flat(user) for _, user, _ in captured]
    by_id = {prompt_id: place for place, (prompt_id, _, _) in enumerate(captured) if prompt_id}
    places = [by_id.get(turn["prompt_id"], by_id.get(turn["uuid"])) for turn in turns]
    for number, place in enumerate(places):
        if place is not None:
            unmatched[place] = _without(unmatched[place], turns[number]) or unmatched[place]
    by_paragraph: dict[str, list[int]] = {}  # paragraph -> the captured turns that have it, in order
    for place, flat in enumerate(unmatched):
        for paragraph in dict.fromkeys(flat.split(_GAP)):
            by_paragraph.setdefault(paragraph, []).append(place)
    pairs = []
    for number, turn in enumerate(turns):
        if places[number] is None:
            turn_time, first_paragraph = turn.get("at"), _flat(turn["prompts"][0]).split(_GAP)[1]
            near = sorted(
                (_seconds_apart(turn_time, captured[place][2]), place)
                for place in by_paragraph.get(first_paragraph, ())
                if not _is_earlier(turn_time, captured[place][2])
            )
            pairs += [(apart, number, place) for apart, place in near[:RECENT]]
    for _, number, place in sorted(pairs):  # the nearest in time first
        if places[number] is None and (rest := _without(unmatched[place], turns[number])) is not None:
            unmatched[place], places[number] = rest, place
    return places


def ended_before(
    turns: list[Fields], prompts: list[str], clean: Callable[[str], str], *, over: bool = False
) -> list[Fields | None]:
    """Find which of the prompts that wait for one answer were turns that had already ended.

    A prompt that was interrupted or answered, or whose answer failed, does not wait for a later answer. A
    prompt that the transcript lacks, or shows without an end, was queued.

    Args:
        turns: the turns of the transcript; only the last `RECENT` count.
        prompts: the waiting prompts in order, cleaned; the last one has just been answered.
        clean: the function that cleaned the prompts.
        over: True if the session is over, so that not even the last prompt has just been answered.

    Returns:
        The ended turn of each prompt, or None for a prompt that belongs to the last turn.
    """
    recent = [(turn, _flat(clean(turn["prompts"][0]))) for turn in turns[-RECENT:]]
    ended: list[Fields | None] = []
    for prompt in reversed(prompts):
        flat_prompt = _flat(prompt)
        place = next((at for at in range(len(recent) - 1, -1, -1) if recent[at][1] == flat_prompt), None)
        turn = None if place is None else recent[place][0]
        ended.append(turn if turn and (ended or over) and has_ended(turn) else None)
        recent = recent[:place]
    return ended[::-1]


_GAP = "\n\n"


def _flat(text: str | None) -> str:
    """Put an empty line before and after each paragraph of a text, and replace runs of blanks by one."""
    flat = (" ".join(paragraph.split()) for paragraph in re.split(r"\n\s*\n", text or ""))
    return "".join(f"{_GAP}{paragraph}" for paragraph in flat if paragraph) + _GAP


def _without_run(flat: str, paragraphs: str) -> str | None:
    """Remove a run of paragraphs from a flat text; return None if the text does not contain it."""
    start = flat.find(paragraphs) if paragraphs != _GAP else -1
    return None if start < 0 else flat[:start] + flat[start + len(paragraphs) - len(_GAP) :]


def _without(flat: str, turn: Fields) -> str | None:
    """Remove the prompts of a turn from a flat text; return None if it lacks the first prompt."""
    rest = _without_run(flat, _flat(turn["prompts"][0]))
    for prompt in turn["prompts"][1:]:
        rest = rest and (_without_run(rest, _flat(prompt)) or rest)
    return rest


def _seconds_apart(one: float | None, other: float | None) -> float:
    """Return the seconds between two times; 0 if one is unknown."""
    return 0.0 if one is None or other is None else abs(one - other)


def _is_earlier(at: float | None, captured: float | None) -> bool:
    """Return True if a turn began well before the captured one, which may contain prompts queued later."""
    return at is not None and captured is not None and at < captured - SLACK_S

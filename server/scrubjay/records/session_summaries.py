"""Session summaries: one memory for each session, in the words of its turns.

A summary is written when the session ends, and during the session after a number of new turns. It is updated
when its turns change or are forgotten, and when the session continues.
"""

import asyncio
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from scrubjay.encoders.open_reader import log_odds
from scrubjay.home.scopes import display_name
from scrubjay.models.records import NOT_FORGOTTEN, SUMMARY, Memory, Turn, changed, content_hash, derived_id
from scrubjay.models.results import Result
from scrubjay.records.passages import record_change
from scrubjay.records.turns import PARTITION, is_own_command
from scrubjay.records.versions import children
from scrubjay.store import conditions
from scrubjay.store.changes import Change
from scrubjay.store.schema import micros
from scrubjay.store.sessions import Key, Session
from scrubjay.store.store import Store
from scrubjay.text import sessions, titles
from scrubjay.text.open_points import LONGEST_OPEN, left_open
from scrubjay.text.sentences import apart, clip, shorten
from scrubjay.text.summary import exchange_in
from scrubjay.text.terms import words
from scrubjay.text.titles import Exchange
from scrubjay.transcripts.turn import HOST_WORDS

# A session counts as ended after this time without a turn. An engine runs for 15 minutes without a client, so
# it sees the end, and most sessions get only one summary. A session that continues is summarised again.
SILENCE = timedelta(minutes=10)
MOST_TURNS = 200  # turns in a summary; of a longer session, only the last turns are summarised
GONE = "all turns it was made of are forgotten"
JOINED = "the summary of the whole session replaces it"  # as after scopes were merged
LABELS = ("Outcome", "Answered", "Asked", "Open")  # labels of a summary's lines
_LEAST_WORDS = 3  # words of a point; a shorter one such as "Understood." says nothing
_SEARCHED_WORDS = 12  # first words by which a point's turn is found, because a point may be shortened
RECAP = 600  # characters of a host's own summary
# The line that `_fields` writes after the title.
_ORIGIN_LINE = re.compile(r"Session of \d{4}-\d\d-\d\d, turns? \d+(?: to \d+)?\.(?: Title by \S+)?")


@dataclass(frozen=True)
class Digest:
    """What a session was about, shown at the start of the next one; `digest` makes it from the turns."""

    session_id: str
    started_at: datetime
    ended_at: datetime  # when its last turn began
    title: str  # the host's title, else a whole sentence; "" if the session has no text
    outcome: tuple[str, ...]  # sentences that say what was decided or done, the most informative first
    left_open: tuple[str, ...]  # sentences that say what is still to be done, the latest first
    files: tuple[str, ...]  # ordered by the number of their turns, most first
    title_by: str | None = None  # the host whose model wrote the title


def digest(turns: Sequence[Turn]) -> Digest:
    """Return the digest of a session; skip forgotten turns. `turns` are in order, and not empty.

    A model reads the texts (about 15 ms for 500 characters, once), so call this in a thread.
    """
    exchanges = _exchanges(turns)
    title, title_by = title_of(turns)
    file_counts = Counter(file for exchange in exchanges for file in exchange.files)
    points = left_open(exchanges, log_odds)
    return Digest(
        session_id=turns[0].session_id,
        started_at=turns[0].started_at,
        ended_at=turns[-1].started_at,
        title=title,
        outcome=tuple(text for text in sessions.outcome(exchanges) if clip(text, LONGEST_OPEN) not in points),
        left_open=tuple(points),
        files=tuple(file for file, _ in file_counts.most_common()),
        title_by=title_by,
    )


def title_of(turns: Sequence[Turn]) -> tuple[str, str | None]:
    """Return the title of a session and the host whose model wrote it, else a whole sentence and None."""
    title, title_by = _host_text(turns, "title")
    return title or titles.title(_exchanges(turns)), title_by


def open_points(turns: Sequence[Turn], after: Iterable[Turn]) -> tuple[str, ...]:
    """Return what a session left open and later turns (`after`) do not address; call it in a thread."""
    return tuple(left_open(_exchanges(turns), log_odds, map(exchange_of, after)))


def _exchanges(turns: Sequence[Turn]) -> list[Exchange]:
    return [exchange_of(turn) for turn in turns if _is_summarised(turn)]


def _is_summarised(turn: Turn) -> bool:
    """Return True if a turn is neither forgotten nor one of Scrubjay's own commands."""
    return turn.forgotten_at is None and not is_own_command(turn)


def exchange_of(turn: Turn) -> Exchange:
    """Return the texts of a turn that may be quoted: only its summary under the policy `summary_only`."""
    files = tuple(_in_project(file, display_name(turn.scope)) for file in turn.files)
    if turn.capture == "summary_only":
        return exchange_in(turn.summary or "", files)
    return Exchange(turn.user or "", turn.assistant or turn.text or "", files)


def _in_project(path: str, project: str) -> str:
    """Return a path relative to the project's folder if the folder has the project's name."""
    _, separator, rest = path.replace("\\", "/").partition(f"/{project}/")
    return rest if separator and rest else path


def _host_text(turns: Sequence[Turn], key: str) -> tuple[str, str | None]:
    """Return the newest title or recap (`key`) that a host's model wrote, and the host; else "" and None.

    Turns under the policy `summary_only` are skipped: the host's text may reveal more than their summaries.
    """
    name, _ = HOST_WORDS[key]
    for turn in reversed(turns):
        text = turn.metadata.get(name)
        if isinstance(text, str) and text and turn.forgotten_at is None and turn.capture != "summary_only":
            return text, turn.came_from
    return "", None


def may_continue(session: Session, now: datetime) -> bool:
    """Return True if a session may still get turns, because its last turn is recent."""
    silence = micros(now) - max((place.started_at for place in session.places), default=0)
    return 0 <= silence < SILENCE / timedelta(microseconds=1)


async def plan_summary(store: Store, key: Key, least: int, now: datetime) -> list[Change]:
    """Plan the summary of a session if at least `least` of its turns are missing from it.

    Nothing changes if the user forgot the summary or wrote a newer version of it.
    """
    places = [place for place in (await store.sessions.of([key]))[key].places if place.role is None]
    ids = [place.id for place in places if not place.forgotten][-MOST_TURNS:]
    where = conditions.both(
        conditions.equal("session_id", key[1]), conditions.negation(conditions.NOT_A_SUMMARY)
    )
    summaries = await store.select_newest(
        Memory, where, lambda row: row.source == SUMMARY and (row.scope, row.session_id) == key
    )
    summary_id = derived_id("mem", *key, "summary", "0")
    existing = next((row for row in summaries if row.id == summary_id), None)
    if len(set(ids).difference(existing.parent_ids if existing else ())) < least:
        return []
    rows = await store.get(Turn, ids)
    turns = [rows[turn_id] for turn_id in ids if turn_id in rows]
    if existing is None:
        summary = await asyncio.to_thread(_create, summary_id, turns, now)
    elif (existing.forgotten_at is not None and existing.forget_reason != GONE) or not existing.is_latest:
        return []
    else:
        summary = await asyncio.to_thread(_rewrite, existing, turns, now)
    replaced = {"forgotten_at": now, "forget_reason": JOINED, "updated_at": now}
    changes = [
        Change(row.model_copy(update=replaced), hidden=True)
        for row in summaries
        if row.id != summary_id and row.forgotten_at is None and row.is_latest
    ]
    if summary is not None and summary != existing:
        changes.append(record_change(summary, is_known=existing is not None))
    return changes


async def plan_without_turns(store: Store, ids: Collection[str], at: datetime) -> list[Change]:
    """Plan to remove these turns from their summaries; forget a summary that has no turns left (`GONE`)."""
    changes = []
    for summary in await children(store, ids):
        if summary.source == SUMMARY and summary.id not in ids:
            rows = await store.get(Turn, summary.parent_ids)
            turns = [
                rows[turn_id] for turn_id in summary.parent_ids if turn_id in rows and turn_id not in ids
            ]
            updated = await asyncio.to_thread(_rewrite, summary, turns, at)
            changes.append(record_change(updated))
    return changes


def title_and_text(content: str) -> tuple[str, str]:
    """Split the text of a summary into its title ("" if it has none) and its other lines."""
    head, _, rest = content.partition("\n")
    return ("", rest) if _ORIGIN_LINE.fullmatch(head) else (head, rest.partition("\n")[2])


def brief(content: str, room: int) -> str:
    """Return a summary's title and the beginning of its outcome, in `room` characters."""
    title, rest = title_and_text(content)
    outcome = next((line for line in rest.split("\n") if line.startswith(("Outcome: ", "Answered: "))), "")
    return shorten(f"{title}. {outcome}" if title and outcome else title or outcome, room)


def _covered(turns: Sequence[Turn]) -> list[Turn]:
    """Return the turns that a summary covers: those with a text, except Scrubjay's own commands."""
    return [turn for turn in turns if _is_summarised(turn) and (turn.user or turn.assistant)]


def _create(summary_id: str, turns: Sequence[Turn], now: datetime) -> Memory | None:
    """Return the first summary of a session, or None if its turns have nothing to summarise."""
    covered = _covered(turns)
    if not (values := _fields(covered)):
        return None
    last = covered[-1]
    return Memory(
        **values,
        id=summary_id,
        root_id=summary_id,
        scope=last.scope,
        partition_id=PARTITION,
        source=SUMMARY,
        relation="derives",
        session_id=last.session_id,
        updated_at=now,
        last_accessed_at=values["created_at"],
    )


def _rewrite(summary: Memory, turns: Sequence[Turn], now: datetime) -> Memory:
    """Return a summary rewritten from these turns; the same object if nothing changes."""
    values = _fields(_covered(turns)) or {"forgotten_at": summary.forgotten_at or now, "forget_reason": GONE}
    if "forgotten_at" not in values and summary.forget_reason == GONE:
        values |= NOT_FORGOTTEN
    return changed(summary, values, now)


def _fields(turns: Sequence[Turn]) -> dict[str, Any]:
    """Return the fields of a summary that depend on its turns; an empty dict if there is nothing to say."""
    exchanges = [exchange_of(turn) for turn in turns]
    (title, title_by), (recap, recap_by) = _host_text(turns, "title"), _host_text(turns, "recap")
    if not (text := sessions.session_summary(exchanges, left_open(exchanges, log_odds))):
        return {}
    first, last = turns[0], turns[-1]
    span = f"turns {first.turn} to {last.turn}" if len(turns) > 1 else f"turn {last.turn}"
    origin = f"Session of {last.started_at:%Y-%m-%d}, {span}.{f' Title by {title_by}.' if title_by else ''}"
    heading, *lines = text.split("\n") if titles.title(exchanges) else ("", *text.split("\n"))
    heading = title or heading
    if recap:
        lines.append(f"Summary by {recap_by}: {shorten(recap, RECAP)}")
    content = "\n".join(filter(None, [heading, origin, *lines]))
    return {
        "content": content,
        "content_hash": content_hash(content),
        "parent_ids": tuple(turn.id for turn in turns),
        "turn": last.turn,
        "created_at": last.started_at,
    }


class Point(Result):
    """One sentence of a summary, under its label; `turn` is the number of the turn that says it."""

    label: str
    text: str
    turn: int | None


def points_of(summary: str, turns: Sequence[Turn]) -> list[Point]:
    """Return the points of a session's summary; a line that a host wrote is one point without a turn."""
    turn_texts = [(turn.turn, f" {_plain(' '.join(exchange_of(turn)[:2]))} ") for turn in turns]
    points = []
    for label, point in _sentences(summary):
        beginning = " ".join(words(point)[:_SEARCHED_WORDS])
        if beginning.count(" ") < _LEAST_WORDS - 1:
            continue
        turn = next((number for number, text in turn_texts if f" {beginning} " in text), None)
        points.append(Point(label=label, text=point, turn=turn))
    return points


def _sentences(summary: str) -> Iterator[tuple[str, str]]:
    """Yield each sentence of a summary with its label, and each unlabelled line with ""."""
    for line in summary.split("\n"):
        label, _, rest = line.partition(": ")
        if label in LABELS:
            yield from ((label, text) for text in apart(rest))
        elif label != "Files":
            yield ("", line)


def _plain(text: str) -> str:
    return " ".join(words(text))

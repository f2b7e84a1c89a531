"""Session summaries: one memory for each session, in the words of its turns.

It is written when the session has ended, and before that after every so many new turns. The turns stay as
they are; when they change or are forgotten, or the session goes on, the summary follows.
"""

import asyncio
import re
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from scrubjay.encoders.open_reader import log_odds
from scrubjay.home.scopes import display_name
from scrubjay.models.records import NOT_FORGOTTEN, SUMMARY, Memory, Turn, changed, content_hash, derived_id
from scrubjay.records.passages import written
from scrubjay.records.turns import PARTITION
from scrubjay.records.versions import children
from scrubjay.store import conditions
from scrubjay.store.changes import Change
from scrubjay.store.schema import micros
from scrubjay.store.sessions import Key, Session
from scrubjay.store.store import Store
from scrubjay.text import sessions, titles
from scrubjay.text.open_points import left_open
from scrubjay.text.sentences import shorten
from scrubjay.text.summary import exchange_in
from scrubjay.text.titles import Exchange
from scrubjay.transcripts.turn import HOST_WORDS

# without a turn, after which a session has ended: shorter than an engine stays without a client (15), so that
# it still sees the end, and long enough for one summary a session. One that goes on is summarised again.
SILENCE = timedelta(minutes=10)
MOST_TURNS = 200  # a longer session's last ones are summarised
GONE = "all turns it was made of are forgotten"
JOINED = "the summary of the whole session replaces it"  # before 0.2.0 every twenty turns had one
RECAP = 600  # characters of a host's own summary
# As `_fields` writes it.
_PLACE = re.compile(r"Session of \d{4}-\d\d-\d\d, turns? \d+(?: to \d+)?\.(?: Title by \S+)?")


@dataclass(frozen=True)
class Digest:
    """What a session was about, for the next one to open with; made of its turns by `digest`."""

    session_id: str
    started_at: datetime
    ended_at: datetime  # when its last turn began
    title: str  # the host's, else a whole sentence; "" if nothing was said
    outcome: tuple[str, ...]  # sentences that say what was decided or done, the most telling first
    left_open: tuple[str, ...]  # sentences that say what is still to be done, the last said first
    files: tuple[str, ...]  # the most touched first
    told_by: str | None = None  # the host whose model wrote the title


def digest(turns: Sequence[Turn]) -> Digest:
    """Digest the turns of one session, in order and at least one; forgotten ones say nothing.

    A model reads the texts (some 15 ms for 500 characters, once), so call it in a thread.
    """
    exchanges = _said(turns)
    title, told_by = title_of(turns)
    touched = Counter(file for exchange in exchanges for file in exchange.files)
    return Digest(
        session_id=turns[0].session_id,
        started_at=turns[0].started_at,
        ended_at=turns[-1].started_at,
        title=title,
        outcome=tuple(sessions.outcome(exchanges)),
        left_open=tuple(left_open(exchanges, log_odds)),
        files=tuple(file for file, _ in touched.most_common()),
        told_by=told_by,
    )


def title_of(turns: Sequence[Turn]) -> tuple[str, str | None]:
    """Return the title of a session and the host whose model wrote it, else a whole sentence and None."""
    title, told_by = _host_word(turns, "title")
    return title or titles.title(_said(turns)), told_by


def open_points(turns: Sequence[Turn], after: Iterable[Turn]) -> tuple[str, ...]:
    """Return what a session left open and later turns (`after`) do not take up; call it in a thread."""
    return tuple(left_open(_said(turns), log_odds, map(exchange_of, after)))


def _said(turns: Sequence[Turn]) -> list[Exchange]:
    return [exchange_of(turn) for turn in turns if turn.forgotten_at is None]


def exchange_of(turn: Turn) -> Exchange:
    """Return what may be quoted of a turn: under the policy `summary_only` its summary alone."""
    files = tuple(_in_project(file, display_name(turn.scope)) for file in turn.files)
    if turn.capture == "summary_only":
        return exchange_in(turn.summary or "", files)
    return Exchange(turn.user or "", turn.assistant or turn.text or "", files)


def _in_project(path: str, project: str) -> str:
    """Return a path relative to the project's folder, if that has the project's name.

    >>> _in_project("/home/kim/kestrel/cmd/main.go", "kestrel"), _in_project("cmd/main.go", "kestrel")
    ('cmd/main.go', 'cmd/main.go')
    """
    _, found, rest = path.replace("\\", "/").partition(f"/{project}/")
    return rest if found and rest else path


def _host_word(turns: Sequence[Turn], key: str) -> tuple[str, str | None]:
    """Return the newest of what a host's model wrote about a session, and the host; "" and None without it.

    Under the policy `summary_only` it may say more than a turn's gist.
    """
    name, _ = HOST_WORDS[key]
    for turn in reversed(turns):
        word = turn.metadata.get(name)
        if isinstance(word, str) and word and turn.forgotten_at is None and turn.capture != "summary_only":
            return word, turn.came_from
    return "", None


def goes_on(session: Session, now: datetime) -> bool:
    """Return True if a session may still get turns, because its last turn is recent."""
    quiet = micros(now) - max((place.started_at for place in session.places), default=0)
    return 0 <= quiet < SILENCE / timedelta(microseconds=1)


async def plan_summary(store: Store, key: Key, least: int, now: datetime) -> list[Change]:
    """Plan the summary of a session if `least` of its turns are new to it.

    Nothing changes if it is right already, and if the user forgot it or wrote a newer version of it.
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
    known = next((row for row in summaries if row.id == summary_id), None)
    if len(set(ids).difference(known.parent_ids if known else ())) < least:
        return []
    rows = await store.get(Turn, ids)
    turns = [rows[each] for each in ids if each in rows]
    if known is None:
        summary = await asyncio.to_thread(_create, summary_id, turns, now)
    elif (known.forgotten_at is not None and known.forget_reason != GONE) or not known.is_latest:
        return []
    else:
        summary = await asyncio.to_thread(_remake, known, turns, now)
    values = {"forgotten_at": now, "forget_reason": JOINED, "updated_at": now}
    changes = [
        Change(row.model_copy(update=values), hidden=True)
        for row in summaries
        if row.id != summary_id and row.forgotten_at is None and row.is_latest
    ]
    if summary is not None and summary != known:
        changes.append(written(summary, is_known=known is not None))
    return changes


async def plan_without_turns(store: Store, ids: Collection[str], at: datetime) -> list[Change]:
    """Plan the summaries of these turns without them; a summary without turns is forgotten (`GONE`)."""
    changes = []
    for known in await children(store, ids):
        if known.source == SUMMARY and known.id not in ids:
            rows = await store.get(Turn, known.parent_ids)
            turns = [rows[each] for each in known.parent_ids if each in rows and each not in ids]
            summary = await asyncio.to_thread(_remake, known, turns, at)
            changes.append(written(summary))
    return changes


def title_and_text(summary: Memory) -> tuple[str, str]:
    """Split a summary into its title, "" if it has none, and the rest."""
    head, _, rest = summary.content.partition("\n")
    return ("", rest) if _PLACE.fullmatch(head) else (head, rest.partition("\n")[2])


def brief(content: str, room: int) -> str:
    """Return a summary's title and the beginning of its outcome, in `room` characters."""
    title, _, rest = content.partition("\n")
    title = "" if _PLACE.fullmatch(title) else title
    said = next((line for line in rest.split("\n") if line.startswith(("Outcome: ", "Answered: "))), "")
    return shorten(f"{title}. {said}" if title and said else title or said, room)


def _summarised(turns: Sequence[Turn]) -> list[Turn]:
    """Return the turns that a summary covers: those of a user and an assistant."""
    return [turn for turn in turns if turn.forgotten_at is None and (turn.user or turn.assistant)]


def _create(summary_id: str, turns: Sequence[Turn], now: datetime) -> Memory | None:
    covered = _summarised(turns)
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


def _remake(known: Memory, turns: Sequence[Turn], now: datetime) -> Memory:
    """Return a summary remade of these turns; the very same object if nothing changes."""
    values = _fields(_summarised(turns)) or {"forgotten_at": known.forgotten_at or now, "forget_reason": GONE}
    if "forgotten_at" not in values and known.forget_reason == GONE:
        values |= NOT_FORGOTTEN
    return changed(known, values, now)


def _fields(turns: Sequence[Turn]) -> dict[str, Any]:
    """Return the fields of a summary that depend on its turns; none if there is nothing to say."""
    exchanges = [exchange_of(turn) for turn in turns]
    (title, told_by), (recap, recapped_by) = _host_word(turns, "title"), _host_word(turns, "recap")
    if not (text := sessions.session_summary(exchanges, left_open(exchanges, log_odds))):
        return {}
    first, last = turns[0], turns[-1]
    span = f"turns {first.turn} to {last.turn}" if len(turns) > 1 else f"turn {last.turn}"
    place = f"Session of {last.started_at:%Y-%m-%d}, {span}.{f' Title by {told_by}.' if told_by else ''}"
    head, *lines = text.split("\n") if titles.title(exchanges) else ("", *text.split("\n"))
    head = title or head
    if recap:
        lines.append(f"Summary by {recapped_by}: {shorten(recap, RECAP)}")
    content = "\n".join(filter(None, [head, place, *lines]))
    return {
        "content": content,
        "content_hash": content_hash(content),
        "parent_ids": tuple(turn.id for turn in turns),
        "turn": last.turn,
        "created_at": last.started_at,
    }

"""Renders sessions and whole turns as text for a model, in the same fence as `render`."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from scrubjay.home.scopes import display_name
from scrubjay.mcp_server.render import Frame, fenced, quote
from scrubjay.models.records import Turn
from scrubjay.text.answers import plural
from scrubjay.text.foreign import one_line
from scrubjay.text.sentences import shorten
from scrubjay.text.short_ids import short_id, short_session

if TYPE_CHECKING:  # these load the store, and an engine answers its first calls before that
    from scrubjay.engine.verbs.counts import ScopeCounts
    from scrubjay.engine.verbs.distilling import Piece
    from scrubjay.engine.verbs.sessions import ListedSession, Overview
    from scrubjay.records.session_summaries import Digest

SUMMARY_SHOWN = 400  # characters that are shown of a session's summary, or of one line of its digest
SIDE_SHOWN = 4_000  # characters that are shown of each side of a turn
SENTENCES_SHOWN, FILES_SHOWN = 5, 12  # at most, of each list of sentences and of the files of a session


def sessions(page: Overview, since: datetime) -> str:
    """Quote the titles and summaries of sessions, grouped by project."""
    start = f"{since.astimezone():%Y-%m-%d %H:%M}"
    if not page.results:
        return page.behind or f"No session is recorded since {start}."
    by_scope: dict[str, list[ListedSession]] = {}
    for session in page.results:
        by_scope.setdefault(session.scope, []).append(session)
    lines = []
    for scope, scope_sessions in by_scope.items():
        lines.append(f"## {one_line(display_name(scope))}")
        for session in scope_sessions:
            ended = f"{session.ended_at.astimezone():%Y-%m-%d %H:%M}"
            lines.append(f"- {ended}, {plural(session.turns, 'turn')}, {one_line(session.host)}")
            summary = shorten(session.summary, SUMMARY_SHOWN)
            lines.append(quote("\n".join(filter(None, (session.title, summary)))))
    counts = f"{plural(len(page.results), 'session')} in {plural(len(by_scope), 'project')}"
    head = f"{counts} since {start}, the latest first:"
    return "\n".join([head, *fenced(*lines), *filter(None, [page.behind])])


def last_session(listed: ListedSession, digest: Digest, last: Turn) -> str:
    """Quote a session's subject, outcome, open points, files and last turn."""
    parts = {
        "Subject": [digest.title],
        "Outcome": digest.outcome[:SENTENCES_SHOWN],
        "Left open": digest.left_open[:SENTENCES_SHOWN],
        "Files": digest.files[:FILES_SHOWN],
    }
    lines = [
        line
        for title, sentences in parts.items()
        if any(sentences)
        for line in (
            f"## {title}",
            quote("\n".join(shorten(sentence, SUMMARY_SHOWN) for sentence in sentences)),
        )
    ]
    session, ended = short_session(listed.session_id), f"{listed.ended_at.astimezone():%Y-%m-%d %H:%M}"
    head = f"Session {one_line(session)}, last turn at {ended}, {plural(listed.turns, 'turn')}:"
    return "\n".join([head, *fenced(*lines, "## Last turn", whole_turn(last, Frame(None)))])


def status(scope: str, counts: ScopeCounts | None, page: Overview) -> str:
    """Say how much is remembered in a scope, and when its last session was active."""
    if counts is None:
        return f"Scrubjay remembers nothing in {display_name(scope)} yet."
    last = (
        f", the last one active {page.results[0].ended_at.astimezone():%Y-%m-%d %H:%M}"
        if page.results
        else ""
    )
    numbers = f"{plural(counts.turns, 'turn')} of {plural(page.total, 'session')}{last}"
    behind = f" {page.behind}" if page.behind else ""
    commits = f"; {plural(counts.commits, 'commit')}" if counts.commits else ""
    return (
        f"Scrubjay remembers in {display_name(scope)}: {numbers}; {plural(counts.memories, 'fact')}; "
        f"{plural(counts.documents, 'document')}{commits}.{behind}"
    )


def undistilled(piece: Piece, frame: Frame) -> str:
    """Quote turns in chronological order, and say how many more wait."""
    if not piece.turns:
        return "Nothing was said since the last distill. There is nothing to keep."
    head = f"{plural(len(piece.turns), 'turn')}, not distilled before, the oldest first:"
    last = f"{plural(piece.left, 'more turn')} wait." if piece.left else "These are all."
    return "\n".join([head, *fenced(*(whole_turn(turn, frame) for turn in piece.turns)), last])


def whole_turn(turn: Turn, frame: Frame) -> str:
    """Quote both sides of a turn below its name; a long side is cut."""
    from scrubjay.records.session_summaries import exchange_of  # imported late: it loads the store

    name = short_id("turn", turn.id, turn.session_id, turn.turn)
    exchange = exchange_of(turn)
    sides = (("user", exchange.user), ("assistant", exchange.assistant))
    lines = [f"{who}: {shorten(text, SIDE_SHOWN)}" for who, text in sides if text]
    return "\n".join([f"{name} · {frame.date(turn.started_at)}", quote("\n".join(lines))])

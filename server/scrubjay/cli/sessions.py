"""`scrubjay sessions` and `tags`: list what a project's memory holds, or show one whole session."""

from __future__ import annotations

import argparse

from scrubjay.cli.command import Place, within
from scrubjay.cli.display import NARROW, cell, first_line, list_width, local, plural, print_answer
from scrubjay.errors import InputError
from scrubjay.home.scopes import EVERY_SCOPE, display_name
from scrubjay.text.short_ids import short_id, short_session

TYPE_CHECKING = False  # typing.TYPE_CHECKING, without the import that every command would pay
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any


def sessions(place: Place, options: argparse.Namespace) -> None:
    """List the sessions, newest first, or show one whole."""
    if options.id is not None:
        answer = place.ask("show", id=options.id)
        if "turns" not in answer:
            raise InputError(f"{options.id} is not a session; `scrubjay show {options.id}` shows it.")
        answer = whole_session(place, answer)
        print_answer(answer, session_lines(answer), as_json=options.json)
        return
    scope = options.scope or place.current_scope()
    answer = place.ask("sessions", last=options.last, scope=scope)
    print_answer(answer, _rows(answer, scope, list_width()), as_json=options.json)


def _rows(answer: Mapping[str, Any], scope: str, width: int) -> Iterator[str]:
    for session in answer["results"]:
        turn_count = plural(session["turns"], "turn")
        head = f"{local(session['ended_at']):%Y-%m-%d %H:%M}  {short_session(session['session_id']):<16}  "
        head += f"{cell(display_name(session['scope']), 16)}  {turn_count:>9}  "
        if width < NARROW:
            head = f"{local(session['ended_at']):%Y-%m-%d}  {short_session(session['session_id'])}  "
        yield f"{head}{first_line(session['title'], max(width - len(head), 20))}"
    if answer["behind"]:
        yield f"Note: {answer['behind']}"
    elif not answer["results"]:
        hint = "" if scope == EVERY_SCOPE else " `scrubjay sessions --all` lists every project's."
        yield f"No session is recorded {within(scope)} yet.{hint}"
    if (more := answer["total"] - len(answer["results"])) > 0:
        yield f"{more:,} more: --last {answer['total']} lists all."


def whole_session(place: Place, answer: dict[str, Any]) -> dict[str, Any]:
    """Return a session with all of its turns; `answer` has the first ones."""
    turns = list(answer["turns"])
    while len(turns) < answer["total"]:
        more = place.ask("show", id=answer["session_id"], start=len(turns))["turns"]
        if not more:
            break
        turns += more
    return answer | {"turns": turns}


def session_lines(answer: Mapping[str, Any]) -> Iterator[str]:
    """Yield a session as lines: its subject, its turns, its facts."""
    first, last = (local(answer["turns"][index]["started_at"]) for index in (0, -1))
    yield answer["title"]
    where = f"{display_name(answer['scope'])}, {plural(answer['total'], 'turn')}"
    yield f"{where}, {first:%Y-%m-%d %H:%M} to {last:%Y-%m-%d %H:%M}, session {answer['session_id']}"
    if answer["summary"]:
        yield f"\n{answer['summary']}"
    for turn in answer["turns"]:
        name = short_id("turn", turn["id"], turn["session_id"], turn["turn"])
        forgotten = "  (forgotten)" if "forgotten_at" in turn else ""
        yield f"\n--- {name}  {local(turn['started_at']):%Y-%m-%d %H:%M}{forgotten}"
        for side in ("user", "assistant", "text"):
            if turn.get(side):
                yield f"{turn.get('role') or side if side == 'text' else side}: {turn[side]}"
        if "cut" in turn:
            yield f"(cut: `scrubjay show {name}` shows all of it)"
    facts = answer.get("facts", ())
    yield from ["\nFacts:"] if facts else []
    yield from (f"{short_id('memory', fact['id'])}  {fact['content']}" for fact in facts)


def tags(place: Place, options: argparse.Namespace) -> None:
    """List the tags of facts, turns and documents, with how many have each."""
    scope = options.scope or place.current_scope()
    answer = place.ask("tags", scope=scope)
    lines = [f"{count:>6,}  {tag}" for tag, count in answer.items()]
    advice = f"Nothing {within(scope)} has a tag. `scrubjay add TEXT --tag TAG` sets one."
    print_answer(answer, lines or [advice], as_json=options.json)

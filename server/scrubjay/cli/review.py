"""`scrubjay review`, `given`, `effect`: what models distilled, what they were given, what it changed."""

import argparse
from collections.abc import Iterator
from typing import Any

from scrubjay.cli.command import JSON, Place, call_engine, command, flag, given, value
from scrubjay.cli.display import first_line, line_width, local, plural, print_answer
from scrubjay.home import given as given_log
from scrubjay.home.scopes import display_name
from scrubjay.text.short_ids import short_id, short_session

PIPED_WIDTH = 200  # characters of a line outside a terminal


@command(
    value("id", "ID", "only take this fact back, or only show it", nargs="*"),
    flag("--undo", "take back the facts of the last run, or those named"),
    value("--runs", "N", "list the last N runs (1)", type=int, default=1),
    value("--scope", "NAME", "of this scope instead of this folder's project"),
    JSON,
)
def review(place: Place, options: argparse.Namespace) -> None:
    """List the facts that an assistant's model distilled, or take them back."""
    with call_engine(place) as engine:
        asked = given(scope=options.scope, undo=options.undo or None, ids=options.id or None)
        facts = engine.call("review", asked)
    if not options.undo:
        facts = [each for each in facts if each["run"] <= options.runs or options.id]
    print_answer(facts, _reviewed(facts, undone=options.undo), as_json=options.json)


def _reviewed(facts: list[dict[str, Any]], *, undone: bool) -> Iterator[str]:
    width = line_width(most=None) or PIPED_WIDTH
    for fact in facts:
        at = f"{local(fact['date']):%Y-%m-%d %H:%M}"
        head = f"{short_id('memory', fact['id'])}  {at}  {fact.get('turn', '-')}  "
        yield head + first_line(fact["memory"], max(width - len(head), 20))
        if against := fact.get("may_contradict"):
            yield f"    may contradict {against}, which stays"
    count = plural(len(facts), "distilled fact")
    if undone:
        yield f"{count} taken back. `scrubjay restore ID` brings one back."
    elif facts:
        yield f"{count}. `scrubjay review --undo` takes the last run back, `--undo ID` one fact."
    else:
        yield "No distilled fact. An assistant distills when you type its command distill."


@command(value("--last", "N", "how many (20)", type=int, default=20), JSON)
def given_(place: Place, options: argparse.Namespace) -> None:
    """List what models were given: when, in which session, by what, how many tokens."""
    lines = given_log.read(place.home)[-options.last :]
    print_answer([each._asdict() for each in lines], _given(lines), as_json=options.json)


def _given(lines: list[given_log.Given]) -> Iterator[str]:
    if not lines:
        yield "No model was given anything yet."
        return
    for each in lines:
        counts = (
            f", {plural(each.sessions, 'session')}, {plural(each.facts, 'fact')}"
            if each.by == "opening"
            else ""
        )
        names = f"{short_session(each.session):<16}  {display_name(each.scope)[:16]:<16}"
        head = f"{local(each.at):%Y-%m-%d %H:%M}  {each.by:<16}  {names}"
        yield f"{head}  {plural(each.tokens, 'token')}{counts}"
    yield f"{plural(sum(each.tokens for each in lines), 'token')} in {plural(len(lines), 'line')}."


@command(JSON)
def effect(place: Place, options: argparse.Namespace) -> None:
    """Compare sessions with an opening and those left without one."""
    with call_engine(place) as engine:
        found = engine.call("effect", {})
    print_answer(found, _effect(found), as_json=options.json)


def _effect(found: dict[str, Any]) -> Iterator[str]:
    yield f"{plural(found['opened'], 'session')} with an opening, {found['withheld']} without."
    if not found.get("signs"):
        how = "`scrubjay config effect 4` leaves one in 4 without."
        yield f"Not enough yet: it takes {found['enough']} of each. {how}"
        return
    yield f"{'':<34}{'with':>9}{'without':>9}   difference (95 %)"
    for sign in found["signs"]:
        means = f"{sign['opened']:>9,.1f}{sign['withheld']:>9,.1f}"
        yield f"{sign['name']:<34}{means}   {sign['least']:+,.1f} to {sign['most']:+,.1f}"
    if all(sign["least"] <= 0 <= sign["most"] for sign in found["signs"]):
        yield "No difference is certain: every interval includes 0."

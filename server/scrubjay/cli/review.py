"""`scrubjay review`, `given`, `effect`: what models distilled, what they were given, and its effect."""

import argparse
from collections.abc import Iterator
from typing import Any

from scrubjay.cli.command import Place, refuse_below_one
from scrubjay.cli.display import cell, first_line, list_width, local, plural, print_answer
from scrubjay.home import given as given_log
from scrubjay.home.scopes import display_name
from scrubjay.text.short_ids import short_id, short_session


def review(place: Place, options: argparse.Namespace) -> None:
    """List the facts that an assistant's model distilled, or take them back."""
    refuse_below_one("runs", options.runs)
    facts = place.ask("review", scope=options.scope, undo=options.undo or None, ids=options.id or None)
    if not options.undo and not options.id:
        facts = [fact for fact in facts if fact["run"] <= options.runs]
    print_answer(facts, _fact_lines(facts, undone=options.undo), as_json=options.json)


def _fact_lines(facts: list[dict[str, Any]], *, undone: bool) -> Iterator[str]:
    width = list_width()
    for fact in facts:
        date = f"{local(fact['date']):%Y-%m-%d %H:%M}"
        head = f"{short_id('memory', fact['id'])}  {date}  {fact.get('turn', '-')}  "
        yield head + first_line(fact["memory"], max(width - len(head), 20))
        if other_id := fact.get("may_contradict"):
            yield f"    may contradict {other_id}, which stays"
    count = plural(len(facts), "distilled fact")
    if not facts:
        yield "There are no distilled facts. The command `distill` in an assistant makes some."
    elif undone:
        yield f"{count} taken back. `scrubjay restore ID` brings one back."
    else:
        yield f"{count}. `scrubjay review --undo` takes the last run back, `--undo ID` one fact."


def given_(place: Place, options: argparse.Namespace) -> None:
    """List what models were given: when, in which session, by what, how many tokens."""
    refuse_below_one("last", options.last)
    entries = given_log.read(place.home)[-options.last :]
    print_answer([entry._asdict() for entry in entries], _given_lines(entries), as_json=options.json)


def _given_lines(entries: list[given_log.Given]) -> Iterator[str]:
    if not entries:
        yield "No model has been given anything yet."
        return
    for entry in entries:
        opening_counts = (
            f", {plural(entry.sessions, 'session')}, {plural(entry.facts, 'fact')}"
            if entry.by == "opening"
            else ""
        )
        names = f"{short_session(entry.session):<16}  {cell(display_name(entry.scope), 16)}"
        head = f"{local(entry.at):%Y-%m-%d %H:%M}  {entry.by:<16}  {names}"
        yield f"{head}  {plural(entry.tokens, 'token')}{opening_counts}"
    yield f"{plural(sum(entry.tokens for entry in entries), 'token')} in {plural(len(entries), 'line')}."


def effect(place: Place, options: argparse.Namespace) -> None:
    """Compare sessions with an opening and those left without one."""
    report = place.ask("effect")
    print_answer(report, _effect_lines(report), as_json=options.json)


def _effect_lines(report: dict[str, Any]) -> Iterator[str]:
    yield f"{plural(report['opened'], 'session')} with an opening, {report['withheld']} without."
    if not report.get("signs"):
        advice = "`scrubjay config effect 4` leaves one in 4 without."
        yield f"Not enough yet: it takes {report['enough']} of each. {advice}"
        return
    yield f"{'':<34}{'with':>9}{'without':>9}   difference (95 %)"
    for sign in report["signs"]:
        means = f"{sign['opened']:>9,.1f}{sign['withheld']:>9,.1f}"
        yield f"{sign['name']:<34}{means}   {sign['least']:+,.1f} to {sign['most']:+,.1f}"
    if all(sign["least"] <= 0 <= sign["most"] for sign in report["signs"]):
        yield "No difference is certain: every interval includes 0."

"""`scrubjay list` and `scrubjay search`: what was recorded last, and what answers a question."""

from __future__ import annotations

import argparse
import json
import shutil
import sys
from typing import Any

from scrubjay.cli.command import Command, Place, call_engine, chosen_scope, scope_arguments
from scrubjay.cli.display import first_line, local, plural, project
from scrubjay.cli.full import lines_in_full
from scrubjay.cli.hits import lines_of

PIPED_WIDTH = 200  # characters of a line that no terminal shows


def list_last(place: Place, options: argparse.Namespace) -> int:
    """One line per record, newest first."""
    with call_engine(place) as engine:
        wanted = chosen_scope(options)
        scope = wanted or engine.call("status", {})["scope"]
        hits = engine.call("list", {"last": options.last, "scope": scope})
    if options.json:
        print(json.dumps(hits, indent=1, ensure_ascii=False))
        return 0
    if not hits:
        where = "anywhere" if scope == "*" else f"in {scope}"
        print(f"Nothing is recorded {where} yet." + ("" if scope == "*" else " `scrubjay list --all` looks in every project."))
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else PIPED_WIDTH
    for hit in hits:
        print(_row(hit, width))
    return 0


def _row(hit: dict[str, Any], width: int) -> str:
    turn = "document" if hit["src"] == "chunk" else "fact" if hit["src"] == "memory" else f"{hit['session_id'][:12]}/{hit['turn']}"
    head = f"{local(hit['date']):%Y-%m-%d %H:%M}  {turn:<16}  {project(hit['scope'])[:16]:<16}  "
    room = max(width - len(head) - len(hit["id"]) - 2, 20)
    text = hit.get("title") or hit.get("memory") or hit.get("chunk") or ""
    padded = room if sys.stdout.isatty() else 0
    return f"{head}{first_line(text, room):<{padded}}  {hit['id']}"


def show(place: Place, options: argparse.Namespace) -> int:
    """Everything about one record."""
    with call_engine(place) as engine:
        found = engine.call("show", {"id": options.id})
    if options.json:
        print(json.dumps(found, indent=1, ensure_ascii=False))
        return 0
    for line in lines_in_full(found):
        print(line)
    return 0


def search(place: Place, options: argparse.Namespace) -> int:
    """The hits of a question, with the turns around them."""
    asked = {
        "query": " ".join(options.query),
        "top_k": options.top,
        "max_tokens": options.tokens,
        "prev_turns": options.prev,
        "next_turns": options.next,
        "scope": chosen_scope(options),
        "since": options.since,
        "until": options.until,
        "tags": options.tag,
        "include_turns": False if options.facts else None,
        "search_mode": options.mode,
        "as_of": options.as_of,
        "include": {name: True for name in ("explain", "related_memories", "forgotten") if getattr(options, name)} or None,
    }
    with call_engine(place) as engine:
        found = engine.call("search", {name: value for name, value in asked.items() if value is not None})
    if options.json:
        print(json.dumps(found, indent=1, ensure_ascii=False))
        return 0
    width = min(shutil.get_terminal_size().columns, 110) if sys.stdout.isatty() else None
    for line in lines_of(found, width):
        print(line)
    return 0


def profile(place: Place, options: argparse.Namespace) -> int:
    """The lasting and the newest facts of a scope."""
    asked = {"scope": options.scope, "max_tokens": options.tokens}
    with call_engine(place) as engine:
        known = engine.call("profile", {name: value for name, value in asked.items() if value is not None})
    if options.json:
        print(json.dumps(known, indent=1, ensure_ascii=False))
        return 0
    width = min(shutil.get_terminal_size().columns, 110) if sys.stdout.isatty() else PIPED_WIDTH
    for title, hits in (("Lasting", known["static"]), ("Recent", known["recent"])):
        for at, hit in enumerate(hits):
            print(f"{title + ':' if at == 0 else '':<9}{local(hit['date']):%Y-%m-%d}  {first_line(hit['memory'], width - 21)}")
    shown = len(known["static"]) + len(known["recent"])
    print(f"{shown} of {known['total']} facts known in {project(known['scope'])}, about {plural(known['spent'], 'token')}.")
    return 0


def _profile_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--scope", metavar="NAME", help="of this scope instead of this folder's project")
    parser.add_argument("--tokens", type=int, metavar="N", help="for all facts together (400)")
    parser.add_argument("--json", action="store_true", help="print what the engine answers, as JSON")


def _show_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("id", metavar="ID", help="an id that `scrubjay list`, `search` or `documents` shows")
    parser.add_argument("--json", action="store_true", help="print what the engine answers, as JSON")


def _list_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--last", type=int, default=10, metavar="N", help="how many (10)")
    scope_arguments(parser)
    parser.add_argument("--json", action="store_true", help="print what the engine answers, as JSON")


def _search_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("query", nargs="+", metavar="QUERY", help="what to recall, in plain words")
    parser.add_argument("--top", type=int, metavar="N", help="this many hits, instead of as many as fit the budget")
    parser.add_argument("--tokens", type=int, metavar="N", help="budget for what comes back (1500 without --top, --prev, --next)")
    parser.add_argument("--prev", type=int, metavar="N", help="bring along N turns before each hit")
    parser.add_argument("--next", type=int, metavar="N", help="bring along N turns after each hit")
    parser.add_argument("--since", metavar="DATE", help="only from this date or time on, such as 2026-03-01")
    parser.add_argument("--until", metavar="DATE", help="only before this date or time")
    parser.add_argument("--tag", action="append", metavar="TAG", help="only what has this tag; may be repeated, all are needed")
    parser.add_argument("--facts", action="store_true", help="only facts that were added, no recorded turns")
    parser.add_argument("--mode", choices=["memories", "hybrid", "documents"], help="facts and turns (so without it), all, or documents")
    parser.add_argument("--as-of", metavar="DATE", help="what was known at this date or time: the versions of then, nothing newer")
    parser.add_argument("--history", dest="related_memories", action="store_true", help="show with each fact its older and newer versions")
    parser.add_argument("--forgotten", action="store_true", help="also what was forgotten or has expired")
    parser.add_argument("--explain", action="store_true", help="say of each hit how it was found and what its score is made of")
    scope_arguments(parser)
    parser.add_argument("--json", action="store_true", help="print what the engine answers, as JSON")


COMMANDS = (
    Command("search", "Recall what earlier sessions said about something.", search, _search_arguments),
    Command("list", "Show what was recorded last, newest first.", list_last, _list_arguments),
    Command("show", "Show one turn, fact or document in full, with its dates and versions.", show, _show_arguments),
    Command("profile", "Show the lasting and the newest facts of this project.", profile, _profile_arguments),
)

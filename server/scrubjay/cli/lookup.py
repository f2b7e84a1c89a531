"""`scrubjay list` and `scrubjay search`: what was recorded last, and what answers a question."""

import argparse
import shutil
import sys
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

from scrubjay.cli.command import (
    Command,
    Place,
    call_engine,
    chosen_scope,
    flag,
    json_flag,
    scope_arguments,
    value,
)
from scrubjay.cli.display import first_line, local, plural, print_json, project

PIPED_WIDTH = 200  # characters of a line that no terminal shows


def list_last(place: Place, options: argparse.Namespace) -> int:
    """One line per record, newest first."""
    with call_engine(place) as engine:
        wanted = chosen_scope(options)
        scope = wanted or engine.call("status", {})["scope"]
        hits = engine.call("list", {"last": options.last, "scope": scope})
    if options.json:
        print_json(hits)
        return 0
    if not hits:
        where = "anywhere" if scope == "*" else f"in {scope}"
        print(
            f"Nothing is recorded {where} yet."
            + ("" if scope == "*" else " `scrubjay list --all` looks in every project.")
        )
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else PIPED_WIDTH
    for hit in hits:
        print(_row(hit, width))
    return 0


def _row(hit: dict[str, Any], width: int) -> str:
    turn = (
        "document"
        if hit["src"] == "chunk"
        else "fact"
        if hit["src"] == "memory"
        else f"{hit['session_id'][:12]}/{hit['turn']}"
    )
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
        print_json(found)
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
        "include": {
            name: True for name in ("explain", "related_memories", "forgotten") if getattr(options, name)
        }
        or None,
    }
    with call_engine(place) as engine:
        found = engine.call("search", {name: value for name, value in asked.items() if value is not None})
    if options.json:
        print_json(found)
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
        print_json(known)
        return 0
    width = min(shutil.get_terminal_size().columns, 110) if sys.stdout.isatty() else PIPED_WIDTH
    for title, hits in (("Lasting", known["static"]), ("Recent", known["recent"])):
        for at, hit in enumerate(hits):
            print(
                f"{title + ':' if at == 0 else '':<9}{local(hit['date']):%Y-%m-%d}  "
                f"{first_line(hit['memory'], width - 21)}"
            )
    shown = len(known["static"]) + len(known["recent"])
    print(
        f"{shown} of {known['total']} facts known in {project(known['scope'])}, about "
        f"{plural(known['spent'], 'token')}."
    )
    return 0


def _profile_arguments(parser: argparse.ArgumentParser) -> None:
    value(parser, "--scope", "NAME", "of this scope instead of this folder's project")
    value(parser, "--tokens", "N", "for all facts together (400)", type=int)
    json_flag(parser)


def _show_arguments(parser: argparse.ArgumentParser) -> None:
    value(parser, "id", "ID", "an id that `scrubjay list`, `search` or `documents` shows")
    json_flag(parser)


def _list_arguments(parser: argparse.ArgumentParser) -> None:
    value(parser, "--last", "N", "how many (10)", type=int, default=10)
    scope_arguments(parser)
    json_flag(parser)


def _search_arguments(parser: argparse.ArgumentParser) -> None:
    value(parser, "query", "QUERY", "what to recall, in plain words", nargs="+")
    value(parser, "--top", "N", "this many hits, instead of as many as fit the budget", type=int)
    value(
        parser, "--tokens", "N", "budget for what comes back (1500 without --top, --prev, --next)", type=int
    )
    value(parser, "--prev", "N", "bring along N turns before each hit", type=int)
    value(parser, "--next", "N", "bring along N turns after each hit", type=int)
    value(parser, "--since", "DATE", "only from this date or time on, such as 2026-03-01")
    value(parser, "--until", "DATE", "only before this date or time")
    value(parser, "--tag", "TAG", "only what has this tag; may be repeated, all are needed", action="append")
    flag(parser, "--facts", "only facts that were added, no recorded turns")
    parser.add_argument(
        "--mode",
        choices=["memories", "hybrid", "documents"],
        help="facts and turns (so without it), all, or documents",
    )
    value(
        parser, "--as-of", "DATE", "what was known at this date or time: the versions of then, nothing newer"
    )
    flag(parser, "--history", "show with each fact its older and newer versions", dest="related_memories")
    flag(parser, "--forgotten", "also what was forgotten or has expired")
    flag(parser, "--explain", "say of each hit how it was found and what its score is made of")
    scope_arguments(parser)
    json_flag(parser)


COMMANDS = (
    Command("search", "Recall what earlier sessions said about something.", search, _search_arguments),
    Command("list", "Show what was recorded last, newest first.", list_last, _list_arguments),
    Command(
        "show", "Show one turn, fact or document in full, with its dates and versions.", show, _show_arguments
    ),
    Command("profile", "Show the lasting and the newest facts of this project.", profile, _profile_arguments),
)


WIDTH = 100  # characters of a linked record
_NAMES = {"turn": "turn", "memory": "fact", "document": "document"}
_DATES = {
    "started_at": "said",
    "created_at": "recorded",
    "updated_at": "changed",
    "replaced_at": "replaced",
    "expires_at": "expires",
    "forgotten_at": "forgotten",
    "purged_at": "deleted for good",
}
_TEXTS = ("user", "assistant", "text", "content", "summary")
_LISTS = ("tags", "tools", "files")
_PLAIN = (
    "title",
    "type",
    "path",
    "custom_id",
    "status",
    "error",
    "session_id",
    "prompt_id",
    "host",
    "source",
    "forget_reason",
)


def lines_in_full(found: Mapping[str, Any]) -> Iterator[str]:
    """The lines about a record as the engine answers it."""
    record = found["record"]
    for name, text in _facts(found, record):
        yield f"{name + ':':<18}{text}"
    for title, links in _links(found):
        yield f"{title}:"
        yield from (
            f"  {hit['id']}  {local(hit['date']):%Y-%m-%d}  {how}{first_line(_said(hit), WIDTH)}"
            for how, hit in links
        )
    for name in _TEXTS:
        if record.get(name):
            yield f"\n--- {record.get('role') or name if name == 'text' else name}"
            yield record[name]


def _facts(found: Mapping[str, Any], record: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    yield _NAMES[found["kind"]], record["id"]
    yield "scope", record["scope"]
    if found["kind"] == "memory":
        newer = f"; the newest is {found['newest']}" if "newest" in found else ""
        yield (
            "version",
            f"{record['version']} of {record['root_id']}{'' if record['is_latest'] else ', replaced'}{newer}",
        )
    for name in _PLAIN:
        if record.get(name) not in (None, ""):
            yield name.replace("_", " "), str(record[name])
    if record.get("turn") is not None:
        yield "number", str(record["turn"])
    for name, says in _DATES.items():
        if record.get(name):
            yield says, f"{local(record[name]):%Y-%m-%d %H:%M:%S}"
    yield "recalled", _recalled(record)
    yield (
        "importance",
        f"{record['importance_score']:g} of 10, in "
        f"{record['partition_id']}{', lasting' if record.get('is_static') else ''}",
    )
    for name in _LISTS:
        if record.get(name):
            yield name, ", ".join(record[name])
    for name, text in record.get("metadata", {}).items():
        yield f"  {name}", str(text)
    waiting = found["waiting_for_vector"]
    yield (
        "searchable",
        plural(found["passages"], "passage") + (f", {waiting:,} not embedded yet" if waiting else ""),
    )


def _recalled(record: Mapping[str, Any]) -> str:
    if not (times := record.get("access_count", 0)):
        return "never"  # the date of its last recall is then that of its recording
    return f"{plural(times, 'time')}, last {local(record['last_accessed_at']):%Y-%m-%d %H:%M:%S}"


def _links(found: Mapping[str, Any]) -> Iterator[tuple[str, Sequence[tuple[str, Mapping[str, Any]]]]]:
    relation = found["record"].get("relation", "comes of")
    if found.get("parents"):
        yield f"It {relation}", [("", hit) for hit in found["parents"]]
    if found.get("children"):
        yield (
            "Of it came",
            [
                (f"{how}: ", hit)
                for how, hit in zip(found.get("relations", ()), found["children"], strict=True)
            ],
        )


def _said(hit: Mapping[str, Any]) -> str:
    return hit.get("title") or hit.get("memory") or hit.get("chunk") or ""


INDENT = "      "
AFTER_ALL_HITS = 1_000  # the rank of a session of which only neighbours are there


def lines_of(found: dict[str, Any], width: int | None) -> Iterator[str]:
    """The answer of `search` line by line; texts are folded to `width` characters, unless it is None."""
    hits, beside = found["results"], found.get("related", [])
    if found.get("degraded"):
        yield f"Note: {found['degraded']}"
    if not hits:
        yield "Nothing relevant is remembered for these words. `--all` looks in every project."
        return
    ranks = {hit["id"]: rank for rank, hit in enumerate(hits, 1)}
    for turns in _sessions([*hits, *beside], ranks):
        first = turns[0]
        yield f"{local(first['date']):%Y-%m-%d}  {project(first['scope'])}, session {first['session_id']}"
        for hit in turns:
            yield from _entry(hit, ranks, f"turn {hit['turn']}, {local(hit['date']):%H:%M}", width)
        yield ""
    facts = [hit for hit in hits if hit["src"] != "turn"]
    if facts:
        yield "Facts and documents"
        for hit in facts:
            yield from _entry(hit, ranks, f"{local(hit['date']):%Y-%m-%d}  {_origin(hit)}", width)
        yield ""
    cut = f"; {found['left_out']} more did not fit" if found.get("left_out") else ""
    cost = plural(found["tokens"]["spent"], "token")
    yield f"{plural(found['total'], 'hit')}, about {cost}, {found['timing']:.0f} ms{cut}."


def _sessions(hits: list[dict[str, Any]], ranks: dict[str, int]) -> list[list[dict[str, Any]]]:
    """The turns of each session in time order; the session of the best hit first."""

    def session(hit: dict[str, Any]) -> tuple[str, str]:
        return hit["scope"], hit["session_id"]

    turns = sorted(
        (hit for hit in hits if hit["src"] == "turn"),
        key=lambda hit: (*session(hit), hit["date"], hit["turn"]),
    )
    groups = [list(members) for _, members in groupby(turns, key=session)]
    return sorted(groups, key=lambda members: min(ranks.get(hit["id"], AFTER_ALL_HITS) for hit in members))


def _entry(hit: dict[str, Any], ranks: dict[str, int], what: str, width: int | None) -> Iterator[str]:
    rank = ranks.get(hit["id"])
    mark, score = (f"{rank:>3} ", f"score {hit['score']:.2f}, ") if rank else ("    ", "beside a hit, ")
    yield f"{mark} {what}  ({score}{'part of ' if hit.get('truncated') else ''}{hit['id']}{_standing(hit)})"
    for line in (hit.get("memory") or hit.get("chunk") or "").splitlines():
        folded = textwrap.wrap(line, width - len(INDENT), break_on_hyphens=False) if width else [line]
        yield from (f"{INDENT}{part}".rstrip() for part in folded or [""])
    context = hit.get("context", {})
    for link in [*context.get("parents", []), *context.get("children", [])]:
        what = f"{link['version']:+d} {link['relation']} {local(link['updated_at']):%Y-%m-%d} {link['id']}"
        yield f"{INDENT}{what}: {first_line(link['memory'], 80)}"
    if "explain" in hit:
        yield from (f"{INDENT}{reason}" for reason in reasons(hit["explain"], hit["score"]))


def _standing(hit: dict[str, Any]) -> str:
    """What has become of it, where it is more than an old text."""
    replaced = f", version {hit['version']}, replaced since" if hit.get("is_latest") is False else ""
    reason = f" ({hit['forget_reason']})" if "forget_reason" in hit else ""
    return replaced + (
        f", forgotten {local(hit['forgotten_at']):%Y-%m-%d}{reason}" if "forgotten_at" in hit else ""
    )


def _origin(hit: dict[str, Any]) -> str:
    words = [project(hit["scope"])]
    if hit.get("title"):
        words.append(hit["title"])
    if hit.get("session_id"):
        words.append(
            f"from session {hit['session_id']}"
            + (f" turn {hit['turn']}" if hit.get("turn") is not None else "")
        )
    return "  ".join([*words, *(f"#{tag}" for tag in hit.get("tags", ()))])


def reasons(explain: dict[str, Any], score: float) -> Iterator[str]:
    """A line each for the legs, the ranking sum, how it became relevance, and how that was weighed."""
    meaning, words = (
        _leg("meaning", "cosine", explain.get("dense")),
        _leg("words", "BM25", explain.get("lexical")),
    )
    yield f"found   {meaning}, {words}"
    parts = " + ".join(f"{name} {value:.3f}" for name, value in explain["parts"].items() if value)
    total = f"{explain['ranking_sum']:.3f}; {explain['behind']:.3f} behind the best"
    yield f"ranked  {parts or 'nothing'} = {total}"
    relevance = explain["score_parts"]["relevance"]["value"]
    sure = f"evidence {explain['evidence']:.2f}, so a chance of {explain['chance']:.2f} for the best"
    yield f"judged  {sure}; relevance {relevance:.3f}{_kept(*explain['bounds'])}"
    weighed = " + ".join(
        f"{part['weight']:g} * {name} {part['value']:.3f}" for name, part in explain["score_parts"].items()
    )
    weights = sum(part["weight"] for part in explain["score_parts"].values())
    yield f"weighed ({weighed}) / {weights:g} = {score:.3f}"


def _leg(name: str, unit: str, leg: dict[str, Any] | None) -> str:
    return f"by {name} at rank {leg['rank']} ({unit} {leg['value']:.3f})" if leg else f"not by {name}"


def _kept(low: float, high: float) -> str:
    if (low, high) == (0, 1):
        return ""
    return f", from {low:g} on because it is quoted" if low else f", below {high:g} because another is quoted"

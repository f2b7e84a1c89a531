"""`scrubjay list`, `search`, `show`, `profile` and `open`: read the memory."""

from __future__ import annotations

import argparse
import os
from itertools import chain

from scrubjay.cli.command import Place, within
from scrubjay.cli.display import (
    NARROW,
    cell,
    degraded_note,
    first_line,
    list_width,
    local,
    plural,
    print_answer,
    summary_line,
    text_width,
    wrap_text,
)
from scrubjay.cli.sessions import session_lines, whole_session
from scrubjay.home.scopes import EVERY_SCOPE, display_name, search_scopes
from scrubjay.text.answers import DOUBTFUL, may_answer, nothing
from scrubjay.text.short_ids import short_id

TYPE_CHECKING = False  # typing.TYPE_CHECKING, without the import that every command would pay
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any

SEARCH_OPTIONS = "branch top_k max_tokens prev_turns next_turns since until tags search_mode as_of".split()
DOCUMENTS = "`scrubjay documents QUERY`"


def list_(place: Place, options: argparse.Namespace) -> None:
    """List the latest records, newest first."""
    kinds = [name for name in ("facts", "turns") if getattr(options, name)] or None
    scope = options.scope or place.current_scope()
    filters = {"kinds": kinds, "session": options.session, "branch": options.branch}
    hits = place.ask("list", last=options.last, scope=scope, **filters)
    hint = "" if scope == EVERY_SCOPE else " `scrubjay list --all` lists every project."
    no_hits = f"Nothing is recorded {within(scope)} yet.{hint}"
    print_answer(hits, _rows(hits, list_width()) if hits else [no_hits], as_json=options.json)


def _rows(hits: Sequence[dict[str, Any]], width: int) -> Iterator[str]:
    """Yield a line for each hit, but only one for hits with the same text in a project."""
    seen: set[tuple[str, ...]] = set()
    for hit in hits:
        # The whole text: what begins alike, such as two files of one title, may go on differently.
        text = hit["scope"], hit.get("title", ""), hit.get("memory") or hit.get("chunk") or ""
        if text not in seen:
            seen.add(text)
            yield _row(hit, width)


def _row(hit: dict[str, Any], width: int) -> str:
    head = f"{local(hit['date']):%Y-%m-%d %H:%M}  {_id(hit):<16}  {cell(display_name(hit['scope']), 16)}  "
    if width < NARROW:
        head = f"{local(hit['date']):%Y-%m-%d}  {_id(hit):<12}  "
    return f"{head}{summary_line(hit, max(width - len(head), 20))}"


def _id(hit: Mapping[str, Any]) -> str:
    """Return the short id of a hit, which every command accepts."""
    return short_id(hit["src"], hit["id"], hit.get("session_id"), hit.get("turn"))


def show(place: Place, options: argparse.Namespace) -> None:
    """Show sessions, turns, facts or documents in full, with their dates and versions."""
    answers = [place.ask("show", id=each) for each in options.id]
    answers = [whole_session(place, each) if "turns" in each else each for each in answers]
    print_answer(answers if len(answers) > 1 else answers[0], _full_lines(answers), as_json=options.json)


def _full_lines(answers: Sequence[dict[str, Any]]) -> Iterator[str]:
    for index, answer in enumerate(answers):
        yield from ["\n"] if index else []
        yield from session_lines(answer) if "turns" in answer else record_lines(answer)


def search(place: Place, options: argparse.Namespace) -> int:
    """Recall what earlier sessions said about something."""
    extras = [name for name in ("explain", "related_memories", "forgotten") if getattr(options, name)]
    answer = place.ask(
        "search",
        query=" ".join(options.query),
        scope=options.scope,
        include_turns=False if options.facts else None,
        include=dict.fromkeys(extras, True) or None,
        **{name: getattr(options, name) for name in SEARCH_OPTIONS},
    )
    if answer["results"]:
        lines = lines_of(answer, text_width())
    else:
        searched = search_scopes(options.scope, place.current_scope())
        documents = DOCUMENTS if answer.get("has_documents") else None
        lines = iter([nothing(searched, answer.get("period"), "--all for every project", documents)])
    extra_lines = *commit_lines(answer, text_width()), *document_line(answer, place.path("."))
    print_answer(answer, chain(degraded_note(answer), lines, extra_lines), as_json=options.json)
    return 0 if answer["results"] or extra_lines else 1


def why(place: Place, options: argparse.Namespace) -> None:
    """Show the turns, facts and commits that shaped a file, newest first."""
    answer = place.ask("why", place=options.place, last=options.last)
    print_answer(answer, _why_lines(answer, list_width()), as_json=options.json)


def _why_lines(answer: Mapping[str, Any], width: int) -> Iterator[str]:
    if not answer["results"]:
        yield f"No turn, fact or commit names {answer['place']}."
    for record in answer["results"]:
        mark = f"  [{record['mark']['text']}]" if "mark" in record else ""
        yield f"{local(record['date']):%Y-%m-%d %H:%M}  {record['name']}{mark}"
        yield f"{INDENT}{first_line(record['text'], width - len(INDENT))}"


def commit_lines(answer: Mapping[str, Any], width: int | None) -> Iterator[str]:
    """Yield the lines about commits that may answer."""
    for commit in answer.get("commits", ()):
        yield from _hit_lines(commit, "   ", "a commit that may answer", width)


def document_line(answer: Mapping[str, Any], folder: str) -> Iterator[str]:
    """Yield the line about a document that may answer; a path below `folder` is relative to it."""
    if "document" in answer:
        document = answer["document"]
        path = document.get("path", "").removeprefix(os.path.join(folder, ""))
        title = f'"{document["title"]}"' if "title" in document else short_id("chunk", document["id"])
        scope = f" in {display_name(document['scope'])}"
        yield may_answer(path or title, document["lines"], scope, DOCUMENTS)


def profile(place: Place, options: argparse.Namespace) -> None:
    """Show the lasting and the newest facts of this project."""
    answer = place.ask("profile", scope=options.scope, max_tokens=options.max_tokens)
    print_answer(answer, _profile_lines(answer, list_width()), as_json=options.json)


def _profile_lines(answer: dict[str, Any], width: int) -> Iterator[str]:
    for title, hits in (("Lasting:", answer["static"]), ("Recent:", answer["recent"])):
        for index, hit in enumerate(hits):
            text = first_line(hit["memory"], width - 21)
            yield f"{'' if index else title:<9}{local(hit['date']):%Y-%m-%d}  {text}"
    count, scope_name = len(answer["static"]) + len(answer["recent"]), display_name(answer["scope"])
    yield f"{count} of {answer['total']} facts in {scope_name}, about {plural(answer['spent'], 'token')}."


WIDTH = 100  # characters that are shown of a linked record
_NAMES = {"turn": "turn", "memory": "fact", "document": "document"}
_DATES = {
    "started_at": "said",
    "created_at": "recorded",
    "updated_at": "changed",
    "replaced_at": "replaced",
    "expires_at": "expires",
    "forgotten_at": "forgotten",
    "purged_at": "permanently deleted",
}
# The partitions of turns and facts, unless a client names another.
_DEFAULT_PARTITIONS = ("mem_episodic", "mem_semantic")
_TEXTS = ("user", "assistant", "text", "content", "summary")
_LISTS = ("tags", "tools", "files")
_PLAIN = "title type path custom_id status error session_id prompt_id host source forget_reason".split()


def record_lines(answer: Mapping[str, Any]) -> Iterator[str]:
    """Yield a record, which the engine returned, as lines."""
    record = answer["record"]
    for name, text in _fields(answer, record):
        yield f"{name + ':':<18}{text}"
    if answer.get("parents"):
        yield f"It {record.get('relation', 'comes of')}:"
        yield from map(_link_line, answer["parents"])
    if answer.get("children"):
        yield "Of it came:"
        for relation, hit in zip(answer.get("relations", ()), answer["children"], strict=True):
            yield _link_line(hit, f"{relation}: ")
    for name in _TEXTS:
        if record.get(name):
            yield f"\n--- {record.get('role') or name if name == 'text' else name}"
            yield record[name]


def _fields(answer: Mapping[str, Any], record: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    yield _NAMES[answer["kind"]], record["id"]
    yield "scope", record["scope"]
    if answer["kind"] == "memory":
        replaced = "" if record["is_latest"] else ", replaced"
        newer = f"; the newest is {answer['newest']}" if "newest" in answer else ""
        yield "version", f"{record['version']} of {record['root_id']}{replaced}{newer}"
    for name in _PLAIN:
        if record.get(name) not in (None, ""):
            yield name.replace("_", " "), str(record[name])
    if record.get("turn") is not None:
        yield "number", str(record["turn"])
    for name, label in _DATES.items():
        if record.get(name):
            yield label, f"{local(record[name]):%Y-%m-%d %H:%M:%S}"
    # `last_accessed_at` is the date of the recording until the first recall.
    count, last = record.get("access_count", 0), local(record["last_accessed_at"])
    yield "recalled", f"{plural(count, 'time')}, last {last:%Y-%m-%d %H:%M:%S}" if count else "never"
    lasting = ", lasting" if record.get("is_static") else ""
    yield "importance", f"{record['importance_score']:g} of 10{lasting}"
    if record["partition_id"] not in _DEFAULT_PARTITIONS:
        yield "partition", record["partition_id"]
    for name in _LISTS:
        if record.get(name):
            yield name, ", ".join(record[name])
    for name, text in record.get("metadata", {}).items():
        yield f"  {name}", "; ".join(map(str, text)) if isinstance(text, list) else str(text)
    waiting = f", {answer['waiting_for_vector']:,} not embedded yet" if answer["waiting_for_vector"] else ""
    yield "searchable", f"{plural(answer['passages'], 'passage')}{waiting}"


def _link_line(hit: Mapping[str, Any], relation: str = "") -> str:
    return f"  {_id(hit)}  {local(hit['date']):%Y-%m-%d}  {relation}{summary_line(hit, WIDTH)}"


INDENT = "      "
_TIES = {"tag": "shares #{}", "relation": "linked to {}", "entity": "names {} too"}


def lines_of(answer: dict[str, Any], width: int | None) -> Iterator[str]:
    """Yield the hits of `search` line by line, best first, each with the turns around it.

    Texts are folded to `width` characters, unless it is None.
    """
    hits, related = answer["results"], answer["related"]
    if answer["confidence"] == "weak":
        yield DOUBTFUL
    for rank, hit in enumerate(hits, 1):
        yield from _hit_lines(hit, f"{rank:>3}", f"score {hit['score']:.2f}", width)
        turns = [each for each in related if each["reason"] == "window" and _nearest(each, hits) == hit["id"]]
        for turn in turns:
            related.remove(turn)
            yield from _hit_lines(turn, "   ", "next to it", width)
    for record in related:
        tie = _TIES.get(record["reason"])
        yield from _hit_lines(record, "   ", tie.format(record["via"]) if tie else "related", width)
    omitted = f"; {answer['left_out']} more did not fit" if answer.get("left_out") else ""
    cost = plural(answer["tokens"]["spent"], "token")
    yield f"\n{plural(answer['total'], 'hit')}, about {cost}, {answer['timing']:.0f} ms{omitted}."


def _nearest(turn: dict[str, Any], hits: list[dict[str, Any]]) -> str | None:
    """Return the id of the hit that is nearest to a turn in the turn's session."""
    session_hits = [
        hit for hit in hits if all(hit.get(name) == turn.get(name) for name in ("scope", "session_id"))
    ]
    if not session_hits:
        return None
    nearest = min(session_hits, key=lambda hit: abs((hit.get("turn") or 0) - (turn.get("turn") or 0)))
    return str(nearest["id"])


def _hit_lines(hit: dict[str, Any], mark: str, reason: str, width: int | None) -> Iterator[str]:
    date = local(hit["date"])
    parts = [f"{date:%Y-%m-%d}" if hit["src"] == "chunk" else f"{date:%Y-%m-%d %H:%M}", _id(hit)]
    parts += [display_name(hit["scope"]), *([hit["title"]] if hit.get("title") else [])]
    parts += [f"#{tag}" for tag in hit.get("tags", ())]
    parts += ["(part)"] if hit.get("truncated") else []
    yield f"{mark} {'  '.join([*parts, *_remarks(hit)])}  {reason}"
    for line in (hit.get("memory") or hit.get("chunk") or "").splitlines():
        pieces = wrap_text(line, width - len(INDENT)) if width else [line]
        yield from (f"{INDENT}{part}".rstrip() for part in pieces)
    context = hit.get("context", {})
    for link in [*context.get("parents", []), *context.get("children", [])]:
        head = f"{link['version']:+d} {link['relation']} {local(link['updated_at']):%Y-%m-%d} {_id(link)}"
        yield f"{INDENT}{head}: {first_line(link['memory'], 80)}"
    if "explain" in hit:
        mark_reasons = [_mark_reason(hit["mark"])] if "mark" in hit else []
        lines = chain(mark_reasons, reasons(hit["explain"], hit["score"]))
        yield from (f"{INDENT}{line}" for line in lines)


def _remarks(hit: dict[str, Any]) -> Iterator[str]:
    """Yield remarks on a hit that was replaced, contradicted, amended, marked, noted or forgotten."""
    if "replaced_by" in hit:
        newer = short_id("memory", hit["replaced_by"])
        yield f"(replaced on {local(hit['replaced_at']):%Y-%m-%d} by {newer})"
    elif "contradicts" in hit:
        yield f"(may contradict {short_id('memory', hit['contradicts'])})"
    elif "amended_by" in hit:
        name = hit.get("amended_name", hit["amended_by"])
        later = f"later: {local(hit['amended_at']):%Y-%m-%d %H:%M} {name}"
        yield f"(older; see {name})" if hit["src"] == "memory" else f"({later})"
    elif hit.get("is_latest") is False:
        yield f"(version {hit['version']}, replaced since)"
    if "mark" in hit:
        yield f"[{hit['mark']['text']}]"
    if "note" in hit:
        yield f"[{hit['note']}]"
    if "forgotten_at" in hit:
        reason = f": {hit['forget_reason']}" if "forget_reason" in hit else ""
        yield f"(forgotten on {local(hit['forgotten_at']):%Y-%m-%d}{reason})"


def _mark_reason(mark: Mapping[str, Any]) -> str:
    """Return why a hit is marked."""
    place = ":".join(mark[name] for name in ("path", "symbol") if name in mark) or "said on a branch"
    return f"marked  {place}, {mark['text']}; noted at commit {mark['at']}, behind hits nearly as good"


def reasons(explain: dict[str, Any], score: float) -> Iterator[str]:
    """Yield lines for the two searches, the sum of the ranking, the relevance it gives, and the score."""
    lexical = _found_by("words", "BM25", explain.get("lexical"))
    yield f"found   {_found_by('meaning', 'cosine', explain.get('dense'))}, {lexical}"
    parts = " + ".join(f"{name} {value:.3f}" for name, value in explain["parts"].items() if value)
    total = f"{explain['ranking_sum']:.3f}; {explain['behind']:.3f} behind the best"
    yield f"ranked  {parts or 'nothing'} = {total}"
    ranking = explain["score_parts"]["ranking"]["value"]
    chance = f"a chance of {explain['chance']:.2f} that the answer is among the first"
    yield f"judged  {chance}; ranking {ranking:.3f}{_bounds_note(*explain['bounds'])}"
    score_parts = explain["score_parts"].items()
    terms = " + ".join(
        f"{part['weight']:g} * {_score_part_text(name, part['value'])}" for name, part in score_parts
    )
    weights = sum(part["weight"] for _, part in score_parts)
    yield f"weighed ({terms}) / {weights:g} = {score:.3f}"


def _score_part_text(name: str, value: float) -> str:
    return f"importance {value * 10:g}/10" if name == "importance" else f"{name} {value:.3f}"


def _found_by(name: str, unit: str, hit: dict[str, Any] | None) -> str:
    return f"by {name} at rank {hit['rank']} ({unit} {hit['value']:.3f})" if hit else f"not by {name}"


def _bounds_note(low: float, high: float) -> str:
    if (low, high) == (0, 1):
        return ""
    return f", at least {low:g} as it is quoted" if low else f", below {high:g} because another is quoted"


def open_(place: Place, options: argparse.Namespace) -> None:
    """Open the page of your memory in the browser: view, search, correct, forget."""
    link = place.ask("open")["link"]
    if options.print:
        print(link)
        return
    import webbrowser  # takes 10 ms, only needed here

    if webbrowser.open(link):
        print("The page is in your browser; it works until the engine ends (`scrubjay stop`).")
    else:
        print(f"No browser could be opened. Open this link in one, within two minutes:\n{link}")

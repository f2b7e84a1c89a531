"""Measures what reaches the model: how much a default answer of `search_memories` shows, how soon it shows
the answer, and whether it is silent without one. Asks the installed command over MCP and reads the text as a
model does.

    python tests/bench/visible.py [--projects NAMES] [--half dev] [--kinds plain,why] [--failures]
    [--arguments JSON] [--json FILE]

The made-up projects in the folder `projects`: each gets a home of its own, in which every turn, fact and
document is written through the spool, as hooks do, so that it has its own date; then each question is asked
with `query` and `now` alone. A question of the kind `document` is answered only by a document, which is the
job of `search_documents`: it counts in `visible`, `median`, `none`, `weak`, `hits` and `named` alone, and is
not a question "with an answer" here.

visible     tokens, ceil(characters / 4), of the text block or of `structuredContent` as compact JSON,
            whichever is more; `median` is of the same
answered    the text holds one of the phrases that answer the question; case, white space and marks of
            quotation do not count
sure        answered, and no heading calls the text doubtful
first 150   the line that completes the first such phrase ends within the first 150 tokens of the text
refused     of questions without an answer: no recalled text came; or it came below a heading that calls it
            doubtful, with at most 3 hits and 250 visible tokens
none, weak  no recalled text came; it came below that heading
hits        entries of `results`, without neighbours; asked for with `include: {"structured": true}` where
            they do not come unasked
right       a hit is right if it is one of the records that the question names, or holds such a phrase
1st, in 5   with `top_k: 10` a right hit is the first, or among the first five
current     of the kinds `changed` and `amended` where stale records are named: among those ten the first
            right hit comes before every stale one
named       of the kind `document`: the text holds the path of a document that answers, or such a phrase
/v4 .6      POST /v4/search as a client of supermemory asks it (searchMode hybrid, includeChats, 10 results):
            right: questions with an answer for which a right result has a similarity of .6, its default;
            wrong: questions without an answer for which any result has; others: results with .6 that are
            not right, in the mean of the questions with an answer; score: the median similarity of the first
            right one, where one is among the ten
words       BM25 over the same turns and facts, no documents; the first five in full as quoted text, ten for
            `current`; it refuses only where no word is shared
dense       the same by the cosine of the bundled model's vectors of the question and of each whole text, as
            far as the model reads it; it never refuses

A line a project: `plausible` is `refused` of the kind `plausible` alone. The goals are judged by the projects
that are of the half `test` as a whole. `--failures` prints the questions that failed, with the beginning of
what was shown.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

import figures
import numpy as np
import projects
from baselines import Bm25
from figures import Aim, aims_table, average, grid, header, percent, percentile, report, say
from homes import Place, is_embedded, need_command
from http_face import Visitor, served
from kept import enveloped, said_by
from projects import Project, Question, Record
from rpc import Client
from shown import DOUBTFUL_HITS, DOUBTFUL_TOKENS, Shown, fenced, listing

from scrubjay.encoders import Encoder, open_encoder
from scrubjay.home import spool
from scrubjay.home.paths import open_home
from scrubjay.home.scopes import scope_of

SCRUBJAY, WORDS, DENSE = "scrubjay", "words", "dense"
SYSTEMS = (SCRUBJAY, WORDS, DENSE)
DOCUMENT, PLAUSIBLE = "document", "plausible"
ANSWERED = tuple(kind for kind in projects.ANSWERED if kind != DOCUMENT)
FIRST = 150  # tokens within which the answer should appear
THRESHOLD = 0.6  # of /v4/search by default
_HITS, _RANKED = 5, 10  # of a baseline: shown, and judged
_EMBEDDED_SECONDS = 3600.0  # on a busy machine
_FAILURE = 300  # characters of an answer


@dataclass(frozen=True)
class Asked:
    """One question to one project, and its answer.

    `unseen` says whether its whole project is of the half `test`. `position` is that of the phrase that
    answers, in tokens. `right` and `stale` are of the hits where ten are asked for, `similar` of the results
    over HTTP; best first. `stale` is None where the question names no stale record.
    """

    system: str
    project: str
    half: str
    unseen: bool
    kind: str
    ask: str
    visible: int
    position: int | None
    nothing: bool
    doubtful: bool
    hits: int
    named: bool
    right: tuple[bool, ...] = ()
    stale: tuple[bool, ...] | None = None
    similar: tuple[tuple[float, bool], ...] = ()  # similarity, and whether it is right
    ms: float = 0.0
    text: str = ""

    @property
    def has_answer(self) -> bool:
        return self.kind in ANSWERED

    @property
    def is_unanswerable(self) -> bool:
        return self.kind in projects.UNANSWERED

    @property
    def refused(self) -> bool:
        """Return True if the answer says that nothing, or nothing certain, is known."""
        few = self.hits <= DOUBTFUL_HITS and self.visible <= DOUBTFUL_TOKENS
        return self.nothing or (self.doubtful and few)

    @property
    def answered(self) -> bool:
        return self.has_answer and self.position is not None

    @property
    def sure(self) -> bool:
        """Return True if there is an answer that is not called doubtful."""
        return self.answered and not self.doubtful

    @property
    def early(self) -> bool:
        """Return True if the answer is in the first tokens."""
        return self.answered and (self.position or 0) <= FIRST

    @property
    def rank(self) -> int | None:
        """The rank of the first right hit, from 1."""
        return _first(self.right)

    @property
    def current(self) -> bool | None:
        """Return True if a right hit comes before every stale one; None if the question names no stale
        record.
        """
        if self.stale is None or self.kind not in projects.CHANGED:
            return None
        stale = _first(self.stale)
        return self.rank is not None and (stale is None or self.rank < stale)

    @property
    def over(self) -> list[bool]:
        """Which of the results that /v4/search returns by default are right."""
        return [right for value, right in self.similar if value >= THRESHOLD]

    @property
    def failed(self) -> bool:
        if self.kind == DOCUMENT:
            return not self.named
        return not (self.early if self.has_answer else self.refused)

    @property
    def written(self) -> dict[str, Any]:
        """Its values for the JSON file, without the text."""
        names = ("answered", "sure", "early", "refused", "rank", "current")
        return {**asdict(self), "text": None, **{name: getattr(self, name) for name in names}}


def _first(marks: Iterable[bool]) -> int | None:
    """The place of the first mark that is set, from 1."""
    return next((place for place, mark in enumerate(marks, 1) if mark), None)


def main() -> int:
    """Measure what the options select; the exit code is 1 when a complete run misses a goal."""
    parser = _parser()
    options = parser.parse_args()
    need_command(parser)
    about, start = header(), time.perf_counter()
    asked = list(_asked_of_projects(options))
    tools = _tools()
    about["took"] = f"{time.perf_counter() - start:.0f} s"
    aims = _goals(asked, tools)
    tables = {"kinds": kind_lines(asked), "projects": project_lines(asked)}
    written = {
        "projects": [each.written for each in asked],
        "tools": tools,
        "goals": [{**asdict(aim), "short": aim.short} for aim in aims],
        "tables": {
            name: [dict(zip(lines[0], line, strict=True)) for line in lines[1:]]
            for name, lines in tables.items()
        },
    }
    shown = [grid(lines) for lines in tables.values() if lines]
    report(
        about,
        *shown,
        _tools_line(tools),
        aims_table("projects of the half test", aims),
        file=options.json,
        **written,
    )
    if options.failures:
        _print_failures(asked)
    complete = options.half == "all" and not any((options.projects, options.kinds, options.arguments))
    return int(complete and any(aim.short for aim in aims))


def _asked_of_projects(options: argparse.Namespace) -> Iterator[Asked]:
    for path in sorted(options.folder.glob("*.toml")):
        if options.projects and path.stem not in options.projects:
            continue
        project = projects.load(path)
        unseen = all(question.half == "test" for question in project.questions)
        questions = [
            question
            for question in project.questions
            if options.half in ("all", question.half) and question.kind in (options.kinds or question.kind)
        ]
        if questions:
            project = replace(project, questions=tuple(questions))
            yield from _by_baselines(project, unseen)
            with filled(project.records) as home:
                start = time.perf_counter()
                for question in questions:
                    yield _ask(home, project, unseen, question, options.arguments or {})
                say(f"{project.name}: {len(questions)} questions in {time.perf_counter() - start:.0f} s")


def _ask(home: Home, project: Project, unseen: bool, question: Question, more: Mapping[str, Any]) -> Asked:
    arguments = {"query": question.ask, "now": project.now.isoformat(), **more}
    shown, ms = home.search(arguments)
    hits = shown.structured
    if hits is None:
        arguments["include"] = {**more.get("include", {}), "structured": True}
        hits = home.search(arguments)[0].structured or {}
    ranked = (home.search({**arguments, "top_k": 10})[0].structured or {})["results"]
    body = {"q": question.ask, "containerTag": home.scope, "searchMode": "hybrid", "includeChats": True}
    similar = home.similar({**body, "limit": 10, "threshold": 0})
    return _asked(
        SCRUBJAY, project, unseen, question, shown, len(hits["results"]),
        right=tuple(home.is_right(question, hit) for hit in ranked),
        stale=tuple(home.is_one_of(question.stale, hit) for hit in ranked) if question.stale else None,
        similar=tuple((each["similarity"], home.is_right(question, each)) for each in similar),
        ms=ms,
        text=shown.text,
    )  # fmt: skip


def _asked(
    system: str, project: Project, unseen: bool, question: Question, shown: Shown, hits: int, **judged: Any
) -> Asked:
    return Asked(
        system=system,
        project=project.name,
        half=question.half,
        unseen=unseen,
        kind=question.kind,
        ask=question.ask,
        visible=shown.tokens,
        position=shown.position(question.holds),
        nothing=shown.is_nothing,
        doubtful=shown.is_doubtful,
        hits=hits,
        named=_named(project, question, shown),
        **judged,
    )


def _named(project: Project, question: Question, shown: Shown) -> bool:
    """Return True if a question about a document is answered, or the text names the document."""
    paths = [
        record.arguments["path"]
        for record in project.records
        if record.kind == "document" and record.key in question.right
    ]
    return question.kind == DOCUMENT and shown.position((*question.holds, *paths)) is not None


def _by_baselines(project: Project, unseen: bool) -> Iterator[Asked]:
    records = [record for record in project.records if record.kind != "document"]
    for system, order in _baselines([record.text for record in records]).items():
        for question in project.questions:
            found = [records[at] for at in order(question.ask)[:_RANKED]]
            shown = Shown(fenced([(_heading(record), record.text) for record in found[:_HITS]]))
            yield _asked(
                system, project, unseen, question, shown, len(found[:_HITS]),
                right=tuple(record.key in question.right or _holds(question, record.text) for record in found),
                stale=tuple(record.key in question.stale for record in found) if question.stale else None,
            )  # fmt: skip


def _baselines(texts: Sequence[str]) -> dict[str, Callable[[str], list[int]]]:
    """For each baseline, its order of the texts for a question, best first."""
    bm25, matrix = Bm25(texts), _encoder().embed_documents(texts)

    def words(query: str) -> list[int]:
        scores = bm25(query)
        return [at for at in np.argsort(-scores, kind="stable").tolist() if scores[at] > 0]

    def dense(query: str) -> list[int]:
        return np.argsort(-(matrix @ _encoder().embed_query(query)), kind="stable").tolist()

    return {WORDS: words, DENSE: dense}


@cache
def _encoder() -> Encoder:
    return open_encoder()


def _heading(record: Record) -> str:
    session = f", session {record.arguments['session_id']}" if record.kind == "turn" else ""
    return f"{record.kind}, {record.at:%Y-%m-%d %H:%M}{session}"


def _holds(question: Question, text: str) -> bool:
    return any(projects.plain(words) in projects.plain(text) for words in question.holds)


class Home:
    """A client of a home that holds some records, whose ids are given by their keys."""

    def __init__(self, client: Client, visitor: Visitor, scope: str, ids: Mapping[str, str]) -> None:
        self._client, self._visitor, self.scope, self._ids = client, visitor, scope, ids

    def search(self, arguments: Mapping[str, Any]) -> tuple[Shown, float]:
        """What `search_memories` showed, and the milliseconds it took.

        Raises:
            RuntimeError: the tool says it failed.
        """
        start = time.perf_counter()
        answer = self._client.request("tools/call", {"name": "search_memories", "arguments": arguments})
        ms = (time.perf_counter() - start) * 1e3
        text = "\n".join(part["text"] for part in answer["content"] if part["type"] == "text")
        if answer.get("isError") and "Call again in a few seconds" in text:  # a busy machine
            return self.search(arguments)
        if answer.get("isError"):
            raise RuntimeError(f"search_memories failed: {text}")
        return Shown(text, answer.get("structuredContent")), ms

    def similar(self, body: Mapping[str, Any]) -> list[dict[str, Any]]:
        """The results of POST /v4/search.

        Raises:
            RuntimeError: it was refused.
        """
        status, answer = self._visitor.ask("POST", "/v4/search", dict(body))
        if status != 200:
            raise RuntimeError(f"/v4/search answered {status}: {answer}")
        return answer["results"]

    def is_right(self, question: Question, hit: Mapping[str, Any]) -> bool:
        """Return True if a hit of any interface is a record that the question names, or holds the answer."""
        text = hit.get("memory") or hit.get("chunk") or ""
        return self.is_one_of(question.right, hit) or _holds(question, text)

    def is_one_of(self, keys: Iterable[str], hit: Mapping[str, Any]) -> bool:
        """Return True if a hit of any interface is one of the records with these keys."""
        return any(self._ids[key].startswith(hit["id"]) for key in keys)


@contextmanager
def filled(records: Sequence[Record]) -> Iterator[Home]:
    """A home with these records, all of them with their vectors; it is removed at the end.

    Raises:
        RuntimeError: a record was refused, or the engine does not start.
        TimeoutError: the vectors were not ready in time.
    """
    with Place() as place:
        home, start = open_home(str(place.home)), time.perf_counter()
        scope = scope_of(home, str(place.project))
        ids = _spooled(home, scope, records)
        with served(place) as (url, _), place.client() as client:
            client.initialize()
            place.until("embedded", is_embedded, _EMBEDDED_SECONDS, step=0.2)
            if refused := spool.json_files(home.spool_broken):
                raise RuntimeError(f"{len(refused)} of {len(records)} records were refused.")
            say(f"{len(records)} records have their vectors after {time.perf_counter() - start:.0f} s")
            yield Home(client, Visitor(url), scope, ids)


def _spooled(home: Any, scope: str, records: Sequence[Record]) -> dict[str, str]:
    """Write every record to the spool with its own date; return the ids that they will have, by key."""
    said, ids = said_by(records, scope)
    for each in said:
        made = enveloped(each, scope, datetime.now(UTC), "mcp")
        spool.write(home, made.model_dump(mode="json"), time_ns=time.time_ns())
    return ids


def _tools() -> dict[str, int]:
    """The tokens of `tools/list`, without output schemas and with them."""
    with Place() as place, place.client() as client:
        tools = client.initialize()["tools"]
    return {
        "tools": len(tools),
        "without": listing(tools, output_schemas=False),
        "with": listing(tools, output_schemas=True),
    }


def _tools_line(tools: Mapping[str, int]) -> str:
    return (
        f"tools/list: {tools['tools']} tools, {tools['without']:,} tokens, "
        f"{tools['with']:,} with output schemas"
    )


def kind_lines(asked: Sequence[Asked]) -> list[tuple[str, ...]]:
    """The questions to the projects: a line a system, half and kind, below the heads."""
    if not asked:
        return []
    lines = [
        (
            *("system", "half", "kind", "n", "visible", "median", "answered", "sure", f"first {FIRST}"),
            *("refused", "none", "weak", "hits", "1st", "in 5", "current", "named"),
            *("/v4 .6: right", "wrong", "others", "score", "p50 ms"),
        )
    ]
    for system in SYSTEMS:
        for half in _halves(asked):
            some = [each for each in asked if each.system == system and half in (each.half, "all")]
            for kind, few in _kinds(some, totals=system != SCRUBJAY):
                lines.append((system, half, kind, str(len(few)), *_cells(few)))
    return lines


def project_lines(asked: Sequence[Asked]) -> list[tuple[str, ...]]:
    """The questions to each project, below the heads."""
    if not asked:
        return []
    lines = [("project", "half", "n", "1st", "in 5", "answered", "sure", "refused", PLAUSIBLE)]
    ours = [each for each in asked if each.system == SCRUBJAY]
    for project in dict.fromkeys(each.project for each in ours):
        few = [each for each in ours if each.project == project]
        good, bad = _parted(few)
        lines.append(
            (
                *(project, ", ".join(sorted({each.half for each in few})), str(len(few))),
                *_ranks(good),
                percent(each.answered for each in good),
                percent(each.sure for each in good),
                percent(each.refused for each in bad),
                percent(each.refused for each in bad if each.kind == PLAUSIBLE),
            )
        )
    return lines


def _parted(few: Iterable[Asked]) -> tuple[list[Asked], list[Asked]]:
    """The questions with an answer, and those without."""
    every = list(few)
    return [each for each in every if each.has_answer], [each for each in every if each.is_unanswerable]


def _ranks(good: Sequence[Asked]) -> tuple[str, str]:
    return percent(each.rank == 1 for each in good), percent(_among(each, _HITS) for each in good)


def _among(each: Asked, first: int) -> bool:
    return each.rank is not None and each.rank <= first


def _halves(asked: Iterable[Asked]) -> list[str]:
    halves = sorted({each.half for each in asked})
    return [*halves, "all"] if len(halves) > 1 else halves


def _kinds(some: Sequence[Asked], *, totals: bool) -> Iterator[tuple[str, list[Asked]]]:
    kinds = () if totals else (*projects.ANSWERED, *projects.UNANSWERED)
    groups = {
        **{kind: (kind,) for kind in kinds},
        "with an answer": ANSWERED,
        "without": projects.UNANSWERED,
        "all": (*projects.ANSWERED, *projects.UNANSWERED),
    }
    for name, kinds in groups.items():
        if few := [each for each in some if each.kind in kinds]:
            yield name, few


def _cells(few: Sequence[Asked]) -> Iterator[str]:
    good, bad = _parted(few)
    ours = [each for each in few if each.system == SCRUBJAY]
    yield average(each.visible for each in few)
    yield f"{percentile([each.visible for each in few], 0.5):,}"
    yield percent(each.answered for each in good)
    yield percent(each.sure for each in good)
    yield percent(each.early for each in good)
    yield percent(each.refused for each in bad)
    yield percent(each.nothing for each in few)
    yield percent(each.doubtful for each in few)
    yield average((each.hits for each in few), "{:.1f}")
    yield from _ranks(good)
    yield percent(each.current for each in good if each.current is not None)
    yield percent(each.named for each in few if each.kind == DOCUMENT)
    yield percent(any(each.over) for each in good) if ours else ""
    yield percent(bool(each.over) for each in bad) if ours else ""
    yield average((each.over.count(False) for each in good), "{:.1f}") if ours else ""
    rights = ([value for value, right in each.similar if right] for each in good)
    scores = [values[0] for values in rights if values]
    yield f"{percentile(scores, 0.5):.2f}" if scores else ""
    yield f"{percentile([each.ms for each in ours], 0.5):.0f}" if ours else ""


def _goals(asked: Sequence[Asked], tools: Mapping[str, int]) -> list[Aim]:
    """The goals of this project that were measured."""
    ours = [each for each in asked if each.system == SCRUBJAY and each.unseen]
    good, bad = _parted(ours)
    of = {kind: [each for each in ours if each.kind == kind] for kind in (*ANSWERED, *projects.UNANSWERED)}
    changed, amended = ([each for each in of[kind] if each.current is not None] for kind in projects.CHANGED)
    # (name, target, longer-term goal, measured values, whether less is better)
    wanted: list[tuple[str, float, float, list[float], bool]] = [
        ("right first", 88, 93, _percent(each.rank == 1 for each in good), False),
        (f"... among {_HITS}", 96, 98.5, _percent(_among(each, _HITS) for each in good), False),
        ("paraphrases: right first", 60, 72, _percent(each.rank == 1 for each in of["paraphrase"]), False),
        (f"... among {_HITS}", 90, 96, _percent(_among(each, _HITS) for each in of["paraphrase"]), False),
        ("answered", 93, 97, _percent(each.answered for each in good), False),
        (f"... in the first {FIRST} tokens", 86, 92, _percent(each.early for each in good), False),
        ("... and not doubtful", 85, 92, _percent(each.sure for each in good), False),
        ("visible tokens", 450, 350, [each.visible for each in ours], True),
        ("without an answer: refused or doubted", 93, 97, _percent(each.refused for each in bad), False),
        ("... plausible ones", 88, 94, _percent(each.refused for each in of[PLAUSIBLE]), False),
        ("/v4/search at .6: plain, right", 95, 98, _percent(any(each.over) for each in of["plain"]), False),
        ("... paraphrases, right", 60, 75, _percent(any(each.over) for each in of["paraphrase"]), False),
        ("... without an answer, any", 8, 5, _percent(bool(each.over) for each in bad), True),
        ("changed facts: the current one first", 95, 99, _percent(each.current for each in changed), False),
        ("amended turns: the later one first", 85, 95, _percent(each.current for each in amended), False),
    ]
    return [
        *(
            Aim(what, reach, further, float(np.mean(values)), at_most)
            for what, reach, further, values, at_most in wanted
            if values
        ),
        Aim("tools/list", 1_500, 1_500, tools["without"], at_most=True),
        Aim("tools/list with output schemas", 2_600, 2_600, tools["with"], at_most=True),
    ]


def _percent(values: Iterable[bool | None]) -> list[float]:
    return [100.0 * bool(value) for value in values]


def _print_failures(asked: Iterable[Asked]) -> None:
    for each in asked:
        if each.system == SCRUBJAY and each.failed:
            where = "never" if each.position is None else f"after {each.position} tokens"
            why = f"{each.hits} hits" if each.is_unanswerable else f"answered {where}"
            print(f"\n{each.project}, {each.half}, {each.kind}: {each.ask!r}: {why}, {each.visible} visible")
            print("\n".join(f"    {line}" for line in each.text[:_FAILURE].splitlines()))


def _parser() -> argparse.ArgumentParser:
    parser = figures.options("Measure what reaches the model.")
    parser.add_argument("--projects", type=_names, metavar="NAMES", help="only these files, without .toml")
    parser.add_argument(
        "--folder", type=Path, default=projects.FOLDER, metavar="FOLDER", help="where the projects are"
    )
    parser.add_argument("--half", choices=(*projects.HALVES, "all"), default="all")
    parser.add_argument("--kinds", type=_names, metavar="NAMES", help="only questions of these kinds")
    parser.add_argument("--failures", action="store_true", help="print the questions that failed")
    parser.add_argument(
        "--arguments", type=json.loads, metavar="JSON", help='more arguments of each call: {"top_k": 5}'
    )
    return parser


def _names(text: str) -> list[str]:
    return text.split(",")


if __name__ == "__main__":
    sys.exit(main())

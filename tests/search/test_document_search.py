"""Document search: which documents are returned, with which chunks, and how long results are cut."""

from __future__ import annotations

import itertools
import math
from typing import Any

import pytest
import said
from hypothesis import given, settings
from hypothesis import strategies as st

from scrubjay.engine.caller import Caller, set_caller
from scrubjay.engine.core import Core
from scrubjay.engine.engine import Engine
from scrubjay.errors import NotFound
from scrubjay.mcp_server.calls import call, compact
from scrubjay.mcp_server.render import CLOSING, DOUBTFUL, OPENING
from scrubjay.models.requests import SearchDocuments, parse
from scrubjay.models.results import Chunk, DocumentHits
from scrubjay.search.document_search import DEFAULT_BUDGET, FULL_TOKENS, TOKENS, WEAK_BUDGET, text_length

GUIDE = "# Harbour guide\n\n" + "\n\n".join(
    f"## {name}\n\n{sentence} " + "The quay is swept by the night watch before the tide turns. " * 14
    for name, sentence in (
        ("Mooring", "Ships are moored with two lines."),
        ("Lanterns", "Lanterns burn whale oil until dawn."),
        ("Customs", "Customs officers weigh every crate."),
        ("Pilots", "Pilots board a mile outside."),
    )
)


async def search(core: Core, query: str, **args: object) -> DocumentHits:
    return await core.search.documents(parse(SearchDocuments, {"query": query, **args}), said.SCOPE)


@pytest.fixture
async def shelf(core: Core) -> Core:
    await said.document(core, GUIDE, custom_id="guide", metadata={"author": "Marlene Quist", "year": 1911})
    await said.document(core, "# Recipes\n\nBread needs flour and salt.", custom_id="recipes")
    await said.embedded(core)
    return core


async def test_the_best_chunk_comes_first_and_its_neighbours_on_request(shelf: Core) -> None:
    asked = "Lanterns burn whale oil until dawn"
    for matching in ({}, {"only_matching_chunks": True}):
        hits = await search(shelf, asked, chunk_threshold=0.8, **matching)
        (hit,) = hits.results
        (best,) = hit.chunks
        assert "whale oil" in best.content and best.is_relevant and hit.score == best.score >= 0.9
        assert hit.title == "Harbour guide" and hits.left_out is None
    (hit,) = (await search(shelf, asked, chunk_threshold=0.8, only_matching_chunks=False)).results
    assert [chunk.position - best.position for chunk in hit.chunks] == [0, -1, 1]
    assert [chunk.is_relevant for chunk in hit.chunks] == [True, False, False]
    request = parse(SearchDocuments, {"query": asked, "only_matching_chunks": False})
    (hit, *_) = (await shelf.search.documents(request, said.SCOPE, room=99_999)).results
    positions = [chunk.position for chunk in hit.chunks]
    assert positions == sorted(positions) and len(positions) > 1  # as programs get them


async def test_without_an_explicit_size_an_answer_ends_with_the_evidence(core: Core) -> None:
    for number in range(30):
        text = f"The lighthouse of harbour {number} burns whale oil until dawn. " * 12
        await said.document(core, text, custom_id=f"h{number}")
    await said.document(core, "# Kites\n\nA kite needs a tail of ribbon.", custom_id="kites")
    await said.embedded(core)
    one = await search(core, "which tail does a kite need?")
    assert [hit.title for hit in one.results] == ["Kites"] and one.confidence == "strong"
    many = await search(core, "what does the lighthouse of a harbour burn until dawn?")
    assert many.tokens.budget == DEFAULT_BUDGET and 1 < many.total < 10 and many.left_out
    assert many.tokens.spent <= DEFAULT_BUDGET
    asked = await search(core, "what does the lighthouse of a harbour burn until dawn?", limit=10)
    assert asked.total == 10 and asked.tokens.budget == TOKENS


async def test_a_doubtful_answer_is_short_and_says_so_and_no_answer_is_empty(shelf: Core) -> None:
    weak = await search(shelf, "how many whales were seen from the lighthouse last spring?")
    assert weak.confidence == "weak" and 1 <= sum(len(hit.chunks) for hit in weak.results) <= 3
    assert weak.tokens.spent <= weak.tokens.budget == WEAK_BUDGET
    for query in ("hello", "zxqv", "who won the football championship"):
        none = await search(shelf, query)
        assert (none.confidence, none.results, none.total) == ("none", [], 0)
    named = await search(shelf, "who weighs the football championship", doc_id="guide")
    assert named.confidence == "weak" and [hit.title for hit in named.results] == ["Harbour guide"]


async def test_documents_below_their_threshold_are_not_returned(shelf: Core) -> None:
    asked = "whale oil lanterns at dawn, or flour"
    assert len((await search(shelf, asked, limit=10)).results) == 2
    (hit,) = (await search(shelf, asked, limit=10, document_threshold=0.4)).results
    assert hit.title == "Harbour guide"


async def test_results_share_something_with_the_question_and_are_in_the_order_of_scores(shelf: Core) -> None:
    (hit,) = (await search(shelf, "whale oil")).results
    assert hit.title == "Harbour guide" and hit.score > 0
    first, second = (await search(shelf, "salt for the bread of the night watch", limit=2)).results
    assert first.score >= second.score


async def test_a_document_is_named_by_its_id_or_custom_id(shelf: Core) -> None:
    (hit,) = (await search(shelf, "night watch", doc_id="guide")).results
    (same,) = (await search(shelf, "night watch", doc_id=hit.document_id)).results
    assert same.document_id == hit.document_id
    with pytest.raises(NotFound, match="'nothing'"):
        await search(shelf, "flour", doc_id="nothing")


async def test_metadata_strings_are_searched_and_summaries_and_texts_are_returned_on_request(
    shelf: Core,
) -> None:
    (hit, *_) = (await search(shelf, "Marlene Quist", include_summary=True, include_full_docs=True)).results
    assert hit.metadata["author"] == "Marlene Quist" and hit.content == GUIDE and hit.truncated is None
    assert hit.summary and hit.summary.startswith("Harbour guide") and len(hit.summary) <= 600
    (plain, *_) = (await search(shelf, "Marlene Quist")).results
    assert plain.summary is None and plain.content is None


async def test_a_document_that_is_too_long_is_cut_and_says_so_and_others_are_counted(core: Core) -> None:
    for number in range(3):
        text = f"# Book {number}\n\n" + f"The whale of book {number} swims on. " * 3_000
        await said.document(core, text, custom_id=f"book{number}")
    hits = await search(core, "whale", include_full_docs=True)
    assert hits.results[0].truncated and text_length(hits.results[0]) <= FULL_TOKENS * 4
    assert hits.total == len(hits.results) and hits.total + (hits.left_out or 0) == 3


async def test_the_budget_goes_to_each_documents_best_chunk_before_its_context(core: Core) -> None:
    for number in range(6):
        await said.document(core, GUIDE.replace("Harbour", f"Harbour {number}"), custom_id=f"guide{number}")
    await said.embedded(core)
    query = "Lanterns burn whale oil until dawn"

    def shown(hits: DocumentHits) -> list[Chunk]:
        return [chunk for hit in hits.results for chunk in hit.chunks]

    wide, usual, tight, least = [
        await search(core, query, only_matching_chunks=False, **args)
        for args in ({"max_tokens": 10_000}, {"limit": 10}, {"max_tokens": 1_800}, {"max_tokens": 500})
    ]
    assert tight.tokens.spent <= 1_800 < usual.tokens.spent <= TOKENS < wide.tokens.spent
    assert wide.chunks_left_out is wide.left_out is usual.left_out is tight.left_out is None
    for hits in (usual, tight):
        assert [hit.document_id for hit in hits.results] == [hit.document_id for hit in wide.results]
        assert sum("whale oil" in chunk.content for chunk in shown(hits)) == 6
        assert hits.chunks_left_out == len(shown(wide)) - len(shown(hits))
    assert 0 < least.total < 6 == least.total + least.left_out and len(shown(least)) == least.total


async def test_an_identifier_finds_its_definition_before_its_uses(core: Core) -> None:
    use = "def caller_{}():\n    moor_ship(moor_ship(1))\n    return moor_ship\n\n\n"
    definition = "def moor_ship(line):\n    fasten(line)\n    return line\n"
    await said.document(core, "".join(map(use.format, range(12))), path="/p/uses.py", type="code")
    await said.document(core, definition, path="/p/ship.py", type="code")
    await said.embedded(core)
    for query in ("moor_ship", "how does moor_ship() work"):
        (hit, *_) = (await search(core, query)).results
        assert hit.path == "/p/ship.py"


# What a model sees.

WORDS = st.sampled_from('zebra stable cache hours port # Heading \n \n\n deploy_queue 缓存 " x'.split(" "))
TEXTS = st.lists(WORDS, min_size=1, max_size=600).map(" ".join).filter(str.strip)
NAMES = st.text("abc/ \n<>", min_size=1, max_size=400).filter(str.strip)
METADATA = st.dictionaries(st.text("ab", min_size=1), st.text('ab "\\缓', max_size=900), max_size=9)
DOCUMENTS = st.fixed_dictionaries(
    {"content": TEXTS}, optional={"title": NAMES, "path": NAMES.map("/{}".format), "metadata": METADATA}
)
SHELVES = st.lists(DOCUMENTS, min_size=1, max_size=8)
OPTIONS = ("include_full_docs", "include_summary", "only_matching_chunks")
WANTED = st.fixed_dictionaries(
    {"query": st.lists(WORDS, min_size=1, max_size=6).map(" ".join).filter(str.strip)},
    optional={**dict.fromkeys(OPTIONS, st.booleans()), "limit": st.integers(1, 20)},
)
_SCOPES = (f"repo_shelf_{number}__0123456789abcdef" for number in itertools.count())


@settings(max_examples=12)
@given(SHELVES, st.lists(st.tuples(WANTED, st.integers(200, 3_000)), min_size=1, max_size=3))
async def test_no_answer_from_documents_exceeds_its_budget_and_each_reports_what_was_rendered(
    engine: Engine, shelf: list[dict[str, Any]], questions: list[tuple[dict[str, Any], int]]
) -> None:
    def tokens(text: str) -> int:
        return math.ceil(len(text) / 4)

    core, scope = await engine.core(), next(_SCOPES)
    for each in shelf:
        await said.document(core, scope=scope, **each)
    set_caller(Caller(scope=scope, folder=None))
    for question, budget in questions:
        asked = {**question, "max_tokens": budget}
        plain = await call(engine, "search_documents", asked)
        assert not plain["isError"] and tokens(plain["content"][0]["text"]) <= budget
        both = await call(engine, "search_documents", {**asked, "include": {"structured": True}})
        text, structure = both["content"][0]["text"], both["structuredContent"]
        assert structure["tokens"]["rendered"] == max(tokens(text), tokens(compact(structure)))
        assert structure["tokens"]["rendered"] <= budget or not structure["results"]
        if not question.keys() & {"limit", "include_full_docs"}:
            default = await call(engine, "search_documents", question)
            assert tokens(default["content"][0]["text"]) <= DEFAULT_BUDGET


async def test_the_text_names_the_location_of_the_best_chunk_and_marks_a_doubtful_one(engine: Engine) -> None:
    core = await engine.core()
    await said.document(core, GUIDE, path="/p/docs/harbour.md", type="markdown", title="Harbour guide")
    await said.document(core, "Flour is ground at dawn.", custom_id="mill", title="Mill", scope="user")
    await said.embedded(core)
    set_caller(Caller(scope=said.SCOPE, folder="/p"))

    async def shown(query: str) -> list[str]:
        answer = await call(engine, "search_documents", {"query": query})
        return answer["content"][0]["text"].splitlines()

    lines = await shown("Lanterns burn whale oil until dawn")
    assert lines[0] == OPENING and lines[-1] == CLOSING
    assert lines[1].startswith("docs/harbour.md lines 7-9 (Harbour guide, 2026-") and lines[1].endswith("):")
    assert lines[2:4][0] == "> ## Lanterns" and all(line.startswith("> ") for line in lines[2:-1])
    (mill,) = [line for line in await shown("when is flour ground?") if line.startswith("Mill")]
    assert mill.startswith("Mill lines 1-1 (") and mill.endswith(" (user's own):")
    doubtful = await shown("how many whales were seen from the lighthouse last spring?")
    assert doubtful[:2] == [DOUBTFUL, OPENING] and len("\n".join(doubtful)) <= WEAK_BUDGET * 4


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("The error is 0x80070005 on start.", "80070005"),
        ("A limit of 1_000_000 rows.", "1000000"),
        ("A limit of 1,000,000 rows.", "1000000"),
        ("A limit of 65536 bytes.", "65_536"),
        ("The indices are rebuilt nightly.", "index"),
        ("เซิร์ฟเวอร์ไม่ตอบสนองต่อคำขอ", "ตอบสนอง"),
        ("请检查服务器日志文件然后重新启动", "日志"),
        ("Der Typ \uff21\uff22\uff23\uff11\uff12 ist neu.", "ABC12"),
        ("Biuro w Łódź jest otwarte.", "lodz"),
        ("In der Seestraße 4.", "seestrasse"),
        ("Die Donau\u00addampf\u00adschiff\u00adfahrt ruht.", "Donaudampfschifffahrt"),
        ("Then \x1b[31mquick\x1b[0msilver failed.", "quicksilver"),
    ],
)
async def test_a_word_is_found_however_it_is_spelled(core: Core, text: str, query: str) -> None:
    await said.document(core, f"# Note\n\n{text}", custom_id="note")
    await said.document(core, "# Recipes\n\nBread needs flour and salt.", custom_id="recipes")
    await said.embedded(core)
    (hit, *_) = (await search(core, query)).results
    assert hit.title == "Note" and hit.score > 0.5


async def test_a_note_is_found_by_the_name_of_its_file_and_by_its_aliases(core: Core) -> None:
    text = "---\naliases: [KeyDance]\n---\n# How to rotate\n\nCall the vault."
    await said.document(core, text, path="/p/Pelican gateway.md", metadata={"aliases": "KeyDance"})
    await said.document(core, "# Gateway\n\nIt has a key.", path="/p/other.md")
    await said.embedded(core)
    for query in ("pelican gateway", "KeyDance"):
        assert (await search(core, query)).results[0].title == "How to rotate"


async def test_a_new_text_under_a_custom_id_keeps_the_title_and_the_metadata(core: Core) -> None:
    values = {"custom_id": "quay", "title": "Rules of the quay", "metadata": {"team": "coast"}}
    await said.document(core, "The quay opens at six.", **values)
    for text, new_metadata, team in (
        ("The quay opens at seven.", {}, "coast"),
        ("# Opening\n\nThe quay opens at eight.", {"metadata": {"team": "sea"}}, "sea"),
        ("# Opening hours\n\nThe quay opens at nine.", {}, "sea"),
    ):
        await said.document(core, text, custom_id="quay", **new_metadata)
        asked = {"query": "when does the quay open?", "filters": {"key": "team", "value": team}}
        (hit,) = (await search(core, **asked)).results
        assert hit.title == "Rules of the quay" and text[-8:] in hit.chunks[0].content
    await said.document(core, "# Ropes\n\nRopes are dried in the loft.", custom_id="ropes")
    await said.document(core, "# Old ropes\n\nRopes are dried in the loft.", custom_id="ropes")
    assert (await search(core, "where are ropes dried?")).results[0].title == "Old ropes"

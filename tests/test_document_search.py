"""Search in documents: which come, with which chunks, and what is cut when there is too much."""

from __future__ import annotations

import pytest
import said

from scrubjay.engine.core import Core
from scrubjay.errors import NotFound
from scrubjay.models.requests import SearchDocuments, parse
from scrubjay.models.results import DocumentHits
from scrubjay.search.document_search import CHARACTERS, TOKENS

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


async def test_the_best_chunk_is_relevant_and_those_beside_it_are_context(shelf: Core) -> None:
    (hit, *_) = (await search(shelf, "Lanterns burn whale oil until dawn", chunk_threshold=0.8)).results
    relevant = [chunk for chunk in hit.chunks if chunk.is_relevant]
    assert ["whale oil" in chunk.content for chunk in relevant] == [True]
    positions = [chunk.position for chunk in hit.chunks]
    assert positions == sorted(positions) and {relevant[0].position - 1, relevant[0].position + 1} <= set(
        positions
    )
    assert hit.score == relevant[0].score >= 0.9


async def test_with_only_matching_chunks_neither_context_nor_documents_without_a_match_come(
    shelf: Core,
) -> None:
    hits = await search(
        shelf, "Lanterns burn whale oil until dawn", chunk_threshold=0.8, only_matching_chunks=True
    )
    assert [hit.title for hit in hits.results] == ["Harbour guide"] and hits.left_out is None
    assert [chunk.is_relevant for chunk in hits.results[0].chunks] == [True]


async def test_documents_below_their_threshold_do_not_come(shelf: Core) -> None:
    asked = "whale oil lanterns at dawn, or flour"
    assert len((await search(shelf, asked)).results) == 2
    assert [hit.title for hit in (await search(shelf, asked, document_threshold=0.4)).results] == [
        "Harbour guide"
    ]


async def test_a_document_that_shares_nothing_with_the_question_is_no_result(shelf: Core) -> None:
    (hit,) = (await search(shelf, "whale oil")).results
    assert hit.title == "Harbour guide" and hit.score > 0


async def test_results_stand_in_the_order_of_their_scores(shelf: Core) -> None:
    scores = [hit.score for hit in (await search(shelf, "salt for the bread of the night watch")).results]
    assert scores == sorted(scores, reverse=True)


async def test_a_document_is_named_by_its_id_or_custom_id(shelf: Core) -> None:
    (hit,) = (await search(shelf, "night watch", doc_id="guide")).results
    assert [
        each.document_id for each in (await search(shelf, "night watch", doc_id=hit.document_id)).results
    ] == [hit.document_id]
    with pytest.raises(NotFound, match="'nothing'"):
        await search(shelf, "flour", doc_id="nothing")


async def test_string_values_of_metadata_are_searched_and_summaries_and_texts_come_when_asked_for(
    shelf: Core,
) -> None:
    (hit, *_) = (await search(shelf, "Marlene Quist", include_summary=True, include_full_docs=True)).results
    assert hit.metadata["author"] == "Marlene Quist" and hit.content == GUIDE and hit.truncated is None
    assert hit.summary and hit.summary.startswith("Harbour guide") and len(hit.summary) <= 600
    (plain, *_) = (await search(shelf, "Marlene Quist")).results
    assert plain.summary is None and plain.content is None


async def test_a_document_that_is_too_long_is_cut_and_says_so_and_others_are_counted(core: Core) -> None:
    for number in range(3):
        await said.document(
            core,
            f"# Book {number}\n\n" + f"The whale of book {number} swims on. " * 3_000,
            custom_id=f"book{number}",
        )
    hits = await search(core, "whale", include_full_docs=True)
    assert hits.results[0].truncated and len(hits.results[0].content or "") <= CHARACTERS
    assert hits.total == len(hits.results) and hits.total + (hits.left_out or 0) == 3


async def test_room_goes_to_each_documents_best_chunk_before_what_stands_around_it(core: Core) -> None:
    for number in range(6):
        await said.document(core, GUIDE.replace("Harbour", f"Harbour {number}"), custom_id=f"guide{number}")
    await said.embedded(core)
    query = "Lanterns burn whale oil until dawn"

    def texts(hits: DocumentHits) -> list[list[str]]:
        return [[chunk.content for chunk in hit.chunks] for hit in hits.results]

    def spent(hits: DocumentHits) -> int:
        return sum(len(text) for chunks in texts(hits) for text in chunks) // 4

    wide, usual, tight = [
        await search(core, query, **args) for args in ({"max_tokens": 10_000}, {}, {"max_tokens": 1_800})
    ]
    assert spent(tight) <= 1_800 < spent(usual) <= TOKENS < spent(wide)
    assert wide.chunks_left_out is wide.left_out is None
    for hits in (usual, tight):
        assert [hit.document_id for hit in hits.results] == [hit.document_id for hit in wide.results]
        assert all(any("whale oil" in text for text in chunks) for chunks in texts(hits))
        assert hits.left_out is None and hits.chunks_left_out == sum(map(len, texts(wide))) - sum(
            map(len, texts(hits))
        )
    assert len(texts(usual)[0]) >= len(texts(usual)[-1]) >= 1 and sum(map(len, texts(usual))) > 6
    least = await search(core, query, max_tokens=500)
    assert 0 < least.total < 6 == least.total + least.left_out and all(
        len(chunks) == 1 for chunks in texts(least)
    )


async def test_an_identifier_finds_its_definition_before_its_uses(core: Core) -> None:
    uses = "\n\n\n".join(
        f"def caller_{n}():\n    moor_ship(moor_ship({n}))\n    return moor_ship" for n in range(12)
    )
    await said.document(core, uses, path="/p/uses.py", type="code")
    await said.document(
        core, "def moor_ship(line):\n    fasten(line)\n    return line\n", path="/p/ship.py", type="code"
    )
    await said.embedded(core)
    for query in ("moor_ship", "how does moor_ship() work"):
        (hit, *_) = (await search(core, query)).results
        assert hit.path == "/p/ship.py"

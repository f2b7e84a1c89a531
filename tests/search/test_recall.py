"""The contract of search_memories: scopes, windows, budgets, thresholds, scores."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from said import SCOPE, embedded, fact, forget, search, texts, turn

from scrubjay.engine.core import Core
from scrubjay.models.fields import MAX_MEMORY
from scrubjay.models.requests import SearchMemories, parse
from scrubjay.models.results import Hit
from scrubjay.search.hits import condensed
from scrubjay.search.retrieval.excerpts import excerpt

DAY = "2026-03-0{}T09:00:00Z"


async def session(core: Core, name: str, *said: str, scope: str = SCOPE, day: int = 1) -> None:
    for minute, text in enumerate(said):
        await turn(core, name, user=text, scope=scope, ts=f"2026-03-0{day}T09:{minute:02d}:00Z")


async def test_a_window_brings_the_neighbours_in_time_order_without_the_hit(core: Core):
    await session(core, "a", "alpha beta", "gamma delta", "the zebra decision", "epsilon zeta", "eta theta")
    await embedded(core)
    hits = await search(core, "zebra decision", top_k=1, prev_turns=1, next_turns=2)
    assert texts(hits) == ["the zebra decision"]
    assert [(hit.turn, hit.reason) for hit in hits.related] == [(1, "window"), (3, "window"), (4, "window")]


async def test_a_window_never_crosses_a_session_or_a_scope(core: Core):
    await session(core, "a", "one", "two")
    await session(core, "b", "the zebra decision")
    await session(core, "b", "three", "four", scope="repo_other__0123456789abcdef")
    await embedded(core)
    hits = await search(core, "zebra decision", top_k=1, prev_turns=20, next_turns=20)
    assert (hits.results[0].session_id, hits.related) == ("b", [])


async def test_windows_merge_and_a_hit_within_an_earlier_window_is_skipped(core: Core):
    await session(core, "a", "zebra one", "zebra two", "zebra three", "other", "zebra four", "end")
    await embedded(core)
    hits = await search(core, "zebra", top_k=3, prev_turns=1, next_turns=1)
    seen = [hit.id for hit in (*hits.results, *hits.related)]
    assert len(seen) == len(set(seen))
    assert {hit.turn for hit in (*hits.results, *hits.related)} == {0, 1, 2, 3, 4, 5}


async def test_forgotten_turns_are_not_neighbours(core: Core):
    await session(core, "a", "one", "the zebra decision")
    row = (await search(core, "one", top_k=5)).results
    await forget(core, next(hit.id for hit in row if hit.memory == "one"))
    assert (await search(core, "zebra decision", top_k=1, prev_turns=1)).related == []


async def test_a_scope_never_leaks_into_another(core: Core):
    await fact(core, "The launch code is zebra.", scope="repo_secret__0123456789abcdef")
    await turn(core, "s", user="the launch code is zebra", scope="repo_secret__0123456789abcdef")
    await embedded(core)
    for mode in ("memories", "hybrid", "documents"):
        assert texts(await search(core, "launch code zebra", search_mode=mode)) == []
    assert len(texts(await search(core, "launch code zebra", scope="repo_secret__0123456789abcdef"))) == 2


async def test_a_project_also_sees_the_user_scope_and_star_sees_all(core: Core):
    await fact(core, "Alex likes zebras.", scope="user")
    await fact(core, "Kim likes zebras.", scope="repo_other__0123456789abcdef")
    assert texts(await search(core, "who likes zebras?")) == ["Alex likes zebras."]
    everywhere = parse(SearchMemories, {"query": "who likes zebras?", "scope": "*"})
    assert len((await core.search.memories(everywhere, SCOPE)).results) == 2


async def test_a_quotation_scores_at_least_nine_tenths_and_comes_first(core: Core):
    kept = "we keep the parser in one file because it is small"
    await session(core, "a", kept, "parser parser file small keep one")
    await embedded(core)
    quoted, other = (await search(core, "keep the parser in one file", top_k=2)).results
    assert quoted.turn == 0 and quoted.relevance_score >= 0.9
    assert quoted.ranking_score >= 0.9 > other.ranking_score


async def test_raising_the_threshold_never_returns_more(core: Core):
    await session(core, "a", "the zebra decision", "zebra food", "something else", "nothing of it")
    await embedded(core)
    levels = [level / 10 for level in range(11)]
    counts = [len((await search(core, "zebra decision", threshold=level)).results) for level in levels]
    assert counts == sorted(counts, reverse=True) and counts[0] > counts[-1]
    for hit in (await search(core, "zebra decision", threshold=0.5)).results:
        assert hit.relevance_score >= 0.5


async def test_all_tags_and_any_partition_must_match(core: Core):
    await fact(core, "zebra one", tags=["iOS", "Big-Sur"])
    await fact(core, "zebra two", tags=["iOS"], partition_id="mem_preference")
    assert texts(await search(core, "zebra", tags=["ios", "big-sur"])) == ["zebra one"]  # in any case
    assert len(texts(await search(core, "zebra", tags=["iOS"]))) == 2
    assert texts(await search(core, "zebra", partition_ids=["mem_preference"])) == ["zebra two"]
    assert len(texts(await search(core, "zebra", partition_ids=[]))) == 2


async def test_a_search_can_be_limited_to_facts_or_to_one_session(core: Core):
    await fact(core, "zebra fact")
    await session(core, "a", "zebra turn")
    await session(core, "b", "zebra other")
    assert texts(await search(core, "zebra", include_turns=False)) == ["zebra fact"]
    assert texts(await search(core, "zebra", session_id="b")) == ["zebra other"]


async def test_a_filter_also_applies_to_neighbours(core: Core):
    await turn(core, "a", user="zebra food", tags=["keep"], ts=DAY.format(1))
    await turn(core, "a", user="plain neighbour", ts=DAY.format(2))
    await embedded(core)
    assert texts(await search(core, "zebra", tags=["keep"])) == ["zebra food"]


async def test_an_explicit_budget_is_filled_and_the_default_one_only_as_far_as_the_evidence_goes(
    core: Core,
):
    for n in range(30):
        await turn(core, f"s{n}", user=f"zebra note {n} " + "word " * 100)
    await embedded(core)  # so that both searches rank alike
    hits = await search(core, "zebra note", max_tokens=1500)
    assert hits.tokens.budget == 1500 and 1300 < hits.tokens.spent <= 1500 and hits.left_out
    few = await search(core, "zebra note")
    assert few.results[0].id == hits.results[0].id and few.tokens.spent <= few.tokens.budget <= 1500
    assert len(few.results) <= len(hits.results)


async def test_hits_and_neighbours_share_one_budget(core: Core):
    await session(core, "a", *("zebra " + "word " * 60 for _ in range(12)))
    hits = await search(core, "zebra", prev_turns=2, next_turns=2, max_tokens=400)
    shown = [*hits.results, *hits.related]
    assert hits.tokens.spent == math.ceil(sum(len(hit.memory or "") for hit in shown) / 4) <= 400


async def test_the_best_hit_is_shortened_rather_than_left_out(core: Core):
    await turn(core, "a", user="zebra " * 140)
    hits = await search(core, "zebra", max_tokens=50)
    assert len(hits.results) == 1 and hits.results[0].truncated and hits.tokens.spent <= 50


@pytest.mark.long
async def test_no_answer_exceeds_ten_thousand_tokens(core: Core):
    for n in range(120):
        await turn(core, f"s{n}", user=f"zebra {n} " + "word " * 160)
    hits = await search(core, "zebra", top_k=100)
    assert hits.tokens.spent <= 10_000 and hits.left_out


async def test_a_long_turn_shows_its_best_passage_and_a_long_neighbour_its_summary(core: Core):
    filler = " ".join(f"filler sentence number {n} about nothing." for n in range(60))
    answer = f"{filler} The zebra sleeps in the barn. {filler}"
    await turn(core, "a", user="What about the zebra?", assistant=answer, ts=DAY.format(1))
    await turn(core, "a", user="Thanks for that", assistant=f"You are welcome. {filler}", ts=DAY.format(2))
    await embedded(core)
    hits = await search(core, "where does the zebra sleep", top_k=1, next_turns=1)
    (hit,), (neighbour,) = hits.results, hits.related
    assert hit.truncated and "barn" in hit.memory and len(hit.memory) <= 1200
    assert neighbour.truncated and neighbour.role == "summary"


async def test_a_date_in_the_question_prefers_the_turns_of_that_day(core: Core):
    await turn(core, "a", user="we talked about the zebra stable", ts=DAY.format(1))
    await turn(core, "b", user="we talked about the zebra stable again", ts="2026-01-10T09:00:00Z")
    await embedded(core)
    (hit,) = (await search(core, "what did we say about the zebra on 10 January 2026?", top_k=1)).results
    assert hit.session_id == "b"


async def test_a_turn_too_new_for_a_vector_is_not_outranked_by_older_ones_with_one(core: Core):
    old = "the library of the parser", "which library do we take for dates", "the parser library is small"
    await session(core, "old", *old)
    await embedded(core)
    core.indexer.trouble = "resting"  # the background embeds nothing
    await session(core, "new", "the openfeature library was chosen because of its providers", day=3)
    core.indexer.trouble = None
    assert (await search(core, "why the openfeature library", top_k=1)).results[0].session_id == "new"


async def test_an_empty_store_answers_with_nothing(core: Core):
    hits = await search(core, "anything at all")
    assert (hits.results, hits.related, hits.total, hits.tokens.spent) == ([], [], 0, 0)


@pytest.mark.parametrize("query", ["the of and", "???", "🐦", "'; DROP TABLE turns; --", "a" * 9_000])
async def test_odd_queries_are_answered(core: Core, query: str):
    await session(core, "a", "the zebra decision")
    await search(core, query)


@given(
    st.lists(st.sampled_from(["The port is 8421.", "It is late.", "Why?", "x" * 90 + "."]), max_size=200),
    st.integers(2, 300),
)
def test_an_excerpt_fits_its_limit_and_quotes_the_text(sentences: list[str], room: int):
    text = " ".join(sentences)
    short = excerpt(text, "which port?", room)
    assert len(short) <= room
    assert short.removesuffix("…").strip() in text
    if "The port is 8421." in sentences and room >= 20:
        assert "The port is 8421." in short


def test_the_end_of_the_longest_fact_is_quoted_if_it_answers():
    text = f"{'The crane was oiled again. ' * 368}The port is 8421."
    assert MAX_MEMORY - 100 < len(text) <= MAX_MEMORY
    assert excerpt(text, "which port?", 60) == "The port is 8421. …"


def test_a_long_exchange_is_cut_to_the_matching_part_and_both_sides_stay():
    passage = f"{'We looked at the logs. ' * 40}The quorum is seven nodes. {'All is well. ' * 10}"
    text = f"user: {'Hm. ' * 60}How many nodes?\n\nassistant: {passage}"
    long = Hit.model_construct(memory=text)
    short = condensed(long, "how large is the quorum?", question=200, answer=600)
    assert short.truncated and short.memory.startswith("user: ") and "\n\nassistant: " in short.memory
    assert "The quorum is seven nodes." in short.memory and len(short.memory) <= 200 + 600 + 30


async def test_small_talk_finds_nothing(core: Core):
    await turn(core, "s", user="Yes, do it!", assistant="Done.")
    hits = await search(core, "Yes, do it!")
    assert (hits.results, hits.confidence) == ([], "none")


async def test_a_turn_with_an_outdated_answer_says_so_even_if_only_its_question_was_found(core: Core):
    question = "How long are uploads kept?"
    await turn(core, "s", user=question, assistant="For 48 hours.", ts="2026-02-01T09:00:00Z")
    old = await fact(core, "Uploads are kept for 48 hours.")
    new = await fact(core, "Uploads are kept for 72 hours.", updates=old.id)
    core.indexer.trouble = "there is no model"
    hits = await search(core, question, top_k=5)
    assert [(hit.src, hit.replaced_by) for hit in hits.results] == [("memory", None), ("turn", new.id)]

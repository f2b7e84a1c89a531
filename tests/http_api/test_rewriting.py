"""Rewritten forms of a question."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from scrubjay.http_api.supermemory.matches import MOST_WORDINGS, rewrites


def test_a_plain_question_is_asked_with_and_without_its_wording():
    assert rewrites("When do we deploy the zebra?") == ["When do we deploy the zebra?", "deploy zebra"]


def test_the_parts_of_a_question_are_asked_separately():
    assert "how often does the walrus queue drain" in rewrites(
        "How big is the zebra cache, and how often does the walrus queue drain?"
    )


def test_names_in_a_question_are_searched_separately():
    assert rewrites("why is `HttpClient` slow")[-1] == "HttpClient"


@given(query=st.text(max_size=200))
def test_any_question_itself_comes_first_once_and_repeatably(query: str):
    ways = rewrites(query)
    assert ways == rewrites(query) and len(set(ways)) == len(ways) <= MOST_WORDINGS
    assert ways[:1] == ([query] if query else [])

"""Words: how texts and queries are split so that code words, names and texts without spaces are found."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrubjay.text.terms import (
    PLAIN,
    STOP,
    _hidden_words,
    content_words,
    expand,
    mentions,
    query_terms,
    quotes,
    remove_names,
    words,
)


def added(text: str) -> set[str]:
    """The words that expansion adds to a text, by a simple tokenizer."""
    return set(words(expand(text)[len(text) :]))


def found(query: str, text: str) -> bool:
    return bool(set(query_terms(query).split()) & set(words(expand(text))))


@given(st.text())
def test_an_expansion_begins_with_the_text_itself(text: str) -> None:
    assert expand(text).startswith(text)


@given(st.text())
def test_added_words_are_short_new_and_unique(text: str) -> None:
    extra = [word.casefold() for word in expand(text)[len(text) :].split()]
    assert len(extra) == len(set(extra))
    assert not STOP & set(extra)
    assert sum(map(len, extra)) <= 4 * len(text)


@given(st.lists(st.text("abcdefghijklmnopqrstuvwxyz", min_size=1), max_size=20))
def test_plain_prose_is_indexed_unchanged(prose: list[str]) -> None:
    text = " ".join(prose).capitalize() + "."
    assert expand(text) == text


@given(st.text())
def test_every_query_consists_of_words_of_its_own_expansion(text: str) -> None:
    asked = {
        word for word in words(query_terms(text)) if not re.fullmatch(r"v\d+v\d+", word)
    }  # a number may be a version
    assert asked <= set(words(expand(text)))


def test_words_are_case_folded_and_split_where_the_index_splits() -> None:
    assert words("Straße: user_profile-id, v2!") == ["strasse", "user", "profile", "id", "v2"]
    assert words("cafe\u0301 ① Ⅷ") == ["café", "1", "viii"]


def test_content_words_exclude_stop_words() -> None:
    assert content_words("What did we decide about the retry policy?") == ["decide", "retry", "policy"]
    assert content_words("what is it that you did") == []


@pytest.mark.parametrize(
    ("text", "extra"),
    [
        ("getUserByName", {"get", "user", "name"}),
        ("userIDs and getURLs", {"user", "ids", "get", "urls"}),
        ("user_profile_id", {"userprofileid"}),
        ("utf-8", {"utf8"}),
        ("src/app/http_client.py", {"httpclient"}),
        ("test_a_turn_recorded_twice_is_stored_once", {"testaturnrecordedtwiceisstoredonce"}),
        ("__init_subclass__", {"initsubclass"}),
        ("v2.13.0 and 2.13.1-rc.1", {"v2v13v0", "v2v13", "v2v13v1"}),
        ("v1.2 on 127.0.0.1", {"v1v2", "v127v0v0v1", "v127v0"}),
        ("E0425, TS2322 and ORA-00942", {"0425", "ts", "2322", "ora00942"}),
        ("3f2a9c1d0b8e4f5a6c7d", {"3f2a9c1"}),
        ("re\u0301sume\u0301 and \uff46\uff55\uff4c\uff4c", {"résumé", "full"}),
        ("APIs e.g. 3.14 2023-05-07 25.12.2023 2023.05.07 7pm 20240101 sha256 H2O - well -- known", set()),
    ],
)
def test_code_words_are_split_into_parts(text: str, extra: set[str]) -> None:
    assert added(text) == extra


@pytest.mark.parametrize(
    "name", ["userProfileId", "user_profile_id", "UserProfileId", "user-profile-id", "user.profile.id"]
)
def test_an_identifier_is_found_in_any_spelling(name: str) -> None:
    assert "userprofileid" in query_terms(name).split()
    assert "userprofileid" in words(expand(f"The column {name} is gone."))


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("依存関係", "昨日、依存関係を更新しました"),
        ("データベース", "新しいデータベースに決めた"),
        ("데이터베이스", "새로운 데이터베이스를 쓰기로 했다"),
        ("Python", "Pythonの型を直した"),
        ("Python3", "Python3の型"),
    ],
)
def test_a_text_without_spaces_is_found_by_any_part_of_it(query: str, text: str) -> None:
    assert found(query, text)


def test_a_text_with_subscripts_is_indexed_with_plain_digits_and_joined_names() -> None:
    assert {"H2O", "vmax"} <= set(expand("H₂O boils at V_max").split())


def test_a_query_loses_its_stop_words_unless_it_has_no_others() -> None:
    assert query_terms("What is the userId of the userId table?") == "userid table user id"
    assert query_terms("Who are you?") == "who are you"
    assert query_terms("?!") == ""


def test_names_are_dropped_from_a_query_with_their_possessive() -> None:
    assert (
        remove_names("When did Caroline's sister visit caroline?", ["Caroline", "Melanie"])
        == "When did sister visit ?"
    )
    assert remove_names("What broke in hebb mind?", ["Hebb Mind"]) == "What broke in ?"


def test_a_name_stays_when_only_stop_words_would_be_left() -> None:
    assert remove_names("Who is Caroline?", ["Caroline"]) == "Who is Caroline?"


def test_a_name_inside_another_word_is_not_that_name() -> None:
    for query in ("run scrubjay-cli now", "open scrubjay.py now", "see lib/scrubjay now", "scrubjays fly"):
        assert remove_names(query, ["scrubjay"]) == query
        assert mentions(query, ["scrubjay"]) == []


@given(st.text(), st.lists(st.text(max_size=8), max_size=5))
def test_removing_names_never_leaves_an_empty_question(query: str, names: list[str]) -> None:
    assert content_words(remove_names(query, names)) or remove_names(query, names) == query


def test_mentioned_names_are_listed_in_the_given_order() -> None:
    assert mentions("did ann Lee call Bob's mother?", ["Bob", "Ann", "Ann Lee", "Cy", "Bob", " "]) == [
        "Bob",
        "Ann Lee",
    ]
    assert mentions("anything", []) == []


@pytest.mark.parametrize(
    ("query", "text", "is_quoted"),
    [
        ("switched the cache to Redis", "We have SWITCHED the cache, to redis; yesterday.", True),
        ("3f2a9c1", "fixed in 3f2a9c1 on main", True),
        ("getUserByName", "call getUserByName(1)", True),
        ("src/app.py", "edited `src/app.py`", True),
        ("依存関係を更新", "昨日依存関係を更新しました", True),
        ("no", "No.", True),
        ("redis cache", "we use a redis cache here", False),
        ("switched the cache to Redis", "switched the old cache to Redis", False),
        ("who are you", "she asked who are you and left", False),
        ("apple pie now", "pineapple pie nowhere", False),
        ("3f2a9c1", "fixed in 3f2a9c1d on main", False),
        ("更新", "昨日依存関係を更新しました", False),
        ("", "anything", False),
    ],
)
def test_a_quotation_has_the_words_of_a_text_in_a_row(query: str, text: str, is_quoted: bool) -> None:
    assert quotes(query, text) == is_quoted


@given(st.text())
def test_a_text_quotes_itself(text: str) -> None:
    assert quotes(text, text) == bool(words(text))


@given(st.from_regex(PLAIN, fullmatch=True))
def test_a_plain_word_does_not_hide_a_code_word(word):
    """Expansion looks only into the words that are not plain."""
    assert list(_hidden_words(word)) == []

"""Likeness: how alike two sentences are worded, and whether they state the same facts."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from scrubjay.text.likeness import same_facts, similarity


@given(st.text(), st.text())
def test_likeness_is_symmetric_and_between_0_and_1(one: str, other: str) -> None:
    assert 0 <= similarity(one, other) <= 1
    assert similarity(one, other) == similarity(other, one)
    assert same_facts(one, other) == same_facts(other, one)


@example("\u1e00\u0300")  # an accent that no composed letter takes in
@given(st.text())
def test_a_text_is_like_itself_and_states_its_own_facts(text: str) -> None:
    assert similarity(text, text) == 1
    assert same_facts(text, text)


@pytest.mark.parametrize(
    ("one", "other", "least"),
    [
        ("We use tabs.", "we use TABS", 1.0),
        ("The cache is Redis, on port 6379", "On port 6379 the cache is Redis", 1.0),
        ("Deployments run on Friday", "Deployment runs on Friday", 0.9),
        ("The tests use pytest", "Tests use pytest", 0.85),
    ],
)
def test_the_same_said_otherwise_is_alike(one: str, other: str, least: float) -> None:
    assert similarity(one, other) >= least
    assert same_facts(one, other)


def test_different_sentences_are_not_alike() -> None:
    assert similarity("We deploy on Friday with Jenkins", "The database password rotates monthly") < 0.5
    assert similarity("", "anything") == 0
    assert similarity("...", "???") == 0


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("The project uses tabs", "The project does not use tabs"),
        ("It doesn't retry", "It does retry"),
        ("port 8080", "port 8081"),
        ("three workers", "four workers"),
        ("version 1.2.3", "version 1.2.4"),
        ("call getUser first", "call getUsers first"),
        ("edit src/app.py", "edit src/api.py"),
        ("the `main` branch", "the `dev` branch"),
        ("Deploys go through Jenkins", "Deploys go through Gitlab"),
        ("Anna reviews the code", "Maria reviews the code"),
        ("caching is enabled", "caching is disabled"),
        ("run it before lunch", "run it after lunch"),
    ],
)
def test_one_fact_decides_between_sentences_that_are_alike(one: str, other: str) -> None:
    assert similarity(one, other) > 0.7
    assert not same_facts(one, other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("up to 10,000 rows", "up to 10000 rows"),
        ("two workers", "2 workers"),
        ("The API is slow", "the api is slow"),
        ("We never mock", "we NEVER mock!"),
        ("In tests we use pytest", "We use pytest in tests"),
    ],
)
def test_spelling_alone_changes_no_fact(one: str, other: str) -> None:
    assert same_facts(one, other)

"""One value of a hand-written TOML text is changed and nothing else."""

from __future__ import annotations

import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrubjay.home.settings import with_value

LONG_LIST = 'c = [\n  "p", # in\n  "q"\n] # out'
LONG_TEXT = "d = '''\na = 5\n''' # end"
STATEMENTS = ["# no\u2028te", "", "a = 1", 'b = "x # y"  # z', LONG_LIST, LONG_TEXT, "e = true#"]
documents = st.lists(st.sampled_from(STATEMENTS), unique=True).map("\n".join)
keys = st.sampled_from("abcdef")
values = st.one_of(
    st.text(st.characters(codec="utf-8")),
    st.integers(-(10**9), 10**9),
    st.booleans(),
    st.lists(st.text('ab\\"#,', max_size=3)),
)


@given(documents, keys, values | st.none())
def test_a_key_is_set_or_removed_and_every_other_statement_stays(text: str, key: str, value: object) -> None:
    changed = with_value(text, key, value)
    others = {name: each for name, each in tomllib.loads(text).items() if name != key}
    assert tomllib.loads(changed) == (others if value is None else {**others, key: value})
    rest = (each for each in STATEMENTS if each in text and not each.startswith(f"{key} ="))
    assert all(statement in changed for statement in rest)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", "a = 2\n"),
        ("b = 1", "b = 1\na = 2\n"),
        ("b = 1\r\nc = 1", "b = 1\r\nc = 1\r\na = 2\r\n"),
        ("a = 1 # one", "a = 2  # one\n"),
        ("a = '#' # one\nb = 1", "a = 2  # one\nb = 1"),
        ('"a" = 1\r\nb = 1\r\n', "a = 2\r\nb = 1\r\n"),
        ("a = [ # in\n1] # out\n", "a = 2  # out\n"),
    ],
)
def test_a_comment_after_the_value_stays(before: str, after: str) -> None:
    assert with_value(before, "a", 2) == after

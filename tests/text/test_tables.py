"""The tables of words and patterns: each is used, and none has a word twice."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

import scrubjay
from scrubjay.text.tables import first_of_line, pairs, table

SOURCE = "\n".join(path.read_text("utf-8") for path in Path(scrubjay.__file__).parent.rglob("*.py"))
LISTS = table("words")
CUES = table("cues")


@pytest.mark.parametrize("name", [*LISTS, *CUES["lists"], *table("dates")["patterns"]])
def test_every_table_is_used(name: str) -> None:
    assert f'"{name}"' in SOURCE or f"'{name}'" in SOURCE


@pytest.mark.parametrize("name", LISTS)
def test_no_word_is_in_a_list_twice(name: str) -> None:
    assert [word for word, count in Counter(LISTS[name].split()).items() if count > 1] == []


def test_every_part_of_a_pattern_is_used() -> None:
    for patterns in (CUES, table("answer_kinds"), table("dates")):
        written = str(patterns)
        assert [part for part in patterns["parts"] if f"{{{part}}}" not in written] in ([], ["no_person"])


def test_pairs_and_lines_give_each_word_its_group() -> None:
    assert pairs("opposites")["denied"] == "allow"
    assert first_of_line("synonyms")["stored"] == "keep" and first_of_line("markers")["zum"] == "to"

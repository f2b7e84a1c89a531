"""Abstracts of documents: chosen sentences, and for code its top comment and names."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrubjay.text.summary import ABSTRACT_LIMIT, abstract
from scrubjay.text.terms import words

GUIDE = """# Backups

Thanks to everybody who helped.

A backup copies the tables of the store into one archive. The archive holds every table and every index of the store.

Some people like green tea.

Restoring an archive puts the tables of the store back. Backups run while the store is written to.
"""


def test_an_abstract_begins_with_the_heading_and_chooses_recurring_topics() -> None:
    said = abstract(GUIDE, heading="Backups", limit=200)
    assert said.startswith("Backups\n") and "archive" in said
    assert "green tea" not in said and "Thanks" not in said


def test_chosen_sentences_are_in_the_order_of_the_text() -> None:
    said = abstract(GUIDE, heading="Backups")
    places = [said.index(part) for part in ("A backup copies", "The archive holds", "Restoring")]
    assert places == sorted(places)


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ('"""Keeps backups in one archive."""\n\nimport os\n', "Keeps backups in one archive."),
        ("// Keeps backups.\n// One archive each.\npackage a\n", "Keeps backups. One archive each."),
        ("/*\n * Keeps backups of the store.\n */\nint main() {}\n", "Keeps backups of the store."),
    ],
)
def test_the_abstract_of_code_is_its_top_comment_and_defined_names(source: str, expected: str) -> None:
    names = ["back_up", "back_up", "restore"]
    assert abstract(source, names=names, code=True) == f"{expected}\nDefines back_up, restore."


def test_a_text_without_content_has_an_empty_abstract() -> None:
    assert abstract("") == abstract("---\n\n|||\n") == abstract("x = 1\n", code=True) == ""


@given(st.text(max_size=2_000), st.one_of(st.none(), st.text(max_size=900)), st.booleans())
def test_an_abstract_is_short_and_deterministic_and_invents_no_word(
    text: str, heading: str | None, code: bool
) -> None:
    said = abstract(text, heading=heading, code=code)
    assert len(said) <= ABSTRACT_LIMIT and said == abstract(text, heading=heading, code=code)
    assert set(words(said)) <= set(words(f"{text} {heading or ''}"))


def test_an_abstract_does_not_depend_on_the_hash_seed() -> None:
    pairs = [("amber", "birch"), ("cedar", "delta"), ("ember", "fjord"), ("grove", "heron")]
    lines = [f"The {a} store keeps every {b} table and each {a} index there." for a, b in pairs]
    lines += [f"The {b} index keeps each {a} table and every {b} store here." for a, b in pairs]
    text = "\n\n".join(lines)
    script = "import sys; from scrubjay.text.summary import abstract; print(abstract(sys.argv[1], limit=300))"
    found = {
        subprocess.run(
            [sys.executable, "-c", script, text],
            env={**os.environ, "PYTHONHASHSEED": str(seed)},
            capture_output=True,
            check=True,
        ).stdout
        for seed in range(6)
    }
    assert len(found) == 1


def test_a_repeated_sentence_occurs_once_and_does_not_hide_the_topic():
    log = "\n".join(f"The worker {n} restarted after a timeout of {n % 13} seconds." for n in range(80))
    topic = "The customer table could not be imported, because the disk of the database server was full."
    end = "We moved the customer table to a new disk of the database server."
    said = abstract(f"{log}\n\n{topic} {end}")
    assert topic in said and said.count("restarted") <= 1
    assert abstract("Our team prefers tabs to spaces. " * 30) == "Our team prefers tabs to spaces."

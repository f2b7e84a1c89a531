"""Cutting: spans that lose nothing but white space, and sections that know their headings and lines."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrubjay.chunking import Section, sections, split

PIECES = ["word", "x" * 30, " ", "\n", "\n\n", ". ", "。", "\t", "é", "```\n", "# Title\n", "===\n", "---\n", "| a | b |\n", "|---|---|\n"]
texts = st.one_of(st.text(), st.lists(st.sampled_from(PIECES), max_size=60).map("".join))


def of(text: str, found: list[Section]) -> list[str]:
    return [text[section.start : section.end] for section in found]


def assert_covers(text: str, spans: list[tuple[int, int]], size: int) -> None:
    at = 0
    for start, end in spans:
        assert not text[at:start].strip()
        assert 0 < end - start <= size
        assert text[start:end] == text[start:end].strip()
        at = end
    assert not text[at:].strip()


@given(texts, st.integers(1, 80))
def test_spans_lose_only_white_space_and_none_is_too_long(text: str, size: int) -> None:
    assert_covers(text, split(text, size), size)


@given(texts, st.integers(1, 80))
def test_sections_lose_only_white_space_and_know_their_lines(text: str, size: int) -> None:
    found = sections(text, size)
    assert_covers(text, [(section.start, section.end) for section in found], size)
    for section in found:
        assert section.line_start == text.count("\n", 0, section.start) + 1
        assert section.line_end == text.count("\n", 0, section.end) + 1


@given(texts.filter(lambda text: len(text.strip()) <= 80))
def test_a_text_that_fits_is_one_span(text: str) -> None:
    assert [text[start:end] for start, end in split(text, 80)] == ([text.strip()] if text.strip() else [])


@given(st.lists(st.text("abc", min_size=1, max_size=10), min_size=1, max_size=40))
def test_a_word_that_fits_is_never_cut(parts: list[str]) -> None:
    text = " ".join(parts)
    assert " ".join(text[start:end] for start, end in split(text, 12)).split() == parts


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("One line.\nSame paragraph.\n\nNext one. It goes on\nand on and on.", "One line.\nSame paragraph."),
        ("The first line. It ends\nthe second line is here and too long", "The first line. It ends"),
        ("A sentence ends here. Another one begins here and goes on", "A sentence ends here."),
        ("no sentence ends anywhere in this rather long line of words", "no sentence ends anywhere in this"),
        ("x" * 50, "x" * 36),
        ("これは最初の文です。そして次の文はここ。" + "まだ続きます" * 6, "これは最初の文です。そして次の文はここ。"),
    ],
)
def test_a_cut_falls_at_the_best_place_there_is(text: str, first: str) -> None:
    start, end = split(text, 36)[0]
    assert text[start:end] == first


def test_a_cut_does_not_make_a_crumb_of_a_greeting() -> None:
    text = "Hi.\n\n" + "word " * 30
    start, end = split(text, 90)[0]
    assert end - start > 80


def test_a_size_below_one_is_refused() -> None:
    with pytest.raises(ValueError, match="at least 1"):
        split("text", 0)


GUIDE = """Intro.

# Guide

## Install

Run this:

```sh
# not a heading

pip install it
```

Usage
-----

| a | b |
|---|---|
| 1 | 2 |

Done.
"""


def test_a_document_is_cut_at_its_headings() -> None:
    found = sections(GUIDE)
    assert [(section.headings, section.line_start, section.line_end) for section in found] == [
        ((), 1, 1),
        (("Guide", "Install"), 3, 13),
        (("Guide", "Usage"), 15, 22),
    ]
    assert of(GUIDE, found)[1].startswith("# Guide\n\n## Install")


def test_fenced_code_and_tables_stay_whole_when_they_fit() -> None:
    pieces = of(GUIDE, sections(GUIDE, 50))
    assert "```sh\n# not a heading\n\npip install it\n```" in pieces
    assert any("| a | b |\n|---|---|\n| 1 | 2 |" in piece for piece in pieces)


def test_fenced_code_that_does_not_fit_is_cut_at_lines() -> None:
    text = "```\n" + "\n".join(f"line {n} of code" for n in range(20)) + "\n```"
    pieces = of(text, sections(text, 80))
    assert len(pieces) > 3
    assert "\n".join(pieces) == text


def test_a_deeper_heading_stands_under_the_shallower_one() -> None:
    text = "# A\na\n### B\nb\n## C #\nc\n# C#\nd"
    assert [section.headings for section in sections(text)] == [("A",), ("A", "B"), ("A", "C"), ("C#",)]


def test_setext_headings_are_headings_and_front_matter_rules_are_not() -> None:
    text = "---\ntitle: x\n---\n\nBig\n===\ntext\n\nSmall\n---\nmore\n\n- item\n---\nend"
    assert [section.headings for section in sections(text)] == [(), ("Big",), ("Big", "Small")]


def test_a_fence_never_closed_runs_to_the_end() -> None:
    assert [section.headings for section in sections("# A\n\n~~~\n# no\n```\n# no")] == [("A",)]


def test_a_document_of_headings_alone_is_still_kept() -> None:
    text = "# A\n## B\n# C"
    found = sections(text)
    assert of(text, found) == [text]
    assert found[0].headings == ("C",)


def test_windows_line_ends_are_read_like_others() -> None:
    text = "# A\r\n\r\ntext\r\n\r\nB\r\n===\r\nmore\r\n"
    assert [(section.headings, section.line_end) for section in sections(text)] == [(("A",), 3), (("B",), 7)]


def test_blank_texts_have_no_pieces() -> None:
    assert split(" \n\t") == [] == sections(" \n\n")

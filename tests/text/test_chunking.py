"""Cutting: spans that lose nothing but white space, and chunks that know their headings and lines."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrubjay.text.chunking import CODE_SIZE, Chunk, chunks, split
from scrubjay.text.chunking.grammars import LANGUAGES

PIECES = [
    "word", "x" * 30, " ", "\n", "\n\n", ". ", "。", "\t", "é", "```\n", "# Title\n", "===\n", "---\n",
    "| a | b |\n", "|---|---|\n",
]  # fmt: skip
texts = st.one_of(st.text(), st.lists(st.sampled_from(PIECES), max_size=60).map("".join))


def cut(text: str, size: int, kind: str = "markdown") -> list[Chunk]:
    return chunks(text, kind, size=size)


def of(text: str, found: list[Chunk]) -> list[str]:
    return [text[chunk.start : chunk.end] for chunk in found]


def assert_covers(text: str, spans: list[tuple[int, int]], size: int) -> None:
    at = 0
    for start, end in spans:
        assert not text[at:start].strip()
        assert 0 < end - start <= size
        assert text[start:end] == text[start:end].strip()
        at = end
    assert not text[at:].strip()


def assert_chunks_cover(text: str, found: list[Chunk], size: int) -> None:
    assert_covers(text, [(chunk.start, chunk.end) for chunk in found], size)
    for chunk in found:
        assert chunk.line_start == text.count("\n", 0, chunk.start) + 1
        assert chunk.line_end == text.count("\n", 0, chunk.end) + 1


@given(texts, st.integers(1, 80))
def test_spans_lose_only_white_space_and_are_never_too_long(text: str, size: int) -> None:
    assert_covers(text, split(text, size), size)


@pytest.mark.parametrize("kind", ["markdown", "pdf", "csv", "tsv"])
@given(text=texts, size=st.integers(1, 80))
def test_chunks_lose_only_white_space_and_know_their_lines(kind: str, text: str, size: int) -> None:
    assert_chunks_cover(text, cut(text, size, kind), size)


LINES = [
    "def f():", "class A:", "  x = 1", "    y = 2", "", "}", "{", "foo(bar", "# note", "@wraps", "'''", "/* x", "*/",
    "é = '漢'", "x" * 70, "a: b", "[s]",
]  # fmt: skip
sources = st.builds(str.join, st.sampled_from(["\n", "\r\n"]), st.lists(st.sampled_from(LINES), max_size=50))


@given(sources | st.text(), st.sampled_from([*sorted(LANGUAGES), "json", "other"]), st.integers(1, 300))
def test_chunks_of_any_source_lose_only_white_space(text: str, language: str, size: int) -> None:
    assert_chunks_cover(text, chunks(text, "code", language, size), size)


@pytest.mark.long
@pytest.mark.parametrize("language", ["python", "json", "javascript"])
def test_very_deep_nesting_is_not_an_error(language: str) -> None:
    for text in ("(" * 50_000, "[\n" * 20_000, "".join(" " * n + "if x:\n" for n in range(1500))):
        assert_chunks_cover(text, chunks(text, "code", language), CODE_SIZE)


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
        (
            "これは最初の文です。そして次の文はここ。" + "まだ続きます" * 6,
            "これは最初の文です。そして次の文はここ。",
        ),
    ],
)
def test_a_cut_is_made_at_the_best_possible_position(text: str, first: str) -> None:
    start, end = split(text, 36)[0]
    assert text[start:end] == first


def test_a_cut_does_not_separate_a_short_greeting() -> None:
    start, end = split("Hi.\n\n" + "word " * 30, 90)[0]
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
    found = chunks(GUIDE)
    assert [(chunk.headings, chunk.line_start, chunk.line_end) for chunk in found] == [
        ((), 1, 1),
        (("Guide", "Install"), 3, 13),
        (("Guide", "Usage"), 15, 22),
    ]
    assert of(GUIDE, found)[1].startswith("# Guide\n\n## Install")


def test_fenced_code_and_tables_stay_whole_when_they_fit() -> None:
    pieces = of(GUIDE, cut(GUIDE, 50))
    assert "```sh\n# not a heading\n\npip install it\n```" in pieces
    assert any("| a | b |\n|---|---|\n| 1 | 2 |" in piece for piece in pieces)


def test_fenced_code_that_does_not_fit_is_cut_at_lines() -> None:
    text = "```\n" + "\n".join(f"line {n} of code" for n in range(20)) + "\n```"
    pieces = of(text, cut(text, 80))
    assert len(pieces) > 3
    assert "\n".join(pieces) == text


@pytest.mark.parametrize(
    ("text", "headings"),
    [
        ("# A\na\n### B\nb\n## C #\nc\n# C#\nd", [("A",), ("A", "B"), ("A", "C"), ("C#",)]),
        (
            "---\ntitle: x\n---\n\nBig\n===\ntext\n\nSmall\n---\nmore\n\n- item\n---\nend",
            [(), ("Big",), ("Big", "Small")],
        ),
        ("# A\n\n~~~\n# no\n```\n# no", [("A",)]),  # the fence is never closed
        ("# A\n## B\n# C", [("C",)]),
        ("# A\r\n\r\ntext\r\n\r\nB\r\n===\r\nmore\r\n", [("A",), ("B",)]),
    ],
)
def test_headings_are_read_as_in_markdown(text: str, headings: list[tuple[str, ...]]) -> None:
    assert [chunk.headings for chunk in chunks(text)] == headings


ROWS = "| name | port |\n|---|---|\n" + "".join(f"| service {n} | {8000 + n} |\n" for n in range(40))


def test_a_long_table_is_cut_at_rows_and_repeats_its_header() -> None:
    found = cut(f"Ports:\n\n{ROWS}\nDone.", 200)
    assert len(found) > 4
    assert found[0].repeat == "" and found[0].line_start == 1
    assert {chunk.repeat for chunk in found[1:-1]} == {"| name | port |\n|---|---|"}
    assert all(
        line.startswith("|") and line.endswith("|")
        for line in of(f"Ports:\n\n{ROWS}\nDone.", found)[2].splitlines()
    )


@pytest.mark.parametrize(
    ("header", "row"),
    [
        ("name,note", 'service {},"first line\nsecond line, of it"'),
        ("name;price", '"service; {}";"1,5 €\na day"'),
    ],
)
def test_chunks_of_a_csv_file_repeat_its_header_and_keep_rows_whole(header: str, row: str) -> None:
    text = "\n".join([header, *(row.format(n) for n in range(30))])
    found = cut(text, 150, "csv")
    assert {chunk.repeat for chunk in found[1:]} == {header}
    assert all(piece.count('"') % 2 == 0 for piece in of(text, found))


def test_chunks_of_a_pdf_know_their_page() -> None:
    text = "one\n\f\n# Two\n\n" + "word " * 30 + "\n\f\nthree"
    found = cut(text, 100, "pdf")
    assert list(dict.fromkeys(chunk.headings for chunk in found)) == [
        ("page 1",),
        ("Two", "page 2"),
        ("Two", "page 3"),
    ]
    assert of(text, found)[-1] == "three"


@pytest.mark.parametrize(
    ("item", "size", "begin"),
    [
        ("- item {} goes on\n  over a second line\n", 90, "- item"),
        ("{}. Step\n   - first detail\n   - second detail\n", 90, r"\d"),
        ("12:00:{} ERROR failed\n  at a.run\n  at b.run\n  at c.run\n", 120, "12:00:"),
    ],
    ids=["list", "steps", "stack traces"],
)
def test_an_item_keeps_its_details(item: str, size: int, begin: str) -> None:
    text = "".join(item.format(n) for n in range(10, 30))
    assert all(re.match(begin, piece) for piece in of(text, cut(text, size)))


@given(
    st.lists(st.text("abcdefgh", min_size=1, max_size=12), min_size=80, max_size=300),
    st.text("xyz \n", max_size=50),
)
def test_an_edit_at_the_end_leaves_the_chunks_before_it(parts: list[str], tail: str) -> None:
    head = " ".join(parts)
    far = len(head) - 60 - 33  # a cut depends on the window, and 32 characters after it
    before, after = (
        [(chunk.start, chunk.end) for chunk in cut(text, 60) if chunk.end <= far]
        for text in (head, f"{head}\n{tail}")
    )
    assert before == after


def test_adding_one_line_to_a_long_text_changes_few_of_its_chunks() -> None:
    lines = [f"{n:05} the service {n * 7919 % 1000} answered in {n * 31 % 97} ms" for n in range(3000)]
    was = set(of("\n".join(lines), chunks("\n".join(lines))))
    changed = []
    for at in range(100, 3000, 100):
        text = "\n".join([*lines[:at], "and one line more " * (at % 7 + 1), *lines[at:]])
        changed.append(len([piece for piece in of(text, chunks(text)) if piece not in was]))
    assert len(was) > 150
    assert sum(changed) / len(changed) <= 3 and max(changed) <= 10

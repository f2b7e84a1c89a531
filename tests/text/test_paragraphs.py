"""Paragraphs of a text: short texts whole, longer ones under their headings, without code and tables."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from scrubjay.text.paragraphs import LONGEST, MOST, SHORT, paragraphs

PROSE = (
    "The nightly job copies the ledger to the second region and writes a line to the audit log when it "
    "has finished. " * 5
)
BLOCKS = [
    PROSE,
    "# Title",
    "## Part",
    "```\ncode\n```",
    "| a | b |\n|---|---|\n| 1 | 2 |",
    "Yes.",
    "",
    "Note:",
]


def test_a_short_text_with_one_paragraph_is_unchanged():
    text = "# Deploys\n\nThey go out on Tuesdays.\n\n```sh\nmake deploy\n```"
    assert paragraphs(text) == [text]


def test_the_paragraphs_of_a_short_text_are_separated_under_their_heading():
    assert paragraphs(
        "# Deploys\n\nDeploys go out on Tuesdays.\n\nUses vim.\n\n## Freeze\n\nIt starts on December 20"
    ) == [
        "Deploys\nDeploys go out on Tuesdays.",
        "Deploys\nUses vim.",
        "Deploys > Freeze\nIt starts on December 20",
    ]
    assert paragraphs("Likes dark mode\n\nPrefers tabs to spaces\n\nTeam notes\n\nWe meet at nine") == [
        "Likes dark mode",
        "Prefers tabs to spaces",
        "Team notes\n\nWe meet at nine",
    ]
    assert paragraphs("部署在星期二进行。\n\n回滚需要两次批准。") == [
        "部署在星期二进行。",
        "回滚需要两次批准。",
    ]


def test_a_short_text_with_code_or_a_table_stays_whole():
    for coded in ("```sh\nmake deploy\n```", "| a | b |\n|---|---|\n| 1 | 2 |", "    make deploy"):
        text = f"To deploy, run this on the build machine.\n\n{coded}\n\nRollbacks need two approvals."
        assert paragraphs(text) == [text]


def test_front_matter_is_no_paragraph():
    fields = "---\ntitle: Runbook\ntags: [ops]\n---\n"
    assert paragraphs(f"{fields}# Runbook\n\nRestart the worker with systemctl.") == [
        "# Runbook\n\nRestart the worker with systemctl."
    ]
    assert paragraphs(f"{fields}\n{PROSE}", "Runbook") == paragraphs(PROSE, "Runbook")
    assert paragraphs(fields) == []


def test_white_space_and_rules_give_no_paragraph():
    assert paragraphs(" \n\t") == paragraphs("---\n\n***") == []


def test_a_longer_text_is_read_paragraph_by_paragraph_under_title_and_headings():
    found = paragraphs(
        f"# Ledger\n\n{PROSE}\n\n## Audit\n\nThe log is kept for seven years in the cold store.\n", "Handbook"
    )
    assert found == [
        f"Handbook > Ledger\n{PROSE.strip()}",
        "Handbook > Ledger > Audit\nThe log is kept for seven years in the cold store.",
    ]


def test_code_and_tables_are_left_out():
    text = (
        f"{PROSE}\n\n```py\nsecret_of_code = 1\n```\n\n| key | value |\n|---|---|\n| row_of_table | 2 "
        "|\n\n    indented_code()\n"
    )
    said = "\n".join(paragraphs(text))
    assert not any(word in said for word in ("secret_of_code", "row_of_table", "indented_code"))


def test_an_introducing_or_too_short_paragraph_joins_the_next_one():
    text = (
        f"{PROSE}\n\nThree things matter:\n\n- speed of the build\n- size of the image\n\nYes.\n\nThe "
        "build runs on the large machine only."
    )
    assert paragraphs(text)[1:] == [
        "Three things matter:\n\n- speed of the build\n- size of the image",
        "Yes.\n\nThe build runs on the large machine only.",
    ]


def test_a_paragraph_that_is_too_long_is_cut_at_its_sentences():
    found = paragraphs(PROSE * 3)
    assert len(found) > 1 and all(len(text) <= LONGEST and text.endswith("finished.") for text in found)


def test_there_are_never_more_paragraphs_than_the_limit():
    text = "\n\n".join(f"Paragraph number {n} says something of its own." for n in range(MOST + 50))
    assert len(paragraphs(text)) == MOST


@given(st.lists(st.sampled_from(BLOCKS)))
def test_every_paragraph_is_from_the_text_and_occurs_once(blocks: list[str]):
    text = "\n\n".join(blocks)
    found = paragraphs(text)
    assert len(set(found)) == len(found)
    if len(text.strip()) > SHORT:
        words = set(text.replace("#", " ").split()) | {">"}
        assert all(set(said.split()) <= words for said in found)

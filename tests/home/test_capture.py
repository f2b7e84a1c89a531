"""The capture policy: what the user allows, and what is worth recording."""

from __future__ import annotations

import csv
import os
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrubjay.errors import InputError
from scrubjay.home.capture import (
    DEFAULT,
    MAX_TEXT,
    cut,
    is_excluded,
    is_salient,
    may_be_excluded,
    policy,
    should_record,
    storable,
)
from scrubjay.models.fields import MAX_TURN_TEXT

LABELLED = Path(__file__).parents[1] / "bench" / "salience.tsv"


def test_an_absent_value_has_its_default() -> None:
    assert policy({}) == DEFAULT
    assert policy({"min_length": 3}).capture == "all"


@pytest.mark.parametrize(
    "data",
    [
        *({"capture": value} for value in ("everything", None)),
        *({"min_length": value} for value in (-1, True, "10")),
        *({"inject": value} for value in ("yes", 1, [])),
        *({"excluded": value} for value in ("/tmp", ["relative"], [7])),
        {"paused": 1},
    ],
)
def test_an_invalid_preference_is_refused_and_not_guessed(data: dict) -> None:
    with pytest.raises(InputError, match=next(iter(data))):
        policy(data)


def test_an_excluded_folder_excludes_its_subfolders_and_no_sibling() -> None:
    chosen = policy({"excluded": ["/home/jay/secret/"]})
    assert is_excluded(chosen, "/home/jay/secret")
    assert is_excluded(chosen, "/home/jay/secret/deep/er")
    assert is_excluded(chosen, "/home/jay/x/../secret")
    assert not is_excluded(chosen, "/home/jay/secrets")
    assert not is_excluded(chosen, "/home/jay")
    assert is_excluded(policy({"excluded": ["/"]}), "/anything")
    assert is_excluded(chosen, "/home/jay", "/home/jay/secret")


def test_the_folder_must_be_known_once_any_folder_is_excluded() -> None:
    chosen = policy({"excluded": ["/home/jay/secret"]})
    assert may_be_excluded(chosen, []) and not may_be_excluded(policy({}), [])
    assert may_be_excluded(chosen, ["/home/jay", "/home/jay/secret"])
    assert not may_be_excluded(chosen, ["/home/jay"])


@pytest.mark.skipif(os.name == "nt", reason="there such a path is the folder itself")
def test_an_excluded_windows_folder_is_recognised_by_both_its_paths() -> None:
    assert is_excluded(policy({"excluded": ["/mnt/c/secret"]}), "C:\\secret\\deep")


def test_an_excluded_folder_is_recognised_by_its_link_and_by_its_target(tmp_path: Path) -> None:
    (tmp_path / "secret").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "secret")
    for excluded in ("secret", "link"):
        chosen = policy({"excluded": [str(tmp_path / excluded)]})
        assert is_excluded(chosen, str(tmp_path / "secret" / "deep"))
        assert is_excluded(chosen, str(tmp_path / "link"))


@pytest.mark.parametrize(
    "text",
    [
        "We decided to rename tick() to advance().",
        "the fix is in src/engine/loop.py",
        "never push on a Friday",
        "see `make check`",
        "We keep unfinished uploads for 48 hours.",
        "Lena owns the billing module.",
        "Thanks! The box is called heron.",
        "ask Jun",
        "Die Rechnungen liegen im Keller.",
        "\u8ba2\u5355\u670d\u52a1\u4f7f\u7528\u6d88\u606f\u961f\u5217",
    ],
)
def test_decisions_preferences_bugs_code_locations_and_plain_facts_are_salient(text: str) -> None:
    assert is_salient(text)


@pytest.mark.parametrize(
    "text",
    [
        "thanks, that is nice",
        "run the tests",
        "Let me look at the importer.",
        "I\u2019ll now run the tests.",
        "never mind",
        "danke, mach bitte weiter",
        "merci beaucoup",
        "",
    ],
)
def test_courtesy_small_talk_and_progress_are_not_salient(text: str) -> None:
    assert not is_salient(text)


@pytest.mark.parametrize("half", ["dev", "test"])
def test_most_labelled_messages_are_kept_or_dropped_as_labelled(half: str) -> None:
    with LABELLED.open(encoding="utf-8", newline="") as file:
        table = csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
        rows = [row for row in table if row["half"] == half]
    keep, drop = (
        [is_salient(row["text"]) for row in rows if row["label"] == each] for each in ("keep", "drop")
    )
    assert len(rows) == 150
    assert sum(keep) >= 0.95 * len(keep) and sum(drop) <= 0.20 * len(drop)


@pytest.mark.parametrize("unit", ["a", " ", ".", "now ", "`a\n", "thanks a lot "])
def test_a_text_of_any_length_is_judged_while_a_hook_waits(unit: str) -> None:
    is_salient("")  # which compiles
    for length in (9_999, 1_000_000):
        text = (unit * (length // len(unit) + 1))[:length]
        began = time.perf_counter()
        is_salient(text)
        assert time.perf_counter() - began < 0.2


def test_each_policy_records_what_it_promises() -> None:
    talk, decision = "thanks, that is very nice of you", "we decided to use advance() from now on"
    promises = {
        "all": [True, True],
        "salient": [False, True],
        "summary_only": [True, True],
        "off": [False] * 2,
    }
    for name, promised in promises.items():
        assert [should_record([text], policy({"capture": name})) for text in (talk, decision)] == promised
    assert not should_record([decision], policy({"paused": True}))


def test_an_exchange_is_kept_whole_when_one_side_is_salient() -> None:
    salient = policy({"capture": "salient"})
    assert should_record(["ok", "we decided to use advance()"], salient)
    assert not should_record(["ok", "done"], salient)
    assert should_record(["go", "a longer answer"], DEFAULT)
    assert not should_record(["go", "done"], DEFAULT)
    assert not should_record([None, "  "], policy({"min_length": 0}))


def test_invalid_characters_are_removed() -> None:
    assert storable("a\x00b\ud800c\U0001f426") == "abc\U0001f426"


@given(st.text(max_size=300), st.integers(60, 200))
def test_a_cut_text_fits_and_says_what_is_missing(text: str, limit: int) -> None:
    short = cut(text, limit)
    assert len(short) <= limit
    if len(text) <= limit:
        assert short == text
    else:
        kept, _, mark = short.rpartition("\n")
        assert text.startswith(kept)
        assert int(mark.split()[1].replace(",", "")) == len(text) - len(kept)


def test_the_limit_equals_that_of_a_turn() -> None:
    assert MAX_TEXT == MAX_TURN_TEXT

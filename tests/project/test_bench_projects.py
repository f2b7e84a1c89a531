"""The made-up projects of tests/bench/projects ask only questions answered by their own records, or by
none.
"""

import tomllib
from collections.abc import Mapping
from datetime import timedelta
from itertools import chain
from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(__file__).parents[1] / "bench" / "projects"
PROJECTS = {path.stem: tomllib.loads(path.read_text("utf-8")) for path in sorted(FOLDER.glob("*.toml"))}
NEW = PROJECTS.keys() - {"kestrel", "tern", "wren"}  # those name the replaced facts, and no stale ones
UNANSWERED = ("plausible", "absent", "foreign", "small")
KINDS = (
    *("plain", "paraphrase", "why", "name", "time", "changed", "amended", "preference", "document", "cross"),
    *UNANSWERED,
)
each_project = pytest.mark.parametrize("name", PROJECTS)


@each_project
def test_each_answer_is_in_the_records_that_its_question_names(name: str) -> None:
    said = _said(PROJECTS[name])
    for question in PROJECTS[name]["question"]:
        held = {hold: {key for key, text in said if _plain(hold) in text} for hold in question["holds"]}
        assert all(held.values()), (held, question)
        assert set().union(*held.values()) == set(question["right"]), (held, question)


@each_project
def test_a_question_names_records_exactly_if_its_kind_has_an_answer(name: str) -> None:
    keys = [key for key, _ in _said(PROJECTS[name]) if key]
    for question in PROJECTS[name]["question"]:
        assert question["kind"] in KINDS, question
        assert bool(question["right"]) == bool(question["holds"]) == (question["kind"] not in UNANSWERED)
        assert {*question["right"], *question.get("stale", ())} <= set(keys), question
        assert not set(question["right"]) & set(question.get("stale", ())), question
        assert "stale" not in question or question["kind"] in ("changed", "amended"), question


@each_project
def test_no_key_or_question_of_a_project_occurs_twice(name: str) -> None:
    project = PROJECTS[name]
    keys = [key for key, _ in _said(project) if key]
    asks = [_plain(question["ask"]) for question in project["question"]]
    assert project["name"].casefold() == name
    assert sorted(keys) == sorted(set(keys))
    assert sorted(asks) == sorted(set(asks))
    assert all(fact["updates"] in keys for fact in project.get("fact", ()) if "updates" in fact)


@each_project
def test_all_records_of_a_project_are_older_than_its_questions(name: str) -> None:
    project = PROJECTS[name]
    dated = [record["at"] for record in chain(project.get("fact", ()), project.get("document", ()))]
    for session in project.get("session", ()):
        dated.append(session["started"] + timedelta(minutes=sum(turn["after"] for turn in session["turn"])))
    assert dated and max(dated) < project["now"]


@pytest.mark.parametrize("name", sorted(NEW))
def test_new_projects_have_no_explicit_updates_and_name_stale_records(name: str) -> None:
    assert not any("updates" in fact for fact in PROJECTS[name].get("fact", ()))
    changed = [
        question for question in PROJECTS[name]["question"] if question["kind"] in ("changed", "amended")
    ]
    assert changed and all(question["stale"] for question in changed)


def test_a_whole_project_belongs_to_one_half_and_the_halves_share_no_record() -> None:
    texts: dict[str, set[str]] = {"dev": set(), "test": set()}
    for project in PROJECTS.values():
        assert not any("half" in question for question in project["question"])
        texts[project["half"]].update(text for _, text in _said(project))
    assert texts["dev"] and texts["test"] and not texts["dev"] & texts["test"]


def test_the_new_projects_ask_enough_and_some_three_in_ten_have_no_answer() -> None:
    kinds = [question["kind"] for name in NEW for question in PROJECTS[name]["question"]]
    without = [kind for kind in kinds if kind in UNANSWERED]
    assert len(NEW) >= 38 and len(kinds) >= 2_000
    assert len(without) >= 0.3 * len(kinds)
    assert without.count("plausible") >= len(without) / 2


def _said(project: Mapping[str, Any]) -> list[tuple[str | None, str]]:
    """The key and the text of every record, compared without case and white space."""
    turns = [turn for session in project.get("session", ()) for turn in session["turn"]]
    said = [(turn.get("key"), f"{turn.get('user', '')}\n{turn.get('assistant', '')}") for turn in turns]
    for record in chain(project.get("fact", ()), project.get("document", ())):
        said.append((record["key"], record["content"]))
    return [(key, _plain(text)) for key, text in said]


def _plain(text: str) -> str:
    return " ".join(text.casefold().split())

"""The made-up projects of tests/bench/projects ask only what their own turns and facts answer."""

import tomllib
from pathlib import Path

import pytest

PROJECTS = sorted((Path(__file__).parent / "bench" / "projects").glob("*.toml"))


@pytest.mark.parametrize("path", PROJECTS, ids=lambda path: path.stem)
def test_each_answer_of_a_project_stands_in_the_turns_and_facts_that_its_question_names(path: Path) -> None:
    project = tomllib.loads(path.read_text(encoding="utf-8"))
    turns = [turn for session in project["session"] for turn in session["turn"]]
    said = {turn["key"]: f"{turn['user']}\n{turn['assistant']}" for turn in turns if "key" in turn}
    said |= {fact["key"]: fact["content"] for fact in project["fact"]}
    assert all(fact["updates"] in said for fact in project["fact"] if "updates" in fact)
    for question in project["question"]:
        assert bool(question["right"]) == (question["kind"] not in ("absent", "foreign", "small")), question
        for key in question["right"]:
            assert any(hold.lower() in said[key].lower() for hold in question["holds"]), (key, question)

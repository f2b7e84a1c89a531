"""LoCoMo as turns to store and questions to ask. Knows the file's layout; does not know how anything is
stored, asked or judged.

The file is the published one, ten conversations in one JSON list. Its licence (CC BY-NC 4.0) lets it be
measured with and not be passed on, so it lives outside this project and nothing of its text is printed or
written.
"""

from __future__ import annotations

import argparse
import json
import os
import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

Key = tuple[str, int]  # session, number of the turn in it from 0

CATEGORIES = {4: "single-hop", 2: "temporal", 1: "multi-hop", 3: "open-domain", 5: "adversarial"}
_SESSION = re.compile(r"session_(\d+)")
# In addition to 'D8:6' the file has 'D8:6; D9:17', 'D:11:26' and 'D30:05'.
_EVIDENCE = re.compile(r"D:?(\d+):(\d+)")


@dataclass(frozen=True)
class Turn:
    """One utterance by `role`; `ts` is when its session began, the only time that LoCoMo gives."""

    session: str
    number: int
    role: str
    text: str
    ts: str

    @property
    def key(self) -> Key:
        return self.session, self.number

    @property
    def arguments(self) -> dict[str, Any]:
        """The arguments of `record_turn`."""
        place = {"session_id": self.session, "turn": self.number, "ts": self.ts}
        return {**place, "role": self.role, "text": self.text}


@dataclass(frozen=True)
class Question:
    """A question and the turns that answer it. `conversation` and `number` count from 1, in the order of the
    file.
    """

    conversation: int
    number: int
    text: str
    category: int
    evidence: frozenset[Key]

    @property
    def half(self) -> str:
        return half_of(self.conversation)


@dataclass(frozen=True)
class Haystack:
    """The contents of one store and its questions. Turns are in order of time, those of a session
    together.
    """

    name: str
    turns: tuple[Turn, ...]
    questions: tuple[Question, ...]


def half_of(conversation: int) -> str:
    """Constants are chosen on `dev`, the conversations 1, 3, 5, 7, 9; never on `test`."""
    return "dev" if conversation % 2 else "test"


def load(path: Path) -> list[Haystack]:
    """The conversations in the file's order, without the few questions whose evidence names no turn."""
    with path.open(encoding="utf-8") as file:
        return [_haystack(number, item) for number, item in enumerate(json.load(file), 1)]


def published(path: str) -> Path:
    """The file of an option."""
    if not os.path.isfile(path):
        raise argparse.ArgumentTypeError(f"there is no file {path}; give the published locomo10.json")
    return Path(path)


def count(text: str) -> int:
    """The number of an option, from 1."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from 1 on")
    return int(text)


def counts(text: str) -> list[int]:
    """The numbers of an option, such as 1,3."""
    return list(map(count, text.split(",")))


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that name the file and the conversations."""
    parser.add_argument(
        "--data", type=published, required=True, metavar="FILE", help="locomo10.json, as published"
    )
    parser.add_argument("--conversations", type=counts, metavar="1,3", help="only these, counted from 1")


def pool(haystacks: Iterable[Haystack]) -> Haystack:
    """Several conversations as one; a session is named after its conversation, so that only the right one
    counts.
    """
    turns: list[Turn] = []
    questions: list[Question] = []
    for each in haystacks:
        turns += [replace(turn, session=f"{each.name}/{turn.session}") for turn in each.turns]
        for question in each.questions:
            evidence = frozenset((f"{each.name}/{session}", number) for session, number in question.evidence)
            questions.append(replace(question, evidence=evidence))
    return Haystack("pooled", tuple(turns), tuple(questions))


def _haystack(conversation: int, item: dict[str, Any]) -> Haystack:
    said = item["conversation"]
    sessions = sorted((int(match[1]), name) for name in said if (match := _SESSION.fullmatch(name)))
    turns, by_id = [], {}
    for _, session in sessions:
        began = datetime.strptime(said[f"{session}_date_time"], "%I:%M %p on %d %B, %Y").isoformat()
        for number, each in enumerate(said[session]):
            caption = each.get("blip_caption")
            text = each["text"] + (f" [shares image: {caption}]" if caption else "")
            turns.append(Turn(session, number, each["speaker"], text, began))
            by_id[each["dia_id"]] = turns[-1].key
    questions = []
    for number, each in enumerate(item["qa"], 1):
        ids = [
            f"D{int(session)}:{int(turn)}"
            for part in each["evidence"]
            for session, turn in _EVIDENCE.findall(part)
        ]
        if evidence := frozenset(by_id[id] for id in ids if id in by_id):
            questions.append(Question(conversation, number, each["question"], each["category"], evidence))
    return Haystack(f"conversation {conversation}", tuple(turns), tuple(questions))

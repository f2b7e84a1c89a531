"""Measures what is injected into a prompt: how often it is right, how often it is rightly silent, and what
it costs the prompt. Content is judged in this process, time at the hook's own process with an engine
behind it.

    python tests/bench/injection.py --data locomo10.json [--conversations 1,3] [--homes FOLDER] [--prompts 40]
    [--json FILE]

A question of LoCoMo, or a developer's, counts as a prompt; its injection is right when a line of the block
comes from a turn or fact with the answer. Only numbers are printed and written, never what was said.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import host
from figures import Row, average, grid, header, options, percent, report, table
from fit import renamed
from homes import COMMAND, Place
from kept import SCOPE, Said, opened, said_in
from locomo import Haystack, add_options, load
from projects import HALVES

from scrubjay.engine.core import Core
from scrubjay.search.injection import FLOOR, injection, search_for

ADVERSARIAL = 5  # the category of questions that ask about the wrong person
FLOORS = (0.6, 0.7, 0.75, 0.8, 0.9)
ROOM = 2048  # bytes, as the hooks ask for
# A developer's memory, and what is asked of it.
DEVELOPER = tomllib.loads(Path(__file__).with_name("developer.toml").read_text("utf-8"))
QUESTIONS = {
    "developer answered": DEVELOPER["answered"],
    "developer foreign": [(question, None) for question in DEVELOPER["unanswered"]],
    "work prompts": [(prompt, None) for prompt in DEVELOPER["work"]],
}
_ORIGIN = re.compile(r"^- \S+ \((?:(\S+)/(\d+)|\S+)\): (.*)$", re.MULTILINE)


@dataclass(frozen=True)
class Prompted:
    """One prompt: at each floor, the lines of its block and how many of them were right."""

    kind: str
    half: str
    blocks: dict[float, tuple[int, int]]  # floor -> lines, right ones


def main() -> int:
    """Run the measurements that the options select."""
    given = _parser().parse_args()
    every = load(given.data)
    chosen = [number - 1 for number in given.conversations or range(1, len(every) + 1)]
    about = header()
    with tempfile.TemporaryDirectory(prefix="scrubjay-injection-") as folder:
        prompted = asyncio.run(_prompted(every, chosen, given.homes or Path(folder)))
    took = list(times(given.prompts)) if given.prompts else []
    values = {"prompts": list(map(asdict, prompted)), "times": list(map(asdict, took))}
    report(about, contents(prompted), *([table(took)] if took else []), file=given.json, **values)
    return 0


def said_by_developer() -> list[Said]:
    """The facts and turns of the developer's memory; three turns are a session."""
    said = [Said("memory", {"content": fact}) for fact in DEVELOPER["facts"]]
    for at, (user, answer) in enumerate(DEVELOPER["exchanges"]):
        place = {"session_id": f"work-{at // 3}", "turn": at % 3}
        said.append(
            Said("turn", {**place, "user": user, "assistant": answer, "ts": f"2026-0{1 + at // 3}-12"})
        )
    return said


async def _prompted(every: Sequence[Haystack], chosen: Sequence[int], homes: Path) -> list[Prompted]:
    found = []
    for number in chosen:
        haystack, foreign = every[number], every[(number + 2) % len(every)]
        half = haystack.questions[0].half
        async with opened(homes, haystack.name, said_in(haystack)) as core:
            for question in haystack.questions:
                if question.category != ADVERSARIAL:
                    turns = {(session, str(turn)) for session, turn in question.evidence}
                    found.append(await _prompt(core, question.text, "answered", half, turns, None))
            for question in foreign.questions:
                if question.category != ADVERSARIAL:
                    text = renamed(question.text, foreign, haystack)
                    found.append(await _prompt(core, text, "foreign", half, set(), None))
            for prompt in DEVELOPER["work"]:
                found.append(await _prompt(core, prompt, "work prompts", half, set(), None))
    async with opened(homes, "developer", said_by_developer()) as core:
        for kind, questions in QUESTIONS.items():
            for text, words in questions:
                found.append(await _prompt(core, text, kind, "developer", set(), words))
    return found


async def _prompt(
    core: Core, text: str, kind: str, half: str, turns: set[tuple[str, str]], words: str | None
) -> Prompted:
    request = search_for({"prompt": text})
    if request is None:
        return Prompted(kind, half, dict.fromkeys(FLOORS, (0, 0)))
    request = request.model_copy(update={"threshold": 0.0})
    hits = await core.search.recall(request, SCOPE, with_related=False, timed="?" in text)
    blocks = {}
    for floor in FLOORS:
        lines = _ORIGIN.findall(injection(hits, session_id="of this prompt", max_bytes=ROOM, floor=floor))
        right = sum(
            (session, turn) in turns or (words is not None and words in said) for session, turn, said in lines
        )
        blocks[floor] = (len(lines), right)
    return Prompted(kind, half, blocks)


def contents(prompted: Sequence[Prompted]) -> str:
    """Silence, precision and length at each floor; the shipped floor is marked."""
    lines = [
        ("prompts", "n", "", *(f"{floor:g}{' (shipped)' if floor == FLOOR else ''}" for floor in FLOORS))
    ]
    for kind in dict.fromkeys(each.kind for each in prompted):
        for half in (*HALVES, "developer"):
            some = [each for each in prompted if (each.kind, each.half) == (kind, half)]
            if not some:
                continue
            blocks = [[each.blocks[floor] for each in some] for floor in FLOORS]
            silent = (percent(not count for count, _ in each) for each in blocks)
            lines.append((f"{kind}, {half}", str(len(some)), "silent, %", *silent))
            if kind.endswith("answered"):
                spoken = [[(count, right) for count, right in each if count] for each in blocks]
                shares = {
                    "spoken to rightly, %": [percent(right > 0 for _, right in each) for each in blocks],
                    "right, of what is said, %": [percent(right > 0 for _, right in each) for each in spoken],
                    "lines a block": [average((count for count, _ in each), "{:.1f}") for each in spoken],
                }
                lines += [("", "", name, *cells) for name, cells in shares.items()]
    return grid(lines)


def times(prompts: int) -> Iterator[Row]:
    """UserPromptSubmit as a whole process, with injection and without."""
    with Place() as place:
        place.start_engine()
        place.keep(said_by_developer())
        took: host.Times = {}
        questions = [question for question, _ in DEVELOPER["answered"]]
        for switch, inject in (("on", "prompt"), ("off", "off")):
            command = [COMMAND, "config", "inject", inject]
            subprocess.run(command, env=place.env, check=True, stdout=subprocess.DEVNULL)
            for number in range(prompts):
                payload = _payload(place, questions[number % len(questions)], f"{switch}-{number}")
                host.measure(took, f"injection {switch}", place, payload, "user_prompt_submit")
    yield from host.rows("UserPromptSubmit", took, 0.5)


def _payload(place: Place, prompt: str, id: str) -> bytes:
    event = {
        "session_id": "of-this-prompt",
        "prompt_id": id,
        "transcript_path": str(place.folder / "transcript.jsonl"),
        "cwd": str(place.project),
        "permission_mode": "default",
        "hook_event_name": "UserPromptSubmit",
        "prompt": prompt,
    }
    return json.dumps(event).encode()


def _parser() -> argparse.ArgumentParser:
    parser = options("Measure what is injected into a prompt.")
    add_options(parser)
    add = parser.add_argument
    add(
        "--homes",
        type=Path,
        metavar="FOLDER",
        help="keep the filled homes there, and use those that are there",
    )
    add(
        "--prompts",
        type=int,
        default=40,
        metavar="N",
        help="prompts that are timed, with and without; 0: none",
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())

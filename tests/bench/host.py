"""A host that runs hook scripts: one isolated process an event, its payload on standard input. Times whole
processes, in turns with an interpreter that does nothing.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from importlib.resources import files

import turns
from figures import Row, percentile, spread
from homes import Place

MARGIN = 35.0  # ms above the bare interpreter that a Stop hook may take

Times = dict[str, list[float]]  # ms by what was run, "bare" among them


def stop_hooks(times: int) -> Iterator[Row]:
    """The Stop hook with an engine and without one."""
    with Place() as up, Place() as down:
        up.start_engine()
        took: Times = {}
        for number in range(times):
            for name, place in (("up", up), ("down", down)):
                submitted, stopped = _payloads(place, number)
                run(place, submitted, _script("user_prompt_submit"))
                measure(took, f"engine {name}", place, stopped, "stop")
        up.until("captured", lambda status: status["captured"] == times, 60)
        waiting = len(list((down.home / "spool" / "events").glob("*-answer-*")))
        if waiting != times:
            raise RuntimeError(f"{times} hooks without an engine left {waiting} answers in the spool.")
    yield from rows("Stop", took, 0.95, MARGIN)


def measure(took: Times, what: str, place: Place, payload: bytes, hook: str, *options: str) -> None:
    """Time the installed file of a hook, and then the bare interpreter."""
    took.setdefault(what, []).append(run(place, payload, _script(hook), *options))
    took.setdefault("bare", []).append(run(place, payload, "-c", "pass"))


def rows(hook: str, took: Times, share: float, margin: float | None = None) -> Iterator[Row]:
    """A row for each thing that was run, with the percentile `share` above that of the bare interpreter."""
    name, bare = f"p{100 * share:.0f}", percentile(took["bare"], share)
    reach = "" if margin is None else f"{name} <= bare + {margin:.0f} ms"
    for what, ms in took.items():
        if what != "bare":
            above = percentile(ms, share) - bare
            told = f"{spread(ms)}: {name} is bare {above:+.1f} ms"
            yield Row(f"{hook} hook, whole process, {what}", reach, told, above, margin, {"ms": ms})
    ms = took["bare"]
    yield Row("... `python -I -S -c pass` in between", "(baseline)", spread(ms), samples={"ms": ms})


def _script(name: str) -> str:
    return str(files("scrubjay.hooks") / f"{name}.py")


def run(place: Place, payload: bytes, *arguments: str) -> float:
    """Milliseconds from before the spawn of `python -I -S arguments...` until it has ended and its answer is read.

    Raises:
        RuntimeError: it did not end with code 0.
    """
    start = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, "-I", "-S", *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=place.env,
        cwd=place.project,
    )
    _, trouble = process.communicate(payload)
    took = time.perf_counter() - start
    if process.returncode or trouble:
        raise RuntimeError(f"{arguments[0]} ended with code {process.returncode}: {trouble.decode()[:300]}")
    return took * 1e3


def _payloads(place: Place, number: int) -> tuple[bytes, bytes]:
    """The payloads for a submitted prompt and for its complete answer; the transcript has both by then."""
    said = turns.turn(number)
    transcript = place.folder / f"transcript-{number}.jsonl"
    common = {
        "session_id": f"hooked-{number // turns.SESSION}",
        "prompt_id": said["prompt_id"],
        "transcript_path": str(transcript),
        "cwd": str(place.project),
        "permission_mode": "default",
    }
    _write_transcript(str(transcript), common, said)
    submitted = {**common, "hook_event_name": "UserPromptSubmit", "prompt": said["user"]}
    stopped = {
        **common,
        "hook_event_name": "Stop",
        "stop_hook_active": False,
        "last_assistant_message": said["assistant"],
    }
    return json.dumps(submitted).encode(), json.dumps(stopped).encode()


def _write_transcript(path: str, common: dict[str, str], said: dict[str, str]) -> None:
    chain = {"sessionId": common["session_id"], "cwd": common["cwd"], "timestamp": said["ts"]}
    chain |= {"isSidechain": False, "userType": "external"}
    prompt, answer = said["prompt_id"], {"id": f"{said['prompt_id']}-message", "role": "assistant"}
    user = {"type": "user", "uuid": prompt, "parentUuid": None, "promptId": prompt}
    user["message"] = {"role": "user", "content": said["user"]}
    assistant = {"type": "assistant", "uuid": f"{prompt}-answer", "parentUuid": prompt}
    assistant["message"] = {**answer, "content": [{"type": "text", "text": said["assistant"]}]}
    lines = ({**chain, **user}, {**chain, **assistant})
    with open(path, "w", encoding="utf-8") as file:
        file.writelines(json.dumps(line) + os.linesep for line in lines)

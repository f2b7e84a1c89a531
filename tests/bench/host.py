"""A host that runs hook scripts: one isolated process an event, its payload on standard input. Knows the
command and the payloads; measures whole processes.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from importlib.resources import files

import turns
from homes import Place

BARE = ("-c", "pass")


def script(name: str) -> str:
    """The installed file of a hook."""
    return str(files("scrubjay.hooks") / f"{name}.py")


def run(place: Place, arguments: tuple[str, ...], payload: bytes) -> float:
    """Seconds from before the spawn of `python -I -S arguments...` until it has ended and its answer is read.

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
    return took


def payloads(place: Place, number: int) -> tuple[bytes, bytes]:
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
    chain = {
        "sessionId": common["session_id"],
        "cwd": common["cwd"],
        "isSidechain": False,
        "userType": "external",
    }
    lines = (
        {
            **chain,
            "type": "user",
            "uuid": said["prompt_id"],
            "parentUuid": None,
            "promptId": said["prompt_id"],
            "timestamp": said["ts"],
            "message": {"role": "user", "content": said["user"]},
        },
        {
            **chain,
            "type": "assistant",
            "uuid": f"{said['prompt_id']}-answer",
            "parentUuid": said["prompt_id"],
            "timestamp": said["ts"],
            "message": {
                "role": "assistant",
                "id": f"{said['prompt_id']}-message",
                "content": [{"type": "text", "text": said["assistant"]}],
            },
        },
    )
    with open(path, "w", encoding="utf-8") as file:
        file.writelines(json.dumps(line) + os.linesep for line in lines)

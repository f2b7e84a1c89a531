"""`scrubjay demo`: a minute in a home of its own. A session is recorded through the hook scripts, as a host runs them; another client
asks about it over MCP; what came back and what it took is printed. Touches nothing of the user's, and leaves nothing behind.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import tempfile
import textwrap
import time
import uuid
from collections.abc import Mapping
from typing import Any

from scrubjay import spool
from scrubjay.cli.command import Command, Place
from scrubjay.cli.conversation import QUESTIONS, TURNS
from scrubjay.cli.display import local
from scrubjay.cli.installation import console_command, hook_command
from scrubjay.cli.mcp_line import StdioServer
from scrubjay.errors import EngineError, ScrubjayError
from scrubjay.home import Home

WIDTH = 108  # characters of a printed line
HIT_LINES, NEIGHBOUR_LINES = 4, 2  # of each turn that is printed


def demo(place: Place, options: argparse.Namespace) -> int:
    """Record, recall, clean up; 0 if every question brought something back."""
    started = time.perf_counter()
    folder = tempfile.mkdtemp(prefix="scrubjay-demo-")
    home, project = os.path.join(folder, "home"), os.path.join(folder, "gallery")
    os.makedirs(os.path.join(project, ".git"))
    with open(os.path.join(project, ".git", "HEAD"), "w", encoding="ascii") as head:
        head.write("ref: refs/heads/main\n")  # all it takes to be a project: git itself is not needed
    env = {name: value for name, value in place.env.items() if not name.startswith(("SCRUBJAY_", "CLAUDE_", "CURSOR_"))}
    env |= {"SCRUBJAY_HOME": home, "CLAUDE_PROJECT_DIR": project}
    print(f"A home of its own for this demo: {home}\n")
    keep = options.keep
    try:
        _record(env, project)
        print(f"   No engine runs yet: {len(spool.pending(Home(home)))} turns wait on disk, in the spool.\n")
        found = _recall(env, project)
    except ScrubjayError:
        keep = True  # its log is what explains the error
        raise
    finally:
        _end(Place(env, project, home, place.pid), None if keep else folder)
    if keep:
        print(f"The engine has ended; the demo's home stays. Look at it: SCRUBJAY_HOME={home} scrubjay list --all")
    else:
        print(f"The engine has ended and the demo's home is deleted; all of it took {time.perf_counter() - started:.1f} s.")
    print("To have this in your own sessions: `scrubjay hooks add`, then register the server with your client (see the README).")
    return 0 if found == len(QUESTIONS) else 1


def _record(env: Mapping[str, str], project: str) -> None:
    """The session, turn by turn, each hook a process of its own that reads its event from standard input."""
    session = str(uuid.uuid4())
    print(f"1. A session about a gallery is said to the hooks, {len(TURNS)} turns, just as Claude Code does it.")
    prompts, stops = [], []
    for user, assistant in TURNS:
        event = {"session_id": session, "prompt_id": str(uuid.uuid4()), "cwd": project}
        prompts.append(_hook("UserPromptSubmit", {**event, "prompt": user}, env, project))
        stops.append(_hook("Stop", {**event, "last_assistant_message": assistant, "stop_hook_active": False}, env, project))
    took = [f"{name} {statistics.median(times) * 1000:.0f} ms" for name, times in (("UserPromptSubmit", prompts), ("Stop", stops))]
    print(f"   A whole hook process took, in the middle: {', '.join(took)}.")


def _hook(event: str, payload: dict[str, Any], env: Mapping[str, str], cwd: str) -> float:
    """Run one hook script on an event; seconds from its start to its end."""
    told = json.dumps({**payload, "hook_event_name": event}).encode()
    started = time.perf_counter()
    done = subprocess.run(hook_command(event), input=told, env=env, cwd=cwd, capture_output=True, check=False)
    took = time.perf_counter() - started
    if done.returncode or done.stdout.strip() != b"{}":
        raise EngineError(f"The hook for {event} ended with {done.returncode} and said {done.stdout[:200]!r}. Install scrubjay again.")
    return took


def _recall(env: Mapping[str, str], project: str) -> int:
    """The questions, asked by another client; how many brought something back."""
    command = [*console_command(), "stdio"]
    print(f"2. Another client starts `{os.path.basename(command[0])}` and speaks MCP with it over stdio.")
    found, started = 0, time.perf_counter()
    with StdioServer(command, env, project) as server:
        server.initialize("scrubjay-demo", "1")
        tools = server.request("tools/list", {})["tools"]
        print(f"   initialize and tools/list ({len(tools)} tools) were answered after {_ms(started)}; the engine had to start.\n")
        print("3. It asks three questions, each for the best turn and its two neighbours.\n")
        for question in QUESTIONS:
            asked = time.perf_counter()
            answer = server.call("search_memories", {"query": question, "top_k": 1, "prev_turns": 1, "next_turns": 1})
            first = " (the engine was still loading its model and its store)" if question is QUESTIONS[0] else ""
            print(f'   "{question}"   {_ms(asked)}{first}')
            _show(answer)
            found += bool(answer["results"])
    return found


def _show(answer: dict[str, Any]) -> None:
    hits = {hit["id"] for hit in answer["results"]}
    turns = sorted((*answer["results"], *answer.get("related", ())), key=lambda hit: hit["turn"])
    if turns:
        print(f"   {local(turns[0]['date']):%Y-%m-%d}, session {turns[0]['session_id'][:8]}")
    for turn in turns:
        mark = f"{'> ' if turn['id'] in hits else '  '}turn {turn['turn']}  "
        most = HIT_LINES if turn["id"] in hits else NEIGHBOUR_LINES
        text = turn["memory"].replace("\n\nassistant: ", " -- ").removeprefix("user: ")
        print(textwrap.fill(text, WIDTH, initial_indent=f"   {mark}", subsequent_indent=" " * 13, max_lines=most, placeholder=" ..."))
    print()


def _end(place: Place, folder: str | None) -> None:
    """End the demo's engine and delete its folder, also when the demo was interrupted; None keeps the folder."""
    from scrubjay.cli.running import finish

    try:
        finish(place)
    finally:
        if folder:
            shutil.rmtree(folder, ignore_errors=True)


def _ms(since: float) -> str:
    return f"{(time.perf_counter() - since) * 1000:.0f} ms"


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--keep", action="store_true", help="leave the demo's home, to look at it with the other commands")


DEMO = Command("demo", "See it work: a recorded session, three questions, their answers. Touches nothing of yours.", demo, _arguments)

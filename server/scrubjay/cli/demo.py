"""`scrubjay demo`: a one-minute demonstration in its own home.

A session is recorded through the hook scripts, as a host runs them; another client asks about it over MCP;
the answers and their times are printed. It touches nothing of the user's, and leaves nothing behind.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import shutil
import statistics
import tempfile
import textwrap
import time
import tomllib
import uuid
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from scrubjay.cli.command import Place
from scrubjay.cli.display import local
from scrubjay.cli.engine import finish
from scrubjay.errors import EngineError, ScrubjayError
from scrubjay.home import spool
from scrubjay.home.paths import Home
from scrubjay.hosts.installation import console_command, hook_command, run_hook

if TYPE_CHECKING:
    from mcp import Client

T = TypeVar("T")
PATIENCE_S = 120.0  # for the engine of a busy machine to start
TRIES = 4
WIDTH = 108  # characters of a printed line
HIT_LINES, NEIGHBOUR_LINES = 4, 2  # lines of each printed turn
_SCRIPT = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
TURNS = tuple((turn["user"], turn["assistant"]) for turn in _SCRIPT["turns"])
QUESTIONS: tuple[str, ...] = tuple(_SCRIPT["questions"])


def demo(place: Place, options: argparse.Namespace) -> int:
    """See it work: a recorded session, three questions, their answers."""
    import asyncio  # takes 30 ms, and only this command needs it

    started = time.perf_counter()
    folder = tempfile.mkdtemp(prefix="scrubjay-demo-")
    home, project = os.path.join(folder, "home"), os.path.join(folder, "gallery")
    os.makedirs(os.path.join(project, ".git"))
    with open(os.path.join(project, ".git", "HEAD"), "w", encoding="ascii") as head:
        head.write("ref: refs/heads/main\n")  # enough for a project: git itself is not needed
    prefixes = ("SCRUBJAY_", "CLAUDE_", "CURSOR_")
    env = {name: text for name, text in place.env.items() if not name.startswith(prefixes)}
    env |= {"SCRUBJAY_HOME": home, "CLAUDE_PROJECT_DIR": project}
    print(f"A separate home for this demo: {home}\n")
    keep = options.keep
    try:
        _record(env, project)
        turns = len(spool.events(Home(home), "answer"))
        print(f"   No engine is running yet: {turns} turns wait on disk, in the spool.\n")
        answered_count = asyncio.run(_recall(env, project))
    except ScrubjayError:
        keep = True  # its log explains the error
        raise
    finally:
        try:
            _repeat(lambda: finish(Place(env, project, home)))
        except EngineError as error:
            keep = True
            print(f"The demo's engine is still running: {error}")
        if keep:
            print(f"The demo's home stays: {folder}. Explore it: SCRUBJAY_HOME={home} scrubjay list --all")
        else:
            shutil.rmtree(folder, ignore_errors=True)
    if not keep:
        duration = f"{time.perf_counter() - started:.1f} s"
        print(f"The engine has ended and the demo's home is deleted; all of it took {duration}.")
    print("To use this in your own sessions: `scrubjay setup`.")
    return 0 if answered_count == len(QUESTIONS) else 1


def _record(env: Mapping[str, str], project: str) -> None:
    """Record the session turn by turn; each hook is a process that reads its event from standard input."""
    session = str(uuid.uuid4())
    turn_count = f"{len(TURNS)} turns"
    print(f"1. The hooks receive a session about a gallery, {turn_count}, just as from Claude Code.")
    seconds: dict[str, list[float]] = {"UserPromptSubmit": [], "Stop": []}
    for user, assistant in TURNS:
        ids = {"session_id": session, "prompt_id": str(uuid.uuid4())}
        answer = {"last_assistant_message": assistant, "stop_hook_active": False}
        for event, text in (("UserPromptSubmit", {"prompt": user}), ("Stop", answer)):
            hook = partial(run_hook, event, ids | text, env, project, hook_command("claude-code"))
            seconds[event].append(_repeat(hook))  # a repeated hook records no turn twice
    medians = (f"{event} {statistics.median(times) * 1000:.0f} ms" for event, times in seconds.items())
    print(f"   Median time of a whole hook process: {', '.join(medians)}.")


def _repeat(work: Callable[[], T]) -> T:
    """Do some work, again if the machine was too busy for it; the work must be safe to repeat."""
    for _ in range(TRIES - 1):
        with contextlib.suppress(EngineError):
            return work()
    return work()


async def _recall(env: Mapping[str, str], project: str) -> int:
    """Ask the questions from another client; return how many were answered."""
    from mcp import Client, MCPError, StdioServerParameters

    command, *arguments = [*console_command(), "stdio"]
    print(f"2. Another client starts `{os.path.basename(command)}` and speaks MCP over stdio.")
    server = StdioServerParameters(command=command, args=arguments, env=dict(env), cwd=project)
    answered_count, started = 0, time.perf_counter()
    try:
        async with Client(server, mode="legacy") as client:
            tools = (await client.list_tools()).tools
            delay = f"were answered after {_ms_since(started)}; the engine had to start"
            print(f"   initialize and tools/list ({len(tools)} tools) {delay}.\n")
            print("3. It asks three questions, each for the best turn and its two neighbours.\n")
            for question in QUESTIONS:
                asked_at = time.perf_counter()
                answer = await _search(client, question)
                loading = " (the engine was still loading its model and its store)"
                print(f'   "{question}"   {_ms_since(asked_at)}{loading if question is QUESTIONS[0] else ""}')
                _show(answer)
                answered_count += bool(answer["results"])
    except (ExceptionGroup, MCPError, OSError, EngineError) as error:  # `except*` would raise a group again
        raise EngineError(f"The demo's server failed: {innermost(error)}") from error
    return answered_count


def innermost(error: Exception) -> str:
    """Return the message of the first exception in a group that is not itself a group.

    >>> innermost(ExceptionGroup("unhandled errors in a TaskGroup", [OSError("no such file")]))
    'no such file'
    """
    while isinstance(error, ExceptionGroup):
        error = error.exceptions[0]
    return str(error) or type(error).__name__


async def _search(client: Client, question: str) -> dict[str, Any]:
    """Ask one question; repeat it while a busy engine refuses, because a search changes nothing."""
    import asyncio

    from mcp import MCPError

    options = {"top_k": 1, "prev_turns": 1, "next_turns": 1, "include": {"structured": True}}
    deadline = time.monotonic() + PATIENCE_S
    while True:
        try:
            result = await client.call_tool("search_memories", {"query": question, **options})
            if not result.is_error and result.structured_content:
                return dict(result.structured_content)
            refusal = " ".join(getattr(block, "text", "") for block in result.content)
        except MCPError as error:
            refusal = str(error)
        if time.monotonic() > deadline:
            raise EngineError(f"search_memories refused: {refusal}")
        await asyncio.sleep(1)


def _show(answer: dict[str, Any]) -> None:
    hits = {hit["id"] for hit in answer["results"]}
    turns = sorted((*answer["results"], *answer.get("related", ())), key=lambda hit: hit["turn"])
    if turns:
        print(f"   {local(turns[0]['date']):%Y-%m-%d}, session {turns[0]['session_id'][:8]}")
    for turn in turns:
        mark, max_lines = ("> ", HIT_LINES) if turn["id"] in hits else ("  ", NEIGHBOUR_LINES)
        text = turn["memory"].replace("\n\nassistant: ", " -- ").removeprefix("user: ")
        head = f"   {mark}turn {turn['turn']}  "
        folded = textwrap.TextWrapper(WIDTH, head, " " * 13, max_lines=max_lines, placeholder=" ...")
        print(folded.fill(text))
    print()


def _ms_since(since: float) -> str:
    return f"{(time.perf_counter() - since) * 1000:.0f} ms"

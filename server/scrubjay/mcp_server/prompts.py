"""The prompts: commands that a user types in the assistant. Each does one thing and says so in one line.

Their texts are in `prompts.toml`, which is also used for the commands of plugins
(`server/packaging/manifests.py`). A prompt over MCP includes its data; a plugin's file tells the model how to
get them.
"""

import os
import tomllib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from mcp.types import GetPromptResult, PromptMessage, TextContent
from mcp.types import Prompt as ListedPrompt
from mcp.types import PromptArgument as ListedArgument

from scrubjay.engine.caller import Caller
from scrubjay.engine.engine import Engine
from scrubjay.errors import InputError
from scrubjay.home.scopes import USER_SCOPE
from scrubjay.mcp_server import render_sessions
from scrubjay.mcp_server.calls import call, note_given
from scrubjay.text.foreign import one_line
from scrubjay.transcripts.injected import COMMAND_CLOSE, COMMAND_OPEN

MOST_TYPED = 2_000  # characters of an argument
TYPED = "what the user typed after the command"
SESSIONS = 50  # the most sessions in a standup


@dataclass(frozen=True)
class Argument:
    """What a user may type after a command."""

    name: str
    description: str
    required: bool = False
    words: bool = False  # the user may type several words

    @property
    def listed(self) -> ListedArgument:
        """The argument as MCP lists it."""
        return ListedArgument(name=self.name, description=self.description, required=self.required)


@dataclass(frozen=True)
class Prompt:
    """One command; `prompts.toml` explains its fields."""

    name: str
    title: str
    description: str
    task: str
    fetch: str = ""
    argument: Argument | None = None


def _read() -> tuple[Prompt, ...]:
    """Read the table of prompts, in its order."""
    with open(os.path.join(os.path.dirname(__file__), "prompts.toml"), "rb") as file:
        table = tomllib.load(file)
    return tuple(
        Prompt(name, **{**row, "argument": Argument(**row["argument"]) if "argument" in row else None})
        for name, row in table.items()
    )


PROMPTS = _read()
BY_NAME = {prompt.name: prompt for prompt in PROMPTS}


def prompts() -> list[ListedPrompt]:
    """Return the prompts in their fixed order, as MCP lists them."""
    return [
        ListedPrompt(
            name=prompt.name,
            title=prompt.title,
            description=prompt.description,
            arguments=[prompt.argument.listed] if prompt.argument else [],
        )
        for prompt in PROMPTS
    ]


def instructions(prompt: Prompt, typed: str = TYPED) -> str:
    """Return the text of a command without its data, as a plugin's file contains it."""
    return marked(*(part.replace("{typed}", typed) for part in (prompt.fetch, prompt.task)))


def marked(*parts: str) -> str:
    """Put the parts of a command's text between tags, because some hosts store them as the user's words."""
    return "\n".join([COMMAND_OPEN, "\n\n".join(filter(None, parts)), COMMAND_CLOSE])


async def get(engine: Engine, name: str, arguments: dict[str, str] | None, by: Caller) -> GetPromptResult:
    """Return a prompt with its data, as one message of the user.

    Raises InputError if there is no such prompt, or its argument is missing or too long.
    """
    prompt = BY_NAME.get(name)
    if prompt is None:
        raise InputError(f"There is no prompt {name[:80]!r}. The prompts are: {', '.join(BY_NAME)}.")
    typed = _typed_argument(prompt, arguments or {})
    quoted = f'"{one_line(typed)}"' if typed else "nothing"
    if prompt.argument and prompt.argument.words and typed and len(typed.split()) == 1:
        # A host may pass only the first of several words.
        text = instructions(prompt, f"{TYPED}, which begins with {quoted}")
    else:
        if name in _TOOLS:
            data = await _answer_of(engine, _TOOLS[name], typed)
        else:
            data = await _DATA[name](engine, by, typed) if name in _DATA else ""
            note_given(engine, name, by, data)  # a tool notes this itself
        text = marked(data, prompt.task.replace("{typed}", quoted))
    content = TextContent(type="text", text=f"{text}\n/scrubjay:{name} {one_line(typed)}".rstrip())
    message = PromptMessage(role="user", content=content)
    return GetPromptResult(description=prompt.description, messages=[message])


def _typed_argument(prompt: Prompt, arguments: dict[str, str]) -> str:
    known = [prompt.argument.name] if prompt.argument else []
    if unknown := sorted(arguments.keys() - known):
        advice = f"it has {known[0]}" if known else "it has none"
        raise InputError(f"{unknown[0][:80]!r} is not an argument of the prompt {prompt.name}; {advice}.")
    typed = arguments.get(prompt.argument.name, "").strip() if prompt.argument else ""
    if prompt.argument and prompt.argument.required and not typed:
        raise InputError(f"{prompt.argument.name} is missing: {prompt.argument.description}")
    if len(typed) > MOST_TYPED:
        raise InputError(f"What was typed has {len(typed):,} characters; at most {MOST_TYPED:,} are allowed.")
    return typed


async def _answer_of(engine: Engine, tool_call: tuple[str, str, dict[str, Any]], typed: str) -> str:
    """Return the text of a tool's answer to a row of `_TOOLS`.

    Raises InputError if the tool answers with an error, which is no data for a model.
    """
    tool, typed_name, arguments = tool_call
    answer = await call(engine, tool, arguments | ({typed_name: typed} if typed else {}))
    text = str(answer["content"][0]["text"])
    if answer["isError"]:
        raise InputError(text)
    return text


async def _standup(engine: Engine, by: Caller, typed: str) -> str:
    async with by.turn:
        core = await engine.core_soon()
        since, page = await core.sessions.since(
            typed or "yesterday", by.scope if by.confined else None, SESSIONS
        )
    return render_sessions.sessions(page, since)


async def _handoff(engine: Engine, by: Caller, typed: str) -> str:
    async with by.turn:
        core = await engine.core_soon()
        newest = await core.sessions.overview(by.scope or USER_SCOPE, start=0, size=1)
        for session in newest.results:
            if last := await core.sessions.digest(session):
                return render_sessions.last_session(session, *last)
    return newest.behind or "No session of this project is recorded yet."


async def _status(engine: Engine, by: Caller, typed: str) -> str:
    scope = by.scope or USER_SCOPE
    async with by.turn:
        core = await engine.core_soon()
        counts = (await core.counts.by_scope(scope)).get(scope)
        newest = await core.sessions.overview(scope, start=0, size=1)
    return render_sessions.status(scope, counts, newest)


# Prompts whose data is a tool's answer: the tool, its argument for what was typed, and its other arguments.
_TOOLS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "recall": ("search_memories", "query", {}),
    "forget": ("forget", "query", {"dry_run": True}),
    "distill": ("search_memories", "since", {"query": "distill", "search_mode": "undistilled"}),
}
_DATA: dict[str, Callable[[Engine, Caller, str], Awaitable[str]]] = {
    "standup": _standup,
    "handoff": _handoff,
    "status": _status,
}

"""Turns the messages of a chat client into one readable text, and into turns.

A client may send parts of a conversation again: only new messages are added, and a turn keeps its key.
"""

import hashlib
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import datetime

GAP = "\n\n"  # between two messages of the text
_SPEAKER = re.compile(rf"(?:\A|{GAP})(user|assistant|system|tool)(?: \([^)\n]*\))?: ")
LONGEST_RESULT = 2_000  # characters of a tool's result; the rest is left out


@dataclass(frozen=True)
class Message:
    """One message. `role` is user, assistant, system or tool; `tools` are the names of the called tools."""

    role: str
    text: str = ""
    name: str | None = None
    tools: tuple[str, ...] = ()
    at: datetime | None = None


@dataclass(frozen=True)
class Exchange:
    """One turn: a prompt and all its answers, joined; `texts` are the separate messages.

    `key` stays the same however often the conversation is sent.
    """

    key: str
    user: str = ""
    assistant: str = ""
    tools: tuple[str, ...] = ()
    at: datetime | None = None
    texts: tuple[str, ...] = field(default=(), compare=False)


def transcript(text: str, messages: Iterable[Message]) -> str:
    """Add the messages that are new to the text of a conversation, each as `role: text`, in order.

    A message is new unless the text has it after the message before it, so a client may send any part of a
    conversation again. All that follows a new message of the user is new, even if it is "Done." once more.

    >>> transcript("user: hi", [Message("user", "hi"), Message("assistant", "hello")])
    'user: hi\\n\\nassistant: hello'
    """
    at, is_all_new = 0, False
    added: list[str] = []
    for message in messages:
        if not (block := _block(message)):
            continue
        start = None if is_all_new else _find(text, block, at)
        if start is None:
            added.append(block)
            is_all_new |= message.role == "user"  # other messages are often sent again in another form
        else:
            at = start + len(block)
    return GAP.join(filter(None, (text, *added)))


def user_messages(text: str) -> list[str]:
    """Return the user's messages in the text of a conversation.

    >>> user_messages(transcript("", [Message("user", "hi"), Message("assistant", "hello")]))
    ['hi']
    """
    _, *parts = _SPEAKER.split(text)  # roles and texts in turn
    return [words.strip() for role, words in zip(parts[::2], parts[1::2], strict=True) if role == "user"]


def exchanges(messages: Iterable[Message]) -> list[Exchange]:
    """Group messages into turns: a message of the user, and the assistant's messages and calls after it.

    If the assistant begins, its first messages are a turn of their own. System messages and tools' results
    are left out.
    """
    turns: list[Exchange] = []
    seen: Counter[str] = Counter()
    for message in messages:
        if message.role == "user" and message.text:
            last = turns[-1] if turns else None
            if last and last.user and not (last.assistant or last.tools):  # two prompts, one answer
                turns[-1] = replace(last, user=f"{last.user}{GAP}{message.text}")
            else:
                turns.append(Exchange(_key(message, seen), user=message.text, at=message.at))
        elif message.role == "assistant" and (message.text or message.tools):
            if not turns:
                turns.append(Exchange(_key(message, seen), at=message.at))
            answers = GAP.join(filter(None, (turns[-1].assistant, message.text)))
            tools = tuple(dict.fromkeys((*turns[-1].tools, *message.tools)))
            turns[-1] = replace(turns[-1], assistant=answers, tools=tools)
        else:
            continue
        turns[-1] = replace(turns[-1], texts=(*turns[-1].texts, message.text))
    return [turn for turn in turns if turn.user or turn.assistant]


def contains(sides: tuple[str | None, str | None], exchange: Exchange) -> bool:
    """Return True if both sides of a turn, the user's and the assistant's, contain those of an exchange."""
    user, assistant = sides
    return exchange.user in (user or "") and exchange.assistant in (assistant or "")


def _key(message: Message, seen: Counter[str]) -> str:
    """Hash the first message of an exchange; if its words are repeated later, they get another key."""
    content = f"{message.role}\n{message.text}"
    seen[content] += 1
    return hashlib.sha256(f"{seen[content]}\n{content}".encode("utf-8", "surrogatepass")).hexdigest()[:32]


def _block(message: Message) -> str:
    text = message.text
    if message.role == "tool" and len(text) > LONGEST_RESULT:
        text = f"{text[:LONGEST_RESULT]} [and {len(text) - LONGEST_RESULT:,} more characters]"
    parts = filter(None, (text, f"[calls {', '.join(message.tools)}]" if message.tools else ""))
    speaker = f"{message.role} ({message.name})" if message.name else message.role
    content = "\n".join(parts).strip()
    return f"{speaker}: {content}" if content else ""


def _find(text: str, block: str, start: int) -> int | None:
    """Return the first position from `start` at which a text has a block as a whole message."""
    at = text.find(block, start)
    while at >= 0:
        end = at + len(block)
        if (at == 0 or text.endswith(GAP, 0, at)) and (end == len(text) or text.startswith(GAP, end)):
            return at
        at = text.find(block, at + 1)
    return None

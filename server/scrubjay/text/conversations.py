"""Conversations: messages as a chat client keeps them, as one readable text and as turns. Knows which messages are new when more of a
conversation is sent again, and which belong to one turn; does not know what is stored of it. Pure; standard library only.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

GAP = "\n\n"  # between two messages of the text
LONGEST_RESULT = 2_000  # characters of what a tool gave back; the rest is the tool's to know


@dataclass(frozen=True)
class Message:
    """One message: who said it (user, assistant, system, tool), what, when if it says so, and the names of the tools it calls."""

    role: str
    text: str = ""
    name: str | None = None
    tools: tuple[str, ...] = ()
    at: datetime | None = None


@dataclass(frozen=True)
class Exchange:
    """One turn: what the user asked and all that was answered to it. `key` names it, however often the conversation is sent."""

    key: str
    user: str = ""
    assistant: str = ""
    tools: tuple[str, ...] = ()
    at: datetime | None = None


def transcript(known: str, messages: Iterable[Message]) -> str:
    """The text of a conversation with what these messages add to it, each as `role: text`, in order.

    A message is known if it stands there after the one before it. So the whole conversation sent again adds its end, a window of it
    too, a single new message itself, and a repeated call nothing.

    >>> transcript("user: hi", [Message("user", "hi"), Message("assistant", "hello")])
    'user: hi\\n\\nassistant: hello'
    """
    at, added = 0, []
    for block in filter(None, map(_block, messages)):
        found = _place(known, block, at)
        if found is None:
            added.append(block)
        else:
            at = found + len(block)
    return GAP.join(filter(None, (known, *added)))


def exchanges(messages: Iterable[Message]) -> list[Exchange]:
    """The turns of these messages: each begins with what the user says, and holds what the assistant says and calls until the next.

    What the assistant says first is a turn of its own. System messages and tools' results are in none.
    """
    found: list[Exchange] = []
    seen: Counter[str] = Counter()
    for message in messages:
        if message.role == "user" and message.text:
            if (
                found and found[-1].user and not (found[-1].assistant or found[-1].tools)
            ):  # said in two messages, answered once
                found[-1] = replace(found[-1], user=f"{found[-1].user}{GAP}{message.text}")
            else:
                found.append(Exchange(_key(message, seen), user=message.text, at=message.at))
        elif message.role == "assistant" and (message.text or message.tools):
            if not found:
                found.append(Exchange(_key(message, seen), at=message.at))
            answered = GAP.join(filter(None, (found[-1].assistant, message.text)))
            found[-1] = replace(
                found[-1], assistant=answered, tools=tuple(dict.fromkeys((*found[-1].tools, *message.tools)))
            )
    return [exchange for exchange in found if exchange.user or exchange.assistant]


def contains(said: Sequence[str | None], exchange: Exchange) -> bool:
    """Whether what was said in a turn, the user's side and the assistant's, has all that an exchange says."""
    return all(
        text in (kept or "") for kept, text in zip(said, (exchange.user, exchange.assistant), strict=True)
    )


def _key(message: Message, seen: Counter[str]) -> str:
    """A name made of what begins an exchange; the second that begins with the same words has another."""
    begins = f"{message.role}\n{message.text}"
    seen[begins] += 1
    return hashlib.sha256(f"{seen[begins]}\n{begins}".encode("utf-8", "surrogatepass")).hexdigest()[:32]


def _block(message: Message) -> str:
    text = message.text
    if message.role == "tool" and len(text) > LONGEST_RESULT:
        text = f"{text[:LONGEST_RESULT]} [and {len(text) - LONGEST_RESULT:,} more characters]"
    parts = filter(None, (text, f"[calls {', '.join(message.tools)}]" if message.tools else ""))
    who = f"{message.role} ({message.name})" if message.name else message.role
    return f"{who}: {said}" if (said := "\n".join(parts).strip()) else ""


def _place(text: str, block: str, start: int) -> int | None:
    """Where a block stands as a message of its own in a text, from `start` on."""
    at = text.find(block, start)
    while at >= 0:
        end = at + len(block)
        if (at == 0 or text.endswith(GAP, 0, at)) and (end == len(text) or text.startswith(GAP, end)):
            return at
        at = text.find(block, at + 1)
    return None

"""`POST /v4/conversations`: a conversation as chat clients send it, again and again as it grows. Knows how messages are spelled; what is
kept of them is `engine.verbs.conversations`'s matter.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import APIRouter
from pydantic import AliasChoices, BeforeValidator, Field

from scrubjay.errors import InputError
from scrubjay.home.capture import storable
from scrubjay.http_api.context import Context
from scrubjay.http_api.supermemory_v4.bodies import Part, Tagged
from scrubjay.models.fields import MAX_TURN_TEXT, Instant, Metadata, Name
from scrubjay.text.conversations import Message
from scrubjay.text.redaction import redact

MOST_MESSAGES = 10_000

router = APIRouter()


class Function(Part):
    name: Annotated[str, Field(max_length=200)] = ""


class ToolCall(Part):
    function: Function = Function()


class ContentPart(Part):
    """A piece of a message: text, or something that is no text, of which only its kind is kept."""

    type: Annotated[str, Field(max_length=100)] = "text"
    text: Annotated[str | None, Field(max_length=MAX_TURN_TEXT)] = None


class SentMessage(Part):
    role: Literal["user", "assistant", "system", "tool"]
    content: Annotated[
        Annotated[str, Field(max_length=MAX_TURN_TEXT)] | list[ContentPart] | None,
        Field(description="A text, or its parts."),
    ] = None
    name: Annotated[str | None, Field(max_length=200)] = None
    tool_calls: Annotated[
        list[ToolCall] | None, Field(max_length=200, validation_alias=AliasChoices("tool_calls", "toolCalls"))
    ] = None
    timestamp: Annotated[
        Instant | None,
        Field(
            validation_alias=AliasChoices("timestamp", "createdAt", "ts"),
            description="When it was said; left out, now.",
        ),
    ] = None

    def message(self) -> Message:
        """As it is kept: as one text, its secrets replaced."""
        parts = [ContentPart(text=self.content)] if isinstance(self.content, str) else self.content or []
        said = "\n\n".join(part.text if part.text is not None else f"[{part.type}]" for part in parts)
        names = (call.function.name.strip() for call in self.tool_calls or ())
        return Message(
            role=self.role,
            text=redact(storable(said))[0].strip(),
            name=redact(storable(self.name or ""))[0].strip() or None,
            tools=tuple(dict.fromkeys(redact(storable(name))[0] for name in names if name)),
            at=self.timestamp,
        )


class Conversation(Tagged):
    """A conversation, or what it has more than before."""

    conversation_id: Annotated[
        Name, Field(description="Its id: the session of its turns, and the custom id of its document.")
    ]
    messages: Annotated[list[SentMessage], Field(min_length=1, max_length=MOST_MESSAGES)]
    metadata: Annotated[Metadata | None, BeforeValidator(lambda value: value or None)] = None


class Kept(Part):
    """`id` is the conversation's document; its `status` is that of `GET /v3/documents/{id}`."""

    id: str
    conversation_id: str
    status: Literal["queued", "embedding", "done", "failed"]


@router.post("/v4/conversations", response_model=Kept, summary="Keep a conversation")
async def keep(asked: Conversation, context: Context) -> Any:
    """Keep a conversation that may grow: sent again with more messages, whole or only their end, the new ones are added.

    Every message is kept in a document, which is searched like any other. By the setting `chat_capture` (`off` unless it was changed)
    user and assistant messages also become turns, found where a search asks for chats: `all`, `salient` ones, or `summary_only`.
    """
    if len(asked.tags) > 1:
        raise InputError(
            f"{len(asked.tags)} container tags are named, and a conversation belongs to one. Name one."
        )
    scope = context.permissions.writes_to(next(iter(asked.tags), None))
    messages = [sent.message() for sent in asked.messages]
    kept = await context.core.conversations.add(
        asked.conversation_id, messages, scope=scope, metadata=asked.metadata
    )
    return Kept(id=kept.id, conversation_id=asked.conversation_id, status=kept.status)

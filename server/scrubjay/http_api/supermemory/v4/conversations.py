"""`POST /v4/conversations`: store a conversation, which chat clients send repeatedly as it grows."""

import asyncio
from typing import Annotated, Literal

from pydantic import AliasChoices, BeforeValidator, Field

from scrubjay.errors import InputError
from scrubjay.home.capture import storable
from scrubjay.http_api.answers import ANSWERS_4, Answer
from scrubjay.http_api.context import Context
from scrubjay.http_api.routes import Routes
from scrubjay.http_api.supermemory.fields import Body4
from scrubjay.http_api.supermemory.v4.bodies import Tagged
from scrubjay.models.fields import MAX_TURN_TEXT, Instant, Metadata, Name
from scrubjay.models.requests import about
from scrubjay.redaction.redact import redact
from scrubjay.text.conversations import Message

MOST_MESSAGES = 10_000

route = Routes(ANSWERS_4)


class Function(Body4):
    name: Annotated[str, Field(max_length=200)] = ""


class ToolCall(Body4):
    function: Function = Function()


class ContentPart(Body4):
    """A part of a message: a text, or something else; then only its kind is stored."""

    type: Annotated[str, Field(max_length=100)] = "text"
    text: Annotated[str | None, Field(max_length=MAX_TURN_TEXT)] = None


class SentMessage(Body4):
    role: Literal["user", "assistant", "system", "tool"]
    content: Annotated[str, Field(max_length=MAX_TURN_TEXT)] | list[ContentPart] | None = about(
        "A text, or its parts."
    )
    name: Annotated[str | None, Field(max_length=200)] = None
    tool_calls: Annotated[
        list[ToolCall] | None, Field(max_length=200, validation_alias=AliasChoices("tool_calls", "toolCalls"))
    ] = None
    timestamp: Instant | None = about(
        "When it was said; left out, now.", validation_alias=AliasChoices("timestamp", "createdAt", "ts")
    )

    def message(self) -> Message:
        """Return the message to store: as one text, with its secrets redacted."""
        parts = [ContentPart(text=self.content)] if isinstance(self.content, str) else self.content or []
        text = "\n\n".join(f"[{part.type}]" if part.text is None else part.text for part in parts)
        tools = (call.function.name.strip() for call in self.tool_calls or ())
        return Message(
            role=self.role,
            text=_redacted(text).strip(),
            name=_redacted(self.name or "").strip() or None,
            tools=tuple(dict.fromkeys(_redacted(tool) for tool in tools if tool)),
            at=self.timestamp,
        )


class Conversation(Tagged):
    """A conversation, or its new messages."""

    conversation_id: Name = Field(
        description="Its id: the session of its turns, and the custom id of its document."
    )
    messages: Annotated[list[SentMessage], Field(min_length=1, max_length=MOST_MESSAGES)]
    metadata: Annotated[Metadata | None, BeforeValidator(lambda value: value or None)] = None


@route("POST /v4/conversations", "Store a conversation", "Conversation")
async def keep(body: Conversation, context: Context) -> Answer:
    """Store a conversation as a document: sent again, whole or only its end, the new messages are added.

    The setting `chat_capture` (`off` by default) says which messages also become turns, for searches that ask
    for chats.
    """
    if len(body.tags) > 1:
        advice = "Name it by containerTag, and store the others as metadata."
        raise InputError(f"{len(body.tags)} container tags are named; a conversation has one. {advice}")
    scope = context.permissions.write_scope(next(iter(body.tags), None))
    messages = await asyncio.to_thread(lambda: [sent.message() for sent in body.messages])
    conversation_id, add = body.conversation_id, context.core.conversations.add
    state = await add(conversation_id, messages, scope=scope, metadata=body.metadata)
    return dict(id=state.id, conversationId=conversation_id, status=state.status, **body.warnings())


def _redacted(text: str) -> str:
    return redact(storable(text))[0] if text else ""

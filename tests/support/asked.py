"""Helpers that call tools as an MCP client does, and expect success or a refusal."""

from __future__ import annotations

from typing import Any

import jsonschema
from mcp import Client
from mcp.types import CallToolResult


async def call(client: Client, tool: str, **arguments: Any) -> tuple[dict[str, Any], str]:
    """(structured content, text) of a call that succeeds; a search is asked for its structure, and that of
    the other tools is checked against the schema that the tool publishes.
    """
    if tool.startswith("search_"):
        arguments["include"] = {"structured": True, **arguments.get("include", {})}
    answer = await client.call_tool(tool, arguments)
    assert not answer.is_error, text_of(answer)
    published = {each.name: each for each in (await client.list_tools()).tools}
    if (schema := published[tool].output_schema) is not None:
        jsonschema.validate(answer.structured_content, schema, format_checker=jsonschema.FormatChecker())
    return answer.structured_content, text_of(answer)


async def shown(client: Client, tool: str, **arguments: Any) -> str:
    """What a model sees of a successful call without structured output: the text alone."""
    answer = await client.call_tool(tool, arguments)
    assert not answer.is_error and answer.structured_content is None, text_of(answer)
    return text_of(answer)


async def refusal(client: Client, tool: str, **arguments: Any) -> str:
    """The error message of a call that is refused."""
    answer = await client.call_tool(tool, arguments)
    assert answer.is_error and answer.structured_content is None, text_of(answer)
    return text_of(answer)


def text_of(answer: CallToolResult) -> str:
    """The one block of text of an answer."""
    (block,) = answer.content
    return block.text


_OF = {
    "string": ("minLength", "maxLength", "pattern", "format"),
    "array": ("minItems", "maxItems", "uniqueItems"),
    "object": ("minProperties", "maxProperties"),
    "number": ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
    "none": ("ge", "le", "gt", "lt"),  # pydantic's names of bounds, which no client knows
}


def strays(schema: Any, place: str = "") -> list[str]:
    """The keywords in a schema, at any depth, that do not fit its type; a client with ajv in strict mode
    warns of each.
    """
    if isinstance(schema, list):
        return [each for at, part in enumerate(schema) for each in strays(part, f"{place}/{at}")]
    if not isinstance(schema, dict):
        return []
    known = schema.get("type")
    kind = "number" if known == "integer" else known
    own = [
        f"{place}: {word} next to {known}"
        for type_, keywords in _OF.items()
        for word in keywords
        if kind not in (None, type_) and not isinstance(schema.get(word, {}), dict)
    ]
    return own + [each for name, part in schema.items() for each in strays(part, f"{place}/{name}")]

"""Short ways to call tools as an MCP client does: what succeeded, and what was refused."""

from __future__ import annotations

from typing import Any

import jsonschema
from mcp import Client
from mcp.types import CallToolResult


async def call(client: Client, tool: str, **arguments: Any) -> tuple[dict[str, Any], str]:
    """(structured content, text) of a call that succeeds; the structure is checked against the schema that
    the tool publishes.
    """
    answer = await client.call_tool(tool, arguments)
    assert not answer.is_error, text_of(answer)
    published = {each.name: each for each in (await client.list_tools()).tools}
    jsonschema.validate(
        answer.structured_content, published[tool].output_schema, format_checker=jsonschema.FormatChecker()
    )
    return answer.structured_content, text_of(answer)


async def refusal(client: Client, tool: str, **arguments: Any) -> str:
    """The sentence that answers a call that is refused."""
    answer = await client.call_tool(tool, arguments)
    assert answer.is_error and answer.structured_content is None, text_of(answer)
    return text_of(answer)


def text_of(answer: CallToolResult) -> str:
    """The one block of text of an answer."""
    (block,) = answer.content
    return block.text

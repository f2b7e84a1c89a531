"""The six tools as clients see them: names, schemas computed from the models, descriptions, annotations.

`tools.toml` describes them.
"""

import os
import tomllib
from dataclasses import dataclass
from typing import Any

from scrubjay.models import requests, results


@dataclass(frozen=True)
class Offer:
    """One tool; `tools.toml` explains its fields. A call may give any argument at the top or in `options`."""

    name: str
    title: str
    description: str
    request: type[requests.Request]
    usual: tuple[str, ...]
    options: str
    result: type[results.Result] | None
    read_only: bool = False
    destructive: bool = False
    always_load: bool = False


def _offer(name: str, row: dict[str, Any]) -> Offer:
    """Return the tool that a table of `tools.toml` describes."""
    request = getattr(requests, row["request"])
    result = getattr(results, row["result"]) if "result" in row else None
    return Offer(name, **{**row, "request": request, "result": result, "usual": tuple(row["usual"])})


with open(os.path.join(os.path.dirname(__file__), "tools.toml"), "rb") as _file:
    _described = tomllib.load(_file)

INSTRUCTIONS: str = _described["instructions"]
OFFERS = tuple(_offer(name, row) for name, row in _described["tools"].items())
BY_NAME = {offer.name: offer for offer in OFFERS}


def tools() -> list[dict[str, Any]]:
    """Return the tools in their fixed order, as MCP's `Tool`."""
    return [
        {
            "name": offer.name,
            "title": offer.title,
            "description": offer.description,
            "inputSchema": _arguments(offer),
            **({"outputSchema": _output(offer.result)} if offer.result else {}),
            "annotations": {
                "title": offer.title,
                "readOnlyHint": offer.read_only,
                "destructiveHint": offer.destructive,
                "idempotentHint": True,
                "openWorldHint": False,
            },
            **({"_meta": {"anthropic/alwaysLoad": True}} if offer.always_load else {}),
        }
        for offer in OFFERS
    ]


def _output(result: type[results.Result]) -> Any:
    return _plain(result.model_json_schema(mode="serialization"))


def _arguments(offer: Offer) -> dict[str, Any]:
    """Return the schema of a tool's arguments: the usual ones, and the others in `options`."""
    schema = _plain(offer.request.model_json_schema())
    options = {"type": "object", "description": offer.options}
    return {
        "type": "object",
        "properties": {name: schema["properties"][name] for name in offer.usual} | {"options": options},
        **({"required": schema["required"]} if "required" in schema else {}),
        "additionalProperties": False,
    }


# Every session pays for each word of a schema. So bounds are left out: the server checks them, and its error
# says what to do.
_OMITTED_KEYS = frozenset(
    "additionalProperties default format ge le maxItems maxLength maxProperties maximum minItems minLength "
    "minimum pattern".split()
)


def _plain(schema: Any) -> Any:
    """Drop what a model does not need: generated titles, bounds, and `null` alternatives of arguments."""
    if isinstance(schema, list):
        return [_plain(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    plain = {
        key: {name: _plain(field) for name, field in value.items()}
        if key in ("properties", "$defs")
        else _plain(value)
        for key, value in schema.items()
        if key not in _OMITTED_KEYS and not (key == "title" and isinstance(value, str))
    }
    options = plain.get("anyOf")
    if isinstance(options, list):
        options = [option for option in options if option != {"type": "null"}]
        if len(options) == 1:
            del plain["anyOf"]
            plain = {**options[0], **plain}
    return plain

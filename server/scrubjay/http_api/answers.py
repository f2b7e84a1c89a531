"""What routes answer, as a table: one line for each kind of answer, in the words of the wire."""

import re
from collections.abc import Iterator
from typing import Any

Answer = dict[str, Any]

_CAPITAL = re.compile(r"([A-Z])")
_PREFIX = "#/components/schemas/"
_PLAIN: dict[str, dict[str, Any]] = {
    "any": {},
    "amount": {"type": "integer", "minimum": 0},
    "bool": {"type": "boolean"},
    "float": {"type": "number"},
    "int": {"type": "integer"},
    "null": {"type": "null"},
    "object": {"type": "object"},
    "share": {"type": "number", "minimum": 0, "maximum": 1},
    "str": {"type": "string"},
    "time": {"type": "string", "format": "date-time"},
}


class Answers:
    """The answers of one family of clients, whose `schemas` are JSON Schema by name.

    A line names an answer and its fields as `name:type`, `name?:type` where it may be absent; further lines
    are indented, and what follows -- describes it. `Other+` takes over the fields of another answer above. A
    type is plain, the name of an answer, 'a word', [a list of a type], {an object of values of a type}, or
    several with | between them.

    >>> answers = Answers("Demo", "Page items:[Item] total:int\\nItem id:str title:str|null kind?:'a'|'b'")
    >>> answers.schemas["DemoItem"]["required"], answers.schema("[Item]")
    (['id', 'title'], {'type': 'array', 'items': {'$ref': '#/components/schemas/DemoItem'}})
    """

    def __init__(self, family: str, table: str) -> None:
        self._family = family
        self.schemas: dict[str, dict[str, Any]] = {}
        for line in re.sub(r"\n\s+", " ", table.strip()).split("\n"):
            fields, _, text = line.partition(" -- ")
            name, *words = fields.split()
            about = {"description": text} if text else {}
            self.schemas[family + name] = self._object(family + name, words) | about

    def schema(self, text: str) -> dict[str, Any]:
        """Return the JSON Schema of a type."""
        if len(parts := list(_alternatives(text))) > 1:
            if all(part.startswith("'") for part in parts):
                return {"type": "string", "enum": [part.strip("'") for part in parts]}
            return {"anyOf": [self.schema(part) for part in parts]}
        if text.startswith("'"):
            return {"type": "string", "const": text.strip("'")}
        if text.startswith("["):
            return {"type": "array", "items": self.schema(text[1:-1])}
        if text.startswith("{"):
            return {"type": "object", "additionalProperties": self.schema(text[1:-1])}
        return _PLAIN.get(text, {"$ref": f"{_PREFIX}{self._family}{text}"})

    def fill(self, name: str, record: object, /, **own: Any) -> Answer:
        """Return an answer with its fields in their order: `own` ones, else attributes of a record.

        An attribute is called like the field, in snake_case; an optional field is never read of a record.
        """
        schema, answer = self.schemas[self._family + name], dict[str, Any]()
        for field in schema["properties"]:
            if field in own:
                answer[field] = own[field]
            elif field in schema["required"]:
                answer[field] = getattr(record, _CAPITAL.sub(r"_\1", field).lower())
        return answer

    def _object(self, title: str, fields: list[str]) -> dict[str, Any]:
        properties: dict[str, Any] = {}
        required: list[str] = []
        for field in fields:
            if field.endswith("+"):
                other = self.schemas[self._family + field[:-1]]
                properties |= other["properties"]
                required += other["required"]
            else:
                name, _, kind = field.partition(":")
                properties[name.rstrip("?")] = self.schema(kind)
                required += [] if name.endswith("?") else [name]
        return {"type": "object", "title": title, "properties": properties, "required": required}


def of_json(schema: dict[str, Any]) -> dict[str, Any]:
    """Say in an OpenAPI document that something is JSON of this schema."""
    return {"content": {"application/json": {"schema": schema}}}


def _alternatives(text: str) -> Iterator[str]:
    """Split a type at each | that is not within brackets."""
    depth, start = 0, 0
    for place, mark in enumerate(text):
        depth += (mark in "[{") - (mark in "]}")
        if mark == "|" and not depth:
            yield text[start:place]
            start = place + 1
    yield text[start:]

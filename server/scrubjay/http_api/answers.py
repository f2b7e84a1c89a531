"""What routes answer, as a table: one line for each kind of answer, in the words of the wire."""

import operator
import re
from collections.abc import Iterator
from typing import Any

from pydantic import BaseModel

Answer = dict[str, Any]

_CAPITAL = re.compile(r"([A-Z])")
_PREFIX = "#/components/schemas/"
_TIMES = (("createdAt", "updatedAt"), ("created_at", "updated_at"))
_PLAIN: dict[str, dict[str, Any]] = {
    "any": {},
    "amount": {"type": "integer", "minimum": 0},
    "bool": {"type": "boolean"},
    "false": {"type": "boolean", "const": False},
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

    A line names an answer and its fields: `name:type`, or `name?:type` for a field that may be absent, or
    `name=attribute:type` for one that `fill` reads from an attribute with another name. Further lines are
    indented, and the text after -- describes the answer. `Other+` copies the fields of an earlier answer. A
    type is plain, the name of an answer, 'a word', [a list of a type], {an object of values of a type}, or
    several with | between them.

    >>> answers = Answers("Demo", "Page items:[Item] total:int\\nItem id:str title:str|null kind?:'a'|'b'")
    >>> answers.schemas["DemoItem"]["required"], answers.schema("[Item]")
    (['id', 'title'], {'type': 'array', 'items': {'$ref': '#/components/schemas/DemoItem'}})
    """

    def __init__(self, family: str, table: str) -> None:
        self._family = family
        self._attributes: dict[tuple[str, str], str] = {}  # by answer and field, where the names differ
        self.schemas: dict[str, dict[str, Any]] = {}
        for line in re.sub(r"\n\s+", " ", table.strip()).split("\n"):
            fields, _, text = line.partition(" -- ")
            name, *words = fields.split()
            about = {"description": text} if text else {}
            self.schemas[family + name] = self._object(name, words) | about

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
        """Return an answer with its fields in order: the given ones, else read from the record.

        An attribute has the field's name in snake_case, unless the table names another. A field with one
        possible value has that value, and an answer within this one is filled from the same record. An
        empty object is null if the field may be null. An optional field appears only if it is given.
        Nothing is updated before it is created.
        """
        schema, answer = self.schemas[self._family + name], dict[str, Any]()
        for field, kind in schema["properties"].items():
            if field in own:
                answer[field] = own[field]
            elif field in schema["required"]:
                answer[field] = self._value(name, field, kind, record)
        for created, updated in _TIMES:  # the date of a content may be in the future
            if answer.get(created) and answer.get(updated):
                answer[updated] = max(answer[created], answer[updated])
        return answer

    def _value(self, name: str, field: str, kind: dict[str, Any], record: object) -> Any:
        if "const" in kind or kind == _PLAIN["null"]:
            return kind.get("const")
        if "$ref" in kind:
            return self.fill(kind["$ref"].removeprefix(_PREFIX + self._family), record)
        attribute = self._attributes.get((name, field)) or _CAPITAL.sub(r"_\1", field).lower()
        value = operator.attrgetter(attribute)(record)
        return None if value == {} and "anyOf" in kind else value

    def _object(self, title: str, fields: list[str]) -> dict[str, Any]:
        properties: dict[str, Any] = {}
        required: list[str] = []
        for text in fields:
            if text.endswith("+"):
                other = self.schemas[self._family + text[:-1]]
                properties |= other["properties"]
                required += other["required"]
                renamed = {key[1]: each for key, each in self._attributes.items() if key[0] == text[:-1]}
                self._attributes |= {(title, field): each for field, each in renamed.items()}
            else:
                name, _, kind = text.partition(":")
                field, _, attribute = name.rstrip("?").partition("=")
                properties[field] = self.schema(kind)
                required += [] if name.endswith("?") else [field]
                if attribute:
                    self._attributes[title, field] = attribute
        return {
            "type": "object",
            "title": self._family + title,
            "properties": properties,
            "required": required,
        }


def unknown_fields(*bodies: BaseModel) -> Answer:
    """Return the field `warnings` of an answer, if these bodies, which allow extra fields, have some."""
    unknown = dict.fromkeys(name for body in bodies for name in body.model_extra or ())
    sentences = [f"{name[:80]!r} is not a field here, and was not stored." for name in unknown]
    return {"warnings": sentences} if sentences else {}


def of_json(schema: dict[str, Any]) -> dict[str, Any]:
    """Return the content of an OpenAPI response: JSON of this schema."""
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

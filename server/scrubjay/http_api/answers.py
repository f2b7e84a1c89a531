"""The answers of routes, which `answers.toml` lists by family: each kind of answer with its JSON fields."""

import operator
import re
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import BaseModel

Answer = dict[str, Any]

_CAPITAL = re.compile(r"([A-Z])")
_PREFIX = "#/components/schemas/"
_PLAIN: dict[str, dict[str, Any]] = {
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
    """The answers of one family of clients; `schemas` has the JSON Schema of each by name.

    A field is `name:type`. `name?:type` may be absent; `name=attribute:type` is read by `fill` from an
    attribute with another name. `Other+` copies the fields of an earlier answer, and the text after --
    describes the answer. A type is a plain type, the name of an answer, 'a word', [a list of a type], {an
    object with values of a type}, or several names or words separated by |.

    >>> table = {"Page": "items:[Item] total:int", "Item": "id:str title:str|null kind?:'a'|'b'"}
    >>> answers = Answers("Demo", table)
    >>> answers.schemas["DemoItem"]["required"], answers.schema("[Item]")
    (['id', 'title'], {'type': 'array', 'items': {'$ref': '#/components/schemas/DemoItem'}})
    """

    def __init__(self, family: str, table: Mapping[str, str]) -> None:
        self._family = family
        self._attributes: dict[tuple[str, str], str] = {}  # by answer and field, where the names differ
        self.schemas: dict[str, dict[str, Any]] = {}
        for name, text in table.items():
            fields, _, description = " ".join(text.split()).partition("-- ")
            schema = self._object(name, fields.split())
            self.schemas[family + name] = schema | ({"description": description} if description else {})

    def schema(self, text: str) -> dict[str, Any]:
        """Return the JSON Schema of a type."""
        if text.startswith("["):
            return {"type": "array", "items": self.schema(text[1:-1])}
        if text.startswith("{"):
            return {"type": "object", "additionalProperties": self.schema(text[1:-1])}
        if len(parts := text.split("|")) > 1 and not text.startswith("'"):
            return {"anyOf": [self.schema(part) for part in parts]}
        if text.startswith("'"):
            words = [part.strip("'") for part in parts]
            return {"type": "string", **({"enum": words} if len(words) > 1 else {"const": words[0]})}
        return _PLAIN.get(text, {"$ref": f"{_PREFIX}{self._family}{text}"})

    def fill(self, name: str, record: object, /, **values: Any) -> Answer:
        """Return an answer with its fields in order; a field that is not in `values` is read from the record.

        The attribute has the field's name in snake_case, unless the table names another. A field with only
        one possible value gets that value, and a nested answer is filled from the same record. An empty
        object becomes null if the field may be null. An optional field appears only if it is in `values`.
        """
        schema, answer = self.schemas[self._family + name], dict[str, Any]()
        for field, kind in schema["properties"].items():
            if field in values:
                answer[field] = values[field]
            elif field in schema["required"]:
                answer[field] = self._value(name, field, kind, record)
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
        for entry in fields:
            if entry.endswith("+"):
                other = self.schemas[self._family + entry[:-1]]
                properties |= other["properties"]
                required += other["required"]
                self._attributes |= {
                    (title, field): attribute
                    for (name, field), attribute in self._attributes.items()
                    if name == entry[:-1]
                }
            else:
                names, _, type_text = entry.partition(":")
                field, _, attribute = names.rstrip("?").partition("=")
                properties[field] = self.schema(type_text)
                required += [] if names.endswith("?") else [field]
                if attribute:
                    self._attributes[title, field] = attribute
        return {
            "type": "object",
            "title": self._family + title,
            "properties": properties,
            "required": required,
        }


def unknown_fields(*bodies: BaseModel, more: Sequence[str] = ()) -> Answer:
    """Return `{"warnings": [...]}` for the unknown fields of these bodies and `more`, or {} without any."""
    names = dict.fromkeys(name for body in bodies for name in body.model_extra or ())
    sentences = [f"{name[:80]!r} is not a field here, and has no effect." for name in names]
    return {"warnings": [*sentences, *more]} if sentences or more else {}


def of_json(schema: dict[str, Any]) -> dict[str, Any]:
    """Return the `content` of an OpenAPI response: JSON with this schema."""
    return {"content": {"application/json": {"schema": schema}}}


_TABLES = tomllib.loads(Path(__file__).with_name("answers.toml").read_text(encoding="utf-8"))
FAMILIES = {family: Answers(family, table) for family, table in _TABLES.items()}
ANSWERS_4, ANSWERS_5 = FAMILIES["Supermemory4"], FAMILIES["Supermemory5"]
HEBB_ANSWERS = FAMILIES["Hebb"]

"""Describes the mistakes in a request: each sentence names the argument, the value and what is allowed."""

import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from scrubjay.models.fields import PATTERNS

MOST = 5  # mistakes that are described
LONGEST = 80  # characters of a quoted value

# pydantic's type of error -> the rule for a valid value
_RULES: dict[str, str] = tomllib.loads(Path(__file__).with_name("rules.toml").read_text("utf-8"))
_LENGTH_UNITS = {"string_too_long": "characters", "too_long": "items"}  # of values too long to quote


def sentences(arguments: Mapping[str, FieldInfo], problems: Iterable[Mapping[str, Any]]) -> str:
    """Return one sentence for each of the first `MOST` mistakes; `problems` are pydantic's errors."""
    return " ".join(_sentence(arguments, problem) for problem in list(problems)[:MOST])


def _sentence(arguments: Mapping[str, FieldInfo], problem: Mapping[str, Any]) -> str:
    kind, value = problem["type"], problem.get("input")
    options = _field_names(arguments.get(str(problem["loc"][0]))) if problem["loc"] else None
    if options and len(problem["loc"]) > 1:
        name, *rest = problem["loc"]
        if kind == "extra_forbidden":
            return f"{name} has no option {_quote(rest[0])}; known options: {', '.join(options)}."
        field = f"{name}.{_argument(tuple(rest))}"
    else:
        field = _argument(problem["loc"])
    # If an invalid string has no place, it is itself the name of an argument.
    if kind == "extra_forbidden" or (kind == "string_unicode" and not problem["loc"]):
        name = _quote(problem["loc"][0] if problem["loc"] else value)
        return f"{name} is not an argument here; known arguments: {', '.join(arguments)}."
    rule = mistake(problem)
    if kind == "missing" or kind in _LENGTH_UNITS:
        return f"{field} {rule}."
    if not field:  # the problem concerns the whole request
        return f"{rule[:1].upper()}{rule[1:]}."
    return f"{field} = {_quote(value)}: {rule}."


def mistake(problem: Mapping[str, Any]) -> str:
    """Return what is wrong with a value and what is allowed, without the value and its name."""
    kind, value, context = problem["type"], problem.get("input"), problem.get("ctx", {})
    if kind in _LENGTH_UNITS:
        unit = "characters" if isinstance(value, str) else _LENGTH_UNITS[kind]
        length, most = len(value or ""), context["max_length"]
        return f"has {length:,} {unit}; at most {most:,} are allowed, so shorten or split it"
    return _rule(kind, context) or problem["msg"].removeprefix("Value error, ").removesuffix(".")


def _field_names(field: FieldInfo | None) -> Iterable[str]:
    """Return the names of the fields of an argument that is an object, or () for any other argument."""
    kind = field.annotation if field else None
    return kind.model_fields if isinstance(kind, type) and issubclass(kind, BaseModel) else ()


def _argument(place: tuple[int | str, ...]) -> str:
    """Return an argument's name, such as `tags[1]`, without pydantic's parts for unions and constraints."""
    indexes = (f"[{part}]" for part in place[1:] if isinstance(part, int))
    return "".join([*map(str, place[:1]), *indexes])


def _rule(kind: str, context: Mapping[str, Any]) -> str:
    if kind == "string_pattern_mismatch" and (described := PATTERNS.get(context["pattern"])):
        return f"must be {described}"
    whole_numbers = {
        name: int(bound) for name, bound in context.items() if isinstance(bound, float) and bound % 1 == 0
    }
    return _RULES.get(kind, "").format(**{**context, **whole_numbers})


def _quote(value: object) -> str:
    """Return a value as a user would type it, cut to `LONGEST` characters."""
    text = repr(value[: LONGEST + 1] if isinstance(value, str) else value)
    return text if len(text) <= LONGEST else text[: LONGEST - 3] + "..."

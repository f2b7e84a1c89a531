"""What bodies of several families have in common: their spelling, texts of documents, fields of forms."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from scrubjay.home.scope_settings import LONGEST_CONTEXT
from scrubjay.models.fields import Text

LONGEST_TEXT = 10_000_000  # characters of one document

Content = Annotated[
    Text,
    Field(
        max_length=LONGEST_TEXT,
        description="The text, plain or Markdown. A URL is kept as it is: nothing is fetched.",
    ),
]


Background = Annotated[str, Field(max_length=LONGEST_CONTEXT)]
TaskType = Annotated[
    Literal["memory", "superrag"] | None,
    Field(
        description="memory (default): each paragraph of its prose is a memory too, at most 200; "
        "superrag: its chunks alone are found."
    ),
]
Dreaming = Annotated[
    Literal["instant", "dynamic"] | None,
    Field(description="Without effect: memories are there as soon as the document is."),
]


class CamelCase(BaseModel):
    """Anything on the wire of supermemory: camelCase outside, snake_case inside."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, frozen=True)


def none_if_empty(value: Any) -> Any:
    """Take an empty field of a form for one that was not sent."""
    return None if value == "" else value


def flat(group: dict[str, Any]) -> dict[str, Any]:
    """Return metadata as it is.

    Raises:
        ValueError: a value is neither a string, a number, a boolean nor a list of them.
    """
    for key, value in group.items():
        for each in value if isinstance(value, list) else [value]:
            if not isinstance(each, str | int | float | bool):
                raise ValueError(
                    f"must be flat, and {key[:60]!r} is not; use a string, number, boolean or a list of them"
                )
    return group


def url_of(content: str) -> str | None:
    """Return the address that a document consists of, None for all other texts."""
    text = content.strip()
    return text if text.startswith(("http://", "https://")) and len(text.split()) == 1 else None

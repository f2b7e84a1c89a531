"""Named types shared by records and requests: tags, partitions, instants and texts."""

import math
from datetime import UTC, datetime
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field, Strict, StringConstraints, WithJsonSchema

from scrubjay.errors import InputError
from scrubjay.home.scopes import SCOPE_NAME
from scrubjay.text.time_asked import moment_named

MAX_MEMORY = 10_000  # characters
MAX_DOCUMENT = 10 * 1024 * 1024  # bytes of a document that is added through the tool
MAX_METADATA_TEXT = 10_000  # characters of one value
MAX_METADATA_NUMBER = 2**53  # whole numbers beyond it lose digits in other JSON readers
MAX_TURN_TEXT = 1_000_000  # characters of one side of a turn; hooks cut longer ones and say so
_INSTANTS = "2026-03-01 or 2026-03-01T14:30:00Z"
_PHRASES = "yesterday, last Tuesday, 3 days ago or November 11"
# Today for the check of words in `parse_when`: the last day of a leap year, when February 29 has passed.
_REFERENCE_DAY = datetime(2024, 12, 31, 12, tzinfo=UTC)


def parse_instant(value: Any) -> Any:
    """Parse an ISO 8601 string into a datetime in UTC; a string without a zone is in UTC.

    Raises:
        ValueError: the value is anything else, such as a number, whose unit would be a guess.
    """
    return _zoned(value).astimezone(UTC)


def parse_when(value: Any) -> Any:
    """Parse an ISO 8601 string as `parse_instant` does; return days and words for `resolve` unchanged.

    Raises:
        ValueError: the value is neither an ISO 8601 string nor words that name a time.
    """
    if isinstance(value, str) and moment_named(value, _REFERENCE_DAY, end=False) is not None:
        return value
    try:
        return parse_instant(value)
    except ValueError as error:
        alternative = f", or words such as {_PHRASES}" if isinstance(value, str) else ""
        raise ValueError(f"{error}{alternative}") from None


def resolve(name: str, when: datetime | str | None, now: datetime, *, end: bool) -> datetime | None:
    """Return the instant that the field `name` means; words count from `now`, and days are in its zone.

    A day or another span, such as 2026-03-29 or last week, means its beginning or, with `end`, its end.

    Raises:
        InputError: the words name no time when they count from `now`, as "the 31st" in March.
    """
    if not isinstance(when, str):
        return when
    moment = moment_named(when, now, end=end)
    if moment is None:
        raise InputError(f"{name} = {when!r}: does not name a day now; give a date such as {_INSTANTS}.")
    return moment


def _zoned(value: Any) -> datetime:
    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(value.strip())
        except ValueError:
            raise ValueError(f"must be an ISO 8601 date or time such as {_INSTANTS}") from None
    if not isinstance(value, datetime):
        raise ValueError(f"must be an ISO 8601 date or time such as {_INSTANTS}")
    aware = value if value.tzinfo else value.replace(tzinfo=UTC)
    if not 1 < aware.year < 9999 or not 1 < aware.astimezone(UTC).year < 9999:
        raise ValueError("must be between the years 2 and 9998")
    return aware


def _no_nul(value: str) -> str:
    if "\x00" in value:
        raise ValueError("contains a NUL character; remove it")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise ValueError("contains half of a surrogate pair, which is not text; remove it") from None
    return value


def _not_blank(value: str) -> str:
    if not value.strip():
        raise ValueError("is empty; give some text")
    return value


def _flat(metadata: dict[str, Any]) -> dict[str, Any]:
    """Raise ValueError unless metadata has short names, and plain values or lists of strings."""
    for key, value in metadata.items():
        if not key.strip() or len(key) > 200:
            raise ValueError("must have names of 1 to 200 characters")
        for item in (key, *(value if isinstance(value, list) else [value])):
            _check_plain(key, item, in_list=isinstance(value, list))
    return metadata


def _check_plain(key: str, value: Any, *, in_list: bool) -> None:
    """Raise ValueError unless a value is a string, a number or a boolean, or, in a list, a string."""
    if isinstance(value, str):
        if len(_no_nul(value)) > MAX_METADATA_TEXT:
            length = f"{len(value):,} characters of at most {MAX_METADATA_TEXT:,}"
            raise ValueError(f"must have short values; {key[:60]!r} has {length}")
    elif in_list or not isinstance(value, int | float):
        advice = "use a string, number, boolean or list of strings"
        raise ValueError(f"must be flat, and {key[:60]!r} is not; {advice}")
    elif abs(value) > MAX_METADATA_NUMBER if isinstance(value, int) else not math.isfinite(value):
        raise ValueError(f"must have finite numbers, whole ones of at most 2^53 ({key[:60]!r})")


def _whole(value: Any) -> Any:
    """Return 3 for 3.0, which is a whole number in JSON; some clients write every number so."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


_LABEL = f"^{SCOPE_NAME}$"
_SCOPES = rf"^(\*|{SCOPE_NAME})$"
_PARTITION = r"^mem_[a-z0-9_]{1,60}$"
PATTERNS = {  # pattern -> its description
    _LABEL: "1 to 100 letters (A to Z), digits or . _ : -",
    _SCOPES: "1 to 100 letters (A to Z), digits or . _ : -, or * for every scope",
    _PARTITION: "mem_ and 1 to 60 lower-case letters, digits or _",
}

Instant = Annotated[
    datetime, BeforeValidator(parse_instant), WithJsonSchema({"type": "string", "format": "date-time"})
]
# An instant that keeps its zone, because days are counted in that zone.
Moment = Annotated[
    datetime, BeforeValidator(_zoned), WithJsonSchema({"type": "string", "format": "date-time"})
]
# An instant, or words that name a time, which `resolve` parses once `now` is known.
When = Annotated[datetime | str, BeforeValidator(parse_when), WithJsonSchema({"type": "string"})]
Count = Annotated[int, Strict(), BeforeValidator(_whole)]
Real = Annotated[float, Strict(), Field(allow_inf_nan=False)]
Flag = Annotated[bool, Strict()]
Text = Annotated[str, AfterValidator(_no_nul), AfterValidator(_not_blank)]
Name = Annotated[
    str, StringConstraints(min_length=1, max_length=200), AfterValidator(_no_nul), AfterValidator(_not_blank)
]
Tag = Annotated[str, StringConstraints(pattern=_LABEL)]
PartitionId = Annotated[str, StringConstraints(pattern=_PARTITION)]
Scope = Annotated[str, StringConstraints(pattern=_SCOPES)]
OneScope = Annotated[str, StringConstraints(pattern=_LABEL)]
# After the validator, pydantic would write the bound into the schema as `maxLength`, which is for strings.
Metadata = Annotated[dict[str, Any], Field(max_length=100), AfterValidator(_flat)]
Importance = Annotated[float, Strict(), Field(ge=0, le=10, allow_inf_nan=False)]

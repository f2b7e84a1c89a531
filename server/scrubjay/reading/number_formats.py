"""Writes a number with the signs that its format in an office file adds: percent, currency, unit, zeros."""

import re
from functools import lru_cache
from typing import NamedTuple

BUILT_IN = {"9": "0%", "10": "0.00%"}  # formats by id; the other built-in ones add no sign
_TOKEN = re.compile(
    r'"([^"]*)"?|\\(.)|[_*].|\[\$([^][-]*+)[^][]*+\]|\[[^][]*+\]|(general|[#0?.,]+)|(.)', re.IGNORECASE
)
# The format of positive numbers; others have other colours or signs.
_FIRST_SECTION = re.compile(r'(?:"[^"]*"|\\.|[^;"\\])*')
_SIGNS = " +-()"
_NUMBER = re.compile(r"-?\d{1,30}(?:\.\d{1,400})?(?:[eE][-+]?\d{1,3})?")


class _Format(NamedTuple):
    before: str
    after: str
    digits: int  # fewest digits of a whole number
    is_percent: bool


def written_number(value: str, code: str) -> str | None:
    """Write a number with what its format adds; None if the format adds nothing, or changes the number.

    >>> written_number("0.25", "0%"), written_number("12", '0 "kg"'), written_number("12", "General")
    ('25%', '12 kg', None)
    """
    number_format = _parse(code)
    if number_format is None or not _NUMBER.fullmatch(value):
        return None
    number = float(value) * (100 if number_format.is_percent else 1)
    text = str(int(abs(number))) if number.is_integer() else f"{abs(number):.15g}"
    if text.isdigit():
        text = text.zfill(number_format.digits)
    return f"{'-' if number < 0 else ''}{number_format.before}{text}{number_format.after}"


@lru_cache(maxsize=256)
def _parse(code: str) -> _Format | None:
    section = _FIRST_SECTION.match(code)
    parts = {False: "", True: ""}  # the text before and after the digits
    digits, is_percent = "", False
    for quoted, escaped, symbol, places, other in _TOKEN.findall(section[0] if section else ""):
        if other.isalpha() or other in ("@", "/") or (places and digits):
            return None  # a date, a text, a fraction, or digits in groups
        digits = digits or places
        is_percent |= other == "%"
        parts[bool(digits)] += quoted or escaped or symbol or other
    if not digits or digits.endswith(","):  # a comma at the end divides by a thousand
        return None
    before, after = (part if part.strip(_SIGNS) else "" for part in parts.values())
    zeros = digits.partition(".")[0]
    fewest = len(zeros) if len(zeros) > 1 and set(zeros) == {"0"} else 0
    if not (before or after or fewest):
        return None
    return _Format(before.lstrip(), after.rstrip(), fewest, is_percent)

"""Reads the tables of words and patterns in the TOML files of this folder."""

import re
import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any


@cache
def table(name: str) -> Mapping[str, Any]:
    """Return the content of `NAME.toml`."""
    return tomllib.loads(Path(__file__).with_name(f"{name}.toml").read_text("utf-8"))


def listed(name: str) -> list[str]:
    """Return the words of a list in `words.toml`."""
    words: str = table("words")[name]
    return words.split()


def words(name: str) -> frozenset[str]:
    """Return the words of a list as a set."""
    return frozenset(listed(name))


def pairs(name: str) -> dict[str, str]:
    """Return a list of pairs, written as `one-other`, as a dict."""
    return dict(pair.split("-") for pair in listed(name))


def first_of_line(name: str) -> dict[str, str]:
    """Map each word of a list to the first word of its line."""
    lines: str = table("words")[name]
    return {word: line.split()[0] for line in lines.strip().splitlines() for word in line.split()}


def filled(text: str, parts: Mapping[str, str]) -> str:
    """Replace each {name} in a pattern by the part of that name, and remove line breaks.

    >>> filled("{day}\\n|today", {"day": "monday"})
    'monday|today'
    """
    for name, part in parts.items():
        text = text.replace(f"{{{name}}}", part)
    return text.replace("\n", "")


def pattern(table_name: str, name: str) -> re.Pattern[str]:
    """Compile one of the `patterns` of a table, in which {name} stands for the part of that name."""
    content = table(table_name)
    return re.compile(filled(content["patterns"][name], content["parts"]))


def cues(name: str, kind: str = "lists") -> re.Pattern[str]:
    """Compile a list of alternatives in `cues.toml`, each at the start of a word.

    A bar may have spaces on both sides, or begin a line. A space on only one side of a bar is part of the
    alternative.
    """
    lines = filter(None, map(str.strip, table("cues")[kind][name].splitlines()))
    joined = "".join(f"|{line[1:].lstrip()}" if line[0] == "|" else f" {line}" for line in lines)
    alternatives = joined.strip().replace(" | ", "|")
    return re.compile(rf"\b(?:{filled(alternatives, table('cues')['parts'])})", re.IGNORECASE)

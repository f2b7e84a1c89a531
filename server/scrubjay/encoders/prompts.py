"""The words a model wants before a question or a document, and who decides them.
Knows what the model's settings say and a small table of families that only describe their prefix; loads nothing."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Prompts:
    """Prefixes put before a question and before a stored text; empty when there is none."""

    query: str = ""
    document: str = ""


_ENGLISH_SEARCH = "Represent this sentence for searching relevant passages: "
# The model cards of these families tell the reader to add the prefix; their settings do not carry it, so
# sentence-transformers adds none. Prefixes as stated in the cards of the named models.
_FAMILIES: tuple[tuple[re.Pattern[str], Prompts], ...] = (
    (re.compile(r"\bbge-(small|base|large)-en(-v1\.5)?\b"), Prompts(query=_ENGLISH_SEARCH)),
    (re.compile(r"\b(multilingual-)?e5-(small|base|large)(-v2)?\b(?!-instruct)"), Prompts(query="query: ", document="passage: ")),
    (re.compile(r"\bsnowflake-arctic-embed-(xs|s|m|l|m-long|m-v1\.5)\b(?!-v2)"), Prompts(query=_ENGLISH_SEARCH)),
)
_DOCUMENT_NAMES = ("document", "passage", "corpus")


def own_prompts(settings: dict[str, Any]) -> Prompts:
    """The prompts that a model's `config_sentence_transformers.json` names, chosen as `encode_query` and
    `encode_document` of sentence-transformers choose them."""
    named = {name: text for name, text in (settings.get("prompts") or {}).items() if text}
    usual = named.get(settings.get("default_prompt_name") or "", "")
    document = next((named[name] for name in _DOCUMENT_NAMES if name in named), usual)
    return Prompts(query=named.get("query", usual), document=document)


def effective_prompts(reference: str, own: Prompts, query: str | None, document: str | None) -> Prompts:
    """The prompts in force: the user's where one is given (`""` switches a prompt off), else the model's own, else those
    of its family by the name in `reference`."""
    usual = own
    if own == Prompts():
        usual = next((prompts for pattern, prompts in _FAMILIES if pattern.search(reference.lower())), own)
    return Prompts(query=usual.query if query is None else query, document=usual.document if document is None else document)

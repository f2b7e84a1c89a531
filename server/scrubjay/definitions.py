"""Definitions: which identifiers a question names, and whether a text defines one. Knows how programming languages introduce a name;
reads text as lines and not as a tree, so it works on any piece of any language. Pure; standard library only.
"""

from __future__ import annotations

import re
from functools import lru_cache

_TOKEN = re.compile(r"`([^`\n]+)`|([A-Za-z_$][\w$]*(?:(?:\.|::|#|->)[A-Za-z_$][\w$]*)*)(\(?)")
_CODED = re.compile(r"_|[a-z\d][A-Z]|[A-Za-z]\d")  # snake_case, camelCase, sha256
_PARTS = re.compile(r"[A-Za-z_$][\w$]*")
_MOST = 8  # names of one question

_WORDS = (  # before the name
    "def class func fn fun function struct interface enum trait type typedef union module namespace record object protocol macro "
    "macro_rules! impl const let var val static sub table view procedure trigger extension typealias"
)
_INTRODUCED = r"(?:{words})\s+(?:\([^)\n]*\)\s*|\*\s*|self\.)?{name}(?![\w$])"
_ASSIGNED = r"^\s*(?:export\s+)?(?:[A-Za-z_$][\w$]*\.)?{name}\s*(?::[^=\n]+)?(?::=|=(?!=)|\(\s*\)\s*\{{)"  # NAME =, NAME: int =, NAME() {
# A heading of its own, as references have: `## The Engine`, `### http.get(url)`. One of the first level is the title of a document, which
# names what all of it is about, or a comment in code; and one that says more about the name is one of many.
_HEADED = r"^#{{2,6}} +(?:\w+:? +){{0,2}}[`*]*(?:[\w$]+(?:\.|::|#))*{name}[`*]*(?:\([^\n]*)?[`*# \t]*$"


def asked_names(question: str) -> frozenset[str]:
    """The identifiers a question names: in backticks, called, or spelled like one; a question of one word is one. Of a path its last part.

    >>> sorted(asked_names("where is http.create_ssl_context defined?")), sorted(asked_names("Engine"))
    (['create_ssl_context'], ['Engine'])
    """
    names = []
    lone = len(question.split()) == 1
    for quoted, plain, called in _TOKEN.findall(question):
        parts = _PARTS.findall(quoted or plain)
        if parts and (lone or quoted or called or len(parts) > 1 or _CODED.search(parts[-1])):
            names.append(parts[-1])
    return frozenset(names[:_MOST])


def defines(text: str, names: frozenset[str]) -> bool:
    """Whether the text introduces one of the names, rather than using it.

    >>> defines("class Engine:\\n    pass", frozenset({"Engine"})), defines("run(Engine())", frozenset({"Engine"}))
    (True, False)
    """
    return bool(names) and any(name in text for name in names) and _introduces(names).search(text) is not None


@lru_cache(maxsize=64)
def _introduces(names: frozenset[str]) -> re.Pattern[str]:
    name = f"(?:{'|'.join(map(re.escape, sorted(names)))})"
    words = "|".join(re.escape(word) for word in _WORDS.split())
    either = (rf"(?:^|[\s;({{]){_INTRODUCED.format(words=words, name=name)}", _ASSIGNED.format(name=name), _HEADED.format(name=name))
    return re.compile("|".join(either), re.MULTILINE)

"""The project is written in plain English: each test lists every use of a word that has a plainer one.

`server/CONTRIBUTING.md` describes the style.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
KINDS = {".py", ".js", ".html", ".css", ".md", ".json"}

PLAINER = {  # pattern -> what to write instead
    r"(?i)(?<![a-z])beside(?![a-z])": "next to, with, in addition to",
    r"(?i)(?<![a-z])(?:nobody|somebody|whoever)(?![a-z])": "the one who: a user, a client, the caller; no caller",
    r"(?i)(?<![a-z])anew(?![a-z])": "again, rebuilt, a new one",
    r"\b(?:is|are) none\b": "is not an X, is missing",
    r"\bof which\b": "a noun of its own",
    r"\bas of then\b": "at that time",
    r"\bas the disk says\b": "the disk refused",
    r"\b[Ww]hat (?:is there|was there|stands|stood|lies)\b": "the existing ones",
    r"\b(?:is|are|was|were) not there\b": "is missing, does not exist",
    r"\b[Ss]et aside\b": "moved away",
    r"\b[Pp]uts? (?:it |them )?right\b": "repair, correct",
    r"\btaken for\b": "treated as",
    r"\bfor good\b": "permanently",
    r'"""(?:Whether|Tell whether)\b': "Return True if ...",
}

CLEAN = """
    hooks server/scrubjay .github README.md
    server/ARCHITECTURE.md server/BENCHMARKS.md server/CHANGELOG.md server/CONTRIBUTING.md server/DECISIONS.md
    server/decisions server/docs server/packaging
""".split()
DATA = {  # words in data: language that is recognised, a recorded dialogue
    "README.md": ("nobody", "beside"),
}


def files() -> Iterator[Path]:
    for name in CLEAN:
        place = ROOT / name
        for file in sorted(place.rglob("*")) if place.is_dir() else [place]:
            if file.suffix in KINDS:
                yield file


def test_clean_rooms_use_no_word_that_has_a_plainer_one() -> None:
    found = [
        f"{name}:{number}: {hit[0]!r} -> {better}"
        for file in files()
        for name in [str(file.relative_to(ROOT))]
        for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1)
        for pattern, better in PLAINER.items()
        for hit in re.finditer(pattern, line)
        if hit[0] not in DATA.get(name, ())
    ]
    assert not found, "\n".join(found)

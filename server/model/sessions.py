"""Made-up sessions whose writers labelled each sentence: whether something is open by it.

Lines of the files in the folder `sessions`, a sentence each:

    @ a project: what the session is about
    > the user's; more of them belong to one prompt
    - the assistant's, and nothing is to be done because of it
    + it says that something is open, and nothing later settles it
    ~ it says so, and a later turn settles it
    ? it is a matter of opinion

A sentence of the user has its sign after the >.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from scrubjay.text.sentences import sentences
from scrubjay.text.titles import Exchange

SESSIONS = Path(__file__).with_name("sessions")
_LINE = re.compile(r"(>?)([-+~?]?) *(.+)")


class Session(NamedTuple):
    """A session, and the sign of each of its sentences."""

    exchanges: list[Exchange]
    signs: dict[str, str]


def read(file: Path) -> Iterator[Session]:
    """Yield the sessions of a file."""
    for part in re.split(r"(?m)^@ ", file.read_text("utf-8"))[1:]:
        turns: list[tuple[list[str], list[str]]] = []
        signs: dict[str, str] = {}
        for line in part.splitlines()[1:]:
            if not (match := _LINE.match(line)):
                continue
            is_user, sign, text = bool(match[1]), match[2] or "-", match[3]
            if is_user and (not turns or turns[-1][1]):
                turns.append(([], []))
            if turns:
                turns[-1][0 if is_user else 1].append(text)
                signs |= {sentence.text: sign for sentence in sentences(text)}
        yield Session([Exchange(*("\n\n".join(side) for side in turn)) for turn in turns], signs)

"""What a turn was about, in its own sentences: what was asked, what was answered and decided, files and tools touched.

Extractive and deterministic: sentences are chosen and kept in order, never rewritten, so a summary cannot invent
anything. Knows English cues for decisions and small talk; on other languages position alone chooses. Pure.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from scrubjay.text.terms import content_words

LIMIT = 1200  # characters of a whole summary
LONGEST = 320  # characters of one sentence in it; a longer one is clipped at a word


def _cues(alternatives: str) -> re.Pattern[str]:
    """One pattern out of alternatives that may stand on several lines."""
    return re.compile(rf"\b(?:{'|'.join(part.strip() for part in alternatives.split('|'))})\b", re.IGNORECASE)


_DECISION = _cues(
    r"""decid(?:e[ds]?|ing) | decisions? | chosen? | choos(?:e|ing) | (?:we|you) (?:will|should|agreed) | going with | settled on
    | switch(?:ed|ing)? | instead of | rather than | renamed? | replaced? | because | so that | root cause | turned out
    | the (?:cause|reason|problem|bug|issue) (?:was|is) | fix(?:ed|es) | resolved | rejected | reverted | prefer(?:s|red)?"""
)
_CHANGE = _cues(
    r"""us(?:e|es|ed|ing) | add(?:ed|s)? | remov(?:e|ed|es) | mov(?:e|ed|es) | chang(?:e|ed|es) | set | must | never | always | now
    | pass(?:es|ed)? | fail(?:s|ed)?"""
)
_SMALL_TALK = _cues(  # as a sentence begins
    r"""sure | certainly | absolutely | of course | great | good | perfect | excellent | okay | ok | alright | hi | hello | hey | thanks
    | thank you | you're (?:absolutely )?right | let me | let's | i'll | i will | i'm going to | i am going to | now (?:i|let)
    | first,? (?:i'll|let) | happy to | hope this | feel free | would you like | do you want | shall i | should i | looking at
    | here(?:'s| is| are)"""
)
_CODE = re.compile(r"`[^`]+`|\b[a-z]+[A-Z]\w*|\w_\w|\w\(\)|\w[/\\.]\w{2,}")
_FENCE = re.compile(r"\s{0,3}(`{3,}|~{3,})")
_BULLET = re.compile(r"\s*(?:[-*+\u2022]|\d{1,3}[.)]|>)\s+")
_BOLD = re.compile(r"(?<![\w*])\*\*([^\s*][^*]{0,200})\*\*(?![\w*])")
# A sentence ends before something that is not lower case, which spares `e.g. this`; CJK needs no space.
_SENTENCE_END = re.compile(r"(?<=[.!?\u2026])[\"'\u201d\u2019)\]]{0,3}\s+(?![a-z])|(?<=[\u3002\uff01\uff1f])")
_CLOSED = tuple(".!?:;,\u2026\u3002\uff01\uff1f\uff1a)")


@dataclass(frozen=True)
class Sentence:
    """One sentence of a text, on one line, and where it stands."""

    text: str
    paragraph: int
    first: bool  # of its paragraph


def summarise(
    user: str | None, assistant: str | None, *, tools: Iterable[str] = (), files: Iterable[str] = (), limit: int = LIMIT
) -> str:  # fmt: skip
    """At most `limit` characters in lines `Asked:`, `Answered:`, `Files:`, `Tools:`; a line without content is left out.

    No word is ever cut in half; a clipped sentence ends in an ellipsis.
    """
    listed = [listing("Files", files, limit // 5), listing("Tools", tools, limit // 10)]
    room = limit - sum(len(line) + 1 for line in listed if line)
    asked = _asked(user or "", room // 3 if assistant and assistant.strip() else room)
    answered = _answered(assistant or "", user or "", room - (len(asked) + 1 if asked else 0))
    return "\n".join(line for line in [asked, answered, *listed] if line)


def _asked(text: str, room: int) -> str:
    """The first meaningful sentences of the prompt, and its questions, which often follow a pasted log."""

    def worth(sentence: Sentence) -> float:
        if sentence.text.endswith(("?", "\uff1f")):
            return 2.0
        return (
            -1.0
            if _is_small_talk(sentence.text)
            else 0.5 * bool(_DECISION.search(sentence.text)) + (sentence.paragraph == 0)
        )

    return _line("Asked", text, worth, room)


def _answered(text: str, question: str, room: int) -> str:
    """The sentences that decide, answer the question, or name numbers and code; first and last paragraphs before the rest."""
    asked_for = set(content_words(question[:2000]))
    last = max((sentence.paragraph for sentence in sentences(text)), default=0)

    def worth(sentence: Sentence) -> float:
        said = sentence.text
        score = 2.0 * bool(_DECISION.search(said)) + 0.5 * bool(_CHANGE.search(said))
        score += 0.5 * any(char.isdigit() for char in said) + 0.5 * bool(_CODE.search(said))
        score += 1.0 * (sentence.paragraph == 0) + 0.8 * (sentence.paragraph == last) + 0.3 * sentence.first
        if asked_for:
            score += min(1.0, 2.0 * len(asked_for & set(content_words(said))) / len(asked_for))
        score -= 1.5 * said.endswith((":", "?", "\uff1a", "\uff1f"))
        return score - 4.0 * (_is_small_talk(said) and not _DECISION.search(said))

    return _line("Answered", text, worth, room)


def _line(label: str, text: str, worth: Callable[[Sentence], float], room: int) -> str:
    """`label: sentences`, the worthiest that fit, in the order of the text; "" when none does."""
    room -= len(label) + 2
    found = list(sentences(text)) or [Sentence(_flat(text.replace("`", " ").replace("~", " ")), 0, True)]
    scores = [worth(sentence) for sentence in found]
    order = sorted(range(len(found)), key=lambda at: (-scores[at], at))
    order = [at for at in order if scores[at] >= 0] or order[:1]
    chosen: dict[int, str] = {}
    for at in order:
        whole = found[at].text
        # what is left of the room is no place for half a sentence, unless there is nothing else
        piece = clipped(whole, min(room, LONGEST)) if not chosen or len(whole) > LONGEST else whole
        if piece and len(piece) <= room and piece not in chosen.values():
            chosen[at] = piece
            room -= len(piece) + 2
    return f"{label}: {joined([chosen[at] for at in sorted(chosen)])}" if chosen else ""


def joined(pieces: list[str]) -> str:
    """Sentences in a row; one without a full stop, such as a list item, is closed by a semicolon."""
    closed = [piece if piece.endswith(_CLOSED) else f"{piece};" for piece in pieces[:-1]]
    return " ".join([*closed, *pieces[-1:]])


def sentences(text: str) -> Iterator[Sentence]:
    """The sentences of the prose: no fenced code, table, heading or rule; a list item is a sentence of its own."""
    for number, paragraph in enumerate(_paragraphs(text)):
        first = True
        for unit in paragraph:
            for sentence in _SENTENCE_END.split(_BOLD.sub(r"\1", unit)):
                flat = _flat(sentence)
                if any(char.isalnum() for char in flat):
                    yield Sentence(flat, number, first)
                    first = False


def _paragraphs(text: str) -> Iterator[list[str]]:
    """Each paragraph as its units: one for its running text, one for each list item."""
    units: list[list[str]] = []  # lines of each unit
    fence = ""
    for line in [*text.split("\n"), ""]:
        mark = _FENCE.match(line)
        if fence:
            fence = "" if mark and mark[1].startswith(fence) else fence
            continue
        fence = mark[1] if mark else ""
        if fence or not line.strip() or line.lstrip().startswith(("|", "#")):
            if units:
                yield ["\n".join(unit) for unit in units]
            units = []
        elif bullet := _BULLET.match(line):
            units.append([line[bullet.end() :]])
        else:
            if not units:
                units.append([])
            units[-1].append(line)


def decides(sentence: str) -> bool:
    """Whether a sentence tells of a decision, a cause or a repair."""
    return bool(_DECISION.search(sentence))


def listing(label: str, names: Iterable[str], room: int) -> str:
    """`label: a, b and 3 more`: whole names only, each once, as many as fit; "" when there is none or no room."""
    known = list(dict.fromkeys(flat for name in names if (flat := _flat(name))))
    for count in range(min(len(known), max(room, 0)), -1, -1):
        line = _counted(label, known[:count], len(known) - count)
        if known and len(line) <= room:
            return line
    return ""


def _counted(label: str, shown: Sequence[str], more: int) -> str:
    if not shown:
        return f"{label}: {more}"
    return f"{label}: {', '.join(shown)}" + (f" and {more} more" if more else "")


def _is_small_talk(sentence: str) -> bool:
    return bool(_SMALL_TALK.match(sentence))


def _flat(text: str) -> str:
    return " ".join(text.split())


def clipped(text: str, room: int) -> str:
    """The text, or its beginning up to the end of a word with an ellipsis; "" when not one word fits."""
    if len(text) <= room:
        return text
    cut = room - 1
    while cut > 0 and _glued(text[cut - 1], text[cut]):
        cut -= 1
    kept = text[: max(cut, 0)].rstrip()
    return f"{kept}\u2026" if kept else ""


def _glued(before: str, after: str) -> bool:
    """Whether a cut here would fall inside a word. Between Chinese or Japanese characters there is no inside."""
    return all(_in_word(char) for char in (before, after)) and not any(
        _is_ideographic(char) for char in (before, after)
    )


def _in_word(char: str) -> bool:
    return char.isalnum() or char == "_" or unicodedata.category(char).startswith("M")


def _is_ideographic(char: str) -> bool:
    return (
        "\u2e80" <= char <= "\ua4cf" or "\uf900" <= char <= "\ufaff" or "\U00020000" <= char <= "\U0003ffff"
    )


ROLLING_LIMIT = 1_000  # characters, about what the model reads of a text (256 tokens)
_ASKED = 0.4  # of the room, at most, for what was asked; what was decided answers more questions later
ROLLING_SENTENCE = 160  # characters of one sentence: twenty turns share the room
_LEAST_WORDS = 2  # that say something: "thanks" and "go on" are about nothing
_UNSAID = ("Files", "Tools")  # lines of a turn's summary that are no sentences


def rolling_summary(
    summaries: Sequence[str], *, files: Iterable[str] = (), limit: int = ROLLING_LIMIT
) -> str:
    """At most `limit` characters in lines `Asked:`, `Decided:` (or `Answered:`, where nothing was decided) and `Files:`.

    Args:
        summaries: of the turns in order, each as `summary.summarise` or a caller wrote it.
        files: those touched, once for each turn that did; the most touched come first.

    Returns:
        The lines that have something to say; "" where none has.
    """
    asked, answered = _sides(summaries)
    listed = listing("Files", [name for name, _ in Counter(files).most_common()], limit // 6)
    room = limit - (len(listed) + 1 if listed else 0)
    decided = [sentence.text for text in answered for sentence in sentences(text) if decides(sentence.text)]
    first = _rolling_line("Asked", asked, int(_ASKED * room) if answered or decided else room)
    room -= len(first) + 1 if first else 0
    second = _rolling_line("Decided", decided, room) or _rolling_line("Answered", answered, room)
    return "\n".join(line for line in (first, second, listed) if line)


def _sides(summaries: Sequence[str]) -> tuple[list[str], list[str]]:
    """What the summaries give of questions and of answers; a line without a label, which a caller wrote, is taken for an answer."""
    asked: list[str] = []
    answered: list[str] = []
    for line in (line for summary in summaries for line in summary.split("\n")):
        label, colon, said = line.partition(": ")
        if colon and label == "Asked":
            asked.append(said)
        elif not (colon and label in _UNSAID):
            answered.append(said if colon and label == "Answered" else line)
    return asked, answered


def _rolling_line(label: str, texts: Iterable[str], room: int) -> str:
    """`label: sentences` that together say the most different things, as many as fit, in their order; "" when there is none."""
    room -= len(label) + 2
    said = [
        clipped(sentence.text, ROLLING_SENTENCE)
        for text in dict.fromkeys(texts)
        for sentence in sentences(text)
    ]
    words = [set(content_words(sentence)) for sentence in said]
    left = [at for at in range(len(said)) if len(words[at]) >= _LEAST_WORDS]
    chosen: list[int] = []
    known: set[str] = set()
    while left := [at for at in left if len(said[at]) <= room and not words[at] <= known]:
        best = max(left, key=lambda at: (len(words[at] - known) / math.sqrt(len(words[at]) + 1), -at))
        chosen.append(best)
        known |= words[best]
        room -= len(said[best]) + 2  # a semicolon, a space
    return f"{label}: {joined([said[at] for at in sorted(chosen)])}" if chosen else ""


ABSTRACT_LIMIT = 600  # characters
READ = 60_000  # characters: the middle of a book's first forty pages is near enough to that of the book
LEAST_WORDS = 4  # that say something; a shorter sentence is a label
LEAD = 1.5  # times the worth of the first sentence: authors begin with what it is about
_NAMES = 12
_ONCE = 0.1  # what a word counts that stands in one sentence only: just enough to choose where all do
_LEAST_SHARE = 0.2  # of the best sentence's worth; what is further from the middle only fills room
_COMMENT = re.compile(
    r'\A\s*(?:#![^\n]*\n)?\s*(?:("""|\'\'\')(.*?)\1|/\*+(.*?)\*/|((?:[ \t]*(?:#|//|--)[^\n]*\n)+))', re.DOTALL
)
_MARKS = re.compile(r"^[ \t]*(?:#+|//+|--+|\*+)[ \t]?", re.MULTILINE)


def abstract(
    text: str,
    *,
    heading: str | None = None,
    names: Iterable[str] = (),
    code: bool = False,
    limit: int = ABSTRACT_LIMIT,
) -> str:
    """At most `limit` characters: the heading, then the most central sentences in the order of the text.

    Of `code` the comment at its top, then the first of the `names` that it defines. No word is cut; "" where there is nothing to say.
    """
    lines = [clipped(heading, limit)] if heading else []
    room = limit - sum(len(line) + 1 for line in lines)
    prose = _top_comment(text) if code else text[:READ]
    if said := _central(list(sentences(prose)), room):
        lines.append(said)
        room -= len(said) + 1
    if code and (
        listed := _defined([name for name in dict.fromkeys(names) if not name.startswith("_")][:_NAMES], room)
    ):
        lines.append(listed)
    return "\n".join(lines)


def _central(found: Sequence[Sentence], room: int) -> str:
    """The sentences whose words the whole text uses most, each new word counted once, as many as fit."""
    words = [set(content_words(sentence.text)) for sentence in found]
    used = Counter(word for each in words for word in each)
    left = [at for at, each in enumerate(words) if len(each) >= LEAST_WORDS] or [
        at for at, each in enumerate(words) if each
    ]
    chosen: dict[int, str] = {}
    said: set[str] = set()
    least = _LEAST_SHARE * max((_worth(words[at], said, used) for at in left), default=0.0)
    while left:
        worth = {at: _worth(words[at], said, used) * (LEAD if at == 0 else 1.0) for at in left}
        best = max(left, key=lambda at: (worth[at], -at))
        if worth[best] < least:
            break
        chosen[best] = clipped(found[best].text, min(room, LONGEST))
        room -= len(chosen[best]) + 2  # a semicolon, a space
        said |= words[best]
        left = [
            at
            for at in left
            if at not in chosen and len(found[at].text) <= min(room, LONGEST) and not words[at] <= said
        ]
    return joined([chosen[at] for at in sorted(chosen) if chosen[at]])


def _worth(words: set[str], said: set[str], used: Counter[str]) -> float:
    """How much of what the text speaks of a sentence holds, what was said before half; long ones are not better for being long."""
    return sum((_ONCE + math.log(used[word])) * (0.5 if word in said else 1.0) for word in words) / math.sqrt(
        len(words) + 1
    )


def _top_comment(text: str) -> str:
    match = _COMMENT.match(text[:READ])
    if match is None:
        return ""
    return match[2] or _MARKS.sub("", match[3] or match[4] or "")


def _defined(names: Sequence[str], room: int) -> str:
    for count in range(len(names), 0, -1):
        line = f"Defines {', '.join(names[:count])}."
        if len(line) <= room:
            return line
    return ""

"""Extractive summaries of turns, sessions and documents: sentences are chosen in order and never rewritten.

So a summary can invent nothing. English cues tell decisions and small talk; in other languages position
alone chooses.
"""

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from scrubjay.text.terms import content_words

# Sizes are characters.
TURN_LIMIT = 1200  # of a turn's summary
ROLLING_LIMIT = 1_000  # of a session's, about what the model reads of a text (256 tokens)
ABSTRACT_LIMIT = 600  # of a document's
LONGEST = 320  # of one sentence; a longer one is clipped at a word
LONGEST_ROLLING = 160  # of one sentence in a session's summary: twenty turns share the room
READ = 60_000  # of a document: the middle of a book's first forty pages is near enough to that of the book

# of a session's summary, at most, for questions; what was decided answers more questions later
_ASKED_SHARE = 0.4
_LEAST_ROLLING_WORDS = 2  # content words; "thanks" and "go on" are about nothing
_LEAST_ABSTRACT_WORDS = 4  # content words; a shorter sentence is a label
_LEAD = 1.5  # factor for a document's first sentence: authors begin with what it is about
_ONCE = 0.1  # worth of a word that stands in one sentence only: just enough to choose where all do
_LEAST_SHARE = 0.2  # of the best sentence's worth; what is further from the middle only fills room
_MOST_NAMES = 12  # definitions of a source file


def _cues(alternatives: str) -> re.Pattern[str]:
    return re.compile(rf"\b(?:{'|'.join(part.strip() for part in alternatives.split('|'))})\b", re.IGNORECASE)


_DECISION = _cues(
    r"""decid(?:e[ds]?|ing) | decisions? | chosen? | choos(?:e|ing) | (?:we|you) (?:will|should|agreed)
    | going with | settled on | switch(?:ed|ing)? | instead of | rather than | renamed? | replaced?
    | because | so that | root cause | turned out | the (?:cause|reason|problem|bug|issue) (?:was|is)
    | fix(?:ed|es) | resolved | rejected | reverted | prefer(?:s|red)?"""
)
_CHANGE = _cues(
    r"""us(?:e|es|ed|ing) | add(?:ed|s)? | remov(?:e|ed|es) | mov(?:e|ed|es) | chang(?:e|ed|es) | set
    | must | never | always | now | pass(?:es|ed)? | fail(?:s|ed)?"""
)
_SMALL_TALK = _cues(  # as a sentence begins
    r"""sure | certainly | absolutely | of course | great | good | perfect | excellent | okay | ok
    | alright | hi | hello | hey | thanks | thank you | you're (?:absolutely )?right | let me | let's
    | i'll | i will | i'm going to | i am going to | now (?:i|let) | first,? (?:i'll|let) | happy to
    | hope this | feel free | would you like | do you want | shall i | should i | looking at
    | here(?:'s| is| are)"""
)
_CODE = re.compile(r"`[^`]+`|\b[a-z]+[A-Z]\w*|\w_\w|\w\(\)|\w[/\\.]\w{2,}")
_FENCE = re.compile(r"\s{0,3}(`{3,}|~{3,})")
_BULLET = re.compile(r"\s*(?:[-*+\u2022]|\d{1,3}[.)]|>)\s+")
_BOLD = re.compile(r"(?<![\w*])\*\*([^\s*][^*]{0,200})\*\*(?![\w*])")
# A sentence ends before something that is not lower case, which spares `e.g. this`; CJK needs no space.
_SENTENCE_END = re.compile(r"(?<=[.!?\u2026])[\"'\u201d\u2019)\]]{0,3}\s+(?![a-z])|(?<=[\u3002\uff01\uff1f])")
_CLOSED = tuple(".!?:;,\u2026\u3002\uff01\uff1f\uff1a)")
_COMMENT = re.compile(
    r'\A\s*(?:#![^\n]*\n)?\s*(?:("""|\'\'\')(.*?)\1|/\*+(.*?)\*/|((?:[ \t]*(?:#|//|--)[^\n]*\n)+))', re.DOTALL
)
_MARKS = re.compile(r"^[ \t]*(?:#+|//+|--+|\*+)[ \t]?", re.MULTILINE)


@dataclass(frozen=True)
class _Sentence:
    """One sentence of a text, on one line, and where it stands."""

    text: str
    paragraph: int
    first: bool  # of its paragraph


def summarise(
    user: str | None,
    assistant: str | None,
    *,
    tools: Iterable[str] = (),
    files: Iterable[str] = (),
    limit: int = TURN_LIMIT,
) -> str:
    """Summarise a turn in at most `limit` characters: lines `Asked:`, `Answered:`, `Files:` and `Tools:`.

    A line without content is left out. No word is ever cut in half; a clipped sentence ends in an ellipsis.
    """
    lists = [_name_line("Files", files, limit // 5), _name_line("Tools", tools, limit // 10)]
    room = limit - sum(len(line) + 1 for line in lists if line)
    asked = _asked_line(user or "", room // 3 if assistant and assistant.strip() else room)
    answered = _answered_line(assistant or "", user or "", room - (len(asked) + 1 if asked else 0))
    return "\n".join(filter(None, [asked, answered, *lists]))


def rolling_summary(
    summaries: Sequence[str], *, files: Iterable[str] = (), limit: int = ROLLING_LIMIT
) -> str:
    """Summarise a session in lines `Asked:`, `Decided:` (`Answered:` if nothing was decided) and `Files:`.

    Args:
        summaries: of the turns in order, each as `summarise` or a caller wrote it.
        files: those the turns touched, once for each turn that did; the most touched come first.
        limit: characters of all lines together.

    Returns:
        The lines that have content; "" if none has.
    """
    questions, answers = _sides(summaries)
    touched = _name_line("Files", [name for name, _ in Counter(files).most_common()], limit // 6)
    room = limit - (len(touched) + 1 if touched else 0)
    answered_texts = (sentence.text for text in answers for sentence in _sentences(text))
    decisions = list(filter(_DECISION.search, answered_texts))
    asked = _rolling_line("Asked", questions, int(_ASKED_SHARE * room) if answers or decisions else room)
    room -= len(asked) + 1 if asked else 0
    answered = _rolling_line("Decided", decisions, room) or _rolling_line("Answered", answers, room)
    return "\n".join(filter(None, [asked, answered, touched]))


def abstract(
    text: str,
    *,
    heading: str | None = None,
    names: Iterable[str] = (),
    code: bool = False,
    limit: int = ABSTRACT_LIMIT,
) -> str:
    """Summarise a document in at most `limit` characters: its heading, then central sentences in order.

    For `code`, summarise the comment at its top, then list the first of the `names` that it defines. No word
    is cut; "" if there is nothing to say.
    """
    lines = [_clip(heading, limit)] if heading else []
    room = limit - sum(len(line) + 1 for line in lines)
    if central := _central(list(_sentences(_top_comment(text) if code else text[:READ])), room):
        lines.append(central)
        room -= len(central) + 1
    if code:
        public = [name for name in dict.fromkeys(names) if not name.startswith("_")][:_MOST_NAMES]
        defines = (f"Defines {', '.join(public[:count])}." for count in range(len(public), 0, -1))
        lines += islice((line for line in defines if len(line) <= room), 1)
    return "\n".join(lines)


def _asked_line(text: str, room: int) -> str:
    """Choose a prompt's first meaningful sentences, and its questions, which often follow a pasted log."""

    def worth(sentence: _Sentence) -> float:
        if sentence.text.endswith(("?", "\uff1f")):
            return 2.0
        if _SMALL_TALK.match(sentence.text):
            return -1.0
        return 0.5 * bool(_DECISION.search(sentence.text)) + (sentence.paragraph == 0)

    return _turn_line("Asked", text, worth, room)


def _answered_line(answer: str, question: str, room: int) -> str:
    """Choose sentences that decide, answer the question, name numbers or code, or begin or end the answer."""
    question_words = set(content_words(question[:2000]))
    last = max((sentence.paragraph for sentence in _sentences(answer)), default=0)

    def worth(sentence: _Sentence) -> float:
        text = sentence.text
        decides = bool(_DECISION.search(text))
        score = 2.0 * decides + 0.5 * bool(_CHANGE.search(text))
        score += 0.5 * any(char.isdigit() for char in text) + 0.5 * bool(_CODE.search(text))
        score += 1.0 * (sentence.paragraph == 0) + 0.8 * (sentence.paragraph == last) + 0.3 * sentence.first
        if question_words:
            score += min(1.0, 2.0 * len(question_words & set(content_words(text))) / len(question_words))
        score -= 1.5 * text.endswith((":", "?", "\uff1a", "\uff1f"))
        return score - 4.0 * (bool(_SMALL_TALK.match(text)) and not decides)

    return _turn_line("Answered", answer, worth, room)


def _turn_line(label: str, text: str, worth: Callable[[_Sentence], float], room: int) -> str:
    """Write `label: sentences`, the worthiest that fit, in the order of the text; "" if none fits."""
    room -= len(label) + 2
    whole_text = _Sentence(_flat(text.replace("`", " ").replace("~", " ")), 0, True)
    candidates = list(_sentences(text)) or [whole_text]
    scores = [worth(sentence) for sentence in candidates]
    order = sorted(range(len(candidates)), key=lambda at: (-scores[at], at))
    chosen: dict[int, str] = {}
    for at in [at for at in order if scores[at] >= 0] or order[:1]:
        whole = candidates[at].text
        # The rest of the room is no place for half a sentence, unless there is nothing else.
        piece = _clip(whole, min(room, LONGEST)) if not chosen or len(whole) > LONGEST else whole
        if piece and len(piece) <= room and piece not in chosen.values():
            chosen[at] = piece
            room -= len(piece) + 2
    return f"{label}: {_join([chosen[at] for at in sorted(chosen)])}" if chosen else ""


def _sides(summaries: Sequence[str]) -> tuple[list[str], list[str]]:
    """Split summaries of turns into questions and answers; a line without a label is taken for an answer."""
    questions: list[str] = []
    answers: list[str] = []
    for line in (line for summary in summaries for line in summary.split("\n")):
        label, colon, text = line.partition(": ")
        if colon and label == "Asked":
            questions.append(text)
        elif colon and label == "Answered":
            answers.append(text)
        elif not (colon and label in ("Files", "Tools")):
            answers.append(line)
    return questions, answers


def _rolling_line(label: str, texts: Iterable[str], room: int) -> str:
    """Write `label: sentences`, as many as fit of those whose words differ most, in order; "" if none."""
    room -= len(label) + 2
    sentences = (sentence.text for text in dict.fromkeys(texts) for sentence in _sentences(text))
    candidates = [_clip(sentence, LONGEST_ROLLING) for sentence in sentences]
    words = [set(content_words(sentence)) for sentence in candidates]
    left = [at for at in range(len(candidates)) if len(words[at]) >= _LEAST_ROLLING_WORDS]
    chosen: list[int] = []
    seen: set[str] = set()
    while left := [at for at in left if len(candidates[at]) <= room and not words[at] <= seen]:
        best = max(left, key=lambda at: (len(words[at] - seen) / math.sqrt(len(words[at]) + 1), -at))
        chosen.append(best)
        seen |= words[best]
        room -= len(candidates[best]) + 2  # a semicolon, a space
    return f"{label}: {_join([candidates[at] for at in sorted(chosen)])}" if chosen else ""


def _central(sentences: Sequence[_Sentence], room: int) -> str:
    """Join the sentences whose words the whole text uses most, each new word counted once, as many as fit."""
    words = [set(content_words(sentence.text)) for sentence in sentences]
    uses = Counter(word for each in words for word in each)
    seen: set[str] = set()

    def worth(at: int) -> float:
        """Sum the uses of the words, half for seen ones; long sentences are not better for being long."""
        weights = ((_ONCE + math.log(uses[word])) * (0.5 if word in seen else 1.0) for word in words[at])
        # fsum: a plain sum would let the order of a set, and so the hash seed, decide a tie.
        return math.fsum(weights) / math.sqrt(len(words[at]) + 1)

    left = [at for at, each in enumerate(words) if len(each) >= _LEAST_ABSTRACT_WORDS]
    left = left or [at for at, each in enumerate(words) if each]
    least = _LEAST_SHARE * max(map(worth, left), default=0.0)
    chosen: dict[int, str] = {}
    while left:
        worths = {at: worth(at) * (_LEAD if at == 0 else 1.0) for at in left}
        best = max(left, key=lambda at: (worths[at], -at))
        if worths[best] < least:
            break
        chosen[best] = _clip(sentences[best].text, min(room, LONGEST))
        room -= len(chosen[best]) + 2  # a semicolon, a space
        seen |= words[best]
        fitting = [at for at in left if at not in chosen and len(sentences[at].text) <= min(room, LONGEST)]
        left = [at for at in fitting if not words[at] <= seen]
    return _join([chosen[at] for at in sorted(chosen) if chosen[at]])


def _top_comment(text: str) -> str:
    match = _COMMENT.match(text[:READ])
    if match is None:
        return ""
    return match[2] or _MARKS.sub("", match[3] or match[4] or "")


def _name_line(label: str, names: Iterable[str], room: int) -> str:
    """Write `label: a, b and 3 more` with as many whole names as fit; "" if there is none or no room."""
    unique = list(dict.fromkeys(filter(None, map(_flat, names))))
    if not unique:
        return ""
    for count in range(min(len(unique), max(room, 0)), -1, -1):
        more = len(unique) - count
        rest = f" and {more} more" if more else ""
        line = f"{label}: {', '.join(unique[:count])}{rest}" if count else f"{label}: {more}"
        if len(line) <= room:
            return line
    return ""


def _sentences(text: str) -> Iterator[_Sentence]:
    """Split prose into sentences, each list item one; leave out fenced code, tables, headings and rules."""
    for number, paragraph in enumerate(_paragraphs(text)):
        first = True
        for unit in paragraph:
            for sentence in _SENTENCE_END.split(_BOLD.sub(r"\1", unit)):
                flat = _flat(sentence)
                if any(char.isalnum() for char in flat):
                    yield _Sentence(flat, number, first)
                    first = False


def _paragraphs(text: str) -> Iterator[list[str]]:
    """Split a text into paragraphs, each as its units: one for running text, one for each list item."""
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


def _join(sentences: list[str]) -> str:
    """Put sentences in a row; one without a full stop, such as a list item, is closed by a semicolon."""
    closed = [text if text.endswith(_CLOSED) else f"{text};" for text in sentences[:-1]]
    return " ".join([*closed, *sentences[-1:]])


def _flat(text: str) -> str:
    return " ".join(text.split())


def _clip(text: str, room: int) -> str:
    """Cut a text that is too long after a word and add an ellipsis; "" if not one word fits."""
    if len(text) <= room:
        return text
    cut = room - 1
    while cut > 0 and _glued(text[cut - 1], text[cut]):
        cut -= 1
    start = text[: max(cut, 0)].rstrip()
    return f"{start}\u2026" if start else ""


def _glued(before: str, after: str) -> bool:
    """Whether a cut here falls inside a word. Between Chinese or Japanese characters none does."""
    pair = (before, after)
    return all(map(_in_word, pair)) and not any(map(_is_ideographic, pair))


def _in_word(char: str) -> bool:
    return char.isalnum() or char == "_" or unicodedata.category(char).startswith("M")


def _is_ideographic(char: str) -> bool:
    return (
        "\u2e80" <= char <= "\ua4cf" or "\uf900" <= char <= "\ufaff" or "\U00020000" <= char <= "\U0003ffff"
    )

"""Summarises turns and documents by selecting sentences, which keep their order and are never rewritten.

So a summary cannot invent anything. English cues identify decisions and small talk; in other languages only
the position counts.
"""

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import islice

from scrubjay.text import tables
from scrubjay.text.sentences import QUESTION, Sentence, clip, flat, join, sentences
from scrubjay.text.terms import content_words
from scrubjay.text.titles import Exchange, cut_to_gist, is_empty, subject, without_opener

# Sizes are in characters.
TURN_LIMIT = 1200  # a turn's summary
ABSTRACT_LIMIT = 600  # a document's abstract
LONGEST = 320  # one sentence; a longer one is cut after a word
READ = 60_000  # the part of a document that is read: a book's first forty pages are enough
_LEAST_ABSTRACT_WORDS = 4  # least content words of a sentence; a shorter one is a label
_LEAD = 1.5  # factor for a document's first sentence, because authors begin with the subject
_ONCE = 0.1  # weight of a word in only one sentence; it decides only if no word is in several
_LEAST_SHARE = 0.2  # sentences below this share of the best one's score only fill space
_MOST_COVERED = 0.75  # a sentence repeats the chosen ones if they have more of its words than this share
_MOST_NAMES = 12  # definitions that a source file's abstract names
_DECISION, _CHANGE, _SMALL_TALK = map(tables.cues, ("decision", "change", "small_talk"))
_CODE = re.compile(r"`[^`]+`|\b[a-z]+[A-Z]\w*|\w_\w|\w\(\)|\w[/\\.]\w{2,}")
_COMMENT = re.compile(
    r"\A\s*+(?:#![^\n]*+\n\s*+)?"
    r'(?:("""|\'\'\')(.*?)\1|/\*(?:\*(?!/))*+(.*?)\*/|((?:[ \t]*+(?:#|//|--)[^\n]*+\n)++))',
    re.DOTALL,
)
_MARKS = re.compile(r"^[ \t]*(?:#+|//+|--+|\*+)[ \t]?", re.MULTILINE)


def summarise(
    user: str | None,
    assistant: str | None,
    *,
    tools: Iterable[str] = (),
    files: Iterable[str] = (),
    commands: Sequence[str] = (),
    limit: int = TURN_LIMIT,
) -> str:
    """Summarise a turn in at most `limit` characters: lines Asked:, Answered:, Files:, Tools: and Ran:.

    Empty lines are left out. No word is cut in half; a shortened sentence ends in an ellipsis.
    """
    lists = [name_line("Files", files, limit // 5), name_line("Tools", tools, limit // 10)]
    # The last commands are the most informative.
    lists.append(name_line("Ran", reversed(commands), limit // 6))
    room = limit - sum(len(line) + 1 for line in lists if line)
    asked = _labelled("Asked", _asked, user or "", room // 3 if assistant and assistant.strip() else room)
    room -= len(asked) + 1 if asked else 0
    answered = _labelled("Answered", partial(answered_by, user or ""), assistant or "", room)
    return "\n".join(filter(None, [asked, answered, *lists]))


def gist(user: str | None, assistant: str | None) -> str:
    """Return the gist of a turn whose words are not to be stored: lines `Asked:` and `Answered:`.

    The gist of a prompt is its title. The gist of an answer is a dozen words if it is one sentence, else its
    most important sentences, at most half of its text.
    """
    asked = cut_to_gist(without_opener(subject([Exchange(user or "", "")])))
    answer = assistant or ""
    texts = [sentence.text for sentence in sentences(answer)]
    half = min(len(answer) // 2, TURN_LIMIT // 2)
    answered = answered_by(user or "", answer, half) if len(texts) > 1 else cut_to_gist("".join(texts))
    lines = (("Asked", asked), ("Answered", answered))
    return "\n".join(f"{label}: {text}" for label, text in lines if text)


def exchange_in(summary: str, files: Iterable[str] = ()) -> Exchange:
    """Parse a turn's summary, written by `summarise` or a caller; lines without a label are answers."""
    asked: list[str] = []
    answered: list[str] = []
    for line in summary.split("\n"):
        label, colon, text = line.partition(": ")
        if colon and label == "Asked":
            asked.append(text)
        elif not (colon and label in ("Files", "Tools", "Ran")):
            answered.append(text if colon and label == "Answered" else line)
    return Exchange("\n".join(asked), "\n".join(answered), tuple(files))


def abstract(
    text: str,
    *,
    heading: str | None = None,
    names: Iterable[str] = (),
    code: bool = False,
    limit: int = ABSTRACT_LIMIT,
) -> str:
    """Summarise a document in at most `limit` characters: its heading, then central sentences in order.

    With `code`, summarise the comment at the top, then list the first `names` that the file defines. No word
    is cut. The result is "" if there is no text.
    """
    lines = [clip(heading, limit)] if heading else []
    room = limit - sum(len(line) + 1 for line in lines)
    if central := _central(list(sentences(_top_comment(text) if code else text[:READ])), room):
        lines.append(central)
        room -= len(central) + 1
    if code:
        public = [name for name in dict.fromkeys(names) if not name.startswith("_")][:_MOST_NAMES]
        defines = (f"Defines {', '.join(public[:count])}." for count in range(len(public), 0, -1))
        lines += islice((line for line in defines if len(line) <= room), 1)
    return "\n".join(lines)


def _labelled(label: str, choose: Callable[[str, int], str], text: str, room: int) -> str:
    chosen = choose(text, room - len(label) - 2)
    return f"{label}: {chosen}" if chosen else ""


def _asked(text: str, room: int) -> str:
    """Choose a prompt's first meaningful sentences and its questions, which often follow a pasted log."""

    def worth(sentence: Sentence) -> float:
        if sentence.text.endswith(QUESTION):
            return 2.0
        if _SMALL_TALK.match(sentence.text):
            return -1.0
        return 0.5 * bool(_DECISION.search(sentence.text)) + (sentence.paragraph == 0)

    return "" if is_empty(text) else _chosen(text, worth, room)


def answered_by(question: str, answer: str, room: int) -> str:
    """Choose the best sentences of an answer.

    These have decisions, words of the question, numbers or code, or are in the first or last paragraph.
    """
    question_words = set(content_words(question[:2000]))
    last = max((sentence.paragraph for sentence in sentences(answer)), default=0)

    def worth(sentence: Sentence) -> float:
        text = sentence.text
        decides = bool(_DECISION.search(text))
        score = 2.0 * decides + 0.5 * bool(_CHANGE.search(text))
        score += 0.5 * any(char.isdigit() for char in text) + 0.5 * bool(_CODE.search(text))
        score += 1.0 * (sentence.paragraph == 0) + 0.8 * (sentence.paragraph == last) + 0.3 * sentence.first
        if question_words:
            score += min(1.0, 2.0 * len(question_words & set(content_words(text))) / len(question_words))
        score -= 1.5 * text.endswith((":", "?", "\uff1a", "\uff1f"))
        return score - 4.0 * (bool(_SMALL_TALK.match(text)) and not decides)

    return _chosen(answer, worth, room)


def _chosen(text: str, worth: Callable[[Sentence], float], room: int) -> str:
    """Join the best sentences that fit, in the order of the text; "" if none fits."""
    flat_text = Sentence(flat(text.replace("`", " ").replace("~", " ")), 0, True)
    candidates = list(sentences(text)) or [flat_text]
    scores = [worth(sentence) for sentence in candidates]
    order = sorted(range(len(candidates)), key=lambda index: (-scores[index], index))
    chosen: dict[int, str] = {}
    for index in [index for index in order if scores[index] >= 0] or order[:1]:
        whole = candidates[index].text
        # Do not fill the remaining space with half a sentence, unless no other sentence was chosen.
        piece = clip(whole, min(room, LONGEST)) if not chosen or len(whole) > LONGEST else whole
        if piece and len(piece) <= room and piece not in chosen.values():
            chosen[index] = piece
            room -= len(piece) + 2
    return join([chosen[index] for index in sorted(chosen)])


def _central(sentences: Sequence[Sentence], room: int) -> str:
    """Join the sentences whose words the text uses most, as many as fit; repeated words count less.

    Sentences that differ only in their numbers, as lines of a log or a table do, count as one.
    """
    words = [set(content_words(sentence.text)) for sentence in sentences]
    shapes = [frozenset(word for word in bag if not word.isdigit()) or frozenset(bag) for bag in words]
    firsts = {shape: at for at, shape in reversed(list(enumerate(shapes)))}
    uses = Counter(word for at in firsts.values() for word in words[at])
    covered: set[str] = set()

    def worth(at: int) -> float:
        """Sum the uses of a sentence's words, half for covered ones, divided so that length does not help."""
        weights = ((_ONCE + math.log(uses[word])) * (0.5 if word in covered else 1.0) for word in words[at])
        # fsum: in a plain sum, the order of a set, and so the hash seed, would decide a tie.
        return math.fsum(weights) / math.sqrt(len(words[at]) + 1)

    remaining = sorted(at for at in firsts.values() if len(words[at]) >= _LEAST_ABSTRACT_WORDS)
    remaining = remaining or sorted(at for at in firsts.values() if words[at])
    least = _LEAST_SHARE * max(map(worth, remaining), default=0.0)
    chosen: dict[int, str] = {}
    while remaining:
        worths = {at: worth(at) * (_LEAD if at == 0 else 1.0) for at in remaining}
        best = max(remaining, key=lambda at: (worths[at], -at))
        if worths[best] < least:
            break
        chosen[best] = clip(sentences[best].text, min(room, LONGEST))
        room -= len(chosen[best]) + 2  # for a semicolon and a space
        covered |= words[best]
        fitting = [
            at for at in remaining if at not in chosen and len(sentences[at].text) <= min(room, LONGEST)
        ]
        remaining = [at for at in fitting if len(words[at] & covered) <= _MOST_COVERED * len(words[at])]
    return join([chosen[at] for at in sorted(chosen) if chosen[at]])


def _top_comment(text: str) -> str:
    match = _COMMENT.match(text[:READ])
    if match is None:
        return ""
    return match[2] or _MARKS.sub("", match[3] or match[4] or "")


def name_line(label: str, names: Iterable[str], room: int) -> str:
    """Return `label: a, b and 3 more` with as many whole names as fit; "" if there is no name or no space."""
    unique = list(dict.fromkeys(filter(None, map(flat, names))))
    if not unique:
        return ""
    for count in range(min(len(unique), max(room, 0)), -1, -1):
        more = len(unique) - count
        rest = f" and {more} more" if more else ""
        line = f"{label}: {', '.join(unique[:count])}{rest}" if count else f"{label}: {more}"
        if len(line) <= room:
            return line
    return ""

"""Summarises a session: its title, its decisions, and what came of it.

Sentences are selected in order and never rewritten, as in `summary`.
"""

import math
import re
from collections import Counter
from collections.abc import Collection, Iterable, Sequence

from scrubjay.text import open_cues, tables
from scrubjay.text.sentences import QUESTION, Sentence, clip, join, sentences
from scrubjay.text.summary import answered_by, name_line
from scrubjay.text.terms import content_words
from scrubjay.text.titles import Exchange, excerpt, subject, subject_words, title

ROLLING_LIMIT = 1_000  # a session's, about what the model reads of a text (256 tokens)
LONGEST_ROLLING = 160  # one sentence in a session's summary: twenty turns share the space
# Most of a session's summary for further questions; decisions answer more questions later.
_ASKED_SHARE = 0.4
_LEAST_ASKED = 2  # content words of a prompt that is listed next to the title; "commit it" has one
_BRIEF = 100  # characters of a sentence that may be all that is told of an outcome
_DECISION, _DECIDED = tables.cues("decision"), tables.cues("decided")
_RESULT, _SMALL_TALK = tables.cues("result"), tables.cues("small_talk")
_DEED = re.compile(  # an assistant's report of what it did, at the start of a sentence
    r"(?i)(?:(?:done|yes|fixed|ok)[:,.]? )?(?:i|we)(?:'ve| have)? (?:now |also |then )?"
    r"(?:(?!look|check|notic|search|need|want|tri|expect|us|assum|analy|review|inspect|test|measur|profil)\w+ed"
    r"|wrote|made|built|split|set|put|took|cut|rewrote)\b"
    r"|(?:done|changed|corrected|dropped|left out|merged|landed|removed|replaced|fixed|settled|understood"
    r"|agreed)\b"
)


def session_summary(
    exchanges: Sequence[Exchange], left_open: Iterable[str] = (), *, limit: int = ROLLING_LIMIT
) -> str:
    """Summarise a session: its title, then lines `Outcome:`, `Answered:`, `Asked:`, `Open:` and `Files:`.

    `Answered:` is about turns without decisions or actions, `Asked:` adds to the title.

    Args:
        exchanges: the turns in order.
        left_open: sentences about what is open.
        limit: characters of all lines together.

    Returns:
        The lines that have content, no sentence twice; "" if none has.
    """
    head = clip(title(exchanges), limit)
    touched = Counter(name for exchange in exchanges for name in exchange.files)
    files = name_line("Files", [name for name, _ in touched.most_common()], limit // 6)
    seen = [subject(exchanges)]
    left = _session_line("Open", left_open, limit // 4, seen)
    room = limit - sum(len(line) + 1 for line in (head, files, left) if line)
    prompts = [title([exchange._replace(assistant="")]) for exchange in exchanges]
    prompts = [prompt for prompt in prompts if len(subject_words(prompt)) >= _LEAST_ASKED]
    room -= min(int(_ASKED_SHARE * room), sum(len(prompt) + 2 for prompt in prompts[1:]))
    settled = [decisions([exchange]) for exchange in exchanges]
    answers = [
        answered_by(exchange.user, excerpt(exchange.assistant), LONGEST_ROLLING)
        for exchange, decided in zip(exchanges, settled, strict=True)
        if not decided
    ]
    outcome = _session_line("Outcome", (text for decided in settled for text in decided), room, seen)
    room -= len(outcome) + 1 if outcome else 0
    answered = _session_line("Answered", answers, room, seen)
    above = sum(len(line) + 1 for line in (head, outcome, answered, left, files) if line)
    asked = _session_line("Asked", prompts, limit - above, seen)
    return "\n".join(filter(None, [head, outcome, answered, asked, left, files]))


def decisions(exchanges: Sequence[Exchange]) -> list[str]:
    """Return the sentences of a session about decisions, actions and causes, in order.

    They are the assistant's; of the user's words, only what says that it is decided.
    """
    said: dict[str, None] = {}
    for exchange in exchanges:
        said.update(
            (each.text, None) for each in sentences(excerpt(exchange.user)) if _DECIDED.search(each.text)
        )
        answer = (each.text for each in sentences(excerpt(exchange.assistant)))
        said.update((text, None) for text in answer if _DECISION.search(text) or _DEED.match(text))
    return [text for text in said if not text.endswith((*QUESTION, ":"))]


def outcome(exchanges: Sequence[Exchange]) -> list[str]:
    """Return sentences about what came of a session, the most telling first, no two in a row of one turn.

    They are the assistant's, or say what the user decided. The title is left out.
    """
    about = subject(exchanges)
    about_words = set(content_words(about))
    ranked: list[tuple[float, int, str]] = []
    for number, exchange in enumerate(exchanges):
        asked = set(content_words(excerpt(exchange.user)))
        said = list(sentences(excerpt(exchange.assistant)))
        worths = [
            (_telling(each, about_words), each.text)
            for each in said
            if not set(content_words(each.text)) <= asked
        ]
        decided = (each for each in sentences(excerpt(exchange.user)) if _DECIDED.search(each.text))
        worths += [(_telling(each, about_words), each.text) for each in decided if each.text != about]
        # The second sentence of a turn comes after the first ones of the others.
        best = sorted(worths, key=lambda each: -each[0])
        ranked += [(worth - place, number, text) for place, (worth, text) in enumerate(best)]
    return [text for _, _, text in sorted(ranked, key=lambda each: (-each[0], -each[1]))]


def _telling(sentence: Sentence, about: Collection[str]) -> float:
    """Return how much a sentence says about what came of a session with these words in its title."""
    text, words = sentence.text, set(content_words(sentence.text))
    score = 2.0 * len(words & set(about)) / (len(about) or 1)
    score += bool(_DECISION.search(text)) + 2.0 * bool(_DEED.match(text)) + bool(_RESULT.search(text))
    score += (sentence.paragraph == 0) + sentence.first + 0.5 * any(map(str.isdigit, text))
    is_other = _SMALL_TALK.match(text) or open_cues.LATER.search(text) or text.endswith((*QUESTION, ":"))
    return score - 3.0 * bool(is_other or len(words) < _LEAST_ASKED) - max(0, len(text) - _BRIEF) / 80


def _session_line(label: str, texts: Iterable[str], room: int, seen: list[str]) -> str:
    """Return `label: sentences` with as many different sentences as fit, in order; "" if none.

    Sentences in `seen` are left out; the chosen ones are added to it.
    """
    room -= len(label) + 2
    every = (sentence.text for text in dict.fromkeys(texts) for sentence in sentences(text))
    fresh = (sentence for sentence in dict.fromkeys(every) if not _is_repeated(sentence, seen))
    candidates = [clip(sentence, LONGEST_ROLLING) for sentence in fresh]
    words = [set(content_words(sentence)) for sentence in candidates]
    left = [
        at for at, text in enumerate(candidates) if subject_words(text)
    ]  # "thanks" and "go on" have no subject
    chosen: list[int] = []
    said: set[str] = set()
    while left := [at for at in left if len(candidates[at]) <= room and not words[at] <= said]:
        best = max(left, key=lambda at: (len(words[at] - said) / math.sqrt(len(words[at]) + 1), -at))
        chosen.append(best)
        said |= words[best]
        room -= len(candidates[best]) + 2  # a semicolon, a space
    seen += [candidates[at] for at in chosen]
    return f"{label}: {join([candidates[at] for at in sorted(chosen)])}" if chosen else ""


def _is_repeated(sentence: str, seen: Iterable[str]) -> bool:
    """Return True if one of these sentences has all content words of this one."""
    words = set(content_words(sentence))
    return any(words <= set(content_words(other)) for other in seen)

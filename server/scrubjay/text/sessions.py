"""Summarises a session: its title, its decisions, and what came of it.

Sentences are selected in order and never rewritten, as in `summary`.
"""

import math
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from itertools import chain

from scrubjay.text import tables
from scrubjay.text.sentences import QUESTION, Sentence, clip, join, sentences
from scrubjay.text.summary import answered_by, name_line
from scrubjay.text.terms import told_words
from scrubjay.text.titles import Exchange, excerpt, subject, subject_words, title

ROLLING_LIMIT = 1_000  # characters of a session's summary, about as much as the model reads (256 tokens)
LONGEST_ROLLING = 160  # characters of a sentence in such a summary: twenty turns share the space
# The prompts below the title get at most this share of a summary: decisions answer more questions later.
_ASKED_SHARE = 0.4
_LEAST_ASKED = 2  # least content words of a prompt that is listed below the title; "commit it" has one
_BRIEF = 100  # characters; a longer sentence about an outcome ranks lower
_DECISION, _DECIDED = tables.cues("decision"), tables.cues("decided")
_RESULT, _SMALL_TALK, _LATER = map(tables.cues, ("result", "small_talk", "later"))
_DEED, _UNDONE = tables.pattern("cues", "deed"), tables.pattern("cues", "undone")


def session_summary(
    exchanges: Sequence[Exchange], left_open: Iterable[str] = (), *, limit: int = ROLLING_LIMIT
) -> str:
    """Summarise a session: its title, then lines `Outcome:`, `Answered:`, `Asked:`, `Open:` and `Files:`.

    `Answered:` is about turns without decisions or actions, `Asked:` about prompts other than the title.
    Lines without content are left out; all have at most `limit` characters together.
    """
    head = clip(title(exchanges), limit)
    file_counts = Counter(name for exchange in exchanges for name in exchange.files)
    files = name_line("Files", [name for name, _ in file_counts.most_common()], limit // 6)
    seen = [subject(exchanges)]
    open_line = _session_line("Open", left_open, limit // 4, seen)
    room = limit - sum(len(line) + 1 for line in (head, files, open_line) if line)
    prompts = [title([exchange._replace(assistant="")]) for exchange in exchanges]
    prompts = [prompt for prompt in prompts if len(subject_words(prompt)) >= _LEAST_ASKED]
    room -= min(int(_ASKED_SHARE * room), sum(len(prompt) + 2 for prompt in prompts[1:]))
    undone = _undone(exchanges)
    turn_decisions = [
        [text for text in decisions([exchange]) if not (number in undone and _DEED.match(text))]
        for number, exchange in enumerate(exchanges)
    ]
    answers = [
        answered_by(exchange.user, excerpt(exchange.assistant), LONGEST_ROLLING)
        for number, (exchange, decided) in enumerate(zip(exchanges, turn_decisions, strict=True))
        if not decided and number not in undone
    ]
    outcome_line = _session_line("Outcome", chain.from_iterable(turn_decisions), room, seen)
    room -= len(outcome_line) + 1 if outcome_line else 0
    answered = _session_line("Answered", answers, room, seen)
    used = sum(len(line) + 1 for line in (head, outcome_line, answered, open_line, files) if line)
    asked = _session_line("Asked", prompts, limit - used, seen)
    return "\n".join(filter(None, [head, outcome_line, answered, asked, open_line, files]))


def decisions(exchanges: Sequence[Exchange]) -> list[str]:
    """Return the sentences of a session about decisions, actions and causes, in order.

    They are the assistant's. A sentence of the user is included only if it says that something is decided.
    """
    unique: dict[str, None] = {}
    for exchange in exchanges:
        prompt = (sentence.text for sentence in sentences(excerpt(exchange.user)))
        answer = (sentence.text for sentence in sentences(excerpt(exchange.assistant)))
        unique.update((text, None) for text in prompt if _DECIDED.search(text))
        unique.update((text, None) for text in answer if _DECISION.search(text) or _DEED.match(text))
    return [text for text in unique if not text.endswith((*QUESTION, ":"))]


def outcome(exchanges: Sequence[Exchange]) -> list[str]:
    """Return sentences about the outcome of a session, best first; a turn's second one ranks lower.

    The sentences are the assistant's, or say what the user decided. Questions, open tasks, asides and the
    sentence of the title are left out; if nothing else was said, the best aside or that sentence is kept.
    """
    title_sentence = subject(exchanges)
    title_words = set(told_words(title_sentence))
    ranked: list[tuple[float, int, str]] = []
    undone = _undone(exchanges)
    for number, exchange in enumerate(exchanges):
        prompt = excerpt(exchange.user)
        prompt_words = set(told_words(prompt))
        answered = [
            sentence
            for sentence in sentences(excerpt(exchange.assistant))
            if not set(told_words(sentence.text)) <= prompt_words
            and not (number in undone and _DEED.match(sentence.text))
        ]
        decided = [
            sentence
            for sentence in sentences(prompt)
            if _DECIDED.search(sentence.text) and sentence.text != title_sentence
        ]
        scored = [
            (_outcome_score(sentence, title_words), sentence.text)
            for sentence in (*answered, *decided)
            if not (sentence.text.endswith((*QUESTION, ":")) or sentence.text.startswith("[ ] "))
        ]
        # The second sentence of a turn comes after the first ones of the others.
        best_first = sorted(scored, key=lambda pair: -pair[0])
        ranked += [(score - place, number, text) for place, (score, text) in enumerate(best_first)]
    texts = [text for _, _, text in sorted(ranked, key=lambda entry: (-entry[0], -entry[1]))]
    telling = [text for text in texts if text != title_sentence and not _is_aside(text)]
    return [text.removeprefix("[x] ") for text in telling or texts[:1]]


def _undone(exchanges: Sequence[Exchange]) -> set[int]:
    """Return the numbers of the turns whose deeds a later turn took back."""
    undone: set[int] = set()
    for number, exchange in enumerate(exchanges):
        reports = (_UNDONE.match(sentence.text) for sentence in sentences(excerpt(exchange.assistant)))
        for report in filter(None, reports):
            undone.update(range(0 if report["all"] else max(0, number - 1), number))
    return undone


def _is_aside(text: str) -> bool:
    """Return True if a sentence has no subject, is small talk, or leaves something for later."""
    is_talk = _SMALL_TALK.match(text) and not _DECISION.search(text)
    return bool(is_talk or _LATER.search(text)) or len(subject_words(text)) < _LEAST_ASKED


def _outcome_score(sentence: Sentence, title_words: Collection[str]) -> float:
    """Rate how much a sentence says about the outcome of a session with these words in its title."""
    text, words = sentence.text, set(told_words(sentence.text))
    score = 2.0 * len(words & set(title_words)) / (len(title_words) or 1)
    score += bool(_DECISION.search(text)) + 2.0 * bool(_DEED.match(text)) + bool(_RESULT.search(text))
    score += (sentence.paragraph == 0) + sentence.first + 0.5 * any(map(str.isdigit, text))
    is_aside = _SMALL_TALK.match(text) or _LATER.search(text) or text.endswith((*QUESTION, ":"))
    return score - 3.0 * bool(is_aside or len(words) < _LEAST_ASKED) - max(0, len(text) - _BRIEF) / 80


def _session_line(label: str, texts: Iterable[str], room: int, seen: list[str]) -> str:
    """Return `label: sentences` with as many different sentences as fit, in order; "" if none fits.

    Sentences in `seen` are left out; the chosen sentences are added to `seen`.
    """
    room -= len(label) + 2
    unique = dict.fromkeys(sentence.text for text in dict.fromkeys(texts) for sentence in sentences(text))
    candidates = [clip(text, LONGEST_ROLLING) for text in unique if not _is_repeated(text, seen)]
    words = [set(told_words(sentence)) for sentence in candidates]
    # "thanks" and "go on" have no subject
    remaining = [at for at, text in enumerate(candidates) if subject_words(text)]
    chosen: list[int] = []
    covered: set[str] = set()
    while remaining := [at for at in remaining if len(candidates[at]) <= room and not words[at] <= covered]:
        best = max(remaining, key=lambda at: (len(words[at] - covered) / math.sqrt(len(words[at]) + 1), -at))
        chosen.append(best)
        covered |= words[best]
        room -= len(candidates[best]) + 2  # for a semicolon and a space
    seen += [candidates[at] for at in chosen]
    return f"{label}: {join([candidates[at] for at in sorted(chosen)])}" if chosen else ""


def _is_repeated(sentence: str, seen: Iterable[str]) -> bool:
    """Return True if a sentence in `seen` has all content words of this one."""
    words = set(told_words(sentence))
    return any(words <= set(told_words(other)) for other in seen)

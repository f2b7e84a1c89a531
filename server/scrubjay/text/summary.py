"""Extractive summaries of turns, sessions and documents: sentences are selected in order and never rewritten.

So a summary cannot invent anything. English cues identify decisions and small talk; in other languages only
the position counts.
"""

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import NamedTuple

from scrubjay.text import open_cues
from scrubjay.text.terms import content_words

# Sizes are in characters.
TURN_LIMIT = 1200  # a turn's summary
ROLLING_LIMIT = 1_000  # a session's, about what the model reads of a text (256 tokens)
ABSTRACT_LIMIT = 600  # a document's
LONGEST = 320  # one sentence; a longer one is cut after a word
LONGEST_ROLLING = 160  # one sentence in a session's summary: twenty turns share the space
TITLE_LIMIT = 120  # a session's title; a longer sentence is no title while there is a shorter one
LONGEST_OPEN = 200  # one sentence about an open point
READ_SIDE = 6_000  # the beginning and the end of one side of a turn, when a session is summarised
READ = 60_000  # a document: a book's first forty pages are representative enough

GIST_WORDS, GIST_LIMIT = 12, 90  # of a sentence whose turn is not to be stored
OPEN_TURNS = 2  # last turns of a session whose state is its end
MOST_OPEN = 4  # sentences about open points
# Most of a session's summary for further questions; decisions answer more questions later.
_ASKED_SHARE = 0.4
_LEAST_ASKED = 2  # content words of a prompt that is listed next to the title; "commit it" has one
_FIRST = 1.4  # factor for a prompt's first paragraph: logs and details follow
_BRIEF = 100  # characters of a sentence that may be all that is told of an outcome
_MINOR = 0.4  # factor for a sentence that is no title while there is another
_LEAST_CLAUSE = 30  # characters of a clause that may be a gist alone
_TAKEN_UP = 0.6  # share of a sentence's content words that occur again later: the point was taken up
_LEAST_ABSTRACT_WORDS = 4  # content words; a shorter sentence is a label
_LEAD = 1.5  # factor for a document's first sentence: authors begin with the subject
_ONCE = 0.1  # weight of a word that occurs in only one sentence: matters only if all do
_LEAST_SHARE = 0.2  # of the best sentence's score; less central sentences only fill space
_MOST_SAID = 0.75  # share of a sentence's words that others have already; more is a repetition
_MOST_NAMES = 12  # definitions of a source file


def _cues(alternatives: str) -> re.Pattern[str]:
    return re.compile(rf"\b(?:{'|'.join(part.strip() for part in alternatives.split('|'))})\b", re.IGNORECASE)


_DECISION = _cues(
    r"""decid(?:e[ds]?|ing) | decisions? | chosen? | choos(?:e|ing) | (?:we|you) (?:will|should|agreed)
    | going with | settled on | switch(?:ed|ing)? | instead of | rather than | renamed? | replaced?
    | because | so that | root cause | turned out | the (?:cause|reason|problem|bug|issue) (?:was|is)
    | fix(?:ed|es) | resolved | rejected | reverted | prefer(?:s|red)?"""
)
_DECIDED = _cues(  # in the user's words
    r"""deci(?:de|ded|sion) | we (?:agreed|settled|chose) | agreed | house rule | rule"""
)
_CHANGE = _cues(
    r"""us(?:e|es|ed|ing) | add(?:ed|s)? | remov(?:e|ed|es) | mov(?:e|ed|es) | chang(?:e|ed|es) | set
    | must | never | always | now | pass(?:es|ed)? | fail(?:s|ed)?"""
)
_DEED = re.compile(  # an assistant's report of what it did, at the start of a sentence
    r"(?i)(?:(?:done|yes|fixed|ok)[:,.]? )?(?:i|we)(?:'ve| have)? (?:now |also |then )?"
    r"(?:(?!look|check|notic|search|need|want|tri|expect|us|assum|analy|review|inspect|test|measur|profil)\w+ed"
    r"|wrote|made|built|split|set|put|took|cut|rewrote)\b"
    r"|(?:done|changed|corrected|dropped|left out|merged|landed|removed|replaced|fixed|settled|understood"
    r"|agreed)\b"
)
_RESULT = _cues("now | since | from now on | instead of | no longer | any more | only")
_SMALL_TALK = _cues(  # at the start of a sentence
    r"""sure | certainly | absolutely | of course | great | good | perfect | excellent | okay | ok
    | alright | hi | hello | hey | thanks | thank you | you're (?:absolutely )?right | let me | let's
    | i'll | i will | i'm going to | i am going to | now (?:i|let) | first,? (?:i'll|let) | happy to
    | hope this | you're welcome | anything else | no problem | noted | feel free
    | would you like | do you want | shall i | should i | looking at
    | here(?:'s| is| are)"""
)
# A prompt with only these words agrees, thanks or continues, and has no subject.
_EMPTY = frozenset(
    """
    yes yeah yep yup y no nope n ok okay k sure please thanks thank thx ty great good nice perfect cool fine
    right correct exactly agreed absolutely go ahead on next continue proceed sounds looks works lgtm again
    now more keep going same let's let lets well done yourself try hi hello hey morning awesome excellent
    wow super mach das mal es hmm hm ah oh alright not think just really very all only want
    first second both one two
    ja nein danke bitte weiter gut genau sehr oui non merci si gracias
    """.split()
)
_OPENER = re.compile(  # politeness before the subject of a prompt
    r"""(?:(?:hi|hey|hello|ok(?:ay)?|so|well|great|thanks(?:\ a\ lot)?|thank\ you|please|good|nice|perfect
      |right|alright|and|also|but|then|now|next|yes|no|sure|cool)\b(?:\ (?:there|again|claude))?[,!.:;]*\s+
    |(?:can|could|would|will)\ (?:you|we)\ (?:please\ |also\ |now\ |maybe\ )*
    |i(?:\ would|'d)\ (?:like|love)\ (?:you\ )?to\ |i\ (?:want|need)\ (?:you\ )?to\ |help\ me\ (?:to\ )?
    |let(?:'s|\ us)\ (?:now\ )?|we\ (?:need|want|have)\ to\ |i\ (?:was\ wondering|wonder)\ (?:if|whether)\ )+
    """,
    re.IGNORECASE | re.VERBOSE,
)
_ASIDE = _cues(  # in a prompt that introduces the project, or says how the user likes things
    r"""btw | by the way | ps | for the future | from now on | always | never | house rule | rule | style
    | i (?:like|hate|want|don't want) | i'm off | don't (?:use|suggest|want) | remind me
    | new (?:session|repo) | first session | starting fresh | read (?:the|both) | overview
    | tell me (?:in short )?what (?:you see|the layers are) | repo \w+ | this is"""
)
_CODE = re.compile(r"`[^`]+`|\b[a-z]+[A-Z]\w*|\w_\w|\w\(\)|\w[/\\.]\w{2,}")
_FENCE = re.compile(r"\s{0,3}(`{3,}|~{3,})")
_BULLET = re.compile(r"\s*(?:[-*+\u2022]|\d{1,3}[.)]|>)\s+")
_BOLD = re.compile(r"(?<![\w*])\*\*([^\s*][^*]{0,200})\*\*(?![\w*])")
# A sentence ends before anything but a lower-case letter, or after a longer word, which spares `e.g. this`;
# CJK needs no space.
_SENTENCE_END = re.compile(
    r"(?<=[.!?\u2026])[\"'\u201d\u2019)\]]{0,3}\s+(?![a-z])|(?<=[\u3002\uff01\uff1f])"
    r"|(?<=[a-z0-9)]{3}[.!?])(?<!\betc\.)(?<!\bincl\.)(?<!\bapprox\.)\s+(?=[a-z])"
)
_QUESTION = ("?", "\uff1f")
_CLOSED = tuple(".!?:;,\u2026\u3002\uff01\uff1f\uff1a)")
_COMMENT = re.compile(
    r"\A\s*+(?:#![^\n]*+\n\s*+)?"
    r'(?:("""|\'\'\')(.*?)\1|/\*(?:\*(?!/))*+(.*?)\*/|((?:[ \t]*+(?:#|//|--)[^\n]*+\n)++))',
    re.DOTALL,
)
_MARKS = re.compile(r"^[ \t]*(?:#+|//+|--+|\*+)[ \t]?", re.MULTILINE)


@dataclass(frozen=True)
class _Sentence:
    """One sentence of a text, on one line, and its position."""

    text: str
    paragraph: int
    first: bool  # True for the first sentence of its paragraph


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
    lists = [_name_line("Files", files, limit // 5), _name_line("Tools", tools, limit // 10)]
    # The last commands are the most informative.
    lists.append(_name_line("Ran", reversed(commands), limit // 6))
    room = limit - sum(len(line) + 1 for line in lists if line)
    asked = _labelled("Asked", _asked, user or "", room // 3 if assistant and assistant.strip() else room)
    room -= len(asked) + 1 if asked else 0
    answered = _labelled("Answered", partial(_answered, user or ""), assistant or "", room)
    return "\n".join(filter(None, [asked, answered, *lists]))


def gist(user: str | None, assistant: str | None) -> str:
    """Return the gist of a turn whose words are not to be stored: lines `Asked:` and `Answered:`.

    For the prompt it is the title; for the answer a dozen words if it is one sentence, else the most
    important sentences, at most half of it.
    """
    asked = _cut_to_gist(_without_opener(_about([Exchange(user or "", "")])))
    answer = assistant or ""
    said = [sentence.text for sentence in _sentences(answer)]
    half = min(len(answer) // 2, TURN_LIMIT // 2)
    answered = _answered(user or "", answer, half) if len(said) > 1 else _cut_to_gist("".join(said))
    lines = (("Asked", asked), ("Answered", answered))
    return "\n".join(f"{label}: {text}" for label, text in lines if text)


class Exchange(NamedTuple):
    """The content of a turn: the user's and the assistant's text, "" if missing, and the touched files."""

    user: str
    assistant: str
    files: tuple[str, ...] = ()


def exchange_in(summary: str, files: Iterable[str] = ()) -> Exchange:
    """Parse a turn's summary, written by `summarise` or a caller; lines without a label count as answered."""
    asked: list[str] = []
    answered: list[str] = []
    for line in summary.split("\n"):
        label, colon, text = line.partition(": ")
        if colon and label == "Asked":
            asked.append(text)
        elif not (colon and label in ("Files", "Tools", "Ran")):
            answered.append(text if colon and label == "Answered" else line)
    return Exchange("\n".join(asked), "\n".join(answered), tuple(files))


def title(exchanges: Sequence[Exchange]) -> str:
    """Return the subject of a session, or of a single turn: a whole sentence, without politeness.

    It is of the prompt whose words the session uses most and that got most of an answer; if no prompt has a
    subject, it is of an answer. Only a sentence longer than `TITLE_LIMIT` is cut, after a word. "" if there
    is no text.
    """
    return _clip(_without_opener(_about(exchanges)).rstrip(".:;,\u3002"), TITLE_LIMIT)


def left_open(exchanges: Sequence[Exchange], after: Iterable[Exchange] = ()) -> list[str]:
    """Return the open points of a session, at most `MOST_OPEN` sentences, the last one first.

    They are an unanswered last prompt, a question at the end of the last answer, and sentences about what is
    still to be done (`open_cues`: "todo", "not yet", "still fails") that no later turn, nor one of a later
    session (`after`), takes up.
    """
    points: dict[str, None] = {}
    later = [set(content_words(f"{_excerpt(each.user)} {_excerpt(each.assistant)}")) for each in after]
    following = ""  # the next prompt
    for back, exchange in enumerate(reversed(exchanges)):
        user, assistant = _excerpt(exchange.user), _excerpt(exchange.assistant)
        for point in () if open_cues.is_done(following) else _open_points(user, assistant, back):
            words = set(content_words(point))
            if len(words) >= _LEAST_ASKED and all(
                len(words & turn) < _TAKEN_UP * len(words) for turn in later
            ):
                points[_clip(point, LONGEST_OPEN)] = None
        later.append(set(content_words(f"{user} {assistant}")))
        following = user
    return list(points)[:MOST_OPEN]


def decisions(exchanges: Sequence[Exchange]) -> list[str]:
    """Return the sentences of a session about decisions, actions and causes, in order.

    They are the assistant's; of the user's words, only what says that it is decided.
    """
    said: dict[str, None] = {}
    for exchange in exchanges:
        said.update(
            (each.text, None) for each in _sentences(_excerpt(exchange.user)) if _DECIDED.search(each.text)
        )
        answer = (each.text for each in _sentences(_excerpt(exchange.assistant)))
        said.update((text, None) for text in answer if _DECISION.search(text) or _DEED.match(text))
    return [text for text in said if not text.endswith((*_QUESTION, ":"))]


def outcome(exchanges: Sequence[Exchange]) -> list[str]:
    """Return sentences about what came of a session, the most telling first, no two in a row of one turn.

    They are the assistant's, or say what the user decided. The title is left out.
    """
    about = _about(exchanges)
    subject = set(content_words(about))
    ranked: list[tuple[float, int, str]] = []
    for number, exchange in enumerate(exchanges):
        asked = set(content_words(_excerpt(exchange.user)))
        said = list(_sentences(_excerpt(exchange.assistant)))
        worths = [
            (_telling(each, subject), each.text)
            for each in said
            if not set(content_words(each.text)) <= asked
        ]
        decided = (each for each in _sentences(_excerpt(exchange.user)) if _DECIDED.search(each.text))
        worths += [(_telling(each, subject), each.text) for each in decided if each.text != about]
        # The second sentence of a turn comes after the first ones of the others.
        best = sorted(worths, key=lambda each: -each[0])
        ranked += [(worth - place, number, text) for place, (worth, text) in enumerate(best)]
    return [text for _, _, text in sorted(ranked, key=lambda each: (-each[0], -each[1]))]


def _telling(sentence: _Sentence, subject: Collection[str]) -> float:
    """Return how much a sentence says about what came of a session with this subject."""
    text, words = sentence.text, set(content_words(sentence.text))
    score = 2.0 * len(words & set(subject)) / (len(subject) or 1)
    score += bool(_DECISION.search(text)) + 2.0 * bool(_DEED.match(text)) + bool(_RESULT.search(text))
    score += (sentence.paragraph == 0) + sentence.first + 0.5 * any(map(str.isdigit, text))
    is_other = _SMALL_TALK.match(text) or open_cues.LATER.search(text) or text.endswith((*_QUESTION, ":"))
    return score - 3.0 * bool(is_other or len(words) < _LEAST_ASKED) - max(0, len(text) - _BRIEF) / 80


def session_summary(exchanges: Sequence[Exchange], *, limit: int = ROLLING_LIMIT) -> str:
    """Summarise a session: its title, then lines `Outcome:`, `Answered:`, `Asked:`, `Open:` and `Files:`.

    `Answered:` is about turns without decisions or actions, `Asked:` adds to the title.

    Args:
        exchanges: the turns in order.
        limit: characters of all lines together.

    Returns:
        The lines that have content, no sentence twice; "" if none has.
    """
    head = _clip(title(exchanges), limit)
    touched = Counter(name for exchange in exchanges for name in exchange.files)
    files = _name_line("Files", [name for name, _ in touched.most_common()], limit // 6)
    seen = [_about(exchanges)]
    left = _session_line("Open", left_open(exchanges), limit // 4, seen)
    room = limit - sum(len(line) + 1 for line in (head, files, left) if line)
    prompts = [title([exchange._replace(assistant="")]) for exchange in exchanges]
    prompts = [prompt for prompt in prompts if len(set(content_words(prompt)) - _EMPTY) >= _LEAST_ASKED]
    room -= min(int(_ASKED_SHARE * room), sum(len(prompt) + 2 for prompt in prompts[1:]))
    settled = [decisions([exchange]) for exchange in exchanges]
    answers = [
        _answered(exchange.user, _excerpt(exchange.assistant), LONGEST_ROLLING)
        for exchange, decided in zip(exchanges, settled, strict=True)
        if not decided
    ]
    outcome = _session_line("Outcome", (text for decided in settled for text in decided), room, seen)
    room -= len(outcome) + 1 if outcome else 0
    answered = _session_line("Answered", answers, room, seen)
    above = sum(len(line) + 1 for line in (head, outcome, answered, left, files) if line)
    asked = _session_line("Asked", prompts, limit - above, seen)
    return "\n".join(filter(None, [head, outcome, answered, asked, left, files]))


def abstract(
    text: str,
    *,
    heading: str | None = None,
    names: Iterable[str] = (),
    code: bool = False,
    limit: int = ABSTRACT_LIMIT,
) -> str:
    """Summarise a document in at most `limit` characters: its heading, then central sentences in order.

    With `code`, summarise the comment at its top, then list the first of the `names` that it defines. No word
    is cut; "" if there is no text.
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


def _labelled(label: str, choose: Callable[[str, int], str], text: str, room: int) -> str:
    chosen = choose(text, room - len(label) - 2)
    return f"{label}: {chosen}" if chosen else ""


def _asked(text: str, room: int) -> str:
    """Choose a prompt's first meaningful sentences, and its questions, which often follow a pasted log."""

    def worth(sentence: _Sentence) -> float:
        if sentence.text.endswith(_QUESTION):
            return 2.0
        if _SMALL_TALK.match(sentence.text):
            return -1.0
        return 0.5 * bool(_DECISION.search(sentence.text)) + (sentence.paragraph == 0)

    return "" if _is_empty(text) else _chosen(text, worth, room)


def _answered(question: str, answer: str, room: int) -> str:
    """Choose sentences that decide, answer the question, have numbers or code, or begin or end the answer."""
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

    return _chosen(answer, worth, room)


def _chosen(text: str, worth: Callable[[_Sentence], float], room: int) -> str:
    """Join the best sentences that fit, in the order of the text; "" if none fits."""
    whole_text = _Sentence(_flat(text.replace("`", " ").replace("~", " ")), 0, True)
    candidates = list(_sentences(text)) or [whole_text]
    scores = [worth(sentence) for sentence in candidates]
    order = sorted(range(len(candidates)), key=lambda at: (-scores[at], at))
    chosen: dict[int, str] = {}
    for at in [at for at in order if scores[at] >= 0] or order[:1]:
        whole = candidates[at].text
        # Do not fill the rest with half a sentence, unless there is nothing else.
        piece = _clip(whole, min(room, LONGEST)) if not chosen or len(whole) > LONGEST else whole
        if piece and len(piece) <= room and piece not in chosen.values():
            chosen[at] = piece
            room -= len(piece) + 2
    return _join([chosen[at] for at in sorted(chosen)])


def _is_empty(prompt: str) -> bool:
    """Return True if a prompt only agrees, thanks or continues."""
    words = content_words(prompt[:200])
    return len(words) < 12 and all(word in _EMPTY or word.isdigit() for word in words)


def _excerpt(text: str) -> str:
    """Return the beginning and the end of a long text, where a turn has its subject and its outcome."""
    return text if len(text) <= 2 * READ_SIDE else f"{text[:READ_SIDE]}\n\n{text[-READ_SIDE:]}"


def _about(exchanges: Sequence[Exchange]) -> str:
    """Choose the sentence that represents the session best: a prompt's, else an answer's."""
    sides = [(_excerpt(exchange.user), _excerpt(exchange.assistant)) for exchange in exchanges]
    words = [set(content_words(f"{user} {answer}")) for user, answer in sides]
    uses = Counter(word for each in words for word in each)
    prompts = ["" if _is_empty(user) else user for user, _ in sides]
    said = [0] * len(
        sides
    )  # how much is said about each prompt; what follows "yes, do it" is about the last one
    about = 0
    for at, each in enumerate(words):
        about = at if prompts[at] else about
        said[about] += len(each)
    answers = [answer for _, answer in sides]
    return (
        _central_of(prompts, said, uses, 2)
        or _central_of(answers, said, uses, 2)
        or _central_of(prompts, said, uses, 1)
    )


def _central_of(texts: Sequence[str], said: Sequence[int], uses: Counter[str], least: int) -> str:
    """Choose the sentence whose words are used most, of a text about which much is said.

    It must have `least` content words.
    """
    best, most = "", 0.0
    for text, much in zip(texts, said, strict=True):
        for sentence in _whole_sentences(text):
            bare = _without_opener(sentence.text)
            words = {word for word in content_words(bare) if word not in _EMPTY}
            worth = math.fsum(math.log(1 + uses[word]) for word in words) / math.sqrt(len(words) + 2)
            worth *= (
                math.log(2 + much) * (_FIRST if sentence.paragraph == 0 else 1.0) * (1.0 if best else _FIRST)
            )
            if (
                _SMALL_TALK.match(bare)
                or _ASIDE.search(bare)
                or not _is_prose(bare)
                or len(bare) > TITLE_LIMIT
            ):
                worth *= _MINOR
            if worth > most and len(words) >= least:
                best, most = sentence.text, worth
    return best


def _whole_sentences(text: str) -> Iterator[_Sentence]:
    """Split a text into sentences, and a long one, which may be several lines without a stop, into lines."""
    sentences = list(_sentences(text))
    if any(len(sentence.text) > TITLE_LIMIT for sentence in sentences):
        sentences = [each for line in text.split("\n") for each in _sentences(line)]
    yield from sentences


def _without_opener(sentence: str) -> str:
    opener = _OPENER.match(sentence)
    rest = sentence[opener.end() :] if opener else sentence
    return rest[:1].upper() + rest[1:] if opener and rest else sentence


def _is_prose(sentence: str) -> bool:
    """Return True if a sentence is mostly words, not a line of a log or of code."""
    return sum(char.isalpha() or char == " " for char in sentence) >= 0.75 * len(sentence)


def opening(text: str) -> str:
    """Return the beginning of a text as a title of at most a dozen words; "" for a text without a word.

    >>> opening("- Deploys go out on Tuesdays.\\n- Rollbacks need two approvals.")
    'Deploys go out on Tuesdays'
    """
    lines = (match[0] for match in re.finditer(r"[^\s#>*`-][^\n]*", text))
    return _cut_to_gist(_flat(next((line for line in lines if any(map(str.isalnum, line))), "")))


def _cut_to_gist(sentence: str) -> str:
    """Cut a sentence after a dozen words, preferably at the end of a clause."""
    words = sentence.split()
    if len(words) <= GIST_WORDS and len(sentence) <= GIST_LIMIT:
        return sentence.rstrip(".:;,\u3002")
    start = " ".join(words[:GIST_WORDS])
    ends = [at for mark in (": ", "; ", " - ", ", ") if (at := start.find(mark, _LEAST_CLAUSE)) > 0]
    short = _clip(start[: ends[0]] if ends else start, GIST_LIMIT - 1)
    return short if ends or short.endswith("\u2026") else f"{short}\u2026"


def _open_points(user: str, assistant: str, back: int) -> Iterator[str]:
    """Yield the open points of one turn: a question at the end, lists of open points, other sentences.

    Only the last turns are searched for what is still the state of things; `back` is how many follow.
    """
    if back == 0 and not assistant.strip() and not _is_empty(user):
        yield title([Exchange(user, "")])
        return
    answer = [sentence.text for sentence in _sentences(assistant)]
    if (
        back == 0
        and answer
        and open_cues.OFFER.match(answer[-1])
        and len(set(content_words(answer[-1])) - _EMPTY) >= 3
    ):
        yield answer.pop()
    yield from _open_list(assistant)
    planned = [one.text for one in _sentences(user) if not open_cues.ASKS.search(one.text)]
    cues = [open_cues.LATER, *([open_cues.STATE] if back < OPEN_TURNS else [])]
    for sentences, those in ((answer, cues), (planned, [open_cues.PLAN])):
        for sentence in reversed(sentences):
            is_open = any(cue.search(sentence) for cue in those)
            if is_open and not open_cues.NOTHING_OPEN.search(sentence) and not sentence.endswith(":"):
                yield sentence


def _open_list(text: str) -> Iterator[str]:
    """Yield tasks that are not ticked, and the items of a list below a line such as `Remaining:`."""
    listed = False
    for line in text.split("\n"):
        if task := open_cues.task_of(line):
            yield _flat(task)
        elif bullet := _BULLET.match(line):
            if listed:
                yield _flat(_BOLD.sub(r"\1", line[bullet.end() :]))
        elif line.strip():
            listed = open_cues.begins_list(line)


def _session_line(label: str, texts: Iterable[str], room: int, seen: list[str]) -> str:
    """Return `label: sentences` with as many different sentences as fit, in order; "" if none.

    Sentences in `seen` are left out; the chosen ones are added to it.
    """
    room -= len(label) + 2
    sentences = (sentence.text for text in dict.fromkeys(texts) for sentence in _sentences(text))
    fresh = (sentence for sentence in dict.fromkeys(sentences) if not _is_repeated(sentence, seen))
    candidates = [_clip(sentence, LONGEST_ROLLING) for sentence in fresh]
    words = [set(content_words(sentence)) for sentence in candidates]
    left = [at for at in range(len(candidates)) if words[at] - _EMPTY]  # "thanks" and "go on" have no subject
    chosen: list[int] = []
    said: set[str] = set()
    while left := [at for at in left if len(candidates[at]) <= room and not words[at] <= said]:
        best = max(left, key=lambda at: (len(words[at] - said) / math.sqrt(len(words[at]) + 1), -at))
        chosen.append(best)
        said |= words[best]
        room -= len(candidates[best]) + 2  # a semicolon, a space
    seen += [candidates[at] for at in chosen]
    return f"{label}: {_join([candidates[at] for at in sorted(chosen)])}" if chosen else ""


def _is_repeated(sentence: str, seen: Iterable[str]) -> bool:
    """Return True if one of these sentences has all content words of this one."""
    words = set(content_words(sentence))
    return any(words <= set(content_words(other)) for other in seen)


def _central(sentences: Sequence[_Sentence], room: int) -> str:
    """Join the sentences whose words the whole text uses most, each new word counted once, as many as fit.

    Sentences that differ only in their numbers, as lines of a log or a table do, count as one.
    """
    words = [set(content_words(sentence.text)) for sentence in sentences]
    shapes = [frozenset(word for word in each if not word.isdigit()) or frozenset(each) for each in words]
    firsts = {shape: at for at, shape in reversed(list(enumerate(shapes)))}
    uses = Counter(word for at in firsts.values() for word in words[at])
    seen: set[str] = set()

    def worth(at: int) -> float:
        """Sum the uses of the words, half for seen ones; length is no advantage."""
        weights = ((_ONCE + math.log(uses[word])) * (0.5 if word in seen else 1.0) for word in words[at])
        # fsum: in a plain sum, the order of a set, and so the hash seed, would decide a tie.
        return math.fsum(weights) / math.sqrt(len(words[at]) + 1)

    left = sorted(at for at in firsts.values() if len(words[at]) >= _LEAST_ABSTRACT_WORDS)
    left = left or sorted(at for at in firsts.values() if words[at])
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
        left = [at for at in fitting if len(words[at] & seen) <= _MOST_SAID * len(words[at])]
    return _join([chosen[at] for at in sorted(chosen) if chosen[at]])


def _top_comment(text: str) -> str:
    match = _COMMENT.match(text[:READ])
    if match is None:
        return ""
    return match[2] or _MARKS.sub("", match[3] or match[4] or "")


def _name_line(label: str, names: Iterable[str], room: int) -> str:
    """Return `label: a, b and 3 more` with as many whole names as fit; "" without names or space."""
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
    """Join sentences; one without a full stop, such as a list item, gets a semicolon."""
    closed = [text if text.endswith(_CLOSED) else f"{text};" for text in sentences[:-1]]
    return " ".join([*closed, *sentences[-1:]])


def apart(line: str) -> list[str]:
    """Return the sentences of a summary's line, which `_join` joined."""
    return [text for part in line.split("; ") for text in _SENTENCE_END.split(part) if text]


def _flat(text: str) -> str:
    return " ".join(text.split())


def _clip(text: str, room: int) -> str:
    """Cut a long text after a word and add an ellipsis; "" if not one word fits."""
    if len(text) <= room:
        return text
    cut = room - 1
    while cut > 0 and _is_inside_word(text[cut - 1], text[cut]):
        cut -= 1
    start = text[: max(cut, 0)].rstrip()
    return f"{start}\u2026" if start else ""


def shorten(text: str, most: int) -> str:
    """Cut a text of more than `most` characters after a word, or in its only word, with an ellipsis."""
    if len(text) <= most:
        return text
    return _clip(text, most) or f"{text[: max(most - 1, 0)]}\u2026"[: max(most, 0)]


def _is_inside_word(before: str, after: str) -> bool:
    """Return True if a cut here is inside a word. Between Chinese or Japanese characters it never is."""
    pair = (before, after)
    return all(map(_is_word_character, pair)) and not any(map(_is_ideographic, pair))


def _is_word_character(char: str) -> bool:
    return char.isalnum() or char == "_" or unicodedata.category(char).startswith("M")


def _is_ideographic(char: str) -> bool:
    return (
        "\u2e80" <= char <= "\ua4cf" or "\uf900" <= char <= "\ufaff" or "\U00020000" <= char <= "\U0003ffff"
    )

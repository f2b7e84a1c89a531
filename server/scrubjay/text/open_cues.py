"""The words that say that something is left open, or that nothing is. Data only: `text/summary` applies them.

An open point is said with an intention, a lack or a duty. These cues are general, because narrow ones found
little in sessions that they were not chosen on (the halves `dev` and `test` of `tests/bench/told.py`).
"""

import re


def cues(alternatives: str) -> re.Pattern[str]:
    """Compile alternatives into a pattern of whole words; a bar may have spaces on both sides."""
    bare = re.sub(r"\s*\n\s*\|\s*|\s+\|\s+", "|", alternatives.strip())
    return re.compile(rf"\b(?:{bare})", re.IGNORECASE)


_ME = r"(?<!if )(?:i|we)"
_NEVER_DID = (
    r"(?:have not|haven't|did not|didn't|could not|couldn't|cannot|can't|was not able to|wasn't able to)"
)
_DAY = r"(?:tomorrow|(?:mon|tues|wednes|thurs|fri|satur|sun)day|(?:the )?next (?:week|month|sprint|release))"
# In a sentence without a word about the past.
_AHEAD = r"^(?!.*\b(?:was|were|had|did|came|went|got|took|ago|since|yesterday|each|every|\w+ed|so)\b).*"
# Forms of verbs for work that an assistant or its user does.
_WORK = (
    r"(?:add|ask|buil|check|clean|confirm|convert|cover|dare|decid|deploy|do(?:ne)?\b|document|fill|finish|fix"
    r"|handle|implement|judge|measure|merge|migrate|port|post|publish|reach|releas|remov|replac|reproduc|reset"
    r"|revert|review|rotat|r[ua]n\b|schedul|send|sent|sign|start|tell|test|touch|translat|try|tried|understand"
    r"|updat|upload|verif|wire|writ)\w*"
)
_DUTY = "(?:should|must|needs? to|has to)"

# Left for later, wherever in a session it is said.
LATER = cues(
    rf"""(?:to-?dos? | to do | fixme | work in progress | next (?:steps?|time|session|sprint|up)
    | next (?:i|we) (?:would|will) | left (?:to do|open|for (?:later|another|the next)|undone)
    | for later(?!\s\w) | later (?:today|on) | follow[- ]?ups? | out of scope | postponed | deferred
    | (?:skipped|excluded|ignored|disabled|off) for now | remains? open | before (?:the release|production)
    | open (?:questions?|issues?|points?|tasks?|items?) | remind me (?:to|that)

    | {_ME} {_NEVER_DID} (?:\w+ ){{0,2}}{_WORK} | i (?:do not|don't) (?:have|know|understand)
    | (?:has|have)(?:n't| not) been {_WORK} | not done | half[- ]done | only part(?:ly|ially) | untested
    | incomplete | (?:are|as) (?:an? )?placeholders? | (?:not sure|unclear) (?:yet )?(?:why|if|whether|what)
    | nothing (?:is )?proven | (?:red|failing|flaky) since | doesn't work yet | no (?:\w+ ){{1,3}}so far

    | {_ME}(?:'d|'ll| would| will) [^.;]{{1,80}} (?:once|when|until|after (?:the|a|that)|separately|as soon as
      |as a second step|at the end|{_DAY})
    | {_ME} (?:still )?(?:want to|plan to|need (?!not?\b)) | (?:i'd|i would) (?:ask|wait|publish)
    | {_AHEAD}\b(?:on|until|till|by) {_DAY}
    | (?:once|when|after|until|then) [^.;]{{1,60}} (?:we )?can (?:go|switch|be (?:removed|deleted|dropped))

    | (?:{_DUTY}|have to|to) be \w+ (?:by (?:hand|you|some(?:one|body))|first|manually)
    | would (?:still )?(?:need the same|have to be) | (?:some(?:body|one)|team|who) (?:still )?{_DUTY}
    | you (?:still )?(?:should|must|need to) | you still have to
    | {_DUTY} (?:look|decide|check|confirm|approve|answer|sign|tell|deliver|come from)
    | ha(?:s|ve) the same (?:problem|bug|issue|fault) | not (?:in|part of) this (?:change|pr)
    | needs? (?:the same|an? (?:\w+ )?(?:test|review|decision|answer|owner|look|fix|migration|approval))
    | (?:is|are) (?:\w+ )?(?:a separate|a different|another) (?:change|step|pr|commit|issue|ticket|matter)
    | worth (?:a|another|a closer) look | up to you | then you decide | you (?:can|should) decide
    | blocked (?:by|on) | (?:is|are) (?:still )?waiting (?:for|on) | thing i need from you
    | (?:until|when) \w+ (?:answers?|decides?|repl(?:y|ies)|confirms?|approves?|(?:is|are) back)
    | (?:opened|filed|created) (?:an? )?(?:issue|ticket)
    | offen sind | noch offen | steht noch aus | fehlt noch)\b
    | ^(?:please )?(?:ask|tell|remind|check with|talk to) (?!me|us)\w+
    | ^(?:remaining|open|missing|left|pending|blocked|tomorrow|later|known (?:gap|issue)s?): """
)
# What is open only if it is said at the end: before that, it describes how things work.
STATE = cues(
    r"""(?:wip | still (?:needs?|fails?|failing|missing|ha(?:s|ve) (?:to|no)|must|un\w+|broken|flaky|pending
      |waiting|red|left|lacks?|not|without|\w+n't|draws?|uses?|runs?|shows?)
    | remaining | (?:is|are) pending | (?:is|are) left(?=,| (?:to|for|open|over|undone)) | yet to be
    | (?:not|\w+n't|nothing|nobody|no one) (?:\w+ ){0,5}yet | unresolved | unfinished | outstanding
    | (?:is|are|was|were)(?:n't| not) (?:covered|done|tested|handled|implemented|verified|reached|scheduled)
    | (?:\d+|two|three|four|some|a few) (?:\w+ ){0,2}\w+s (?:still )?(?:fail|overflow|crash|break))\b"""
)
# In the user's words; a failure in a prompt is repaired in its answer.
PLAN = cues(
    r"""(?:to-?dos? | next (?:time|session|sprint) | later (?:we|i|you) | for (?:later|tomorrow)
    | (?:do|fix|add|handle|decide|let'?s) [^.?]{0,60}(?:later|tomorrow|next \w+) | remind me (?:to|that)
    | follow[- ]?ups? | left to do | leave [^.]{1,40} for \d[\w.]* | too much for now | not now | postponed?
    | open (?:questions?|issues?|points?|tasks?|items?) | pick (?:it|this|that) up)\b"""
)
NOTHING_OPEN = cues(
    r"""(?:nothing (?:is|else|more)?\s*(?:left|remains|open|pending|outstanding|remaining)
    | nothing (?:has|needs) to | everything (?:else )?(?:is|stays)
    | none (?:left|remains?)
    | no (?:\w+ )?(?:remaining|open|pending|outstanding|follow-?ups?|to-?dos?|next steps?)
    | all done | (?:until|see you) (?:next|tomorrow|later))\b"""
)
# At the start of the next prompt, which says or asks that it is done.
_DONE = re.compile(
    r"(?i)\s*(?:(?:i |we )?(?:did|done|ran|fixed|sent|merged)\b"
    r"|(?:(?:ok(?:ay)?|yes|and|now|then|please|pls),? )*(?:do|fix|port|add|run|make|write|finish|handle)"
    r" (?:it|that|this|these|them|those|both|so)\b"
    r"|[^.?!]{0,60}\b(?:keep|leave|drop|skip|ignore) (?:it|that|this|them)\b(?! for\b))"
)
# A line above a list of open points.
_HEADING = re.compile(
    r"""[\s#*_]*(?:still\ |what\ is\ |what's\ )*(?:remaining|to-?dos?|to\ do|next|left(?:\ to\ do)?
    |missing|later|open(?:\ questions?)?|not\ (?:yet\ )?(?:done|covered|tested)(?:\ yet)?|follow-?ups?
    |outstanding|pending|known\ (?:gaps|issues|problems))
    (?:\ (?:work|steps?|items?|tasks?|points?|issues?|for\ later|now|before\ [\w\s]{1,40}))?[\s:*_]*$""",
    re.IGNORECASE | re.VERBOSE,
)
# A task that is not ticked.
_UNTICKED = re.compile(r"\s*[-*+] \[ \] +(.+)")
# A question to the user that names something not done.
ASKS = re.compile(
    r"(?i)\?$|^(?:what|which|why|who|when|where|how|does|do|is|are|can|anything)\b|\bcan (?:we|you|i)\b"
)
OFFER = re.compile(
    r"(?i)(?:shall|should|may|can) (?:i|we)\b|(?:so |next )?(?:i|we) (?:can|could|would)\b"
    r"|(?:do you want|would you like)\b|one thing i need\b"
)


def is_done(prompt: str) -> bool:
    """Return True if a prompt begins by saying or asking that what was open is done."""
    return _DONE.match(prompt) is not None


def begins_list(line: str) -> bool:
    """Return True for a line above a list of open points."""
    return _HEADING.match(line) is not None


def task_of(line: str) -> str | None:
    """Return the text of a task that is not ticked; None if a line is not one."""
    task = _UNTICKED.match(line)
    return task[1] if task else None

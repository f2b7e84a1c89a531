"""The words that say that something is left open, or that nothing is. Data only: `text/summary` applies them.

They were chosen on the sessions of the half `dev` in `tests/bench/told.toml` and `told_open.toml`.
"""

import re


def cues(alternatives: str) -> re.Pattern[str]:
    """Compile alternatives into a pattern of whole words; a bar may have spaces on both sides."""
    bare = re.sub(r"\s*\n\s*\|\s*|\s+\|\s+", "|", alternatives.strip())
    return re.compile(rf"\b(?:{bare})", re.IGNORECASE)


_ME = r"(?<!if )(?:i|we)"
_WILL = r"(?:'d|'ll|\swould|\swill)"
_WEEKDAY = "(?:mon|tues|wednes|thurs|fri|satur|sun)day"
_MONTH = "(?:january|february|march|april|may|june|july|august|september|october|november|december)"
_DAY = rf"(?:{_WEEKDAY}|{_MONTH} \d+|\d+ {_MONTH}|the end of (?:the|{_MONTH}))"
# In a sentence without a word about the past.
_AHEAD = r"^(?!.*\b(?:was|were|had|did|came|went|got|took|ago|since|yesterday|each|every|\w+ed|so)\b).*"
_STEP = "(?:change|step|pr|commit|issue|ticket|matter|story|release|version)"
_TASK = (
    "(?:test|review|decision|answer|owner|look|fix|migration|follow-?up|rehearsal|release|update|approval"
    "|sign-?off|restart|rebuild|curve|second)"
)

# Left for later, wherever in a session it is said.
LATER = cues(
    rf"""(?:to-?dos? | fixme | work in progress | next (?:steps?|time|session|week|up) | tomorrow
    | next (?:i|we) (?:would|will) | left (?:to do|open|for (?:later|another|the next)|over|undone)
    | didn't get to | for later(?!\s\w) | later today | until later | later on
    | (?:do|fix|add|handle|revisit|look at|decide|finish|write) (?:it|this|that|them) later
    | (?:look at|do|handle|fix) separately | follow-?ups? | follow up
    | open (?:for|questions?|issues?|points?|tasks?|items?|problems?|end)
    | postponed? | deferred | (?:skipped|excluded|ignored|disabled|off) for now | not done
    | to be (?:decided|discussed|clarified|implemented) | remind me (?:to|that) | too much for now
    | before the release | (?:i'd|i would) (?:ask|publish)
    | (?:we|you) (?:still )?(?:need (?:to|other|more)|have to (?:make|sign|fill))
    | remains? open

    | {_ME} (?:have not|haven't)(?!\s(?:changed|seen|found|noticed))
    | {_ME} (?:did not|didn't|could not|couldn't|cannot|can't|do not|don't) (?:dare|test|run|try|check|verify
      |measure|reach|start|reproduce|send|post|judge|understand|finish|touch|deploy|merge|migrate|document
      |know (?:yet|why)) | (?:has|have)(?:n't| not) been \w+ | half(?: |-)done | only part(?:ly|ially)
    | (?:not sure|unclear) (?:yet )?(?:why|if|whether|what) | cause is unknown | unexplained
    | (?:is|are|was|were) (?:not (?:covered|tested|handled|implemented|verified|reached)|incomplete
      |placeholders?|untested) | (?:was|were) not touched | (?:red|failing|broken|flaky) since
    | doesn't work yet | no (?:\w+ ){{1,3}}so far | nothing (?:is )?proven

    | (?:needs?|wants?) (?:the same|an? (?:\w+ )?{_TASK})
    | (?:is|are|waits?|waiting) (?:with|for) (?:you|them|him|her|the \w+ team|(?:your|their|his) \w+)
    | (?:is|are) up to you | (?:pr|ticket|request|issue) is open | in review | promised? (?:it|them) for
    | (?:is|are) (?:planned|scheduled|due) | follows? (?:on|in|next|later)
    | {_AHEAD}\b(?:on|until|till|by) {_DAY}
    | would (?:still )?(?:need|have to) (?:to )?(?:be|the same) | worth (?:a|another|a closer) look
    | (?:needs|has) to (?:look|decide|check|confirm|approve|answer|sign|tell)
    | (?:to|must|should) be \w+ by (?:hand|you|some(?:one|body))
    | some(?:body|one) (?:should|must|has to) | should come from | thing i need from you
    | you (?:(?:still )?(?:have to|need to|must|should) )?(?:decide|say) (?:if|whether|which|when|who)
    | then you decide | you should decide | (?:tell me|let me know) (?:if|when|which|whether)
    | ^(?:please )?(?:ask|tell|remind|check with|talk to) (?:the |your )?\w+

    | {_ME}{_WILL} [^.;]{{1,60}} (?:once|when|until|as soon as|separately|as a second step
      |at the end of the (?:week|month|sprint)) | (?:i|we) (?:still )?(?:want|plan) to
    | (?:is|are|in) (?:a separate|a different|another|a second|a later) {_STEP}
    | (?:in|for|after) the next {_STEP}
    | (?:opened|filed|created) (?:an? )?(?:issue|ticket) | again after the | out of scope
    | (?:once|when|after) .{{1,60}} can (?:go|be (?:removed|deleted|dropped))
    | (?:until|when) \w+ (?:answers?|decides?|repl(?:y|ies)|confirms?|approves?|(?:is|are) back)
    | offen sind | noch offen | steht noch aus | fehlt noch)\b
    | ^(?:remaining|open|missing|left|pending|blocked|not (?:covered|done|tested)|known (?:gap|issue)s?): """
)
# What is open only if it is said at the end: before that, it describes how things work.
STATE = cues(
    r"""(?:wip | still (?:needs? | fails? | failing | open | missing | to do | to be | has to | have to | must
      | unclear | unsolved | unresolved | broken | flaky | pending | waiting | red | left | remains? | lacks?
      | untested | not | without | outstanding | has no | have no | haven't | hasn't | doesn't | don't | isn't
      | aren't)
    | (?:is|are|stays?) (?:still )?open(?!\sto) | remaining
    | remains? (?:to|open|unclear|unsolved|broken|untested|flaky) | (?:is|are) pending
    | (?:is|are) left(?:\s(?:to|for|open|over|undone)|(?=,)) | yet to be
    | (?:not|\w+n't|nothing|nobody|no one) (?:\w+ ){0,5}yet
    | (?:do|fix|add|handle|revisit|look at|clean|come back|return|decide|finish|write) [^.?!]{0,60}later
    | blocked (?:by|on) | unresolved | unfinished | outstanding | to be done

    | (?:\d+|two|three|four|some|a few) (?:\w+ ){0,2}\w+s (?:still )?(?:fail|overflow|crash|break)
    | (?:is|are) (?:still )?waiting (?:for|on) | (?:booked|away|out|closed) until
    | (?:has|have|needs?) to be \w+ed | goal .{0,20}(?:is|was) not reached)\b"""
)
# In the user's words; a failure in a prompt is repaired in its answer.
PLAN = cues(
    r"""(?:to-?dos? | tomorrow | next (?:time|session|week) | later | remind me (?:to|that) | follow-?ups?
    | left to do | leave [^.]{1,40} for \d[\w.]* | too much for now
    | open (?:questions?|issues?|points?|tasks?|items?) | not now | postponed?
    | pick (?:it|this|that) up)\b"""
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
    r" (?:it|that|this|these|them|those|both|so)\b)"
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

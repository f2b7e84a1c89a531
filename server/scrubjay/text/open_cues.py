"""The words that say that something is left open, or that nothing is. Data only: `text/summary` applies them.

They were chosen on the sessions of the half `dev` in `tests/bench/told.toml` and `told_open.toml`.
"""

import re


def cues(alternatives: str) -> re.Pattern[str]:
    """Compile alternatives, separated by bars with any spaces, into a pattern of whole words."""
    return re.compile(rf"\b(?:{'|'.join(part.strip() for part in alternatives.split('|'))})", re.IGNORECASE)


_WEEKDAY = "(?:mon|tues|wednes|thurs|fri|satur|sun)day"
_PERSON = r"(?:you|some(?:one|body)|[A-Z]\w+)"

# Left for later, wherever in a session it is said.
LATER = cues(
    rf"""(?:to-?dos?\b | fixme\b | work in progress\b | next (?:steps?|time|session|week|up)\b | tomorrow\b
    | next (?:i|we) (?:would|will)\b | left (?:to do|open|for (?:later|another|the next)|over|undone)\b
    | didn't get to\b | for later\b(?! \w) | later today\b | until later\b | later on\b
    | (?:do|fix|add|handle|revisit|look at|decide|finish|write) (?:it|this|that|them) later\b
    | (?:look at|do|handle|fix) separately\b | follow-?ups?\b | follow up\b
    | open (?:for|questions?|issues?|points?|tasks?|items?|problems?|end)\b
    | postponed?\b | deferred\b | skipped for now\b | not done\b
    | to be (?:decided|discussed|clarified|implemented)\b | remind me (?:to|that)\b | too much for now\b
    | before the release\b | (?:i'd|i would) (?:ask|publish)\b
    | (?:we|you) (?:still )?(?:need (?:to|other|more)|have to (?:make|sign|fill))\b
    | some(?:body|one) (?:should|must|has to)\b | remains? open\b

    | (?:i|we) (?:have not|haven't)\b(?! changed| seen| found| noticed)
    | which (?:i|we) (?:have not|haven't|did not|didn't)\b
    | (?:i|we) (?:did not|didn't) (?:dare|test|run|try|check|verify|measure)\b | not dare to\b
    | (?:i|we) (?:could not|couldn't|can't|cannot) (?:reach|run|start|test|verify|check|reproduce|post|send)\b
    | (?:is|are) (?:not covered|incomplete|placeholders)\b | so far$ | not so far\b | no \w+ \w+ so far\b
    | nothing proven\b | (?:excluded|off|ignored|disabled) for now\b | doesn't work yet\b

    | (?:needs?|wants?) (?:the same|a (?:new|follow-?up|second|proper)|an? (?:answer|decision|owner))\b
    | would (?:still )?(?:need|have to)\b | needs to (?:look|decide|check|confirm|approve|answer|sign)\b
    | (?:has|have|needs?|must|should) (?:to )?be \w+ by (?:hand|you|some(?:one|body)|the)\b
    | (?:must|should) be recreated\b | should come from\b | you should (?:decide|check|tell|ask)\b
    | worth (?:a|another|a closer) look\b | (?:a|one) thing i need from you\b
    | tell me if that suits\b | {_PERSON} has to (?:tell|decide|look|check|ask|confirm|approve|sign)\b

    | (?:i|we)(?:'d| would|'ll| will) [^.;]{{1,60}} (?:once|when|until|as soon as|as a second step|separately
      |at the end of the (?:week|month|sprint)|between)\b
    | (?:i|we)(?:'d| would) wait\b | until i\b
    | (?:is|are) (?:a separate|a different|another|a second) (?:change|step|matter|story|issue|ticket|pr)\b
    | (?:opened|filed|created) (?:an? )?(?:issue|ticket)\b | again after the\b | later we should\b
    | once .{{1,60}} can (?:go|be (?:removed|deleted|dropped))\b | then the old ones can be deleted\b
    | until (?:they|he|she) \w+
    | offen sind\b | noch offen\b | steht noch aus\b | fehlt noch\b | erst in \d
    )"""
)
# What is open only if it is said at the end: before that, it describes how things work.
STATE = cues(
    rf"""(?:wip\b | still (?:needs? | fails? | failing | open | missing | to do | to be | has to | have to | must
      | unclear | unsolved | unresolved | broken | flaky | pending | waiting | red | left | remains? | lacks?
      | untested | not | without | outstanding | has no | have no | haven't | hasn't | doesn't | don't | isn't
      | aren't)\b
    | (?:is|are|stays?) (?:still )?open\b(?! to) | remaining\b
    | remains? (?:to|open|unclear|unsolved|broken|untested|flaky)\b | (?:is|are) pending\b
    | (?:is|are) left(?:,| (?:to|for|open|over|undone)\b) | yet to be\b
    | (?:not|\w+n't|nothing|nobody|no one) (?:\w+ ){{0,5}}yet\b
    | (?:do|fix|add|handle|revisit|look at|clean|come back|return|decide|finish|write) [^.?!]{{0,60}}later\b
    | blocked (?:by|on)\b | unresolved\b | unfinished\b | outstanding\b | to be done\b

    | (?:\d+|two|three|four|some|a few) (?:\w+ ){{0,2}}\w+s (?:still )?(?:fail|overflow|crash|break)\b
    | (?:is|are) (?:still )?waiting (?:for|on)\b | (?:is )?(?:booked|away|out|closed) until\b
    | (?:has|have|needs?) to be \w+ed\b | (?:the )?goal .{{0,20}}(?:is|was) not reached\b
    | (?:until|on|by|suggest) {_WEEKDAY}\b | \w+ sends an?\b | lacks?\b
    )"""
)
# In the user's words; a failure in a prompt is repaired in its answer.
PLAN = cues(
    r"""(?:to-?dos? | tomorrow | next (?:time|session|week) | later | remind me (?:to|that) | follow-?ups?
    | left to do | leave [^.]{1,40} for \d[\w.]* | too much for now
    | open (?:questions?|issues?|points?|tasks?|items?) | not now | postponed? | pick (?:it|this|that) up)\b"""
)
NOTHING_OPEN = cues(
    r"""(?:nothing (?:is|else|more)?\s*(?:left|remains|open|pending|outstanding|remaining)
    | none (?:left|remains?)
    | no (?:\w+ )?(?:remaining|open|pending|outstanding|follow-?ups?|to-?dos?|next steps?)
    | all done | (?:until|see you) (?:next|tomorrow|later))\b"""
)
# At the start of the next prompt, which says or asks that it is done.
DONE = re.compile(
    r"(?i)\s*(?:(?:i |we )?(?:did|done|ran|fixed|sent|merged)\b"
    r"|(?:(?:ok(?:ay)?|yes|and|now|then|please|pls),? )*(?:do|fix|port|add|run|make|write|finish|handle)"
    r" (?:it|that|this|these|them|those|both|so)\b)"
)
# A line above a list of open points.
HEADING = re.compile(
    r"""[\s#*_]*(?:still\ |what\ is\ |what's\ )*(?:remaining|to-?dos?|to\ do|next|left(?:\ to\ do)?
    |missing|later|open(?:\ questions?)?|not\ (?:yet\ )?(?:done|covered|tested)(?:\ yet)?|follow-?ups?
    |outstanding|pending|known\ (?:gaps|issues|problems))
    (?:\ (?:work|steps?|items?|tasks?|points?|issues?|for\ later|now|before\ [\w\s]{1,40}))?[\s:*_]*$""",
    re.IGNORECASE | re.VERBOSE,
)
# A task that is not ticked.
UNTICKED = re.compile(r"\s*[-*+] \[ \] +(.+)")
# A question to the user that names something not done.
ASKS = re.compile(r"(?i)\?$|^(?:what|which|why|who|when|where|how|does|do|is|are|can|anything)\b")
OFFER = re.compile(
    r"(?i)(?:shall|should|may|can) (?:i|we)\b|(?:so |next )?(?:i|we) (?:can|could|would)\b"
    r"|(?:do you want|would you like)\b|one thing i need\b"
)

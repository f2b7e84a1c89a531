"""Parses the time that a question asks about: a period, past sessions, or the time before or after an event.

Days are those of the time zone of the `now` that is passed in.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

from scrubjay.text import tables
from scrubjay.text.dates import DAY, Period, count_of, day_ago, midnight, named_periods
from scrubjay.text.languages import without_function_words
from scrubjay.text.tables import pattern
from scrubjay.text.terms import content_words, words
from scrubjay.text.time_phrases import foreign_function_words, in_english

LONGEST = 300  # characters of a question about a time; a longer text only mentions a time
LONGEST_PHRASE = 60  # characters of a time that is passed as an argument
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)  # the start of a period that only has an end

_FILLER = tables.words("about_time") | tables.words("about_time_abroad")

_SESSIONS, _EVENT, _RECENTLY = (pattern("dates", name) for name in ("sessions", "event", "recently"))
_HOURS, _AGO, _ABOUT = (pattern("dates", name) for name in ("hours", "ago", "about"))
_PART, _PART_AFTER = pattern("dates", "part_of_day"), pattern("dates", "part_of_day_after")
_PARTS = {"morning": (4, 12), "afternoon": (12, 18), "evening": (17, 24), "night": (18, 29)}  # hours of a day
_BEFORE, _BEFORE_WITHIN = pattern("dates", "before"), pattern("dates", "before_within")
_FROM, _FROM_WITHIN = pattern("dates", "from"), pattern("dates", "from_within")
_TO, _BOTH, _RELATIVE = pattern("dates", "to"), pattern("dates", "both"), pattern("dates", "relative")
_CLOCK_SPAN = pattern("dates", "clock_span")
_CLOCK_AFTER, _CLOCK_BEFORE = pattern("dates", "clock_after"), pattern("dates", "clock_before")
_YEAR = re.compile(r"(?:19|20)\d\d")
_HALF = re.compile("[ap]", re.IGNORECASE)  # of a day: am or pm
_HOUR = timedelta(hours=1)
_NEAR_BEFORE = 20  # characters before a date that are searched for its preposition


@dataclass(frozen=True)
class PastSessions:
    """`count` consecutive sessions; the newest is `back` sessions ago (1 is the last session)."""

    back: int
    count: int = 1


@dataclass(frozen=True)
class Event:
    """An event in the question's words; `after` is True for the time after it, False for the time before."""

    words: str
    after: bool


@dataclass(frozen=True)
class TimeAsked:
    """The time that a question asks about.

    Attributes:
        rest: the rest of the question, without words for talk and work.
        certain: True for a time relative to now ("last week", "November 11"). A date with its year may be the
            day of an event that was told later.
    """

    when: Period | PastSessions | Event
    rest: str
    certain: bool

    @property
    def words(self) -> tuple[str, ...]:
        """The content words of the rest; empty if the question is only about a time."""
        return _topic_words(self.rest)


def time_asked(text: str, now: datetime) -> TimeAsked | None:
    """Parse the time that a question asks about; None if it names no time, or several.

    Every period ends after it begins, and does not begin after `now` unless the question names such a date.
    """
    if len(text) > LONGEST:
        return None
    asked = _asked(in_english(text.replace("\u2019", "'")), now)
    dropped = foreign_function_words(text)
    if asked is None or not dropped:
        return asked
    rest = " ".join(word for word in asked.rest.split() if not dropped.issuperset(words(word)))
    return replace(asked, rest=rest)


def _asked(text: str, now: datetime) -> TimeAsked | None:
    if places := _hours(text, now) or named_periods(text, now):
        if (period := _one_period(text, places, now)) is None:
            return None
        named = [at for at, _ in places]
        certain = not _YEAR.search("".join(text[at.start : at.stop] for at in named)) and (
            period.exact or not period.any_year
        )
        if period.exact and (span := _clock_span(text, named[-1], period)):
            named.append(span[0])
            period = span[1]
        elif period.exact and (clock := _clock(text, named[-1])):
            named.append(clock[0])
            moment = midnight(period.start) + clock[1]
            period = replace(period, start=moment - _HOUR, end=moment + _HOUR)
        tomorrow = midnight(now) + DAY
        if period.start < tomorrow < period.end:  # it reaches into the future, such as this week
            period = replace(period, end=tomorrow)
        return TimeAsked(period, _rest_without(text, named), certain)
    if match := _RECENTLY.search(text):
        week = Period(midnight(now) - 7 * DAY, midnight(now) + DAY, exact=False)
        return TimeAsked(week, _rest_without(text, [range(*match.span())]), certain=False)
    if match := _SESSIONS.search(text):
        return _sessions_asked(text, match)
    if match := _EVENT.search(text):
        event = Event(match["words"].strip(), after=match["which"].lower() in ("since", "after"))
        rest = _rest_without(text, [range(*match.span())])
        return TimeAsked(event, rest, certain=False) if _topic_words(event.words) else None
    return None


def moment_named(text: str, now: datetime, *, end: bool) -> datetime | None:
    """Return the start (with `end`, the end) of the time that a phrase names; None if it names no time.

    "yesterday" starts and ends at midnight, "3 weeks ago" is a day, "2 hours ago" and "now" are moments.
    """
    phrase = " ".join(in_english(" ".join(text.split())).split())
    if len(phrase) > LONGEST_PHRASE:
        return None
    if phrase.lower() == "now":
        return now
    if (match := _HOURS.fullmatch(phrase)) and match["ago"]:
        return now - _duration(match)
    try:
        if match := _AGO.fullmatch(phrase):
            day = day_ago(midnight(now), match["unit"].lower(), count_of(match["count"]))
            return day + DAY if end else day
    except (ValueError, OverflowError):  # before the start of the calendar
        return None
    for question in (phrase, f"on {phrase}", f"in {phrase}"):
        if (places := named_periods(question, now)) and (clock := _clock(question, places[-1][0])):
            begin = moment_named(_without(question, clock[0]), now, end=False)
            return None if begin is None else begin + clock[1]
        asked = time_asked(question, now)
        if asked is not None and isinstance(asked.when, Period) and not asked.words:
            return asked.when.end if end else asked.when.start
    return None


def name_in_days(start: datetime, end: datetime) -> str:
    """Name a period by its days: "2026-11-11", "2026-11-09 to 2026-11-15", "before 2026-11-14".

    Times of day are added unless the period begins and ends at midnight. Both ends are in one time zone.
    """
    is_whole_days = end == midnight(end) and (start <= EPOCH or start == midnight(start))
    form = "%Y-%m-%d" if is_whole_days else "%Y-%m-%d %H:%M"
    if start <= EPOCH:
        return f"before {end:{form}}"
    last = end - DAY if is_whole_days else end
    if is_whole_days and last <= start:
        return f"{start:%Y-%m-%d}"
    is_one_day = not is_whole_days and last.date() == start.date()
    return f"{start:{form}} to {last:{'%H:%M' if is_one_day else form}}"


def _one_period(text: str, places: Sequence[tuple[range, Period]], now: datetime) -> Period | None:
    """Return the period that a question names with these dates, or None if they name several.

    It is named by one date, by several equal ones, or from one date to another.
    """
    (place, period), *others = places
    text_before = text[max(0, place.start - _NEAR_BEFORE) : place.start]
    if _RELATIVE.search(text_before):
        return None  # "the day before November 11"
    if len(others) == 1:
        (last_place, last_period), phrase = others[0], text[place.start : place.stop]
        joined = _TO.fullmatch(text[place.stop : last_place.start]) or _BEFORE_WITHIN.match(
            text[last_place.start : last_place.stop]
        )
        if _BOTH.fullmatch(text[place.stop : last_place.start]) and period.end == last_period.start:
            return Period(period.start, last_period.end, exact=False)
        is_from = joined and (_FROM.search(text_before) or _FROM_WITHIN.match(phrase))
        start, end = period.start, last_period.end
        if is_from and period.exact and start >= end and not any(map(str.isdigit, phrase)):
            start -= 7 * DAY  # on a Tuesday, "Monday to Wednesday" ended last week
        if is_from and start < end:
            return Period(start, end, exact=False)
    if any((other.start, other.end) != (period.start, period.end) for _, other in others):
        return None
    if preposition := _BEFORE.search(text_before) or _BEFORE_WITHIN.match(text[place.start : place.stop]):
        end = period.end if preposition["word"].lower() in ("until", "till", "up to") else period.start
        return Period(EPOCH.astimezone(now.tzinfo), end, exact=False)
    return _part_of_day(text, place, period) if period.exact else period


def _part_of_day(text: str, place: range, day: Period) -> Period:
    """Narrow a day to the part of it that the question names, if any; a night ends at five."""
    part = _PART.search(text[place.start : place.stop]) or _PART_AFTER.match(text, place.stop)
    if part is None:
        return day
    first, last = (timedelta(hours=hour) for hour in _PARTS[part[1].lower()])
    return replace(day, start=day.start + first, end=day.start + last)


def _clock_span(text: str, date: range, day: Period) -> tuple[range, Period] | None:
    """Narrow a day to the hours that are named next to it, such as "between 2 and 4 pm" or "after 15:00".

    "from 9:00 to 10:00" before a date is skipped, because it may say what was changed on that day.
    """
    for match in _CLOCK_SPAN.finditer(text):
        is_before = match.end() <= date.start
        if is_before and match[0].lower().startswith("from"):
            continue
        gap = text[match.end() : date.start] if is_before else text[date.stop : match.start()]
        if gap.strip(" ,") in ("", "on"):
            last = _time_of_day(match["end"] or match["moment"])
            start, end = day.start, midnight(day.start) + last
            if match["start"]:
                half = _HALF.findall(match["end"]) if match["start"].isdigit() else []  # "2 and 4 pm"
                start = midnight(day.start) + _time_of_day(match["start"] + "".join(half))
            elif match["side"].lower() in ("after", "since"):
                start, end = end, day.end
            return (range(*match.span()), replace(day, start=start, end=end)) if start < end else None
    return None


def _time_of_day(clock: str) -> timedelta:
    """Return the time since midnight for "15:30", "3 pm" or "3"."""
    numbers = [int(number) for number in re.findall(r"\d+", clock)]
    half = _HALF.search(clock)
    hour = numbers[0] % 12 + 12 * (half[0] in "pP") if half else numbers[0]
    return timedelta(hours=hour, minutes=numbers[1] if len(numbers) > 1 else 0)


def _clock(text: str, date: range) -> tuple[range, timedelta] | None:
    """Parse the time of day directly before or after a date: where it is, and the time since midnight."""
    start = max(0, date.start - _NEAR_BEFORE)
    match = _CLOCK_AFTER.match(text, date.stop) or _CLOCK_BEFORE.search(text[: date.start], start)
    if match is None:
        return None
    hour = int(match["hour"])
    if match["half"]:
        hour = hour % 12 + (12 if match["half"].lower() == "p" else 0)
    minutes = int(match["minute"] or match["minutes"] or 0)
    return range(*match.span()), timedelta(hours=hour, minutes=minutes)


def _hours(text: str, now: datetime) -> list[tuple[range, Period]]:
    """Parse "the last 2 hours" and "2 hours ago"; the latter is two hours around that moment."""
    match = _HOURS.search(text)
    if match is None:
        return []
    length = _duration(match)
    end = now - length / 2 if match["ago"] else now
    start = now - length * 1.5 if match["ago"] else now - length
    return [(range(*match.span()), Period(start, end, exact=False))]


def _duration(match: re.Match[str]) -> timedelta:
    unit = match["unit"] or match["units"]
    count = match["past"] or match["ago"] or "one"
    length = count_of(count) * timedelta(**{f"{unit.lower()}s": 1})
    return length / 2 if count.lower().startswith("half") else length


def _sessions_asked(text: str, match: re.Match[str]) -> TimeAsked | None:
    if match["second"]:
        sessions = PastSessions(2)
    elif match["ago"]:
        sessions = PastSessions(max(1, count_of(match["ago"])))
    else:
        sessions = PastSessions(1, max(1, count_of(match["count"] or "one")))
    asked = TimeAsked(sessions, _rest_without(text, [range(*match.span())]), certain=True)
    is_session = (match["noun"] or "session").lower().startswith("session")
    if asked.words and (not is_session or _ABOUT.match(text, match.end())):
        return None  # "the last time we discussed retries" may be long ago
    return asked


def _rest_without(text: str, places: Sequence[range]) -> str:
    """Return the words of a text outside these places, without filler and stop words."""
    for at in places:
        text = _without(text, at)
    return " ".join(word for word in without_function_words(text).split() if _topic_words(word))


def _without(text: str, place: range) -> str:
    return text[: place.start] + " " * len(place) + text[place.stop :]


def _topic_words(text: str) -> tuple[str, ...]:
    """Return the content words of a text, each once, without words for talk and work."""
    return tuple(word for word in dict.fromkeys(content_words(text)) if word not in _FILLER)

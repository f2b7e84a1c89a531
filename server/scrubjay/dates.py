"""The days, months and years that a question names, and how close a moment is to one. Knows English dates and the calendar.

Does not know what time it is: relative dates are read against the `now` that is passed in, in its time zone. Pure.
"""

from __future__ import annotations

import re
from calendar import monthrange
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import MAXYEAR, MINYEAR, datetime, timedelta

from scrubjay.terms import STOP

DAY = timedelta(days=1)
# What was done on a day is often told the day after and for some days more: measured on LoCoMo, worth 1.5-2 points.
AFTER_A_DAY = timedelta(days=10)
AFTER_A_SPAN = timedelta(days=14)


@dataclass(frozen=True)
class Period:
    """The time from `start` up to `end`, both aware, as a question named it.

    Attributes:
        exact: it is one day, not a week, month, year or stretch of them.
        any_year: the question named no year: start and end are the latest past occurrence, and every other year matches too.
    """

    start: datetime
    end: datetime
    exact: bool
    any_year: bool = False


def periods(text: str, now: datetime) -> list[Period]:
    """The periods that the text names, each once, in the order they are named.

    Dates that two countries read differently (05/07/2023) are not guessed; "may" and "march" are months only beside a
    number or after a preposition.
    """
    found: list[tuple[int, Period]] = []
    rest = text
    for pattern, read in _READERS:
        for match in pattern.finditer(rest):
            try:
                period = read(match, _midnight(now))
            except (ValueError, OverflowError):  # 30 February, or a year that the calendar does not have
                continue
            if period is not None:
                found.append((match.start(), period))
                rest = rest[: match.start()] + "\x00" * (match.end() - match.start()) + rest[match.end() :]
    return list(dict.fromkeys(period for _, period in sorted(found, key=lambda item: item[0])))


def closeness(period: Period, moment: datetime) -> float:
    """1 within the period, from one day before it (and, for a single day, to the day after); 0.5 up to 10 days later, 14 for a
    longer period; else 0. `moment` is aware.
    """  # fmt: skip
    return max((_closeness(start, end, period.exact, moment) for start, end in _occurrences(period, moment)), default=0.0)


def _closeness(start: datetime, end: datetime, exact: bool, moment: datetime) -> float:
    early, late = start - moment, moment - end  # differences cannot overflow, sums could
    if early > DAY:
        return 0.0
    if late < (DAY if exact else timedelta(0)):
        return 1.0
    return 0.5 if late < (AFTER_A_DAY if exact else AFTER_A_SPAN) else 0.0


def _occurrences(period: Period, moment: datetime) -> Iterator[tuple[datetime, datetime]]:
    """The period itself; without a year, those of the years around the moment."""
    if not period.any_year:
        yield period.start, period.end
        return
    year = moment.astimezone(period.start.tzinfo).year if MINYEAR < moment.year < MAXYEAR else moment.year
    for candidate in (year - 1, year, year + 1):
        try:
            start = period.start.replace(year=candidate)
            yield start, start + DAY if period.exact else _month(start).end
        except (ValueError, OverflowError):  # 29 February in a common year
            continue


def _midnight(now: datetime) -> datetime:
    return now.replace(hour=0, minute=0, second=0, microsecond=0)


def _day(start: datetime, *, any_year: bool = False) -> Period:
    return Period(start, start + DAY, exact=True, any_year=any_year)


def _month(start: datetime, *, any_year: bool = False) -> Period:
    start = start.replace(day=1)
    return Period(start, start + DAY * monthrange(start.year, start.month)[1], exact=False, any_year=any_year)


def _year(start: datetime) -> Period:
    start = start.replace(month=1, day=1)
    return Period(start, start.replace(year=start.year + 1), exact=False)


def _week(day: datetime, weeks: int = 1) -> Period:
    monday = day - DAY * day.weekday()
    return Period(monday, monday + 7 * DAY * weeks, exact=False)


def _months_before(today: datetime, months: int) -> datetime:
    count = today.year * 12 + today.month - 1 - months
    return today.replace(year=count // 12, month=count % 12 + 1, day=1)


_MONTHS = ("january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november", "december")
_WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_NUMBERS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")

_MONTH = (
    r"(?P<month>jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?"
    r"|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\.?"
)
_VERBS = ("may", "march")
_DAY_NUMBER = r"(?P<day>[0-3]?\d)(?P<nth>st|nd|rd|th)?"
_YEAR = r"(?P<year>(?:19|20)\d\d)"
_COUNT = rf"(?P<count>\d{{1,4}}|an?|{'|'.join(_NUMBERS[1:])}|(?:a )?couple(?: of)?)"
_UNIT = r"(?P<unit>day|week|month|year)s?"
_IN = r"(?:in|during|since|until|till|by|before|after|from|of|throughout|around|last|this|early|mid|late|(?:beginning|end|middle) of)"


def _on_date(match: re.Match[str], today: datetime) -> Period | None:
    named = match.groupdict()
    month, day = _month_number(named["month"]), int(named["day"])
    if year := named.get("year"):
        return _day(today.replace(year=int(year), month=month, day=day))
    if named["month"] in _VERBS and "lead" in named and not (named["lead"] or named["nth"]):
        return None  # "the 7 may fail"
    return _day(_latest(today, month, day), any_year=True)


def _in_month(match: re.Match[str], today: datetime) -> Period | None:
    named = match.groupdict()
    month = _month_number(named["month"])
    if year := named.get("year"):
        return _month(today.replace(year=int(year), month=month, day=1))
    if named["month"] in _VERBS and match[0].lower().startswith("this"):
        return None  # "this may fail"
    return _month(_latest(today, month, 1), any_year=True)


def _in_year(match: re.Match[str], today: datetime) -> Period | None:
    counted = match["next"]  # "in 2048 files" counts files
    if counted and counted.endswith("s") and counted not in STOP:
        return None
    return _year(today.replace(year=int(match["year"]), month=1, day=1))


def _ago(match: re.Match[str], today: datetime) -> Period:
    count, unit = _count(match["count"]), match["unit"].lower()
    if unit == "day":
        return _day(today - DAY * count)
    if unit == "week":
        return Period(today - DAY * (7 * count + 3), today - DAY * (7 * count - 4), exact=False)  # a week around that day
    return _month(_months_before(today, count)) if unit == "month" else _year(today.replace(year=today.year - count, day=1))


def _past(match: re.Match[str], today: datetime) -> Period:
    """The last N units up to now; "the past week" is the last 7 days."""
    days = {"day": 1, "week": 7, "month": 31, "year": 366}[match["unit"].lower()] * _count(match["count"] or "one")
    return Period(today - DAY * days, today + DAY, exact=False)


def _last(match: re.Match[str], today: datetime) -> Period:
    back = 0 if match["which"].lower() == "this" else 1
    unit = match["unit"].lower()
    if unit == "week":
        return _week(today - 7 * DAY * back)
    if unit == "weekend":
        saturday = _week(today - 7 * DAY * back).start + 5 * DAY
        return Period(saturday, saturday + 2 * DAY, exact=False)
    return _month(_months_before(today, back)) if unit == "month" else _year(today.replace(year=today.year - back, day=1))


def _weekday(match: re.Match[str], today: datetime) -> Period:
    """The latest one; said on a Monday, "on Monday" is today and "last Monday" a week ago."""
    back = (today.weekday() - _WEEKDAYS.index(match["weekday"].lower())) % 7
    return _day(today - DAY * (back or (7 if match["which"].lower() == "last" else 0)))


def _near(match: re.Match[str], today: datetime) -> Period:
    said = match[0].lower()
    return _day(today - DAY * (2 if said.endswith("before yesterday") else 1 if said in ("yesterday", "last night") else 0))


def _latest(today: datetime, month: int, day: int) -> datetime:
    """The latest such day that is not after today; 29 February may be up to eight years back."""
    for year in range(today.year, max(today.year - 9, MINYEAR), -1):
        try:
            candidate = today.replace(year=year, month=month, day=day)
        except ValueError:
            continue
        if candidate <= today:
            return candidate
    raise ValueError(f"there is no day {day} in month {month}")


def _month_number(name: str) -> int:
    return int(name) if name.isdigit() else next(at for at, month in enumerate(_MONTHS, 1) if month.startswith(name[:3].lower()))


def _count(said: str) -> int:
    word = said.lower()
    if word.isdigit():
        return int(word)
    return 2 if "couple" in word else _NUMBERS.index(word) if word in _NUMBERS else 1


def _pattern(source: str) -> re.Pattern[str]:
    return re.compile(rf"(?<![\w-]){source}(?![\w-])", re.IGNORECASE)


# The more specific first: what one has read is blanked for those that follow.
_READERS = (
    (re.compile(rf"(?<![\w-]){_YEAR}[-/](?P<month>[01]\d)[-/](?P<day>[0-3]\d)(?=T\d|(?![\w-]))"), _on_date),
    (_pattern(rf"{_DAY_NUMBER}(?: of)? {_MONTH},? {_YEAR}"), _on_date),
    (_pattern(rf"{_MONTH} {_DAY_NUMBER},? {_YEAR}"), _on_date),
    (_pattern(rf"(?P<day>1[3-9]|2\d|3[01])[/.](?P<month>0?[1-9]|1[0-2])[/.]{_YEAR}"), _on_date),
    (_pattern(rf"(?P<month>0?[1-9]|1[0-2])/(?P<day>1[3-9]|2\d|3[01])/{_YEAR}"), _on_date),
    (_pattern(rf"(?:mid-|early-|late-)?{_MONTH},?(?: of)? {_YEAR}"), _in_month),
    (_pattern(rf"{_YEAR}-(?P<month>0[1-9]|1[0-2])"), _in_month),
    (_pattern(rf"(?P<lead>on |by |since |until |before |after )?(?:the )?{_DAY_NUMBER}(?: of)? {_MONTH}"), _on_date),
    (_pattern(rf"{_MONTH} {_DAY_NUMBER}"), _on_date),
    (_pattern(rf"{_IN} {_MONTH}"), _in_month),
    (_pattern(rf"{_COUNT} {_UNIT} (?:ago|earlier|back)"), _ago),
    (_pattern(rf"(?:last|past|previous) {_COUNT} {_UNIT}"), _past),
    (_pattern(rf"past (?P<count>){_UNIT}"), _past),
    (_pattern(r"(?P<which>last|this|previous) (?P<unit>weekend|week|month|year)"), _last),
    (_pattern(rf"(?P<which>on|last|this|since|until|before|after) (?P<weekday>{'|'.join(_WEEKDAYS)})"), _weekday),
    (_pattern(r"(?:the )?day before yesterday|yesterday|last night|today|tonight|this (?:morning|afternoon|evening)"), _near),
    # a season is no fixed months: it depends on the hemisphere
    (_pattern(rf"(?:{_IN}|spring|summer|autumn|fall|winter) {_YEAR}(?: (?P<next>[a-z]+))?"), _in_year),
)

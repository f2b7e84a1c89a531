"""The days, months and years that a question names. Knows English phrases for them; the calendar is in `periods`.

Does not know what time it is: relative dates are read against the `now` that is passed in, in its time zone. Pure.
"""

from __future__ import annotations

import re
from calendar import monthrange
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import MAXYEAR, MINYEAR, datetime, timedelta

from scrubjay.text.terms import STOP


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
                period = read(match, midnight(now))
            except (ValueError, OverflowError):  # 30 February, or a year that the calendar does not have
                continue
            if period is not None:
                found.append((match.start(), _onward(rest, match, period, midnight(now))))
                rest = rest[: match.start()] + "\x00" * (match.end() - match.start()) + rest[match.end() :]
    return list(dict.fromkeys(period for _, period in sorted(found, key=lambda item: item[0])))


def _onward(text: str, match: re.Match[str], period: Period, today: datetime) -> Period:
    """From the period to the present, if the question says since or after; both may stand before the date or begin it."""
    said = _ONWARD.search(text[: match.start()]) or _ONWARD_WITHIN.match(match[0])
    if not said:
        return period
    start = period.end if said[1].lower() == "after" else period.start
    return Period(start, today + DAY, exact=False) if start < today + DAY else period


# "The Saturday after October 28" and "shortly after it" are near that day.
_NOT_ONWARD = "".join(
    rf"(?<!{word} )"
    for word in (
        "day",
        "days",
        "week",
        "weeks",
        "weekend",
        "month",
        "year",
        "right",
        "just",
        "soon",
        "shortly",
    )
)
_ONWARD = re.compile(rf"(?<![\w-]){_NOT_ONWARD}(since|after)(?: the)? *$", re.IGNORECASE)
_ONWARD_WITHIN = re.compile(r"(since|after)(?![\w-])", re.IGNORECASE)
_MONTHS = (
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
)
_WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_NUMBERS = (
    "zero",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
)

_MONTH = (
    r"(?P<month>jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?"
    r"|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\.?"
)
_VERBS = ("may", "march")
_DAY_NUMBER = r"(?P<day>[0-3]?\d)(?P<nth>st|nd|rd|th)?"
_YEAR = r"(?P<year>(?:19|20)\d\d)"
_WEEKDAY = rf"(?P<weekday>{'|'.join(_WEEKDAYS)})"
_COUNT = rf"(?P<count>\d{{1,4}}|an?|{'|'.join(_NUMBERS[1:])}|(?:a )?couple(?: of)?)"
_FEW = r"(?:a few|few|several|some)"
_SHORT_UNIT = r"(?P<unit>day|week|month)s?"  # "a few years ago" is what people tell of themselves, not when they said it
_UNIT = r"(?P<unit>day|week|month|year)s?"
_DAYS = {"day": 1, "week": 7, "month": 31, "year": 366}
_PARTS = {"early": 0, "beginning": 0, "start": 0, "mid": 1, "middle": 1, "late": 2, "end": 2}
_PART = r"(?:(?P<part>early|mid|late)(?: in |-| )|(?P<edge>beginning|start|middle|end) of )"
_ORDINALS = {"first": 1, "second": 2, "third": 3, "fourth": 4}
_IN = r"(?:in|during|since|until|till|by|before|after|from|of|throughout|around|last|this)"


def _on_date(match: re.Match[str], today: datetime) -> Period | None:
    named = match.groupdict()
    month, day = _month_number(named["month"]), int(named["day"])
    if year := named.get("year"):
        return day_of(today.replace(year=int(year), month=month, day=day))
    if named["month"] in _VERBS and "lead" in named and not (named["lead"] or named["nth"]):
        return None  # "the 7 may fail"
    return day_of(latest(today, month, day), any_year=True)


def _in_month(match: re.Match[str], today: datetime) -> Period | None:
    named = match.groupdict()
    month = _month_number(named["month"])
    part = _PARTS.get((named.get("part") or named.get("edge") or "").lower())
    if year := named.get("year"):
        first = today.replace(year=int(year), month=month, day=1)
        return month_of(first) if part is None else third(first, part)
    if part is not None:
        return third(latest(today, month, 1 + 10 * part), part, any_year=True)
    if named["month"] in _VERBS and match[0].lower().startswith("this"):
        return None  # "this may fail"
    return month_of(latest(today, month, 1), any_year=True)


def _in_year(match: re.Match[str], today: datetime) -> Period | None:
    counted = match["next"]  # "in 2048 files" counts files
    if counted and counted.endswith("s") and counted not in STOP:
        return None
    return year_of(today.replace(year=int(match["year"]), month=1, day=1))


def _ago(match: re.Match[str], today: datetime) -> Period:
    count, unit = _count(match["count"]), match["unit"].lower()
    if unit == "day":
        return day_of(today - DAY * count)
    if unit in ("week", "fortnight"):
        count *= 2 if unit == "fortnight" else 1
        return Period(
            today - DAY * (7 * count + 3), today - DAY * (7 * count - 4), exact=False
        )  # a week around that day
    return (
        month_of(months_before(today, count))
        if unit == "month"
        else year_of(today.replace(year=today.year - count, day=1))
    )


def _past(match: re.Match[str], today: datetime) -> Period:
    """The last N units up to now; "the past week" is the last 7 days."""
    days = _DAYS[match["unit"].lower()] * _count(match["count"] or "one")
    return Period(today - DAY * days, today + DAY, exact=False)


def _last(match: re.Match[str], today: datetime) -> Period:
    back = 0 if match["which"].lower() == "this" else 1
    unit = match["unit"].lower()
    if unit == "week":
        return week_of(today - 7 * DAY * back)
    if unit == "weekend":
        return weekend(today - 7 * DAY * back)
    if unit == "quarter":
        return quarters(months_before(today, 3 * back))
    return (
        month_of(months_before(today, back))
        if unit == "month"
        else year_of(today.replace(year=today.year - back, day=1))
    )


def _weekday(match: re.Match[str], today: datetime) -> Period:
    """The latest one; said on a Monday, "on Monday" is today and "last Monday" a week ago."""
    back = (today.weekday() - _WEEKDAYS.index(match["weekday"].lower())) % 7
    which = (match.groupdict().get("which") or "").lower()
    return day_of(today - DAY * (back or (7 if which == "last" else 0)))


def _few(match: re.Match[str], today: datetime) -> Period:
    """Some units ago are two to five of them."""
    unit = DAY * _DAYS[match["unit"].lower()]
    return Period(today - 5 * unit, today - unit, exact=False)


def _few_past(match: re.Match[str], today: datetime) -> Period:
    return Period(today - 5 * DAY * _DAYS[match["unit"].lower()], today + DAY, exact=False)


def _hours(match: re.Match[str], today: datetime) -> Period:
    """Hours and minutes are not told apart: today, or as many days back as they reach."""
    count = _count(match["count"]) if match["count"] else 1
    days = 1 if match["unit"].lower().startswith("m") else -(-count // 24)
    return Period(today - DAY * days, today + DAY, exact=False)


def _before_last(match: re.Match[str], today: datetime) -> Period:
    unit = match["unit"].lower()
    if unit == "night":
        return day_of(today - 2 * DAY)
    if unit == "weekend":
        return weekend(today - 14 * DAY)
    return week_of(today - 14 * DAY) if unit == "week" else month_of(months_before(today, 2))


def _other_day(_: re.Match[str], today: datetime) -> Period:
    return Period(today - 7 * DAY, today, exact=False)


def _half_a_year(_: re.Match[str], today: datetime) -> Period:
    return month_of(months_before(today, 6))


def _weekend(_: re.Match[str], today: datetime) -> Period:
    """The latest one that has begun."""
    return weekend(today if today.weekday() >= 5 else today - 7 * DAY)


def _weekday_of_last_week(match: re.Match[str], today: datetime) -> Period:
    return day_of(week_of(today - 7 * DAY).start + DAY * _WEEKDAYS.index(match["weekday"].lower()))


def _week_of_date(match: re.Match[str], today: datetime) -> Period:
    return week_of(latest(today, _month_number(match["month"]), int(match["day"])))


def _quarter(match: re.Match[str], today: datetime) -> Period:
    """A quarter or half of a year; without a year the latest that has begun."""
    named = match.groupdict()
    number = _ORDINALS.get((named.get("nth") or "").lower()) or int(match["number"] or 1)
    length = 2 if match["unit"].lower() in ("h", "half") else 1
    if number * length > 4:
        raise ValueError(f"a year has no part {number}")
    begin = today.replace(
        year=int(match["year"]) if match["year"] else today.year, month=3 * length * (number - 1) + 1, day=1
    )
    return quarters(begin if match["year"] or begin <= today else begin.replace(year=begin.year - 1), length)


def _of_this_month(match: re.Match[str], today: datetime) -> Period:
    """The day of this month, or of the month before if it is still to come."""
    number = int(match["day"])
    return day_of((today if number <= today.day else months_before(today, 1)).replace(day=number))


def _near(match: re.Match[str], today: datetime) -> Period:
    said = match[0].lower()
    return day_of(
        today
        - DAY * (2 if said.endswith("before yesterday") else 1 if said in ("yesterday", "last night") else 0)
    )


def _month_number(name: str) -> int:
    return (
        int(name)
        if name.isdigit()
        else next(at for at, month in enumerate(_MONTHS, 1) if month.startswith(name[:3].lower()))
    )


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
    (_pattern(rf"(?P<month>0?[1-9]|1[0-2])/(?P<day>1[3-9]|2\d|3[01]|(?P=month))/{_YEAR}"), _on_date),
    (_pattern(rf"week of (?:the )?{_MONTH} {_DAY_NUMBER}"), _week_of_date),
    (_pattern(rf"{_PART}{_MONTH},?(?: of)? {_YEAR}"), _in_month),
    (_pattern(rf"{_PART}{_MONTH}"), _in_month),
    (_pattern(rf"{_MONTH},?(?: of)? {_YEAR}"), _in_month),
    (_pattern(rf"(?P<unit>Q|H)(?P<number>[1-4])(?:(?:,| of)? {_YEAR})?"), _quarter),
    (
        _pattern(rf"(?P<nth>first|second|third|fourth)(?P<number>) (?P<unit>quarter|half)(?: of)? {_YEAR}"),
        _quarter,
    ),
    (_pattern(rf"{_YEAR}-(?P<month>0[1-9]|1[0-2])"), _in_month),
    (
        _pattern(rf"(?P<lead>on |by |since |until |before |after )?(?:the )?{_DAY_NUMBER}(?: of)? {_MONTH}"),
        _on_date,
    ),
    (_pattern(rf"{_MONTH} {_DAY_NUMBER}"), _on_date),
    (_pattern(rf"{_IN} {_MONTH}"), _in_month),
    (_pattern(r"half a year ago"), _half_a_year),
    (_pattern(rf"{_COUNT} {_UNIT} (?:ago|earlier|back)"), _ago),
    (_pattern(r"(?P<count>a|two) (?P<unit>fortnight)s? ago"), _ago),
    (_pattern(rf"{_FEW} {_SHORT_UNIT} (?:ago|earlier|back)"), _few),
    (_pattern(rf"(?:last|past|previous) {_FEW} {_SHORT_UNIT}"), _few_past),
    (_pattern(rf"(?:half )?{_COUNT} (?P<unit>hour|minute)s? (?:ago|earlier|back)"), _hours),
    (_pattern(rf"(?:last|past) (?:{_COUNT} )?(?P<unit>hour|minute)s?"), _hours),
    (_pattern(r"(?:the )?(?P<unit>night|week|weekend|month) before last"), _before_last),
    (_pattern(r"the other day"), _other_day),
    (
        _pattern(r"(?:over|during|at|on|this past|the past) (?:the )?weekend(?! (?:before|after|of))"),
        _weekend,
    ),
    (_pattern(rf"{_WEEKDAY} (?:of )?last week"), _weekday_of_last_week),
    (_pattern(rf"(?:last|past|previous) {_COUNT} {_UNIT}"), _past),
    (_pattern(rf"past (?P<count>){_UNIT}"), _past),
    (_pattern(r"(?P<which>last|this|previous) (?P<unit>weekend|week|month|quarter|year)"), _last),
    (_pattern(rf"(?P<which>on|last|this|since|until|before|after|by|from) {_WEEKDAY}"), _weekday),
    (
        re.compile(
            rf"(?<![\w-]){_WEEKDAY}(?='s\b|\u2019s\b| (?:morning|afternoon|evening|night)\b)", re.IGNORECASE
        ),
        _weekday,
    ),
    (
        re.compile(r"(?<![\w-])on the (?P<day>[0-3]?\d)(?:st|nd|rd|th)(?=[?.!,]|\s*$)", re.IGNORECASE),
        _of_this_month,
    ),
    (
        _pattern(
            r"(?:the )?day before yesterday|yesterday|last night|today|tonight|this (?:morning|afternoon|evening)"
        ),
        _near,
    ),
    # a season is no fixed months: it depends on the hemisphere
    (_pattern(rf"(?:{_IN}|spring|summer|autumn|fall|winter) {_YEAR}(?: (?P<next>[a-z]+))?"), _in_year),
)


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


def closeness(period: Period, moment: datetime) -> float:
    """1 within the period, from one day before it (and, for a single day, to the day after); 0.5 up to 10 days later, 14 for a
    longer period; else 0. `moment` is aware.
    """  # fmt: skip
    return max(
        (_closeness(start, end, period.exact, moment) for start, end in _occurrences(period, moment)),
        default=0.0,
    )


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
            yield start, start + _length(period, start)
        except (ValueError, OverflowError):  # 29 February in a common year
            continue


def _length(period: Period, start: datetime) -> timedelta:
    """How long the period is in the year of `start`: February is not always the same."""
    whole = period.start.day == period.end.day == 1
    return month_of(start).end - start if whole else period.end - period.start


def midnight(now: datetime) -> datetime:
    return now.replace(hour=0, minute=0, second=0, microsecond=0)


def day_of(start: datetime, *, any_year: bool = False) -> Period:
    return Period(start, start + DAY, exact=True, any_year=any_year)


def month_of(start: datetime, *, any_year: bool = False) -> Period:
    start = start.replace(day=1)
    return Period(start, start + DAY * monthrange(start.year, start.month)[1], exact=False, any_year=any_year)


def year_of(start: datetime) -> Period:
    start = start.replace(month=1, day=1)
    return Period(start, start.replace(year=start.year + 1), exact=False)


def week_of(day: datetime, weeks: int = 1) -> Period:
    monday = day - DAY * day.weekday()
    return Period(monday, monday + 7 * DAY * weeks, exact=False)


def months_before(today: datetime, months: int) -> datetime:
    count = today.year * 12 + today.month - 1 - months
    return today.replace(year=count // 12, month=count % 12 + 1, day=1)


def third(start: datetime, which: int, *, any_year: bool = False) -> Period:
    """The first (0), second (1) or last (2) ten days of a month, or what it has left."""
    whole = month_of(start)
    begin = whole.start + 10 * DAY * which
    return Period(begin, whole.end if which == 2 else begin + 10 * DAY, exact=False, any_year=any_year)


def quarters(start: datetime, count: int = 1) -> Period:
    """This many quarters from the one that the day is in."""
    begin = start.replace(month=start.month - (start.month - 1) % 3, day=1)
    return Period(begin, months_before(begin, -3 * count), exact=False)


def weekend(day: datetime) -> Period:
    """The weekend of the week that the day is in."""
    saturday = week_of(day).start + 5 * DAY
    return Period(saturday, saturday + 2 * DAY, exact=False)


def latest(today: datetime, month: int, day: int) -> datetime:
    """The latest such day that is not after today; 29 February may be up to eight years back."""
    for year in range(today.year, max(today.year - 9, MINYEAR), -1):
        try:
            candidate = today.replace(year=year, month=month, day=day)
        except ValueError:
            continue
        if candidate <= today:
            return candidate
    raise ValueError(f"there is no day {day} in month {month}")

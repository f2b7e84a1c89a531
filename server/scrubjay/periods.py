"""Periods of the calendar, and how close a moment is to one. Knows days, weeks, months, quarters and years; reads no text.

Does not know what time it is: `today` is always a midnight that is passed in, in its own time zone. Pure.
"""

from __future__ import annotations

from calendar import monthrange
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import MAXYEAR, MINYEAR, datetime, timedelta

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

"""Finds the days, months and years that a question names, and rates how close a moment is to them.

Relative dates are relative to the `now` that is passed in, in its time zone.
"""

import re
from calendar import monthrange
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import MAXYEAR, MINYEAR, UTC, date, datetime, timedelta, tzinfo

from scrubjay.text.tables import filled, pattern, table
from scrubjay.text.terms import NUMBER_WORDS, STOP
from scrubjay.text.time_phrases import in_english

DAY = timedelta(days=1)
# Events are often told the next day or some days later; allowing for that gains 1.5 to 2 points on LoCoMo.
AFTER_A_DAY = timedelta(days=10)
AFTER_A_SPAN = timedelta(days=14)

_MONTHS = "jan feb mar apr may jun jul aug sep oct nov dec".split()
_WEEKDAYS = "monday tuesday wednesday thursday friday saturday sunday".split()
_VERBS = ("may", "march")  # months that are also verbs
_DAYS = {"day": 1, "week": 7, "fortnight": 14, "month": 31, "year": 366}
_PARTS = {"early": 0, "beginning": 0, "start": 0, "mid": 1, "middle": 1, "late": 2, "end": 2}
_ORDINALS = {"first": 1, "second": 2, "third": 3, "fourth": 4}

_ADJACENT_WEEKDAY, _ONWARD, _ONWARD_WITHIN = (
    pattern("dates", name) for name in ("adjacent_weekday", "onward", "onward_within")
)
_ONWARD_REACH = 60  # characters before a date that are searched for "since" and "after"

# A function that returns the period of a match, given today, or None if the match is not a date.
_Reader = Callable[[re.Match[str], datetime], "Period | None"]


@dataclass(frozen=True)
class Period:
    """The time that a question names, from `start` up to `end`, both aware.

    Attributes:
        exact: True for one day, False for a week, month, year or several of them.
        any_year: True if the question names no year: start and end are the latest past occurrence, and every
            other year matches too.
    """

    start: datetime
    end: datetime
    exact: bool
    any_year: bool = False


class LocalZone(tzinfo):
    """The time zone of this machine, with its changes between winter and summer."""

    def utcoffset(self, dt: datetime | None) -> timedelta | None:
        """Return the offset of local time from UTC at a local time."""
        return None if dt is None else dt.replace(tzinfo=None).astimezone().utcoffset()

    def tzname(self, dt: datetime | None) -> str | None:
        """Return the name of the zone at a local time."""
        return None if dt is None else dt.replace(tzinfo=None).astimezone().tzname()

    def dst(self, dt: datetime | None) -> timedelta | None:
        """Return None, because the share of summer time in the offset is unknown."""
        return None

    def fromutc(self, dt: datetime) -> datetime:
        """Return the local time at a moment of UTC."""
        return dt.replace(tzinfo=UTC).astimezone().replace(tzinfo=self)


def periods(text: str, now: datetime) -> list[Period]:
    """Return the periods that a text names, each once, in the order of the text.

    Dates that countries read differently (05/07/2023) are ignored; "may" and "march" are months only next to
    a number or after a preposition.
    """
    return list(dict.fromkeys(period for _, period in named_periods(in_english(text), now)))


def named_periods(text: str, now: datetime) -> list[tuple[range, Period]]:
    """Return the periods as `periods` does, each with the range of characters that names it.

    The text is what `in_english` returns. A weekday next to a date is part of it.
    """
    places: list[tuple[range, Period]] = []
    weekdays = [range(*match.span()) for match in _ADJACENT_WEEKDAY.finditer(text)]
    unread = _ADJACENT_WEEKDAY.sub(lambda match: " " * len(match[0]), text)
    today = midnight(now)
    for form, read in _FORMS:
        for match in form.finditer(unread):
            try:
                period = read(match, today)
            except (ValueError, OverflowError):  # 30 February, or a year outside the calendar
                continue
            if period is not None:
                places.append((range(*match.span()), _onward(unread, match, period, today)))
                mask = "\x00" * len(match[0])
                unread = unread[: match.start()] + mask + unread[match.end() :]
    with_weekdays = ((_with_weekdays(named, weekdays), period) for named, period in places)
    return sorted(with_weekdays, key=lambda place: place[0].start)


def closeness(period: Period, moment: datetime) -> float:
    """Rate how close an aware moment is to a period.

    It is 1 from one day before the period until its end (for a single day, the end of the next day), 0.5
    until 10 days after the end, or 14 if the period is longer than a day, and else 0.
    """
    occurrences = _occurrences(period, moment)
    return max((_closeness(start, end, period.exact, moment) for start, end in occurrences), default=0.0)


def _with_weekdays(date: range, weekdays: list[range]) -> range:
    """Extend the range of a date by the weekdays directly before and after it."""
    start = next((weekday.start for weekday in weekdays if weekday.stop == date.start), date.start)
    return range(start, next((weekday.stop for weekday in weekdays if weekday.start == date.stop), date.stop))


def _onward(text: str, match: re.Match[str], period: Period, today: datetime) -> Period:
    """Extend a period to the present if "since" or "after" precedes the date or begins it."""
    preposition = _ONWARD.search(
        text[max(0, match.start() - _ONWARD_REACH) : match.start()]
    ) or _ONWARD_WITHIN.match(match[0])
    if not preposition:
        return period
    start = period.end if preposition[1].lower() == "after" else period.start
    return Period(start, today + DAY, exact=False) if start < today + DAY else period


def _closeness(start: datetime, end: datetime, exact: bool, moment: datetime) -> float:
    time_before, time_after = start - moment, moment - end  # differences cannot overflow, sums could
    if time_before > DAY:
        return 0.0
    if time_after < (DAY if exact else timedelta(0)):
        return 1.0
    return 0.5 if time_after < (AFTER_A_DAY if exact else AFTER_A_SPAN) else 0.0


def _occurrences(period: Period, moment: datetime) -> Iterator[tuple[datetime, datetime]]:
    """Yield the start and end of a period; if it names no year, do so for the years around the moment."""
    if not period.any_year:
        yield period.start, period.end
        return
    is_whole_month = period.start.day == period.end.day == 1  # the length of February varies
    year = moment.astimezone(period.start.tzinfo).year if MINYEAR < moment.year < MAXYEAR else moment.year
    for candidate in (year - 1, year, year + 1):
        try:
            start = period.start.replace(year=candidate)
            yield start, _month(start).end if is_whole_month else start + (period.end - period.start)
        except (ValueError, OverflowError):  # 29 February in a common year
            continue


def _on_date(match: re.Match[str], today: datetime) -> Period | None:
    groups = match.groupdict()
    month, day = _month_number(groups["month"]), int(groups["day"])
    if year := groups.get("year"):
        return _day(today.replace(year=int(year), month=month, day=day))
    if groups["month"] in _VERBS and "lead" in groups and not (groups["lead"] or groups["nth"]):
        return None  # "the 7 may fail"
    return _day(_latest(today, month, day), any_year=True)


def _in_month(match: re.Match[str], today: datetime) -> Period | None:
    groups = match.groupdict()
    month = _month_number(groups["month"])
    part = _PARTS.get((groups.get("part") or groups.get("edge") or "").lower())
    if year := groups.get("year"):
        first = today.replace(year=int(year), month=month, day=1)
        return _month(first) if part is None else _third(first, part)
    if part is not None:
        return _third(_latest(today, month, 1 + 10 * part), part, any_year=True)
    if groups["month"] in _VERBS and match[0].lower().startswith("this"):
        return None  # "this may fail"
    return _month(_latest(today, month, 1), any_year=True)


def _in_year(match: re.Match[str], today: datetime) -> Period | None:
    following = match["next"] or ""  # "in 2048 files" counts files
    is_count = following.endswith("s") and following not in STOP
    return None if is_count else _year(today, int(match["year"]))


def _in_quarter(match: re.Match[str], today: datetime) -> Period:
    """Parse a quarter or half of a year; if no year is named, it is the latest one that has begun."""
    nth = match.groupdict().get("nth") or ""
    number = _ORDINALS.get(nth.lower()) or int(match["number"])
    length = 2 if match["unit"].lower() in ("h", "half") else 1
    if number * length > 4:
        raise ValueError(f"a year has no part {number}")
    year = int(match["year"]) if match["year"] else today.year
    begin = today.replace(year=year, month=3 * length * (number - 1) + 1, day=1)
    return _quarters(begin if match["year"] or begin <= today else begin.replace(year=year - 1), length)


def _iso_week(match: re.Match[str], today: datetime) -> Period:
    """Parse the number of a week; if no year is named, it is the latest one that has begun."""
    year, number = int(match["year"] or today.isocalendar().year), int(match["number"])
    monday = datetime.combine(date.fromisocalendar(year, number, 1), today.timetz())
    if not match["year"] and monday > today:
        monday = datetime.combine(date.fromisocalendar(year - 1, number, 1), today.timetz())
    return _unit("week", monday, 0)


def _of_this_month(match: re.Match[str], today: datetime) -> Period:
    """Parse a day without a month: it is in this month, or in the last one if it would be in the future."""
    number = int(match["day"])
    return _day((today if number <= today.day else _months_before(today, 1)).replace(day=number))


def _ago(match: re.Match[str], today: datetime) -> Period:
    count, unit = count_of(match["count"]), match["unit"].lower()
    if unit == "day":
        return _day(today - DAY * count)
    if unit in ("month", "year"):
        return _unit(unit, today, count)
    days = _DAYS[unit] * count
    return Period(today - DAY * (days + 3), today - DAY * (days - 4), exact=False)  # a week around that day


def _few_units(match: re.Match[str], today: datetime) -> Period:
    """Parse "some weeks ago" as five weeks to one week ago, and "the past few weeks" as the last five."""
    unit = DAY * _DAYS[match["unit"].lower()]
    end = today - unit if match["ago"] else today + DAY
    return Period(today - 5 * unit, end, exact=False)


def _past_units(match: re.Match[str], today: datetime) -> Period:
    """Parse the last N units up to now; "the past week" is the last 7 days."""
    days = _DAYS[match["unit"].lower()] * count_of(match["count"] or "one")
    return Period(today - DAY * days, today + DAY, exact=False)


def _hours(match: re.Match[str], today: datetime) -> Period:
    """Parse hours and minutes as whole days: today and the days before it that they may reach."""
    count = count_of(match["count"] or "one")
    days = 1 if match["unit"].lower().startswith("m") else -(-count // 24)
    return Period(today - DAY * days, today + DAY, exact=False)


def _weekday(match: re.Match[str], today: datetime) -> Period:
    """Parse a weekday as its latest date; on a Monday, "on Monday" is today, "last Monday" a week ago."""
    days_back = (today.weekday() - _weekday_number(match)) % 7
    which = (match.groupdict().get("which") or "").lower()
    return _day(today - DAY * (days_back or (7 if which == "last" else 0)))


def _today_or_yesterday(match: re.Match[str], today: datetime) -> Period:
    words = match[0].lower()
    days_back = (
        2 if words.endswith("before yesterday") else int(words.startswith(("yesterday", "last night")))
    )
    return _day(today - DAY * days_back)


def _weekday_number(match: re.Match[str]) -> int:
    return _WEEKDAYS.index(match["weekday"].lower())


def _month_number(name: str) -> int:
    return int(name) if name.isdigit() else _MONTHS.index(name[:3].lower()) + 1


def count_of(words: str) -> int:
    """Return the number for words such as "3", "three", "a few" or "a couple of"; 1 for other words."""
    words = words.lower().removeprefix("a ")
    if words.isdecimal():
        return int(words)
    phrases = {"few": 3, "couple": 2, "couple of": 2}
    return NUMBER_WORDS.index(words) if words in NUMBER_WORDS else phrases.get(words, 1)


def day_ago(today: datetime, unit: str, count: int) -> datetime:
    """Return the day `count` days, weeks, fortnights, months or years ago.

    If that month is too short to have the same day, return its last day.
    """
    if unit not in ("month", "year"):
        return today - DAY * _DAYS[unit] * count
    month = _month(_months_before(today, count * (12 if unit == "year" else 1)))
    return min(month.start + DAY * (today.day - 1), month.end - DAY)


def midnight(moment: datetime) -> datetime:
    """Return the beginning of a day."""
    return moment.replace(hour=0, minute=0, second=0, microsecond=0)


def _unit(unit: str, today: datetime, back: int) -> Period:
    """Return the calendar week, weekend, month, quarter or year `back` units before today's."""
    if unit in ("week", "weekend"):
        monday = today - DAY * (today.weekday() + 7 * back)
        return Period(monday + DAY * (5 if unit == "weekend" else 0), monday + 7 * DAY, exact=False)
    if unit == "quarter":
        return _quarters(_months_before(today, 3 * back))
    if unit == "month":
        return _month(_months_before(today, back))
    return _year(today, today.year - back)


def _day(start: datetime, *, any_year: bool = False) -> Period:
    return Period(start, start + DAY, exact=True, any_year=any_year)


def _month(start: datetime, *, any_year: bool = False) -> Period:
    start = start.replace(day=1)
    return Period(start, start + DAY * monthrange(start.year, start.month)[1], exact=False, any_year=any_year)


def _third(start: datetime, which: int, *, any_year: bool = False) -> Period:
    """Return the first (0) or second (1) ten days of a month, or the rest of it (2)."""
    month = _month(start)
    begin = month.start + 10 * DAY * which
    return Period(begin, month.end if which == 2 else begin + 10 * DAY, exact=False, any_year=any_year)


def _quarters(start: datetime, count: int = 1) -> Period:
    begin = start.replace(month=start.month - (start.month - 1) % 3, day=1)
    return Period(begin, _months_before(begin, -3 * count), exact=False)


def _year(today: datetime, number: int) -> Period:
    start = today.replace(year=number, month=1, day=1)
    return Period(start, start.replace(year=number + 1), exact=False)


def _months_before(today: datetime, months: int) -> datetime:
    count = today.year * 12 + today.month - 1 - months
    return today.replace(year=count // 12, month=count % 12 + 1, day=1)


def _latest(today: datetime, month: int, day: int) -> datetime:
    """Return the latest date up to today with this day and month; 29 February may be eight years back."""
    for year in range(today.year, max(today.year - 9, MINYEAR), -1):
        try:
            candidate = today.replace(year=year, month=month, day=day)
        except ValueError:
            continue
        if candidate <= today:
            return candidate
    raise ValueError(f"there is no day {day} in month {month}")


_READERS: dict[str, _Reader] = {
    "date": _on_date,
    "week of date": lambda match, today: _unit(
        "week", _latest(today, _month_number(match["month"]), int(match["day"])), 0
    ),
    "month": _in_month,
    "month of last year": lambda match, today: _month(
        today.replace(year=today.year - 1, month=_month_number(match["month"]), day=1)
    ),
    "numbered week": _iso_week,
    "quarter": _in_quarter,
    "ago": _ago,
    "few units": _few_units,
    "hours": _hours,
    "before last": lambda match, today: (
        _day(today - 2 * DAY) if match["unit"].lower() == "night" else _unit(match["unit"].lower(), today, 2)
    ),
    "the other day": lambda _, today: Period(today - 7 * DAY, today, exact=False),
    "weekend": lambda _, today: _unit("weekend", today, int(today.weekday() < 5)),
    "weekday of last week": lambda match, today: _day(
        _unit("week", today, 1).start + DAY * _weekday_number(match)
    ),
    "past units": _past_units,
    "last unit": lambda match, today: _unit(
        match["unit"].lower(), today, int(match["which"].lower() != "this")
    ),
    "weekday": _weekday,
    "day of month": _of_this_month,
    "day": _today_or_yesterday,
    "year": _in_year,
}
_END = r"(?:(?![\w-])|(?<=[-/]\d\d[-/]\d\d)(?=T\d))"  # a time may follow, as in 2026-11-18T10:00
_FORMS = tuple(
    (re.compile(rf"(?<![\w-]){filled(form, table('dates')['parts'])}{_END}", re.IGNORECASE), read)
    for forms in table("dates")["forms"]
    for read in [_READERS[forms["reader"]]]
    for form in forms["patterns"].strip().split("\n")
)

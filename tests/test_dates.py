"""Dates in questions: which period is meant, and how close a moment is to it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrubjay.text.dates import Period, closeness, periods

moments = st.datetimes(
    timezones=st.sampled_from([UTC, timezone(timedelta(hours=9)), timezone(timedelta(hours=-11))])
)
PHRASES = [
    "7 May 2023",
    "May 7th",
    "in March",
    "2024-02-29",
    "last week",
    "3 days ago",
    "999 years ago",
    "on Monday",
    "in 2021",
    "Feb 30",
]


def at(date: str) -> datetime:
    return datetime.fromisoformat(date).replace(tzinfo=UTC)


def only(text: str, now: datetime) -> Period:
    (period,) = periods(text, now)
    return period


def span(text: str, now: datetime) -> tuple[str, str]:
    """First and last day of the only period."""
    period = only(text, now)
    return f"{period.start:%Y-%m-%d}", f"{period.end - timedelta(days=1):%Y-%m-%d}"


# now is Thursday, 5 March 2026, noon


@pytest.mark.parametrize(
    "text",
    [
        "2023-05-07",
        "2023/05/07",
        "7 May 2023",
        "May 7th, 2023",
        "on 7th of may, 2023?",
        "MAY 7 2023",
        "at 2023-05-07T10:00:00Z",
    ],
)
def test_a_full_date_is_that_day(text: str, now: datetime) -> None:
    assert only(f"What happened {text}", now) == Period(at("2023-05-07"), at("2023-05-08"), exact=True)


@pytest.mark.parametrize(
    ("text", "day"),
    [("25/12/2023", "2023-12-25"), ("12/25/2023", "2023-12-25"), ("25.12.2023", "2023-12-25")],
)
def test_a_numeric_date_is_read_when_only_one_reading_exists(text: str, day: str, now: datetime) -> None:
    assert span(text, now) == (day, day)
    assert periods("05/07/2023", now) == []


@pytest.mark.parametrize(
    ("text", "first", "last"),
    [
        ("in March 2024", "2024-03-01", "2024-03-31"),
        ("during Feb. 2024", "2024-02-01", "2024-02-29"),
        ("30 February 2024", "2024-02-01", "2024-02-29"),
        ("the 2023-12 release", "2023-12-01", "2023-12-31"),
        ("in mid-August 2023", "2023-08-11", "2023-08-20"),
        ("at the end of May 2024", "2024-05-21", "2024-05-31"),
        ("late in February 2024", "2024-02-21", "2024-02-29"),
        ("in summer 2023", "2023-01-01", "2023-12-31"),
        ("in 2022?", "2022-01-01", "2022-12-31"),
        ("today", "2026-03-05", "2026-03-05"),
        ("yesterday", "2026-03-04", "2026-03-04"),
        ("the day before yesterday", "2026-03-03", "2026-03-03"),
        ("this week", "2026-03-02", "2026-03-08"),
        ("last week", "2026-02-23", "2026-03-01"),
        ("last weekend", "2026-02-28", "2026-03-01"),
        ("this month", "2026-03-01", "2026-03-31"),
        ("last month", "2026-02-01", "2026-02-28"),
        ("last year", "2025-01-01", "2025-12-31"),
        ("last quarter", "2025-10-01", "2025-12-31"),
        ("this quarter", "2026-01-01", "2026-03-31"),
        ("in Q3", "2025-07-01", "2025-09-30"),
        ("in Q1", "2026-01-01", "2026-03-31"),
        ("Q3 2024", "2024-07-01", "2024-09-30"),
        ("in the second quarter of 2024", "2024-04-01", "2024-06-30"),
        ("in H2 2024", "2024-07-01", "2024-12-31"),
        ("in the first half of 2025", "2025-01-01", "2025-06-30"),
        ("over the weekend", "2026-02-28", "2026-03-01"),
        ("at the weekend", "2026-02-28", "2026-03-01"),
        ("this past weekend", "2026-02-28", "2026-03-01"),
        ("the weekend before last", "2026-02-21", "2026-02-22"),
        ("the week before last", "2026-02-16", "2026-02-22"),
        ("the night before last", "2026-03-03", "2026-03-03"),
        ("the week of May 5", "2025-05-05", "2025-05-11"),
        ("the other day", "2026-02-26", "2026-03-04"),
        ("a few days ago", "2026-02-28", "2026-03-03"),
        ("several weeks ago", "2026-01-29", "2026-02-25"),
        ("in the last few days", "2026-02-28", "2026-03-05"),
        ("two weeks ago", "2026-02-16", "2026-02-22"),
        ("a fortnight ago", "2026-02-16", "2026-02-22"),
        ("half a year ago", "2025-09-01", "2025-09-30"),
        ("an hour ago", "2026-03-04", "2026-03-05"),
        ("in the last 36 hours", "2026-03-03", "2026-03-05"),
        ("this morning", "2026-03-05", "2026-03-05"),
        ("on the 3rd", "2026-03-03", "2026-03-03"),
        ("on the 20th?", "2026-02-20", "2026-02-20"),
        ("since Monday", "2026-03-02", "2026-03-05"),
        ("since yesterday", "2026-03-04", "2026-03-05"),
        ("since last week", "2026-02-23", "2026-03-05"),
        ("since February 20", "2026-02-20", "2026-03-05"),
        ("since March", "2026-03-01", "2026-03-05"),
        ("after Monday", "2026-03-03", "2026-03-05"),
        ("after 1 March 2026", "2026-03-02", "2026-03-05"),
        ("by Friday", "2026-02-27", "2026-02-27"),
        ("in Monday's meeting", "2026-03-02", "2026-03-02"),
        ("Monday morning", "2026-03-02", "2026-03-02"),
        ("on Tuesday last week", "2026-02-24", "2026-02-24"),
        ("3 days ago", "2026-03-02", "2026-03-02"),
        ("a week ago", "2026-02-23", "2026-03-01"),
        ("a couple of months ago", "2026-01-01", "2026-01-31"),
        ("four months ago", "2025-11-01", "2025-11-30"),
        ("two years ago", "2024-01-01", "2024-12-31"),
        ("in the past week", "2026-02-26", "2026-03-05"),
        ("the last 3 days", "2026-03-02", "2026-03-05"),
        ("on Thursday", "2026-03-05", "2026-03-05"),
        ("last Thursday", "2026-02-26", "2026-02-26"),
        ("on Monday", "2026-03-02", "2026-03-02"),
        ("last Friday", "2026-02-27", "2026-02-27"),
    ],
)
def test_a_period_is_read_against_now(text: str, first: str, last: str, now: datetime) -> None:
    assert span(f"What did we decide {text}", now) == (first, last)


@pytest.mark.parametrize(
    ("text", "first", "last"),
    [
        ("May 7th", "2025-05-07", "2025-05-07"),
        ("on 7 may", "2025-05-07", "2025-05-07"),
        ("3 March", "2026-03-03", "2026-03-03"),
        ("29 February", "2024-02-29", "2024-02-29"),
        ("in March", "2026-03-01", "2026-03-31"),
        ("in may", "2025-05-01", "2025-05-31"),
        ("last December", "2025-12-01", "2025-12-31"),
        ("at the end of May", "2025-05-21", "2025-05-31"),
        ("in mid-February", "2026-02-11", "2026-02-20"),
        ("in late March", "2025-03-21", "2025-03-31"),
    ],
)
def test_a_date_without_a_year_is_the_latest_one_and_says_so(
    text: str, first: str, last: str, now: datetime
) -> None:
    assert span(text, now) == (first, last)
    assert only(text, now).any_year


@pytest.mark.parametrize(
    "text",
    [
        "It may work",
        "this may fail",
        "the 7 may differ",
        "they march on",
        "April and June met Jan",
        "30 February",
        "port 2023",
        "the end may be near",
        "some days",
        "on the 3rd attempt",
        "the Q5 build",
        "Monday is a name",
        "after all, since then",
        "in 2048 files",
        "call 2023-05-07-abc",
        "v2023-05-07",
        "999999 days ago",
        "",
    ],
)
def test_what_is_no_date_is_left_alone(text: str, now: datetime) -> None:
    assert periods(text, now) == []


def test_several_periods_come_in_the_order_they_are_named_and_once(now: datetime) -> None:
    found = periods("Between May 3, 2023 and 7 June 2023, or yesterday, not May 3, 2023", now)
    assert [f"{period.start:%Y-%m-%d}" for period in found] == ["2023-05-03", "2023-06-07", "2026-03-04"]


def test_a_day_is_read_in_the_time_zone_of_now() -> None:
    tokyo = timezone(timedelta(hours=9))
    assert only("today", datetime(2026, 3, 5, 1, tzinfo=tokyo)).start == datetime(2026, 3, 4, 15, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "moment", "expected"),
    [
        ("7 May 2023", "2023-05-05T23:00", 0.0),
        ("7 May 2023", "2023-05-06T00:00", 1.0),
        ("7 May 2023", "2023-05-07T12:00", 1.0),
        ("7 May 2023", "2023-05-08T23:00", 1.0),
        ("7 May 2023", "2023-05-09T00:00", 0.5),
        ("7 May 2023", "2023-05-17T23:00", 0.5),
        ("7 May 2023", "2023-05-18T00:00", 0.0),
        ("7 May 2023", "2024-05-07T12:00", 0.0),
        ("May 2023", "2023-04-30T00:00", 1.0),
        ("May 2023", "2023-05-31T23:00", 1.0),
        ("May 2023", "2023-06-01T00:00", 0.5),
        ("May 2023", "2023-06-15T00:00", 0.0),
        ("May 7", "2019-05-07T12:00", 1.0),
        ("May 7", "2019-06-07T12:00", 0.0),
        ("in December", "2020-01-03T00:00", 0.5),
        ("January 1", "2019-12-31T00:00", 1.0),
        ("in February", "2024-02-29T12:00", 1.0),
        ("29 February", "2023-03-01T00:00", 0.0),
        ("in 2022", "2022-07-01T00:00", 1.0),
        ("in 2022", "2023-01-10T00:00", 0.5),
        ("end of May", "2023-05-25T00:00", 1.0),
        ("end of May", "2023-05-19T00:00", 0.0),
        ("in mid-February", "2024-02-15T00:00", 1.0),
        ("since Monday", "2026-03-05T11:00", 1.0),
    ],
)
def test_closeness_falls_from_the_period_on(text: str, moment: str, expected: float, now: datetime) -> None:
    assert closeness(only(text, now), at(moment)) == expected


@given(st.lists(st.sampled_from(PHRASES) | st.text(max_size=20)).map(" ".join), moments, moments)
def test_any_question_at_any_time_gives_nothing_but_three_values(
    text: str, now: datetime, moment: datetime
) -> None:
    for period in periods(text, now):
        assert period.start < period.end
        assert closeness(period, moment) in {0.0, 0.5, 1.0}
        assert closeness(period, period.start) == 1.0


@given(
    st.sampled_from(
        [
            "today",
            "yesterday",
            "last week",
            "2 days ago",
            "on Monday",
            "since May",
            "Q3",
            "a few days ago",
            "over the weekend",
        ]
    ),
    moments,
)
def test_relative_periods_never_lie_in_the_future(text: str, now: datetime) -> None:
    assert all(period.start <= now for period in periods(text, now))

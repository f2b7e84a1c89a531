"""Dates in questions: the period, how close a moment is to it, and the rest of the question."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrubjay.text.dates import LocalZone, Period, closeness, periods
from scrubjay.text.time_asked import (
    EPOCH,
    LONGEST,
    Event,
    PastSessions,
    moment_named,
    name_in_days,
    time_asked,
)

moments = st.datetimes(
    timezones=st.sampled_from([UTC, timezone(timedelta(hours=9)), timezone(timedelta(hours=-11))])
)
PHRASES = [
    "7 May 2023", "May 7th", "in March", "2024-02-29", "last week", "3 days ago", "999 years ago",
    "on Monday", "in 2021", "Feb 30",
]  # fmt: skip


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
    ["2023/05/07", "on 7th of may, 2023?", "MAY 7 2023", "on May 7,2023", "at 2023-05-07T10:00:00Z"],
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
        ("30 February 2024", "2024-02-01", "2024-02-29"),
        ("the 2023-12 release", "2023-12-01", "2023-12-31"),
        ("in mid-August 2023", "2023-08-11", "2023-08-20"),
        ("at the end of May 2024", "2024-05-21", "2024-05-31"),
        ("late in February 2024", "2024-02-21", "2024-02-29"),
        ("in summer 2023", "2023-01-01", "2023-12-31"),
        ("today", "2026-03-05", "2026-03-05"),
        ("yesterday", "2026-03-04", "2026-03-04"),
        ("the day before yesterday", "2026-03-03", "2026-03-03"),
        ("last week", "2026-02-23", "2026-03-01"),
        ("last weekend", "2026-02-28", "2026-03-01"),
        ("last year", "2025-01-01", "2025-12-31"),
        ("in Q3", "2025-07-01", "2025-09-30"),
        ("in the second quarter of 2024", "2024-04-01", "2024-06-30"),
        ("in H2 2024", "2024-07-01", "2024-12-31"),
        ("in the first half of 2025", "2025-01-01", "2025-06-30"),
        ("the weekend before last", "2026-02-21", "2026-02-22"),
        ("the week before last", "2026-02-16", "2026-02-22"),
        ("the night before last", "2026-03-03", "2026-03-03"),
        ("the week of May 5", "2025-05-05", "2025-05-11"),
        ("the other day", "2026-02-26", "2026-03-04"),
        ("a few days ago", "2026-02-28", "2026-03-03"),
        ("several weeks ago", "2026-01-29", "2026-02-25"),
        ("in the last few days", "2026-02-28", "2026-03-05"),
        ("two weeks ago", "2026-02-16", "2026-02-22"),
        ("half a year ago", "2025-09-01", "2025-09-30"),
        ("an hour ago", "2026-03-04", "2026-03-05"),
        ("in the last 36 hours", "2026-03-03", "2026-03-05"),
        ("this morning", "2026-03-05", "2026-03-05"),
        ("on the 3rd", "2026-03-03", "2026-03-03"),
        ("since Monday", "2026-03-02", "2026-03-05"),
        ("after 1 March 2026", "2026-03-02", "2026-03-05"),
        ("by Friday", "2026-02-27", "2026-02-27"),
        ("in Monday's meeting", "2026-03-02", "2026-03-02"),
        ("Monday morning", "2026-03-02", "2026-03-02"),
        ("on Tuesday last week", "2026-02-24", "2026-02-24"),
        ("a couple of months ago", "2026-01-01", "2026-01-31"),
        ("two years ago", "2024-01-01", "2024-12-31"),
        ("in the past week", "2026-02-26", "2026-03-05"),
        ("the last 3 days", "2026-03-02", "2026-03-05"),
        ("on Thursday", "2026-03-05", "2026-03-05"),
        ("last Thursday", "2026-02-26", "2026-02-26"),
    ],
)
def test_a_period_is_read_against_now(text: str, first: str, last: str, now: datetime) -> None:
    assert span(f"What did we decide {text}", now) == (first, last)


@pytest.mark.parametrize(
    ("text", "first", "last"),
    [
        ("May 7th", "2025-05-07", "2025-05-07"),
        ("on 7 may", "2025-05-07", "2025-05-07"),
        ("29 February", "2024-02-29", "2024-02-29"),
        ("in may", "2025-05-01", "2025-05-31"),
        ("at the end of May", "2025-05-21", "2025-05-31"),
        ("in mid-February", "2026-02-11", "2026-02-20"),
    ],
)
def test_a_date_without_a_year_is_the_latest_one_and_says_so(
    text: str, first: str, last: str, now: datetime
) -> None:
    assert span(text, now) == (first, last)
    assert only(text, now).any_year


NO_DATES = [
    "It may work", "this may fail", "the 7 may differ", "they march on", "April and June met Jan",
    "30 February", "port 2023", "the end may be near", "some days", "on the 3rd attempt", "the Q5 build", "the Q3T4 build", "in 2025T1",
    "Monday is a name", "after all, since then", "in 2048 files", "call 2023-05-07-abc", "v2023-05-07",
    "999999 days ago", "",
]  # fmt: skip


@pytest.mark.parametrize("text", NO_DATES)
def test_text_that_is_not_a_date_is_ignored(text: str, now: datetime) -> None:
    assert periods(text, now) == []


def test_several_periods_are_returned_once_in_the_order_of_mention(now: datetime) -> None:
    found = periods("Between May 3, 2023 and 7 June 2023, or yesterday, not May 3, 2023", now)
    assert [f"{period.start:%Y-%m-%d}" for period in found] == ["2023-05-03", "2023-06-07", "2026-03-04"]


def test_a_day_is_read_in_the_time_zone_of_now() -> None:
    tokyo = timezone(timedelta(hours=9))
    assert only("today", datetime(2026, 3, 5, 1, tzinfo=tokyo)).start == datetime(2026, 3, 4, 15, tzinfo=UTC)


CLOSENESS = {  # of moments to a period
    "May 7, 2023": {
        "2023-05-05T23:00": 0.0,
        "2023-05-06T00:00": 1.0,
        "2023-05-07T12:00": 1.0,
        "2023-05-08T23:00": 1.0,
        "2023-05-09T00:00": 0.5,
        "2023-05-17T23:00": 0.5,
        "2023-05-18T00:00": 0.0,
        "2024-05-07T12:00": 0.0,
    },
    "May 2023": {
        "2023-04-30T00:00": 1.0,
        "2023-05-31T23:00": 1.0,
        "2023-06-01T00:00": 0.5,
        "2023-06-15T00:00": 0.0,
    },
    "May 7": {"2019-05-07T12:00": 1.0, "2019-06-07T12:00": 0.0},
    "in December": {"2020-01-03T00:00": 0.5},
    "January 1": {"2019-12-31T00:00": 1.0},
    "in February": {"2024-02-29T12:00": 1.0},
    "29 February": {"2023-03-01T00:00": 0.0},
    "in 2022": {"2022-07-01T00:00": 1.0, "2023-01-10T00:00": 0.5},
    "end of May": {"2023-05-25T00:00": 1.0, "2023-05-19T00:00": 0.0},
    "in mid-February": {"2024-02-15T00:00": 1.0},
    "since Monday": {"2026-03-05T11:00": 1.0},
}


@pytest.mark.parametrize(
    ("text", "moment", "expected"),
    [(text, moment, expected) for text, row in CLOSENESS.items() for moment, expected in row.items()],
)
def test_closeness_falls_with_distance_from_the_period(
    text: str, moment: str, expected: float, now: datetime
) -> None:
    assert closeness(only(text, now), at(moment)) == expected


@given(st.lists(st.sampled_from(PHRASES) | st.text(max_size=20)).map(" ".join), moments, moments)
def test_closeness_is_0_one_half_or_1(text: str, now: datetime, moment: datetime) -> None:
    for period in periods(text, now):
        assert period.start < period.end
        assert closeness(period, moment) in {0.0, 0.5, 1.0}
        assert closeness(period, period.start) == 1.0


@given(
    st.sampled_from("today|yesterday|last week|2 days ago|on Monday|since May|Q3|a few days ago".split("|")),
    moments,
)
def test_relative_periods_are_never_in_the_future(text: str, now: datetime) -> None:
    assert all(period.start <= now for period in periods(text, now))


@pytest.mark.parametrize(
    ("text", "period"),
    [
        ("what did we talk about on March 2?", "2026-03-02"),
        ("What happened last Tuesday?", "2026-03-03"),
        ("what have we done this week?", "2026-03-02 to 2026-03-05"),
        ("summarize yesterday\u2019s session", "2026-03-04"),
        ("what did we work on from March 1 to March 3", "2026-03-01 to 2026-03-03"),
        ("what did we do since Monday until yesterday?", "2026-03-02 to 2026-03-04"),
        ("what did we do before March 2", "before 2026-03-02"),
        ("what did we do until yesterday", "before 2026-03-05"),
        ("what did we do this morning?", "2026-03-05 04:00 to 12:00"),
        ("what was decided last night", "2026-03-04 18:00 to 2026-03-05 05:00"),
        ("what did we do yesterday afternoon", "2026-03-04 12:00 to 18:00"),
        ("what did we discuss in the last 2 hours?", "2026-03-05 10:00 to 12:00"),
        ("what did we do 2 hours ago", "2026-03-05 09:00 to 11:00"),
        ("what have we been up to lately", "2026-02-26 to 2026-03-05"),
        ("what did we do on Wednesday, November 12?", "2025-11-12"),
        ("what changed since Sunday, March 1?", "2026-03-01 to 2026-03-05"),
        ("what did we do in the last session?", PastSessions(1)),
        ("where were we?", PastSessions(1)),
        ("what did we do in the session before the last one", PastSessions(2)),
        ("what did we do three sessions ago?", PastSessions(3)),
        ("what were the last two sessions about", PastSessions(1, 2)),
        ("what did we do before the release?", Event("the release", after=False)),
        ("since the big migration, what changed?", Event("the big migration", after=True)),
        ("what happened after v2.3", Event("v2.3", after=True)),
        ("what changed since the deploy of v2.3?", Event("the deploy of v2.3", after=True)),
        ("what did we do yesterday and today?", "2026-03-04 to 2026-03-05"),
        ("what did we do on Monday and Tuesday?", "2026-03-02 to 2026-03-03"),
        ("what did we do in January and February?", "2026-01-01 to 2026-02-28"),
        ("what did we do Wednesday to Friday?", "2026-02-25 to 2026-02-27"),
        ("what did we do since the beginning of the month?", "2026-03-01 to 2026-03-05"),
        ("what did we do in week 9 of 2026?", "2026-02-23 to 2026-03-01"),
        ("what did we do late last week", "2026-02-23 to 2026-03-01"),
        ("what did we do in the last half hour", "2026-03-05 11:30 to 12:00"),
        ("what did we do within the last two days?", "2026-03-03 to 2026-03-05"),
        # in other words, or in another language
        ("what did we do between Monday and Wednesday?", "2026-03-02 to 2026-03-04"),
        ("what did we do Monday to Wednesday?", "2026-03-02 to 2026-03-04"),
        ("what did we do February 10-12", "2026-02-10 to 2026-02-12"),
        ("what did we do between May and July 2025", "2025-05-01 to 2025-07-31"),
        ("what did we do Tuesday?", "2026-03-03"),
        ("what did we do as of February?", "before 2026-03-01"),
        ("what did we do last week Wednesday", "2026-02-25"),
        ("what did we do on 17.2.?", "2026-02-17"),
        ("what did we do on February the 17th", "2026-02-17"),
        ("what did we do in early 2025", "2025-01-01 to 2025-04-30"),
        ("what did we do in 2025-Q3", "2025-07-01 to 2025-09-30"),
        ("what did we do in the first week of January", "2026-01-01 to 2026-01-07"),
        ("what did we do in week 9", "2026-02-23 to 2026-03-01"),
        ("what did we do at 3pm yesterday", "2026-03-04 14:00 to 16:00"),
        ("what did we do yesterday at 15:30?", "2026-03-04 14:30 to 16:30"),
        ("what did we do between 2pm and 4pm yesterday?", "2026-03-04 14:00 to 16:00"),
        ("what did we do yesterday between 2 and 4 pm?", "2026-03-04 14:00 to 16:00"),
        ("what did we do yesterday from 9:30 to 11:00?", "2026-03-04 09:30 to 11:00"),
        ("what did we do yesterday before 3pm", "2026-03-04 00:00 to 15:00"),
        ("what did we do after 15:00 on Monday?", "2026-03-02 15:00 to 2026-03-03 00:00"),
        ("what did we do today since 10:00", "2026-03-05 10:00 to 2026-03-06 00:00"),
        ("Was haben wir gestern zwischen 14 und 16 Uhr gemacht?", "2026-03-04 14:00 to 16:00"),
        ("Was haben wir gestern gemacht?", "2026-03-04"),
        ("Was haben wir heute Morgen gemacht?", "2026-03-05 04:00 to 12:00"),
        ("Was haben wir gestern um 15 Uhr gemacht?", "2026-03-04 14:00 to 16:00"),
        ("Was haben wir am 3.2. gemacht?", "2026-02-03"),
        ("Was haben wir vom 10. bis 12. Februar gemacht?", "2026-02-10 to 2026-02-12"),
        ("Was haben wir in KW 9 gemacht?", "2026-02-23 to 2026-03-01"),
        ("Qu\u2019avons-nous fait avant-hier ?", "2026-03-03"),
        ("Qu'avons-nous fait la semaine derni\u00e8re ?", "2026-02-23 to 2026-03-01"),
        ("Qu'avons-nous fait le 17 f\u00e9vrier ?", "2026-02-17"),
        ("Qu'avons-nous fait fin f\u00e9vrier ?", "2026-02-21 to 2026-02-28"),
        ("\u00bfQu\u00e9 hicimos la semana pasada?", "2026-02-23 to 2026-03-01"),
        ("\u00bfQu\u00e9 hicimos hace 3 d\u00edas?", "2026-03-02"),
        ("\u00bfQu\u00e9 hicimos el 17 de febrero?", "2026-02-17"),
        ("Was haben wir gestern und heute gemacht?", "2026-03-04 to 2026-03-05"),
        ("O que fizemos ontem \u00e0 tarde?", "2026-03-04 12:00 to 18:00"),
        ("O que fizemos desde segunda-feira?", "2026-03-02 to 2026-03-05"),
        ("O que decidimos h\u00e1 3 dias?", "2026-03-02"),
        ("O que fizemos em fevereiro de 2026?", "2026-02-01 to 2026-02-28"),
        ("O que fizemos nos \u00faltimos 3 dias?", "2026-03-02 to 2026-03-05"),
        ("O que fizemos na \u00faltima sess\u00e3o?", PastSessions(1)),
        ("Onde paramos?", PastSessions(1)),
        ("昨天我们做了什么", "2026-03-04"),
        ("上周一我们做了什么", "2026-02-23"),
        ("周一到周三我们做了什么", "2026-03-02 to 2026-03-04"),
        ("从周一开始我们做了什么", "2026-03-02 to 2026-03-05"),
        ("2月17日我们讨论了什么", "2026-02-17"),
        ("最近三天我们做了什么", "2026-03-02 to 2026-03-05"),
        ("我们上次做到哪里了", PastSessions(1)),
        ("昨日は何をしましたか", "2026-03-04"),
        ("先週の月曜日に何をしましたか", "2026-02-23"),
        ("月曜日から水曜日に何をしましたか", "2026-03-02 to 2026-03-04"),
        ("昨日から何をしましたか", "2026-03-04 to 2026-03-05"),
        ("2月17日に何を決めましたか", "2026-02-17"),
        ("3日前に何をしましたか", "2026-03-02"),
        ("前回のセッションで何をしましたか", PastSessions(1)),
        ("Wo waren wir stehengeblieben?", PastSessions(1)),
        ("O\u00f9 en \u00e9tions-nous ?", PastSessions(1)),
        ("\u00bfD\u00f3nde lo dejamos?", PastSessions(1)),
    ],
)
def test_a_question_may_ask_about_nothing_but_a_time_in_any_words_or_language(
    text: str, period: str | PastSessions | Event, now: datetime
) -> None:
    asked = time_asked(text, now)
    assert asked is not None and asked.words == ()
    when = asked.when
    assert (name_in_days(when.start, when.end) if isinstance(when, Period) else when) == period


@pytest.mark.parametrize(
    ("text", "words", "firm"),
    [
        ("what did we decide about retries last week?", ("retries",), True),
        ("what did we say of retries on November 11", ("retries",), True),
        ("what did Ada do on 8 May 2023", ("ada",), False),
        ("what did Ada do in May", ("ada",), False),
        ("which port did we choose in the last session", ("port", "choose"), True),
        ("which port was it before the release?", ("port",), False),
    ],
)
def test_content_words_are_separated_from_the_time(
    text: str, words: tuple[str, ...], firm: bool, now: datetime
) -> None:
    asked = time_asked(text, now)
    assert asked is not None and (asked.words, asked.certain) == (words, firm)


NO_TIME_ASKED = [
    "why did we move to gRPC?", "the last time we discussed retries", "our last conversation about retries",
    "what did we do on Monday or on March 1?", "what did we do the day before March 1?",
    "before that, since then, after all", "the session store", "yesterday " * 40, "",
]  # fmt: skip


@pytest.mark.parametrize("text", NO_TIME_ASKED)
def test_a_question_about_no_specific_time_is_ignored(text: str, now: datetime) -> None:
    assert time_asked(text, now) is None


@pytest.mark.parametrize(
    ("phrase", "begins", "is_over"),
    [
        ("yesterday", "2026-03-04T00:00", "2026-03-05T00:00"),
        ("tuesday", "2026-03-03T00:00", "2026-03-04T00:00"),
        ("3 days ago", "2026-03-02T00:00", "2026-03-03T00:00"),
        ("two weeks ago", "2026-02-19T00:00", "2026-02-20T00:00"),
        ("3 fortnights ago", "2026-01-22T00:00", "2026-01-23T00:00"),
        ("a year ago", "2025-03-05T00:00", "2025-03-06T00:00"),
        ("last week", "2026-02-23T00:00", "2026-03-02T00:00"),
        ("this week", "2026-03-02T00:00", "2026-03-06T00:00"),
        ("November 11", "2025-11-11T00:00", "2025-11-12T00:00"),
        ("february", "2026-02-01T00:00", "2026-03-01T00:00"),
        ("2 hours ago", "2026-03-05T10:00", "2026-03-05T10:00"),
        ("half an hour ago", "2026-03-05T11:30", "2026-03-05T11:30"),
        ("now", "2026-03-05T12:00", "2026-03-05T12:00"),
        ("yesterday at 5pm", "2026-03-04T17:00", "2026-03-04T17:00"),
        ("Monday 9:30", "2026-03-02T09:30", "2026-03-02T09:30"),
        ("gestern", "2026-03-04T00:00", "2026-03-05T00:00"),
        ("vorletzte Woche", "2026-02-16T00:00", "2026-02-23T00:00"),
        ("vor 3 Tagen", "2026-03-02T00:00", "2026-03-03T00:00"),
        ("hier", "2026-03-04T00:00", "2026-03-05T00:00"),
        ("la semaine derni\u00e8re", "2026-02-23T00:00", "2026-03-02T00:00"),
        ("ayer", "2026-03-04T00:00", "2026-03-05T00:00"),
        ("la semana pasada", "2026-02-23T00:00", "2026-03-02T00:00"),
        ("semana passada", "2026-02-23T00:00", "2026-03-02T00:00"),
        ("上周", "2026-02-23T00:00", "2026-03-02T00:00"),
        ("3日前", "2026-03-02T00:00", "2026-03-03T00:00"),
    ],
)
def test_a_phrase_names_the_moment_at_which_its_time_begins_or_is_over(
    phrase: str, begins: str, is_over: str, now: datetime
) -> None:
    assert (moment_named(phrase, now, end=False), moment_named(phrase, now, end=True)) == (
        at(begins),
        at(is_over),
    )


@pytest.mark.parametrize(
    "phrase", ["soon", "the release", "at 5pm", "the last session", "9999 years ago", "", "x" * 99]
)
def test_a_phrase_that_names_no_moment_gives_none(phrase: str, now: datetime) -> None:
    assert moment_named(phrase, now, end=False) is None


TIMES_ELSEWHERE = [
    "Was haben wir hier gemacht?", "Was passiert jeden Montag?", "Que fait-on le lundi ?",
    "le fichier arrive chaque lundi", "\u00bfQu\u00e9 pasa los lunes?", "每周一做什么", "毎週月曜日に何をしますか", "when do we do Monday planning?",
    "what runs on 3.11.?", "is 11/17 of the tests green?", "what changed in version 2024.11.3?",
    "what did we do in week 3 of the course", "in the office Monday to Wednesday",
]  # fmt: skip


@pytest.mark.parametrize("text", TIMES_ELSEWHERE)
def test_words_that_are_a_time_only_elsewhere_are_ignored(text: str, now: datetime) -> None:
    assert time_asked(text, now) is None


def test_the_words_around_a_foreign_time_remain_without_function_words(now: datetime) -> None:
    asked = time_asked("Was haben wir gestern \u00fcber Retries entschieden?", now)
    assert asked is not None and (asked.words, asked.certain) == (("retries",), True)
    asked = time_asked("先週、リトライについて何を決めましたか", now)
    assert asked is not None and (asked.words, asked.certain) == (("リトライ",), True)


def test_a_change_of_hours_does_not_narrow_the_day_on_which_it_was_made(now: datetime) -> None:
    asked = time_asked("Did we move the standup from 9:00 to 10:00 on Monday?", now)
    assert asked is not None and isinstance(asked.when, Period)
    assert name_in_days(asked.when.start, asked.when.end) == "2026-03-02"


def test_a_clock_time_that_is_not_next_to_the_date_does_not_narrow_it(now: datetime) -> None:
    asked = time_asked("Did we decide yesterday that the standup is at 9:30?", now)
    assert asked is not None and isinstance(asked.when, Period)
    assert name_in_days(asked.when.start, asked.when.end) == "2026-03-04"


PAST = [
    "yesterday", "last {day}", "{day}", "{n} days ago", "{n} weeks ago", "{n} months ago", "last week",
    "last month", "the day before yesterday", "last quarter", "{n} hours ago",
]  # fmt: skip
past_phrases = st.builds(
    lambda phrase, day, n: phrase.format(day=day, n=n),
    st.sampled_from(PAST),
    st.sampled_from("monday tuesday wednesday thursday friday saturday sunday".split()),
    st.integers(1, 99),
)
years = st.datetimes(
    datetime(2000, 1, 1),
    datetime(2100, 1, 1),
    timezones=st.sampled_from([UTC, timezone(timedelta(hours=9)), timezone(timedelta(hours=-11))]),
)


@given(past_phrases, years)
def test_a_phrase_for_the_past_begins_before_now_and_is_over_by_tomorrow(phrase: str, now: datetime) -> None:
    begins, is_over = (moment_named(phrase, now, end=end) for end in (False, True))
    assert begins is not None and is_over is not None
    assert begins <= is_over and begins <= now and is_over - now <= timedelta(days=1)
    asked = time_asked(f"what did we talk about {phrase}?", now)
    if isinstance(asked.when if asked else None, Period):
        assert asked.words == () and asked.when.start < asked.when.end and asked.when.start <= now


@given(
    st.lists(st.sampled_from([*PHRASES, *PAST, "before", "since the", "and"]) | st.text(max_size=20)), years
)
def test_every_period_begins_before_it_ends(texts: list[str], now: datetime) -> None:
    asked = time_asked(" ".join(texts), now)
    if asked is not None and isinstance(asked.when, Period):
        assert asked.when.start < asked.when.end
        assert name_in_days(asked.when.start, asked.when.end)
    moment_named(" ".join(texts), now, end=True)


@pytest.mark.parametrize("text", ["before the ", "last ", "a couple of ", "where did we ", "since ", "1 "])
def test_a_long_text_is_read_quickly(text: str, now: datetime) -> None:
    before = time.process_time()
    time_asked((text * LONGEST)[:LONGEST], now)
    moment_named(text * 100_000, now, end=False)
    assert time.process_time() - before < 0.5


def test_the_zone_of_this_machine_converts_there_and_back(now: datetime) -> None:
    for days in range(0, 365, 30):  # before and after a change to or from summer time, if there is one
        moment = now + timedelta(days=days)
        here = moment.astimezone(LocalZone())
        assert here == moment and here.replace(tzinfo=None) == moment.astimezone().replace(tzinfo=None)
    assert EPOCH.astimezone(LocalZone()) == EPOCH


@pytest.mark.parametrize(
    ("question", "day"),
    [
        ("yesterdays standup", "2026-03-04"),
        ("last nights build", "2026-03-04"),
        ("todays changes", "2026-03-05"),
    ],
)
def test_a_day_is_named_even_if_its_apostrophe_is_missing(question: str, day: str) -> None:
    (period,) = periods(question, datetime(2026, 3, 5, 12, tzinfo=UTC))
    assert period.start == datetime.fromisoformat(f"{day}T00:00+00:00")

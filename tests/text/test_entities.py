"""Entities: the names in a text that are recognisable without a language model, and their normal forms."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrubjay.text.entities import MOST, entities, tie_words, ties

part = st.text("abcdefghijklmnopqrstuvwxyz", min_size=3, max_size=9)
identifiers = st.lists(part, min_size=2, max_size=4).filter(
    lambda parts: parts[-1] not in ("test", "tests", "spec", "specs")
)


def forms(text: str, **args: object) -> set[str]:
    return {entity.form for entity in entities(text, **args)}


SPELLINGS = r"""HttpClient httpClient() http_client HTTP_CLIENT _http_client self.http_client lib::HttpClient
--http-client `http-client` http-client.ts src/app/http_client.py src/app/http_client.py:12: ./http-client/
C:\work\HttpClient.cs tests/test_http_client.py HttpClientTest.java app/http-client.spec.ts (`src/http_client.py`)
HttpClientの型""".split()


@pytest.mark.parametrize("text", SPELLINGS)
def test_all_spellings_of_a_name_have_one_form(text: str) -> None:
    assert "httpclient" in forms(f"We changed {text} today.")


@given(identifiers)
def test_a_name_in_any_case_or_file_has_one_form(parts: list[str]) -> None:
    form = "".join(parts)
    pascal, snake = "".join(part.title() for part in parts), "_".join(parts)
    for text in (snake, f"src/{snake}.py", f"--{'-'.join(parts)}", f"`{'-'.join(parts)}`", snake.upper()):
        assert form in forms(f"see {text} there") or form in _prosaic(text, form)
    if form in forms(snake) and len(parts) > 2:
        assert form in forms(pascal)


def _prosaic(text: str, form: str) -> set[str]:
    """A brand spelled like a code name is not one; the subject of a test file loses the word test."""
    subject = re.sub(r"^tests?|^specs?", "", form)
    return {form} if forms(text) & {subject, ""} or not forms(text) else set()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("HTTPServer and http_server", {"httpserver"}),
        ("src/app/client.py", {"appclient", "client.py"}),
        ("app.client()", {"appclient"}),
        ("client.py:12", {"client.py"}),
        ("src/index.ts", {"srcindex"}),
        ("/etc/hosts", {"etchosts"}),
        (
            "E0425, TS2322, ORA-00942 (CVE-2024-3094) [ECONNREFUSED]",
            {"e0425", "ts2322", "ora00942", "cve20243094", "econnrefused"},
        ),
        ("PROJ-42 and #512, GH-77", {"proj42", "#512", "#77"}),
        ("https://www.github.com/a/b/issues/77/?x=1#top.", {"github.com/a/b/issues/77", "#77"}),
        ("<https://docs.python.org/3/library/re.html>", {"docs.python.org/3/library/re.html"}),
        ("fixed in 3f2a9c1 and 3f2a9c1d0b8e4f5a6c7d3f2a9c1d0b8e4f5a6c7d", {"3f2a9c1"}),
        ("mail alex@example.com", {"alex@example.com"}),
        ("use `redis`, call frobnicate()", {"redis", "frobnicate"}),
    ],
)
def test_every_kind_of_name_has_a_form(text: str, expected: set[str]) -> None:
    assert forms(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "We talked about the trip, and/or he/she said 24/7 it's a well-known, state-of-the-art idea "
        "(really!).",
        "McDonald, DeVito and O'Brien like their iPhone, YouTube, GitHub, JavaScript and a PhD in "
        "Node.js or Vue.js.",
        "U.S.A. e.g. i.e. a.m. 3.14 v2 APIs CEOs COVID-19 GPT-4 UTF-8 SHA-256 TCP/IP km/h #1 B2B "
        "2023-05-07 10:30 $5.00",
        "Go to the shop...then come back.Really? Yes--of course. *important* _emphasis_ 'quoted'",
        "今日は良い天気 \u041f\u0440\u0438\u0432\u0435\u0442, \u0434\u0440\u0443\u0433",
    ],
)
def test_prose_has_no_entities(text: str) -> None:
    assert entities(text) == ()


@given(st.lists(st.text("abcdefghijklmnopqrstuvwxyz'", min_size=1, max_size=12), max_size=40))
def test_plain_words_are_not_entities(words: list[str]) -> None:
    assert entities(" ".join(words).capitalize() + ".") == ()


@given(st.text())
def test_any_text_gives_few_entities_once_each_and_as_spelled(text: str) -> None:
    found = entities(text)
    assert len(found) <= MOST and len({entity.form for entity in found}) == len(found)
    for entity in found:
        assert 0 < entity.specificity <= 1 and entity.form and entity.form == entity.form.lower()
        assert not entity.form[0].isspace() and entity.spelling.strip()


@given(identifiers, st.text(max_size=40))
def test_an_entity_is_found_whatever_surrounds_it(parts: list[str], around: str) -> None:
    named = forms(f"src/{'_'.join(parts)}.py")
    assert named <= forms(
        f"{around.replace('`', '').replace('@', '').replace(':', '')} src/{'_'.join(parts)}.py ."
    )


def test_of_many_names_the_most_specific_are_kept() -> None:
    listing = " ".join(f"`name{chr(97 + n % 26)}{chr(97 + n // 26)}`" for n in range(200))
    found = forms(f"{listing} src/app/http_client.py")
    assert len(found) == MOST and "httpclient" in found


def test_touched_files_count_as_entities() -> None:
    assert forms("nothing here", files=["src/app/http_client.py", "README.md"]) == {"httpclient"}


def test_keys_of_entities_tags_and_records_are_distinct() -> None:
    named = {"tags": ["512", "ui"], "records": ["mem_1"]}
    assert [tie.key for tie in ties("see #512", **named)] == ["id:mem_1", "tag:512", "tag:ui", "#512"]
    words = (tie_words("see #512", **named) or "").split()
    assert len(set(words)) == 4 and all(
        len(word) == 16 and set(word) <= set("0123456789abcdef") for word in words
    )
    assert tie_words("nothing of note") is None
    assert [(tie.reason, tie.via) for tie in ties("see src/app/http_client.py", tags=["ui"])] == [
        ("tag", "ui"),
        ("entity", "src/app/http_client.py"),
    ]

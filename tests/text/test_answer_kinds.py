"""The kinds of answers that questions want, and how well a text on the subject gives one."""

from __future__ import annotations

import time

import pytest

from scrubjay.search.retrieval.words import rarity, stem
from scrubjay.text.answer_kinds import AnswerKind, fit, holds, topic, wanted
from scrubjay.text.terms import compared_words

WANTED: dict[AnswerKind, str] = {  # questions, separated by bars
    "version": "which Redis version do we run? | traefik release | Welche Version von Qt? | Redis的版本",
    "port": "port of the metrics | ¿En qué puerto escucha? | どのポートですか",
    "duration": "how long are logs kept | TTL of the sessions | Wie oft läuft der Job? | 日志保留多久",
    "money": "what does the colo charge | price of the plan Basic | Combien coûte... le prix ? | 费用是多少",
    "size": "how much RAM has build-1 | size of the queue | Wie groß ist der Cache?",
    "number": "how many workers are there | Wie viele Knoten gibt es? | cuántos nodos hay | 有多少台机器",
    "amount": "rate limit of the api | what learning rate do we use",
    "date": "when does the freeze start? | Wann läuft das Zertifikat ab? | quando sai a 3.0? | いつリリース",
    "person": "who owns billing? | Wer pflegt das Gateway? | qui a écrit le parseur ? | 谁负责部署",
    "place": "which region is the bucket in | In welcher Stadt sitzt die Firma? | en quelle ville, quelle ville",
    "path": "where does the agent log to | which file holds the routes | Wo liegen die Dumps?",
    "reason": "why no CRDT? | what caused the outage | Grund für Inno Setup | pourquoi Nomad ? | なぜですか",
    "address": "url of the wiki | wireguard subnet | hostname of the sftp server | 服务器地址",
    "licence": "under what licence do we ship it | licence of the font",
    "name": "name of the auditor | which agency does the translations? | Wie heißt der Prüfer?",
}


@pytest.mark.parametrize(
    ("kind", "question"),
    [(kind, each) for kind, questions in WANTED.items() for each in questions.split(" | ")],
)
def test_a_question_tells_which_kind_of_answer_it_wants(kind: AnswerKind, question: str) -> None:
    assert wanted(question) == kind


@pytest.mark.parametrize(
    "question", ["what is our CI?", "people who cannot tell red from green", "a portfolio page", ""]
)
def test_a_question_that_may_be_answered_by_anything_wants_no_kind(question: str) -> None:
    assert wanted(question) is None


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("version", "We moved to Postgres 16."),
        ("port", "metrics are on 9090"),
        ("duration", "kept for 30 days"),
        ("duration", "heartbeat.interval.ms=30000"),
        ("duration", "läuft jede Nacht"),
        ("money", "The bill is 1,940 € a month."),
        ("size", "a bundle of 240 kB"),
        ("number", "there are twelve nodes"),
        ("date", "it ends on 3 December"),
        ("person", "Pavel solders the boards."),
        ("person", "On call until the end of January: Tobias."),
        ("place", "Terraform state sits in eu-central-1."),
        ("path", "Dumps go to /srv/dumps at night."),
        ("reason", "It was dropped because it doubled the traffic."),
        ("address", "clients get 10.8.0.0/24"),
        ("licence", "It ships under the LGPL."),
        ("name", "an auditor called Brandt looked at it"),
    ],
)
def test_a_text_holds_an_answer_of_a_kind(kind: AnswerKind, text: str) -> None:
    assert holds(kind, text)


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("version", "It uses 3.84 TB of disk, 1.5 % more than before."),
        ("number", "The alert fires at 75 % after 10 minutes and 3.84 TB."),
        ("person", "Every namespace needs a label, and Redis is the cache of Sentry since May."),
        ("money", "The price has not been talked about; 30 days are left."),
        ("address", "Charts were moved over to Lightdash."),
    ],
)
def test_look_alikes_are_not_answers_of_a_kind(kind: AnswerKind, text: str) -> None:
    assert not holds(kind, text)


def fits(question: str, text: str) -> float:
    weights = {stem(word): rarity(word) for word in compared_words(topic(question))}
    return fit(wanted(question), weights, text, stem)


FITTING = """
which Redis version do we run? | We run Redis 7.2. | We run Redis as the cache, with 4 GB.
how many kafka brokers are there | There are five Kafka brokers. | Kafka brokers have 3.84 TB each.
who wrote the Kyverno policies? | Marta wrote the Kyverno policies. | Kyverno policies deny it.
where does velero write to | Velero writes to bucket ibis-velero. | Velero writes every 6 hours.
why did marta leave | Marta left because her contract ended. | Marta left at the end of August.
url of the argo cd ui | Argo CD UI: https://argo.example.org | The Argo CD UI shows all apps.
Wie lange halten Tokens? | Tokens halten 15 Minuten. | Tokens liegen im Speicher.
缓存版本 | 缓存的版本是 7.2 | 缓存是 Redis
"""


@pytest.mark.parametrize(
    ("question", "answer", "about"), [line.split(" | ") for line in FITTING.strip().split("\n")]
)
def test_an_answer_fits_better_than_a_text_that_is_only_about_the_thing(
    question: str, answer: str, about: str
) -> None:
    assert fits(question, answer) > 0.6
    assert fits(question, about) < 0.3


def test_an_answer_in_a_sentence_about_something_else_hardly_fits() -> None:
    text = "Redis is the cache. The gateway was written by us. It is built with Go 1.22 in a container."
    assert fits("Redis version", text) < 0.2 < fits("Go version", text)


def test_a_number_that_the_question_gave_itself_does_not_answer_it() -> None:
    assert fits("how many bookings fit in 500?", "Bookings: see 500.") == 0.0


def test_the_sentence_before_says_what_an_answer_is_about() -> None:
    assert 0.2 < fits("Redis version", "Redis is the cache. At present that is 7.2.") < 0.9


def test_without_a_kind_a_sentence_fits_by_its_words() -> None:
    assert fits("which cache?", "Redis is the cache.") == pytest.approx(1.0)
    assert fits("which cache?", "") == 0.0


def test_a_topic_keeps_what_an_answer_should_say_again() -> None:
    assert topic("how much RAM has build-1").split() == ["RAM", "has", "build-1"]
    assert topic("why don't we bake lightmaps?").split() == ["we", "bake", "lightmaps?"]


@pytest.mark.parametrize(
    "piece", ["a", "1", "a.", "1.", "a-", "A", "a/", "a_", "1,", " a", "A ", "@a", "`", "多", "."]
)
def test_long_texts_are_read_in_linear_time(piece: str) -> None:
    text, start = piece * 4_000, time.process_time()
    for kind in WANTED:
        holds(kind, text)
    wanted(text)
    assert time.process_time() - start < 5.0  # a pattern in quadratic time would need many times that

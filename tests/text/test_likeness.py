"""Likeness: how similarly two sentences are worded, and how one of two facts relates to the other."""

from __future__ import annotations

import time

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from scrubjay.text.likeness import is_same_matter, similarity, verdict

pytestmark = pytest.mark.long


@given(st.text(), st.text())
def test_likeness_is_symmetric_and_between_0_and_1(one: str, other: str) -> None:
    assert 0 <= similarity(one, other) <= 1
    assert similarity(one, other) == similarity(other, one)


@example("\u1e00\u0300")  # an accent that no composed letter takes in
@given(st.text())
def test_a_text_is_like_itself(text: str) -> None:
    assert similarity(text, text) == 1


@pytest.mark.parametrize(
    ("one", "other", "least"),
    [
        ("We use tabs.", "we use TABS", 1.0),
        ("The cache is Redis, on port 6379", "On port 6379 the cache is Redis", 1.0),
        ("Deployments run on Friday", "Deployment runs on Friday", 0.9),
        ("The tests use pytest", "Tests use pytest", 0.85),
    ],
)
def test_paraphrases_are_alike(one: str, other: str, least: float) -> None:
    assert similarity(one, other) >= least


def test_different_sentences_are_not_alike() -> None:
    assert similarity("We deploy on Friday with Jenkins", "The database password rotates monthly") < 0.5
    assert similarity("", "anything") == 0
    assert similarity("...", "???") == 0


@pytest.mark.parametrize("cosine", [0.97, None], ids=["with a model", "by words"])
@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("We use tabs in Go files.", "In Go files we use tabs."),
        ("Maria owns the billing module.", "The billing module is owned by Maria."),
        ("The API calls the worker.", "The worker is called by the API."),
        ("Use tabs, not spaces.", "Use tabs instead of spaces."),
        ("Never push directly to main.", "Do not push to main directly."),
        ("The worker pool has eight processes.", "The worker pool has 8 processes."),
        ("Deployments happen on Tuesdays and Fridays.", "We deploy on Fridays and Tuesdays."),
        ("Im Ordner docs nutzen wir Markdown.", "Wir nutzen Markdown im Ordner docs."),
    ],
)
def test_the_same_fact_in_another_order_voice_or_inflection_is_known(
    old: str, new: str, cosine: float | None
):
    assert verdict(new, old, cosine) == "known"


@pytest.mark.parametrize("cosine", [0.97, None], ids=["with a model", "by words"])
@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("We use spaces, not tabs.", "We use tabs, not spaces."),
        ("The API calls the worker.", "The worker calls the API."),
        ("The worker calls the API.", "The worker is called by the API."),
        ("Run the linter before the tests.", "Run the tests before the linter."),
        ("Retry, then alert.", "Alert, then retry."),
        ("Copy the logs to S3.", "Copy the logs from S3."),
        ("Tests may touch the network.", "Tests must touch the network."),
        ("All services use Kafka.", "Some services use Kafka."),
        ("It is 30 in production and 7 in staging.", "It is 7 in production and 30 in staging."),
        ("The default is JSON and CSV is optional.", "The default is CSV and JSON is optional."),
        ("The project uses tabs.", "The project does not use tabs."),
        ("Changes may be merged without a review.", "Changes may not be merged without a review."),
        ("Tracing is on in production.", "Tracing is off in production."),
        ("Wir nutzen Tabs.", "Wir nutzen keine Tabs."),
        ("Wir mocken die Uhr in Tests.", "Wir mocken die Uhr in Tests nicht."),
        ("Nous stockons les mots de passe.", "Nous ne stockons pas les mots de passe."),
        ("Usamos Docker en desarrollo.", "No usamos Docker en desarrollo."),
    ],
)
def test_swapped_roles_or_polarity_contradict(old: str, new: str, cosine: float | None):
    assert verdict(new, old, cosine) == "contradict"


@pytest.mark.parametrize("cosine", [None, 0.85])
@pytest.mark.parametrize(
    ("rule", "in_other_words"),
    [
        ("Deploys on Fridays are forbidden.", "Do not deploy on Fridays."),
        ("Mocks are not allowed in tests.", "Never use mocks in tests."),
        ("Global variables are prohibited.", "Never use global variables."),
        ("Keine Mocks in Tests.", "Mocks sind in Tests verboten."),
        ("Pas de mocks dans les tests.", "Les mocks sont interdits dans les tests."),
        ("Sin mocks en las pruebas.", "Los mocks están prohibidos en las pruebas."),
        ("Sem mocks nos testes.", "Mocks são proibidos nos testes."),
    ],
)
def test_a_prohibition_in_other_words_is_known(rule: str, in_other_words: str, cosine: float | None):
    assert verdict(in_other_words, rule, cosine) == verdict(rule, in_other_words, cosine) == "known"


@pytest.mark.parametrize(
    ("rule", "lifted"),
    [
        ("Never use mocks in tests.", "Mocks are allowed in tests."),
        ("Deploys on Fridays are forbidden.", "Deploys on Fridays are allowed."),
    ],
)
def test_a_permission_contradicts_a_prohibition(rule: str, lifted: str):
    assert verdict(lifted, rule, 0.85) == "contradict"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("The API listens on port 8080.", "The API listens on port 8081."),
        ("The lock is held for 10 ms.", "The lock is held for 10 s."),
        ("Uploads are kept 48 hours.", "Uploads are now kept 72 hours, because support asked for it."),
        ("Maria owns the search service.", "Tomasz owns the search service since Maria left."),
        ("Ben owns the data pipeline.", "Carla took over the data pipeline from Ben."),
        ("The API listens on port 8080.", "The API moved from port 8080 to 9090."),
        ("We use Jest for tests.", "We no longer use Jest for tests."),
        ("We use Mocha.", "We use Vitest instead of Mocha."),
        ("We use Webpack.", "We switched from Webpack to Vite."),
        ("Memcached holds the sessions.", "Valkey replaced Memcached for the sessions."),
        ("The upload limit is 20 MB.", "The upload limit was raised to 50 MB."),
        ("Kafka topic orders has 6 partitions.", "Kafka topic orders has 12 partitions."),
        ("Logs are kept in Loki for 30 days.", "Logs are kept in Elastic for 90 days."),
        ("Our CI image is Ubuntu 20.04.", "Our CI image is Debian 12."),
        ("The API accepts files up to 10 MB.", "The API now refuses files above 25 MB."),
        ("Use the endpoint /v1/users.", "The endpoint /v1/users is deprecated; use /v2/users."),
        ("Wir nutzen Jenkins.", "Wir nutzen nicht mehr Jenkins."),
        ("Le serveur est à Lyon.", "Le serveur est maintenant à Paris."),
        ("Usamos Jenkins.", "Ya no usamos Jenkins."),
    ],
)
def test_another_value_of_the_same_thing_is_an_update(old: str, new: str):
    assert verdict(new, old, 0.75) == "update"
    assert is_same_matter(old, new, 0.75)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Atlas uses pnpm, never npm.", "Atlas is deployed at Hetzner."),
        ("Atlas uses pnpm.", "Atlas is now deployed at Hetzner."),
        ("The API listens on port 8080.", "The worker listens on port 9090."),
        ("The API listens on port 8080.", "The worker listens on port 8080."),
        ("Staging uses Postgres 15.", "Production uses Postgres 14."),
        ("Maria owns the billing module.", "Maria owns the search module."),
        ("Maria owns the search service.", "Maria moved to Lisbon."),
        ("The API listens on port 8080.", "Standup is at nine."),
        ("", "..."),
    ],
)
def test_facts_that_merely_share_a_subject_are_unrelated(old: str, new: str):
    assert verdict(new, old, 0.6) is None
    assert not is_same_matter(old, new, 0.6)


TOOLS = "Redis Kafka Loki Vault Grafana Sentry Nginx Consul".split()
NAMES = st.lists(st.sampled_from(TOOLS), min_size=4, max_size=4, unique=True)
ORDERS = [
    "{} calls {}.",
    "{} depends on {}.",
    "We use {}, not {}.",
    "We use {} instead of {}.",
    "Events go from {} to {}.",
    "We use {} in production and {} in staging.",
    "Errors go to {}, metrics go to {}.",
    "{} writes to {} and {} reads from {}.",
    "The default is {} and {} is optional.",
    "First comes {}, then {}.",
    "{} is started before {}.",
]


@given(st.sampled_from(ORDERS), NAMES, st.permutations(range(4)), st.sampled_from([None, 0.85, 0.99]))
def test_names_in_another_order_are_never_the_same_fact(
    fact: str, names: list[str], order: list[int], cosine: float | None
):
    old, new = fact.format(*names), fact.format(*(names[at] for at in order))
    assert (verdict(new, old, cosine) == "known") == (new == old)


@given(NAMES, st.permutations(range(4)), st.sampled_from([None, 0.85, 0.99]))
def test_a_list_in_another_order_is_the_same_fact(names: list[str], order: list[int], cosine: float | None):
    listed = "{}, {}, {} and {} run in Docker."
    assert verdict(listed.format(*(names[at] for at in order)), listed.format(*names), cosine) == "known"


@given(st.text(), st.text(), st.none() | st.floats(-1, 1))
def test_any_two_texts_can_be_compared(old: str, new: str, cosine: float | None):
    assert verdict(new, old, cosine) in ("known", "contradict", "update", "similar", None)
    assert is_same_matter(old, new, cosine) == is_same_matter(new, old, cosine)


@pytest.mark.parametrize(
    "part", ["prefer a ", "because ", "a, ", "not ", "x's ", "1,000 ", "replaced ", "n'a "]
)
def test_the_time_is_linear_in_the_text(part: str):
    def seconds(times: int) -> float:
        """The least processor time of three comparisons, of texts that no cache knows."""
        taken = []
        for end in "bcd":
            start = time.process_time()
            verdict(part * times + end, part * times + end * 2, None)
            taken.append(time.process_time() - start)
        return min(taken)

    seconds(100)
    assert seconds(8_000) < 24 * max(seconds(1_000), 0.001)


@pytest.mark.parametrize(
    ("relation", "cosine", "old", "new"),
    [
        # more detail, or another reason
        ("similar", 0.8, "The API listens on port 8421.", "The API listens on port 8421 on all hosts."),
        ("similar", None, "The API listens on port 8421.", "The API listens on port 8421 on all hosts."),
        ("similar", 0.8, "The API listens on port 8421.", "The API listens on port 8421, because 8000 is taken."),
        ("similar", None, "The API listens on port 8421.", "The API listens on port 8421, because 8000 is taken."),
        ("similar", 0.99, "The API is cached.", "The internal API is cached."),
        ("similar", 0.99, "Feature branches are deleted after merging.", "Feature branches are deleted."),
        ("known", 0.9, "The API listens on port 8421 because 8000 is taken by the proxy.", "The API listens on port 8421, since port 8000 is taken by the proxy."),
        # a name or a home in other words
        ("known", 0.9, "The user has a dog named Fips.", "The user's dog is called Fips."),
        ("known", 0.9, "The user's name is Anna.", "The user is called Anna."),
        ("known", 0.9, "The user lives in Berlin.", "The user is based in Berlin."),
        # another unit or kind of the same thing
        ("update", 0.8, "Sessions are kept for 30 minutes.", "Sessions are kept for 30 days."),
        ("update", 0.8, "The user prefers short answers.", "The user prefers long answers."),
        ("update", 0.8, "We use Python 3.11.", "We use Python 3.12."),
        # another purpose, or another thing in use
        (None, 0.8, "Redis is used for caching.", "Redis is used for the job queue."),
        (None, 0.8, "Postgres is used for orders.", "Postgres is used for analytics."),
        (None, 0.8, "We use Postgres.", "We use Redis."),
        (None, 0.8, "The user likes pizza.", "The user likes hiking."),
        (None, 0.8, "I prefer vim.", "I prefer tea."),
        (None, 0.8, "Python formats the report.", "Jinja renders the report."),
        (None, 0.8, "Slack holds the alerts.", "Teams meet on Fridays."),
        # short facts, before they have a vector
        ("update", None, "Standup is at 9:30.", "Standup is at 10:00 from now on."),
        ("update", None, "Timeout=30", "Timeout=60"),
        ("update", None, "DB_HOST=db1.internal", "DB_HOST=db2.internal"),
        ("update", None, "API_BASE_URL is https://api.heron.example", "API_BASE_URL is https://api2.heron.example"),
        ("update", None, "We deploy from main.", "We deploy from the release branch."),
        ("update", None, "Wir deployen am Donnerstag.", "Wir deployen am Montag."),
        ("update", None, "Los despliegues son los jueves.", "Los despliegues son los lunes."),
        # rivals, far apart in meaning
        ("update", 0.45, "I prefer vim.", "I prefer emacs."),
        ("update", None, "I prefer VS Code.", "I prefer Neovim."),
        ("update", 0.45, "We use yarn.", "We use pnpm now."),
        ("update", None, "We branch from develop.", "We branch from main."),
        ("update", 0.45, "My favourite editor is vim.", "My favorite editor is emacs."),
        # a number of another thing of the same kind
        (None, 0.95, "Kafka topic orders has 6 partitions.", "Kafka topic invoices has 12 partitions."),
        (None, None, "Kafka topic orders has 6 partitions.", "Kafka topic invoices has 6 partitions."),
        (None, 0.95, "The queue mail has 3 workers.", "The queue pdf now has five workers."),
        (None, 0.95, "Cluster east has 3 nodes.", "Cluster west has 5 nodes."),
        (None, None, "The retry limit for uploads is 3.", "The retry limit for downloads is 5."),
        # numbers as words
        ("known", 0.9, "Sessions expire after 15 minutes.", "Sessions expire after fifteen minutes."),
        ("known", 0.9, "Tokens live 90 days.", "Tokens live ninety days."),
        # words of code that are function words elsewhere
        ("update", 0.9, "Use `make test` to run the tests.", "Use `just test` to run the tests."),
        ("update", 0.9, "Run `do build` first.", "Run `make build` first."),
        # several things that are supported, spoken or known
        (None, 0.8, "The CLI supports JSON.", "The CLI supports YAML."),
        (None, 0.8, "Anna speaks German.", "Anna speaks French."),
        ("update", 0.8, "The CLI supports Python 3.11.", "The CLI supports Python 3.13."),
        # who has a role
        ("update", 0.8, "Maria is the product owner.", "Tomasz is the product owner."),
        ("known", 0.9, "Maria is the product owner.", "The product owner is Maria."),
        (None, 0.8, "Redis is the cache of the API.", "Kafka is the queue of the API."),
        # Portuguese and Chinese
        ("contradict", 0.8, "Não usamos Redis.", "Usamos Redis."),
        ("update", 0.6, "Usamos Redis.", "Não usamos mais Redis."),
        ("update", 0.6, "Usamos Redis.", "Já não usamos Redis."),
        ("update", 0.9, "日志保留30天。", "日志现在保留90天。"),
        ("update", 0.9, "我们使用Redis。", "我们不再使用Redis。"),
        # short facts about other matters
        (None, None, "The bug in the parser was a missing check.", "The bug in the scheduler was a race of timers."),
        (None, None, "We deploy on Tuesdays.", "We deploy with Helm."),
        (None, None, "DB_HOST=db1", "DB_PORT=5432"),
        (None, None, "Atlas uses pnpm.", "Atlas is deployed at Hetzner."),
    ],
)  # fmt: skip
def test_the_relation_of_two_facts_depends_on_what_differs(
    relation: str | None, cosine: float | None, old: str, new: str
) -> None:
    assert verdict(new, old, cosine) == relation

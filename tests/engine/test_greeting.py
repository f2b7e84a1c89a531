"""The engine's answer to a hello: which clients it accepts, which make it give way, and what each is told."""

from scrubjay.engine.process.greeting import Identity, greet
from scrubjay.wire.hello import Hello

HELLO = Hello("pipe", "/p", "/p", 7)
AUTO, BY_HAND = Identity("0.2.0", 5, True, [1, 2]), Identity("0.2.0", 5, False, [1, 2])


def greeting(hello: Hello, me: Identity = AUTO, token: str | None = None):
    return greet(hello, me, ready=True, token=token, env={"SCRUBJAY_SAME": "1"})


def test_a_client_with_the_same_protocol_is_accepted_whatever_its_version():
    for version in ("0.1.0", "0.2.0", "0.3.0"):
        answer = greeting(HELLO.copy(version=version))
        assert answer.accepted and answer.fields["version"] == "0.2.0" and "error" not in answer.fields


def test_a_client_with_an_older_protocol_is_told_what_to_upgrade():
    answer = greeting(HELLO.copy(protocol=0, version="0.0.9"))
    assert not answer.accepted
    assert "client 0.0.9 registered for /p" in answer.fields["error"] and not answer.fields["retry"]


def test_only_an_engine_started_by_a_pipe_gives_way_to_a_newer_one():
    answer = greeting(HELLO.copy(replace=True))
    assert answer.make_room and not answer.accepted and answer.fields["retry"]
    answer = greeting(HELLO.copy(replace=True), BY_HAND)
    assert not answer.make_room and not answer.accepted and "(pid 5)" in answer.fields["error"]


def test_a_newer_client_of_a_manually_started_engine_is_told_so():
    assert "restart it to use 0.3.0" in greeting(HELLO.copy(version="0.3.0"), BY_HAND).fields["notices"][0]
    assert greeting(HELLO.copy(version="0.3.0")).fields["notices"] == []


def test_settings_in_a_clients_environment_are_named_without_their_values():
    env = {"SCRUBJAY_SAME": "1", "SCRUBJAY_TOKEN": "s3cret", "SCRUBJAY_SCOPE": "mine"}
    (notice,) = greeting(HELLO.copy(env=env)).fields["notices"]
    assert notice.startswith("SCRUBJAY_TOKEN has no effect here") and "s3cret" not in notice


def test_a_port_requires_its_token():
    assert not greeting(HELLO, token="right").accepted
    assert not greeting(HELLO.copy(token="wrong"), token="right").accepted
    assert greeting(HELLO.copy(token="right"), token="right").accepted

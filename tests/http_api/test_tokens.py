"""Tokens as they are stored, and when an address is served without one."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrubjay.errors import HomeError, InputError, NotFound
from scrubjay.home.paths import Home
from scrubjay.http_api import tokens
from scrubjay.http_api.options import Options, parse_address
from scrubjay.http_api.permissions import Permissions

NOW = datetime(2026, 3, 5, 12, 0, tzinfo=UTC)


def test_a_key_has_the_form_that_clients_demand_and_is_not_stored(home: Home):
    made, key = tokens.add(home, NOW, tag="jay")
    assert key.startswith("sm_") and len(key) >= 40 and " " not in key
    assert (made.name, made.tag, made.read_only) == ("jay", "jay", False)
    kept = Path(home.tokens).read_text()
    assert key not in kept and key.removeprefix("sm_") not in kept
    assert os.stat(home.tokens).st_mode & 0o777 == 0o600
    assert tokens.match(key, tokens.load(home)) == made and tokens.match(key + "x", tokens.load(home)) is None


def test_names_of_tokens_are_never_reused(home: Home):
    assert [tokens.add(home, NOW)[0].name for _ in range(3)] == ["token", "token-2", "token-3"]
    with pytest.raises(InputError, match="'token' already"):
        tokens.add(home, NOW, name="token")
    with pytest.raises(InputError, match="--name 'a b'"):
        tokens.add(home, NOW, name="a b")


def test_no_token_is_created_for_a_malformed_tag(home: Home):
    for tag in ("user", "*", "a b", ""):
        with pytest.raises(InputError, match="--tag = "):
            tokens.add(home, NOW, tag=tag)
        assert tokens.load(home) == ()


def test_a_removed_token_grants_no_access(home: Home):
    _, key = tokens.add(home, NOW, name="laptop")
    tokens.remove(home, "laptop")
    assert tokens.match(key, tokens.load(home)) is None
    with pytest.raises(NotFound, match="'laptop'"):
        tokens.remove(home, "laptop")


@pytest.mark.parametrize("content", ["", "[]", '{"tokens": [{}]}', '{"tokens": {"a": 1}}', "\x00"])
def test_a_damaged_token_file_grants_no_access(home: Home, content: str):
    with open(home.tokens, "w") as file:
        file.write(content)
    with pytest.raises(HomeError, match=r"tokens\.json"):
        tokens.load(home)


def test_a_weak_key_is_refused():
    for key in ("short", "x" * 19, "with a blank in its middle", "ümläut-and-many-more-characters"):
        with pytest.raises(InputError, match="scrubjay token add"):
            tokens.from_key(key, "--token")


@given(st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=20, max_size=80))
def test_only_the_chosen_key_grants_access(key: str):
    token = tokens.from_key(key, "--token")
    assert tokens.match(key, [token]) is token
    assert tokens.match(key[:-1], [token]) is None and tokens.match("", [token]) is None
    assert token.permissions == Permissions()


@pytest.mark.parametrize("address", ["0.0.0.0:6767", "[::]:6767", "192.168.1.5:6767"])
def test_a_public_address_is_not_served_without_a_token(address: str):
    options = Options(parse_address(address))
    with pytest.raises(InputError, match="scrubjay token add"):
        options.check(0)
    options.check(1)


@pytest.mark.parametrize("address", ["[::1]:6767", "localhost:0", "6767", "127.8.9.1:1"])
def test_a_loopback_address_is_served_without_a_token(address: str):
    Options(parse_address(address)).check(0)

"""Where an engine listens: a socket or a port, in files for its owner only."""

from __future__ import annotations

import os
import stat

import pytest
from served import home

from scrubjay.engine.process.listener import listen
from scrubjay.errors import HomeError
from scrubjay.home.paths import open_home
from scrubjay.wire.address import engine_facts

__all__ = ["home"]  # a fixture


def test_the_socket_is_for_its_owner_only(home):
    listener = listen(home, {}, loopback=False)
    assert listener.facts == {"socket": home.socket}
    assert stat.S_IMODE(os.stat(home.socket).st_mode) == 0o600
    listener.close()
    assert not os.path.exists(home.socket)


def test_a_long_path_moves_the_socket_to_a_folder_of_ours(tmp_path_factory):
    base = tmp_path_factory.mktemp("h")
    home = open_home(str(base / ("long" * 30)))
    listener = listen(home, {"XDG_RUNTIME_DIR": str(base / "run")}, loopback=False)
    path = listener.facts["socket"]
    assert os.path.dirname(path) == str(base / "run" / "scrubjay")
    assert stat.S_IMODE(os.stat(os.path.dirname(path)).st_mode) == 0o700
    listener.close()


def test_a_runtime_folder_open_to_others_is_refused(tmp_path_factory):
    base = tmp_path_factory.mktemp("h")
    home = open_home(str(base / ("long" * 30)))
    (base / "scrubjay").mkdir(mode=0o755)
    os.chmod(base / "scrubjay", 0o755)
    with pytest.raises(HomeError, match="is not yours alone"):
        listen(home, {"XDG_RUNTIME_DIR": str(base)}, loopback=False)


def test_the_token_of_a_port_is_for_its_owner_only(home):
    listener = listen(home, {}, loopback=True)
    assert listener.facts["address"][0] == "127.0.0.1"
    assert stat.S_IMODE(os.stat(listener.facts["token_file"]).st_mode) == 0o600
    listener.close()
    assert not os.path.exists(listener.facts["token_file"])


def test_a_damaged_engine_json_is_no_hint(home):
    for junk in ("", "[]", '{"pid": 4}', "{"):
        with open(home.engine_json, "w") as file:
            file.write(junk)
        assert engine_facts(home) == {"socket": home.socket}

"""The address of an engine: a socket or a port, in owner-only files."""

from __future__ import annotations

import os
import stat

import pytest
from served import home

from scrubjay.engine.process.listener import listen
from scrubjay.errors import HomeError
from scrubjay.home.paths import open_home
from scrubjay.pipe.link import knock
from scrubjay.wire.address import engine_facts, token_path, write_facts
from scrubjay.wire.hello import Hello

__all__ = ["home"]  # a fixture


def test_the_socket_is_private(home):
    listener = listen(home, {}, loopback=False)
    assert listener.facts == {"socket": home.socket}
    assert stat.S_IMODE(os.stat(home.socket).st_mode) == 0o600
    listener.close()
    assert not os.path.exists(home.socket)


def test_a_long_path_moves_the_socket_to_a_private_folder(tmp_path_factory):
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
    with pytest.raises(HomeError, match="is open to other users"):
        listen(home, {"XDG_RUNTIME_DIR": str(base)}, loopback=False)


def test_the_token_of_a_port_is_private(home):
    listener = listen(home, {}, loopback=True)
    assert listener.facts["address"][0] == "127.0.0.1"
    assert stat.S_IMODE(os.stat(listener.facts["token_file"]).st_mode) == 0o600
    listener.close()
    assert not os.path.exists(listener.facts["token_file"])


def test_a_damaged_engine_json_is_ignored(home):
    for junk in ("", "[]", '{"pid": 4}', "{"):
        with open(home.engine_json, "w") as file:
            file.write(junk)
        assert engine_facts(home) == {"socket": home.socket}


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no FIFOs here")
def test_a_fifo_in_place_of_engine_json_or_the_token_blocks_no_client(home):
    os.mkfifo(home.engine_json)
    assert engine_facts(home) == {"socket": home.socket}
    os.unlink(home.engine_json)
    listener = listen(home, {}, loopback=True)
    os.unlink(listener.facts["token_file"])
    os.mkfifo(listener.facts["token_file"])
    write_facts(home, listener.facts)
    assert knock(home, Hello("pipe", "/p", "/p", 7), 5.0) is None
    listener.close()


def test_a_folder_in_place_of_the_socket_is_moved_away(home):
    for loopback, place in ((False, home.socket), (True, token_path(home))):
        os.makedirs(os.path.join(place, "with", "files"))
        listener = listen(home, {}, loopback=loopback)
        assert not os.path.isdir(place)
        listener.close()
    aside = [name for name in os.listdir(home.root) if name.startswith("engine.")]
    assert len(aside) == 2 and all(os.path.isdir(os.path.join(home.root, name, "with")) for name in aside)

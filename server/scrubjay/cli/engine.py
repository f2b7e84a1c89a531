"""`scrubjay serve`, `stop`, `reindex` and `pull`: the engine and its model."""

from __future__ import annotations

import argparse
import os
from typing import TYPE_CHECKING

from scrubjay.cli.command import Command, Place, call_engine, engine_runs, flag, note, value, visit_engine
from scrubjay.cli.display import Progress, plural
from scrubjay.errors import EngineError, InputError

if TYPE_CHECKING:
    from scrubjay.http_api.options import Options

STOP_SECONDS = 40.0  # requests in flight have 30 s to end


def serve(place: Place, options: argparse.Namespace) -> int:
    """Be the engine of the home, here, until Ctrl-C."""
    from scrubjay.cli.serve import serve as run_engine

    return run_engine(place.root, auto=options.auto, http=_http_options(options))


def _http_options(options: argparse.Namespace) -> Options | None:
    """The options of HTTP; None if it is not to be served.

    Raises:
        InputError: an option makes no sense, or needs --http.
    """
    given = [
        name
        for name in ("token", "token_file", "allow_host", "cors", "rate_limit")
        if getattr(options, name) not in (None, [])
    ]
    if options.http is None:
        if given:
            raise InputError(
                f"--{given[0].replace('_', '-')} is about HTTP; say with --http 127.0.0.1:6767 where to "
                "serve it."
            )
        return None
    from scrubjay.http_api import tokens
    from scrubjay.http_api.options import PER_SECOND, Options, parse_address, parse_name, parse_origin

    key = options.token if options.token_file is None else _first_line(options.token_file)
    if options.rate_limit is not None and not 0 <= options.rate_limit <= 1_000_000:
        raise InputError(
            f"--rate-limit {options.rate_limit:g}: must be from 0 (no limit) to 1,000,000 requests a second."
        )
    return Options(
        parse_address(options.http),
        None
        if key is None
        else tokens.given(key, "--token" if options.token_file is None else options.token_file),
        tuple(parse_name(name) for name in options.allow_host),
        tuple(parse_origin(origin) for origin in options.cors),
        PER_SECOND if options.rate_limit is None else options.rate_limit,
    )


def _first_line(path: str) -> str:
    try:
        with open(os.path.expanduser(path), encoding="utf-8") as file:
            return file.readline(10_000).strip()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(
            f"--token-file {path}: cannot be read ({getattr(error, 'strerror', None) or 'no text'})."
        ) from None


def stop(place: Place, options: argparse.Namespace) -> int:
    """End the engine."""
    if not finish(place):
        print("No engine runs.")
    else:
        print(
            "The engine has ended; what was acknowledged is stored or waits in the spool. A client starts "
            "the next one when it needs it."
        )
    return 0


def finish(place: Place) -> bool:
    """Ask the engine to finish and wait until it has; False if none runs.

    Raises:
        EngineError: it is still there after STOP_SECONDS.
    """
    from scrubjay.wire.lock import FileLock

    engine = visit_engine(place)
    if engine is None:
        return False
    with engine:
        engine.call("finish", {})
    note("waiting for the engine to finish ...")
    with FileLock(place.home.engine_lock) as lock:
        if not lock.acquire(STOP_SECONDS) and engine_runs(place.home):
            raise EngineError(
                f"The engine still answers requests after {STOP_SECONDS:g} seconds. Try again when its "
                "clients are at rest."
            )
    return True


def reindex(place: Place, options: argparse.Namespace) -> int:
    """Build the index anew from the records, with the model that the settings name now."""
    engine = visit_engine(place)
    if engine is not None:
        with engine:
            waits_for_restart = engine.call("reload", {})["restart"]
            by_hand = not engine.engine.get("auto")
        if waits_for_restart and by_hand:
            raise EngineError(
                "The running engine was started by hand and has the old model. End it, start it again, and "
                "repeat."
            )
        if waits_for_restart:
            note(f"the engine is started anew, because it has the old {', '.join(waits_for_restart)}")
            finish(place)
    with call_engine(place) as engine, Progress("embedding") as progress:
        note("reading every record ...")
        done = engine.call("reindex", {}, lambda step: progress.show(step["done"], step["total"]))
    print(f"{plural(done['passages'], 'passage')} indexed and embedded anew.")
    return 0


def pull(place: Place, options: argparse.Namespace) -> int:
    """Download a model: the one command that opens a connection."""
    from scrubjay.encoders.hub import parse_id
    from scrubjay.encoders.hub import pull as download

    named = parse_id(options.model)
    if named is None:
        raise InputError(
            f"{options.model!r} is no model id; give one such as BAAI/bge-small-en-v1.5, or with a revision "
            "after @."
        )
    pulled = download(*named)
    print(
        f"{options.model} is in {pulled.folder}.\nUse it with: scrubjay config model "
        f"{named[0]}@{pulled.commit}\nThen: scrubjay reindex"
    )
    return 0


def _serve_arguments(parser: argparse.ArgumentParser) -> None:
    flag(parser, "--auto", argparse.SUPPRESS)
    value(parser, "--http", "HOST:PORT", "also answer HTTP here, for instance 127.0.0.1:6767")
    key = parser.add_mutually_exclusive_group()
    value(
        key,
        "--token-file",
        "PATH",
        "let in whoever has the key in this file's first line (`scrubjay token` makes more)",
    )
    value(
        key,
        "--token",
        "KEY",
        "the same with the key itself, which every user of the machine can see in its list of processes",
    )
    value(
        parser,
        "--allow-host",
        "NAME",
        "also answer under this name, as behind a proxy",
        action="append",
        default=[],
    )
    value(
        parser,
        "--cors",
        "ORIGIN",
        "let pages of this origin ask, such as https://app.example.com",
        action="append",
        default=[],
    )
    value(
        parser,
        "--rate-limit",
        "N",
        "requests a second that one caller may make; 500 if you say nothing, 0 for any",
        type=float,
    )


def _pull_arguments(parser: argparse.ArgumentParser) -> None:
    value(parser, "model", "MODEL_ID", "organisation/name on the Hugging Face hub, @revision if you like")


COMMANDS = (
    Command(
        "serve",
        "Run the engine in this terminal; clients start one by themselves, so you rarely need this.",
        serve,
        _serve_arguments,
    ),
    Command("stop", "End the engine; the next client starts another.", stop),
    Command("reindex", "Build the search index anew, for instance after a change of the model.", reindex),
    Command(
        "pull",
        "Download another embedding model; the only command that uses the network.",
        pull,
        _pull_arguments,
    ),
)

"""`scrubjay serve`, `stop`, `reindex` and `pull`: the engine and its model."""

from __future__ import annotations

import argparse
import os
from typing import TYPE_CHECKING, Any

from scrubjay.cli.command import Place, call_engine, command, engine_runs, flag, note, value, visit_engine
from scrubjay.cli.display import Progress, plural
from scrubjay.errors import EngineError, InputError

if TYPE_CHECKING:
    from scrubjay.http_api.options import Options

STOP_SECONDS = 40.0  # requests in flight have 30 s to end
REPEATED: dict[str, Any] = {"action": "append", "default": []}


@command(
    flag("--auto", argparse.SUPPRESS),
    value("--http", "HOST:PORT", "also answer HTTP here, for instance 127.0.0.1:6767"),
    (
        value(
            "--token-file",
            "PATH",
            "let in whoever has the key in this file's first line (`scrubjay token` makes more)",
        ),
        value(
            "--token",
            "KEY",
            "the same with the key itself, which every user of the machine can see in its list of processes",
        ),
    ),
    value("--allow-host", "NAME", "also answer under this name, as behind a proxy", **REPEATED),
    value("--cors", "ORIGIN", "let pages of this origin ask, such as https://app.example.com", **REPEATED),
    value(
        "--rate-limit",
        "N",
        "requests a second that one caller may make; 500 if you say nothing, 0 for any",
        type=float,
    ),
)
def serve(place: Place, options: argparse.Namespace) -> int:
    """Run the engine in this terminal; clients start one by themselves, so you rarely need this."""
    from scrubjay.cli.serve import serve as run_engine

    return run_engine(place.root, auto=options.auto, http=_http_options(options))


def _http_options(options: argparse.Namespace) -> Options | None:
    """The options of HTTP; None if it is not to be served.

    Raises:
        InputError: an option makes no sense, or needs --http.
    """
    if options.http is None:
        for name in ("token", "token_file", "allow_host", "cors", "rate_limit"):
            if getattr(options, name) not in (None, []):
                where = "say with --http 127.0.0.1:6767 where to serve it"
                raise InputError(f"--{name.replace('_', '-')} is about HTTP; {where}.")
        return None
    from scrubjay.http_api import tokens
    from scrubjay.http_api.options import PER_SECOND, Options, parse_address, parse_name, parse_origin

    token = None
    if options.token_file is not None:
        token = tokens.given(_first_line(options.token_file), options.token_file)
    elif options.token is not None:
        token = tokens.given(options.token, "--token")
    rate = PER_SECOND if options.rate_limit is None else options.rate_limit
    if not 0 <= rate <= 1_000_000:
        most = "from 0 (no limit) to 1,000,000 requests a second"
        raise InputError(f"--rate-limit {rate:g}: must be {most}.")
    names, origins = map(parse_name, options.allow_host), map(parse_origin, options.cors)
    return Options(parse_address(options.http), token, tuple(names), tuple(origins), rate)


def _first_line(path: str) -> str:
    try:
        with open(os.path.expanduser(path), encoding="utf-8") as file:
            return file.readline(10_000).strip()
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or "no text"
        raise InputError(f"--token-file {path}: cannot be read ({why}).") from None


@command()
def stop(place: Place, options: argparse.Namespace) -> None:
    """End the engine; the next client starts another."""
    rest = "what was acknowledged is stored or waits in the spool"
    ended = f"The engine has ended; {rest}. A client starts the next one when it needs it."
    print(ended if finish(place) else "No engine runs.")


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
            advice = "Try again when its clients are at rest."
            raise EngineError(f"The engine still answers requests after {STOP_SECONDS:g} seconds. {advice}")
    return True


@command()
def reindex(place: Place, options: argparse.Namespace) -> None:
    """Build the search index anew, for instance after a change of the model."""
    engine = visit_engine(place)
    if engine is not None:
        with engine:
            waits_for_restart = engine.call("reload", {})["restart"]
            by_hand = not engine.engine.get("auto")
        if waits_for_restart and by_hand:
            advice = "End it, start it again, and repeat."
            raise EngineError(f"The running engine was started by hand and has the old model. {advice}")
        if waits_for_restart:
            note(f"the engine is started anew, because it has the old {', '.join(waits_for_restart)}")
            finish(place)
    with call_engine(place) as engine, Progress("reading") as progress:
        done = engine.call("reindex", {}, progress.stage)
    print(f"{plural(done['passages'], 'passage')} indexed and embedded anew.")


@command(value("model", "MODEL_ID", "organisation/name on the Hugging Face hub, @revision if you like"))
def pull(place: Place, options: argparse.Namespace) -> None:
    """Download another embedding model; the only command that uses the network."""
    from scrubjay.encoders.hub import parse_id
    from scrubjay.encoders.hub import pull as download
    from scrubjay.encoders.sentence_transformer import need_extra

    named = parse_id(options.model)
    if named is None:
        example = "give one such as BAAI/bge-small-en-v1.5, or with a revision after @"
        raise InputError(f"{options.model!r} is no model id; {example}.")
    need_extra(named[0])
    pulled = download(*named)
    print(f"{options.model} is in {pulled.folder}.")
    print(f"Use it with: scrubjay config model {named[0]}@{pulled.commit}\nThen: scrubjay reindex")

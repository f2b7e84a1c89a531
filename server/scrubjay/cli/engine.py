"""`scrubjay serve`, `stop`, `reindex` and `pull`: the engine and its model."""

from __future__ import annotations

import argparse
import os
from typing import TYPE_CHECKING

from scrubjay.cli.command import Place, print_progress
from scrubjay.cli.display import Progress, plural
from scrubjay.errors import EngineError, InputError

if TYPE_CHECKING:
    from scrubjay.http_api.options import Options

STOP_SECONDS = 40.0  # requests in flight have 30 s to end


def serve(place: Place, options: argparse.Namespace) -> int:
    """Run the engine in this terminal; clients start one by themselves."""
    from scrubjay.cli.serve import serve as run_engine

    return run_engine(place.root, auto=options.auto, http=_http_options(options))


def _http_options(options: argparse.Namespace) -> Options | None:
    """Return the options of the HTTP interface, or None without --http. Raises InputError if invalid."""
    if options.http is None:
        for name in ("token", "token_file", "allow_host", "cors", "rate_limit"):
            if getattr(options, name) is not None:
                hint = "add an address such as --http 127.0.0.1:6767"
                raise InputError(f"--{name.replace('_', '-')} needs HTTP; {hint}.")
        return None
    from scrubjay.http_api import tokens
    from scrubjay.http_api.options import PER_SECOND, Options, parse_address, parse_name, parse_origin

    token = None
    if options.token_file is not None:
        token = tokens.from_key(_first_line(options.token_file), options.token_file)
    elif options.token is not None:
        token = tokens.from_key(options.token, "--token")
    rate = PER_SECOND if options.rate_limit is None else options.rate_limit
    if not 0 <= rate <= 1_000_000:
        allowed = "from 0 (no limit) to 1,000,000 requests a second"
        raise InputError(f"--rate-limit {rate:g}: must be {allowed}.")
    names, origins = map(parse_name, options.allow_host or ()), map(parse_origin, options.cors or ())
    return Options(parse_address(options.http), token, tuple(names), tuple(origins), rate)


def _first_line(path: str) -> str:
    try:
        with open(os.path.expanduser(path), encoding="utf-8") as file:
            return file.readline(10_000).strip()
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "no text"
        raise InputError(f"--token-file {path}: cannot be read ({reason}).") from None


def stop(place: Place, options: argparse.Namespace) -> None:
    """End the engine; the next client starts another."""
    rest = "acknowledged writes are stored or wait in the spool"
    ended = f"The engine has ended; {rest}. The next client starts another."
    print(ended if finish(place) else "No engine is running.")


def finish(place: Place) -> bool:
    """End the engine, or raise EngineError after STOP_SECONDS; return False if none is running."""
    from scrubjay.wire.lock import FileLock

    engine = place.running_engine()
    if engine is None:
        return False
    with engine:
        engine.call("finish", {})
    print_progress("waiting for the engine to finish ...")
    with FileLock(place.home.engine_lock) as lock:
        if not lock.acquire(STOP_SECONDS) and place.has_engine:
            advice = "Try again when its clients are idle."
            raise EngineError(f"The engine still answers requests after {STOP_SECONDS:g} seconds. {advice}")
    return True


def reindex(place: Place, options: argparse.Namespace) -> None:
    """Rebuild the search index, for instance after a change of the model."""
    engine = place.running_engine()
    if engine is not None:
        with engine:
            waits_for_restart = engine.call("reload", {})["restart"]
            started_by_hand = not engine.engine.get("auto")
        if waits_for_restart and started_by_hand:
            advice = "Restart it, then repeat."
            raise EngineError(f"The running engine was started by hand and uses the old model. {advice}")
        if waits_for_restart:
            print_progress(f"restarting the engine, because it uses the old {', '.join(waits_for_restart)}")
            finish(place)
    with place.engine() as engine, Progress() as progress:
        counts = engine.call("reindex", {}, progress.step)
    print(f"{plural(counts['passages'], 'passage')} indexed and embedded.")


def pull(place: Place, options: argparse.Namespace) -> None:
    """Download another embedding model; the only command that uses the network."""
    from scrubjay.encoders.folder import need
    from scrubjay.encoders.hub import parse_id
    from scrubjay.encoders.hub import pull as download

    model_id = parse_id(options.model)
    if model_id is None:
        example = "give one such as BAAI/bge-small-en-v1.5, optionally with @revision"
        raise InputError(f"{options.model!r} is not a model id; {example}.")
    need("huggingface_hub", model_id[0], "onnx")
    folder = download(*model_id)
    print(f"{options.model} is in {folder}.")
    print(f"Use it with: scrubjay config model {model_id[0]}@{folder.name}\nThen: scrubjay reindex")

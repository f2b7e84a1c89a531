"""`scrubjay config`, `pause`, `resume`, `exclude`, `include`: show and change config.toml.

A change reaches hooks and a running engine at once; a setting that needs a new engine is named.
"""

import argparse
import json
import os
import sys
from datetime import UTC, datetime

from scrubjay.cli.command import Place, command, known_folder, value, visit_engine
from scrubjay.errors import EncoderError, EngineError, InputError
from scrubjay.home.settings import Settings, change, describe, load, parsed, typed, write_capture

_FOLDERS = ("roots", "excluded")  # the settings that list folders; what they name is to be there


@command(
    value("key", "KEY", "the setting to show or to change; all are listed without it", nargs="?"),
    value("value", "VALUE", "its new value", nargs="*"),
)
def config(place: Place, options: argparse.Namespace) -> None:
    """Show or change the settings."""
    if options.key is None:
        _show_all(place.home.config)
    elif options.value:
        value = " ".join(options.value)
        if options.key in _FOLDERS:
            before = getattr(load(place.home.config), options.key)
            for folder in set(parsed(options.key, value)) - set(before):
                known_folder(place, folder)
        settings = _change(place, options.key, value)
        print(f"{options.key} = {typed(getattr(settings, options.key))}")
        if options.key == "model":
            _look_for(place, settings.model)
    else:
        settings = load(place.home.config)
        if options.key not in [key for key, _, _ in describe()]:
            change(place.home.config, options.key, "")  # refuses, naming the nearest key
        print(typed(getattr(settings, options.key)))


def _show_all(path: str) -> None:
    settings = load(path)
    print(f"Settings in {path}; `scrubjay config KEY VALUE` changes one.\n")
    for key, default, says in describe():
        value = typed(getattr(settings, key))
        print(f"{key} = {value}{'' if value == default else f'   (default: {default})'}\n    {says}")


@command()
def pause(place: Place, options: argparse.Namespace) -> None:
    """Let capture rest: hooks record nothing until `resume`."""
    _change(place, "paused", "true")
    recall = "What is remembered can still be recalled."
    print(f"Capture is paused: hooks record nothing until `scrubjay resume`. {recall}")


@command()
def resume(place: Place, options: argparse.Namespace) -> None:
    """Let hooks record again."""
    if _change(place, "paused", "false").capture == "off":
        advice = "`scrubjay config capture all` turns capture on."
        print(f"The pause is over, but hooks record nothing all the same: {advice}")
    else:
        missed = "What was said during the pause is not fetched afterwards."
        print(f"Capture goes on: hooks record every new turn. {missed}")


FOLDER = value("folder", "FOLDER", "the folder, with all below it (this one)", nargs="?", default=".")


@command(FOLDER)
def exclude(place: Place, options: argparse.Namespace) -> None:
    """Never capture sessions in a folder."""
    folder = known_folder(place, options.folder, may_be_gone=True)  # its sessions may still be imported
    excluded = load(place.home.config).excluded
    if folder not in excluded:
        _change(place, "excluded", _listed((*excluded, folder)))
    past = "What was captured before stays; `scrubjay forget` hides it."
    gone = "" if os.path.isdir(folder) else "There is no such folder now. "
    print(f"{gone}Sessions in {folder} are not captured any more. {past}")


@command(FOLDER)
def include(place: Place, options: argparse.Namespace) -> None:
    """Capture sessions in an excluded folder again."""
    folder, excluded = place.path(options.folder), load(place.home.config).excluded
    if folder not in excluded:
        above = [one for one in excluded if folder.startswith(one.rstrip(os.sep) + os.sep)]
        where = f"It lies in {above[0]}, which is; include that." if above else ""
        hint = where or f"Excluded are: {typed(excluded)}."
        raise InputError(f"{folder} is not excluded by itself. {hint}")
    _change(place, "excluded", _listed(tuple(one for one in excluded if one != folder)))
    print(f"Sessions in {folder} are captured again.")


def _change(place: Place, key: str, value: str) -> Settings:
    """Write one setting, tell hooks and a running engine, and say what only a new engine will follow."""
    settings = change(place.home.config, key, value)
    write_capture(place.home, settings, datetime.now(UTC))
    warning = ""
    try:
        engine = visit_engine(place)
        if engine is not None:
            with engine:
                if key in engine.call("reload", {})["restart"]:
                    advice = "`scrubjay stop` ends it, and the next one follows."
                    warning = f"The running engine keeps the old {key}; {advice}"
    except EngineError as error:
        warning = f"scrubjay: the setting is written, but the running engine was not told: {error}"
    if warning:
        print(warning, file=sys.stderr)
    return settings


def _look_for(place: Place, model: str) -> None:
    """Say at once what is missing, which the engine would only say when it starts."""
    from scrubjay.encoders.opening import find

    try:
        find(model)
    except EncoderError as error:
        print(f"scrubjay: {error}", file=sys.stderr)
    else:
        until = "until `scrubjay reindex` has embedded them anew"
        print(f"Memories that another model embedded are found by words alone {until}.")


def _listed(folders: tuple[str, ...]) -> str:
    return json.dumps(folders, ensure_ascii=False)  # which TOML reads as a list, commas in names and all


COMMANDS = (pause, resume, exclude, include, config)

"""`scrubjay config`, `pause`, `resume`, `exclude`, `include`: show and change config.toml.

A change reaches hooks and a running engine at once; a setting that needs a new engine is named.
"""

import argparse
import json
import os
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from scrubjay.cli.command import Command, Place, value, visit_engine
from scrubjay.errors import EncoderError, EngineError, InputError
from scrubjay.home.settings import Settings, change, describe, load, write_capture


def config(place: Place, options: argparse.Namespace) -> int:
    """All settings, one setting, or a change of one."""
    if options.key is None:
        return _show_all(place)
    if not options.value:
        settings = load(place.home.config)
        if options.key not in [key for key, _, _ in describe()]:
            change(place.home.config, options.key, "")  # refuses, naming the nearest key
        print(typed(getattr(settings, options.key)))
        return 0
    settings = _change(place, options.key, " ".join(options.value))
    print(f"{options.key} = {typed(getattr(settings, options.key))}")
    if options.key == "model":
        _look_for(place, settings.model)
    return 0


def _show_all(place: Place) -> int:
    home = place.home
    settings = load(home.config)
    print(f"Settings in {home.config}; `scrubjay config KEY VALUE` changes one.\n")
    for key, default, says in describe():
        value = typed(getattr(settings, key))
        print(f"{key} = {value}{'' if value == default else f'   (default: {default})'}\n    {says}")
    return 0


def typed(value: Any) -> str:
    """A setting's value as one would type it."""
    if value is None or value == ():
        return "none"
    if isinstance(value, tuple):
        return ", ".join(value)
    return str(value).lower() if isinstance(value, bool) else str(value)


def pause(place: Place, options: argparse.Namespace) -> int:
    """Let capture rest."""
    _change(place, "paused", "true")
    print(
        "Capture is paused: hooks record nothing until `scrubjay resume`. What is remembered can still be "
        "recalled."
    )
    return 0


def resume(place: Place, options: argparse.Namespace) -> int:
    """End a pause."""
    settings = _change(place, "paused", "false")
    if settings.capture == "off":
        print(
            "The pause is over, but hooks record nothing all the same: `scrubjay config capture all` turns "
            "capture on."
        )
    else:
        print(
            "Capture goes on: hooks record every new turn. What was said during the pause is not fetched "
            "afterwards."
        )
    return 0


def exclude(place: Place, options: argparse.Namespace) -> int:
    """Never capture a folder's sessions."""
    folder, excluded = _folder(place, options.folder), load(place.home.config).excluded
    if folder not in excluded:
        _change(place, "excluded", _listed((*excluded, folder)))
    print(
        f"Sessions in {folder} are not captured any more. What was captured before stays; `scrubjay forget` "
        "hides it."
    )
    return 0


def include(place: Place, options: argparse.Namespace) -> int:
    """Capture an excluded folder's sessions again."""
    folder, excluded = _folder(place, options.folder), load(place.home.config).excluded
    if folder not in excluded:
        above = [one for one in excluded if folder.startswith(one.rstrip(os.sep) + os.sep)]
        hint = (
            f"It lies in {above[0]}, which is; include that."
            if above
            else f"Excluded are: {typed(excluded)}."
        )
        raise InputError(f"{folder} is not excluded by itself. {hint}")
    _change(place, "excluded", _listed(tuple(one for one in excluded if one != folder)))
    print(f"Sessions in {folder} are captured again.")
    return 0


def _change(place: Place, key: str, value: str) -> Settings:
    """Write one setting, tell hooks and a running engine, and say what only a new engine will follow."""
    home = place.home
    settings = change(home.config, key, value)
    write_capture(home, settings, datetime.now(UTC))
    try:
        engine = visit_engine(place)
        if engine is not None:
            with engine:
                if key in engine.call("reload", {})["restart"]:
                    print(
                        f"The running engine keeps the old {key}; `scrubjay stop` ends it, and the next one "
                        "follows.",
                        file=sys.stderr,
                    )
    except EngineError as error:
        print(
            f"scrubjay: the setting is written, but the running engine was not told: {error}", file=sys.stderr
        )
    return settings


def _look_for(place: Place, model: str) -> None:
    """Say at once what is missing, which the engine would only say when it starts."""
    from scrubjay.encoders.opening import find

    try:
        find(model, Path(place.home.root) / "models.json")
    except EncoderError as error:
        print(f"scrubjay: {error}", file=sys.stderr)
    else:
        print(
            "Memories that another model embedded are found by words alone until `scrubjay reindex` has "
            "embedded them anew."
        )


def _folder(place: Place, folder: str) -> str:
    return os.path.normpath(os.path.join(place.cwd, os.path.expanduser(folder)))


def _listed(folders: tuple[str, ...]) -> str:
    return json.dumps(folders, ensure_ascii=False)  # which TOML reads as a list, commas in names and all


def _config_arguments(parser: argparse.ArgumentParser) -> None:
    value(parser, "key", "KEY", "the setting to show or to change; all are listed without it", nargs="?")
    value(parser, "value", "VALUE", "its new value", nargs="*")


def _folder_argument(parser: argparse.ArgumentParser) -> None:
    value(parser, "folder", "FOLDER", "the folder, with all below it (this one)", nargs="?", default=".")


COMMANDS = (
    Command("pause", "Let capture rest: hooks record nothing until `resume`.", pause),
    Command("resume", "Let hooks record again.", resume),
    Command("exclude", "Never capture sessions in a folder.", exclude, _folder_argument),
    Command("include", "Capture sessions in an excluded folder again.", include, _folder_argument),
    Command("config", "Show or change the settings.", config, _config_arguments),
)

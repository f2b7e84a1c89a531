"""`scrubjay config`, `pause`, `resume`, `exclude`, `include`: show and change config.toml.

A change reaches hooks and a running engine at once; settings that need a new engine are reported.
"""

import argparse
import os
import sys
from datetime import UTC, datetime
from typing import Any

from scrubjay.cli.command import Place, how_to_switch_on
from scrubjay.errors import EncoderError, EngineError, InputError
from scrubjay.home.capture_policy import write_capture
from scrubjay.home.settings import Settings, change, describe, load, parsed, typed

_FOLDERS = ("roots", "excluded")  # settings that list folders, which must exist


def config(place: Place, options: argparse.Namespace) -> None:
    """Show or change the settings."""
    if options.key is None:
        _show_all(place.home.config)
    elif options.value:
        value = " ".join(options.value)
        if options.key in _FOLDERS:
            folders = getattr(load(place.home.config), options.key)
            for folder in set(parsed(options.key, value)) - set(folders):
                place.folder(folder)
        if options.key == "model":
            _refuse_no_model(parsed(options.key, value))
        settings = _change(place, options.key, value)
        print(f"{options.key} = {typed(getattr(settings, options.key))}")
        if options.key == "model":
            _check_model(place, settings.model)
        if options.key == "inject":
            print("After a change to or from `edit`, run `scrubjay setup` again for the hooks of tools.")
    else:
        settings = load(place.home.config)
        if not hasattr(settings, options.key):
            parsed(options.key, "")  # raises an error that names the nearest key
        print(typed(getattr(settings, options.key)))


def _show_all(path: str) -> None:
    settings = load(path)
    print(f"Settings in {path}; `scrubjay config KEY VALUE` changes one.\n")
    for key, default, description in describe():
        value = typed(getattr(settings, key))
        print(f"{key} = {value}{'' if value == default else f'   (default: {default})'}\n    {description}")


def pause(place: Place, options: argparse.Namespace) -> None:
    """Pause capture: hooks record nothing until `resume`."""
    _change(place, "paused", True)
    recall = "Existing memories can still be recalled."
    print(f"Capture is paused: hooks record nothing until `scrubjay resume`. {recall}")


def resume(place: Place, options: argparse.Namespace) -> None:
    """Resume capture after a pause."""
    if advice := how_to_switch_on(_change(place, "paused", False)):
        print(f"The pause is over, but hooks still record nothing: {advice}")
    else:
        missed = "The time of the pause is not recorded afterwards."
        print(f"Capture resumes: hooks record every new turn. {missed}")


def exclude(place: Place, options: argparse.Namespace) -> None:
    """Never capture sessions in a folder."""
    folder = place.folder(options.folder, may_be_gone=True)  # its sessions may still be imported
    excluded = load(place.home.config).excluded
    if folder not in excluded:
        _change(place, "excluded", [*excluded, folder])
    past = "Earlier turns stay; `scrubjay forget` hides them."
    missing = "" if os.path.isdir(folder) else "This folder does not exist now. "
    print(f"{missing}Sessions in {folder} are no longer captured. {past}")


def include(place: Place, options: argparse.Namespace) -> None:
    """Capture sessions in an excluded folder again."""
    folder, excluded = place.path(options.folder), load(place.home.config).excluded
    if folder not in excluded:
        parents = [each for each in excluded if folder.startswith(each.rstrip(os.sep) + os.sep)]
        inside = f"It is inside {parents[0]}, which is; include that one." if parents else ""
        hint = inside or f"Excluded are: {typed(excluded)}."
        raise InputError(f"{folder} is not excluded by itself. {hint}")
    _change(place, "excluded", [each for each in excluded if each != folder])
    print(f"Sessions in {folder} are captured again.")


def _change(place: Place, key: str, value: Any) -> Settings:
    """Write one setting, tell hooks and a running engine, and report settings that need a new engine."""
    settings = change(place.home.config, key, value)
    write_capture(place.home, settings, datetime.now(UTC))
    try:
        if engine := place.running_engine():
            with engine:
                if key in engine.call("reload", {})["restart"]:
                    advice = "`scrubjay stop` ends it, and the next one uses the new value."
                    print(f"The running engine keeps the old {key}; {advice}", file=sys.stderr)
    except EngineError as error:
        message = "the setting is written, but the running engine was not told"
        print(f"scrubjay: {message}: {error}", file=sys.stderr)
    return settings


def _refuse_no_model(model: str) -> None:
    """Refuse a name that no model has. One that is not on this disk yet is only reported."""
    from scrubjay.encoders.opening import is_name, not_a_name

    if not is_name(model):
        raise InputError(f"{not_a_name(model)} Nothing was changed.")


def _check_model(place: Place, model: str) -> None:
    """Report a missing model now rather than at the engine's next start."""
    from pathlib import Path

    from scrubjay.encoders.opening import find

    try:
        find(model, Path(place.home.models))
    except EncoderError as error:
        print(f"scrubjay: {error}", file=sys.stderr)
    else:
        until = "until `scrubjay reindex` has embedded them again"
        print(f"Memories that another model embedded are only found by words {until}.")

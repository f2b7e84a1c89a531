"""The settings of a home: their names and allowed values, and functions to read and change `config.toml`.

Settings belong to the engine, never to the environment of a client. The pipe and the hooks do not import this
module; the engine writes the settings that hooks need to `<home>/capture.json`.
"""

import os
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, replace
from types import MappingProxyType
from typing import Any, NamedTuple

from scrubjay.errors import HomeError, InputError
from scrubjay.home.capture import CAPTURES, INJECTIONS, injection
from scrubjay.home.files import hold, read_whole, write_whole
from scrubjay.home.kept import copy_of, read_kept, write_copy
from scrubjay.home.paths import Home
from scrubjay.home.scopes import nearest
from scrubjay.home.toml_text import with_value

_MAX_BYTES = 4 * 1024 * 1024  # bytes of config.toml that are read
_LOCK_WAIT_S = 5.0  # a change writes two small files, so this is enough
_HEADING = "# Settings of Scrubjay; `scrubjay config` lists them all.\n"
_YES_NO = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}


class Kind(NamedTuple):
    """A type of setting: its allowed values in words, and a function that reads a value.

    `read` takes a TOML value or a text that a user typed. If the value is not allowed, it raises ValueError,
    LookupError or TypeError.
    """

    allowed: str
    read: Callable[[Any], Any]

    def setting(self, default: Any) -> Any:
        """Return a field of `Settings` of this type."""
        return field(default=default, metadata={"kind": self})


def _number(least: float, most: float, unit: str, *, whole: bool = False) -> Kind:
    def read(value: Any) -> float:
        number = float(value)
        if isinstance(value, bool) or not least <= number <= most or (whole and number % 1):
            raise ValueError
        return number if number % 1 else int(number)

    return Kind(f"a {'whole ' if whole else ''}number of {unit} from {least:,} to {most:,}", read)


def _choice(names: Sequence[str], aliases: Mapping[str, str] = MappingProxyType({})) -> Kind:
    def read(value: Any) -> str:
        word = str(value).strip().lower()
        return names[names.index(aliases.get(word, word))]

    return Kind(f"one of {', '.join(names)}", read)


def _text(value: Any) -> str:
    if isinstance(value, str) and value.strip() and len(value) <= 2000 and value.isprintable():
        return value
    raise ValueError


def _prompt(value: Any) -> str | None:
    if value not in ("", "none"):
        _text(value.replace("\n", " ") if isinstance(value, str) else value)
    return None if value == "none" else value


def _folders(value: Any) -> tuple[str, ...]:
    """Return a list of folders, which a user separates by commas."""
    if isinstance(value, str):
        value = [part.strip() for part in value.split(",") if part.strip() not in ("", "none")]
    if not all(os.path.isabs(_text(folder)) for folder in value):
        raise ValueError
    return tuple(value)


def _store(value: Any) -> str | None:
    if value in ("", "none"):
        return None
    if not _BUCKET.fullmatch(bucket := _text(value).strip()):
        raise ValueError
    return bucket


_BUCKET = re.compile(r"s3://[a-z0-9][a-z0-9.-]{1,61}[a-z0-9](/[A-Za-z0-9!_.*'()=-]+)*/?")
_TEXT = Kind("a line of text", _text)
_PROMPT = Kind("a text, empty for no prompt at all, or none", _prompt)
_SWITCH = Kind("true or false", lambda value: _YES_NO[str(value).strip().lower()])
_CAPTURE = _choice(CAPTURES)
_INJECT = _choice(INJECTIONS, {word: injection(on) for word, on in _YES_NO.items()})
_FOLDERS = Kind("a list of absolute folders, separated by commas, or none", _folders)
_STORE = Kind(
    "s3://bucket/prefix, or none for the home's own folder "
    "(LanceDB Cloud, db://, has no primary keys, which every write here needs)",
    _store,
)


@dataclass(frozen=True)
class Settings:
    """All settings with their defaults; `settings.toml` has a sentence about each for the user."""

    # the bundled model starts in 0.2 s and needs no download
    model: str = _TEXT.setting("bundled")
    query_prompt: str | None = _PROMPT.setting(None)
    document_prompt: str | None = _PROMPT.setting(None)
    # on, because it gains two points of recall; the codes of tokens take half as many bytes as a vector
    late_interaction: bool = _SWITCH.setting(True)
    # long enough for a pause between two sessions, short enough that a closed laptop holds no model in memory
    idle_minutes: float = _number(0.01, 10_080, "minutes").setting(15)
    capture: str = _CAPTURE.setting("all")
    # "yes", "ok" and "go on" are never worth finding
    min_length: int = _number(0, 10_000, "characters", whole=True).setting(10)
    # off, because not all HTTP clients want turns in their results
    chat_capture: str = _CAPTURE.setting("off")
    # enough turns to have a topic, few enough to be summarised in 1,000 characters
    summary_every: int = _number(2, 200, "turns", whole=True).setting(20)
    # 300 tokens once per session are worth it; lines next to every prompt are the user's choice
    inject: str = _INJECT.setting("session")
    effect: int = _number(0, 1_000, "sessions", whole=True).setting(0)
    paused: bool = _SWITCH.setting(False)
    excluded: tuple[str, ...] = _FOLDERS.setting(())
    roots: tuple[str, ...] = _FOLDERS.setting(())
    # a heavy year of turns with their vectors is under 1 GB
    disk_limit_gb: float = _number(0.1, 100_000, "gigabytes").setting(10)
    # a local folder needs no network, and no other engine can interfere
    store: str | None = _STORE.setting(None)


_FIELDS = {setting.name: setting for setting in fields(Settings)}


def load(path: str) -> Settings:
    """Read the settings from this file, or its copy; missing settings have their defaults.

    Raises InputError, which names the key and the allowed values, if the file is invalid, and HomeError if it
    cannot be read.
    """
    return _settings(_read(path), path)


def with_store(settings: Settings, store: str | None) -> Settings:
    """Return these settings with the store from `SCRUBJAY_STORE`; None changes nothing.

    Raises InputError if it is not a valid store.
    """
    if store is None:
        return settings
    return replace(settings, store=parsed("store", store, name="SCRUBJAY_STORE"))


def idle_minutes(path: str) -> float:
    """Return `idle_minutes`, which an engine needs even with invalid settings; then it is the default."""
    try:
        return load(path).idle_minutes
    except (InputError, HomeError):
        return Settings().idle_minutes


def change(path: str, key: str, value: Any) -> Settings:
    """Change one setting and return all; `value` may be what the user typed.

    Raises InputError if the key, the value or another part of the file is invalid, and HomeError if the disk
    refuses; nothing is written then.
    """
    value = parsed(key, value)
    with changing(path, path):
        after = with_value(_read(path) or _HEADING, key, value)
        settings = _settings(after, path)
        write_with_copy(path, after.encode())
    return settings


def parsed(key: str, value: Any, where: str = "", name: str = "") -> Any:
    """Return the value of a setting, from TOML or as a user typed it; `name` is its name for the user.

    Raises InputError if the key is unknown, or the value is not allowed.
    """
    if key not in _FIELDS:
        remedy = "; remove it." if where else "."
        hint = nearest(key, _FIELDS) or f" Known settings: {', '.join(_FIELDS)}."
        raise InputError(f"{_excerpt(key)}{where} is not a setting{remedy}{hint}")
    kind: Kind = _FIELDS[key].metadata["kind"]
    try:
        return kind.read(value)
    except (ValueError, LookupError, TypeError):
        sentence = f"{name or key} = {_excerpt(value)}{where} is not possible; give {kind.allowed}."
        raise InputError(sentence) from None


def describe() -> list[tuple[str, str, str]]:
    """List (key, default as a user would type it, description) for every setting, in order."""
    with open(os.path.join(os.path.dirname(__file__), "settings.toml"), "rb") as file:
        descriptions = tomllib.load(file)
    return [(name, typed(setting.default), descriptions[name]) for name, setting in _FIELDS.items()]


def typed(value: Any) -> str:
    """Return a setting's value as a user would type it."""
    if value is None or value == ():
        return "none"
    if isinstance(value, tuple):
        return ", ".join(value)
    return str(value).lower() if isinstance(value, bool) else str(value)


def _settings(text: str, path: str) -> Settings:
    try:
        table = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise InputError(f"{path} is not valid TOML: {error}. {_remedy(path)}") from None
    return Settings(**{key: parsed(key, value, f" in {path}") for key, value in table.items()})


def _read(path: str) -> str:
    try:
        return read_kept(path)[:_MAX_BYTES].decode("utf-8-sig")  # editors on Windows write a mark
    except FileNotFoundError:
        return ""
    except ValueError as error:
        why = "is not UTF-8 text" if isinstance(error, UnicodeDecodeError) else "is not a settings file"
        raise InputError(f"{path} {why}: {error}. {_remedy(path)}") from None
    except OSError as error:
        sentence = f"The settings {path} cannot be read: {error.strerror}. Give yourself read permission."
        raise HomeError(sentence) from error


def _remedy(path: str) -> str:
    """Return advice for an invalid file; emptying it would lose a pause and the excluded folders."""
    if os.path.isfile(copy_of(path)):
        return "Correct it, or restore the previous settings with `scrubjay doctor --mend`."
    return "Correct it, or empty it to get the defaults."


def restore_config(home: Home) -> str | None:
    """Replace a damaged config.toml with its copy; return the new path of the damaged file.

    Return None if the file is valid, or if its copy is damaged too. Raises HomeError if the disk refuses.
    """
    path = home.config
    try:
        load(path)
        return None
    except InputError:
        copy = copy_of(path)
    try:
        content, damaged = read_whole(copy), read_whole(path)
        _settings(content.decode("utf-8-sig"), copy)
    except (OSError, ValueError, InputError):
        return None
    with changing(path, path):
        write_whole(f"{path}.broken", damaged)
        write_whole(os.path.realpath(path), content)
    return f"{path}.broken"


def _excerpt(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else text[:77] + "..."


@contextmanager
def changing(config: str, path: str) -> Iterator[None]:
    """Prevent other processes from changing the settings. Raises HomeError if `path` cannot be written."""
    try:
        with hold(f"{config}.lock", _LOCK_WAIT_S):
            yield
    except OSError as error:
        sentence = f"{path} cannot be written: {error.strerror}."
        raise HomeError(f"{sentence} Free some space or give yourself write permission.") from error


def write_with_copy(path: str, content: bytes) -> None:
    """Replace the copy of a file, then the file. A reader sees the old or the new file, never a part.

    If config.toml is a link (dotfiles), it stays a link: the file that it points to is replaced.
    """
    write_copy(path, content)
    write_whole(os.path.realpath(path), content)

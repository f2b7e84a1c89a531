"""The settings of a home: their names and allowed values, and reading and changing `<home>/config.toml`.

They belong to the engine, never to one client's environment. The pipe and the hooks do not import this
module; the part that hooks need is derived into `<home>/capture.json`.
"""

import json
import os
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, fields, replace
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any, NamedTuple

from scrubjay.errors import HomeError, InputError
from scrubjay.home import capture
from scrubjay.home.capture import CAPTURES, INJECTIONS, Policy, injection
from scrubjay.home.files import hold, read_whole, write_whole
from scrubjay.home.kept import copy_of, read_kept, write_copy
from scrubjay.home.paths import Home

_LONGEST = 4 * 1024 * 1024  # bytes read from config.toml
_LOCK_WAIT_S = 5.0  # a change writes two small files
_HEADING = "# Settings of Scrubjay; `scrubjay config` lists them all.\n"
_YES_NO = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}


class Kind(NamedTuple):
    """A type of setting: its allowed values in words, and how to read one.

    `read` takes a TOML value or a text that a user typed. For one that is not allowed, it raises ValueError,
    LookupError or TypeError.
    """

    allowed: str
    read: Callable[[Any], Any]

    def of(self, default: Any, says: str) -> Any:
        """Return a field of `Settings` of this type, with its sentence for the user."""
        return field(default=default, metadata={"kind": self, "says": says})


def _number(least: float, most: float, unit: str, *, whole: bool = False) -> Kind:
    def read(value: Any) -> float:
        number = float(value)
        if isinstance(value, bool) or not least <= number <= most or (whole and number % 1):
            raise ValueError
        return number if number % 1 else int(number)

    return Kind(f"a {'whole ' if whole else ''}number of {unit} from {least:,} to {most:,}", read)


def _choice(names: Sequence[str], also: Mapping[str, str] = MappingProxyType({})) -> Kind:
    def read(value: Any) -> str:
        word = str(value).strip().lower()
        return names[names.index(also.get(word, word))]

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
    """Split folders at commas; use a TOML list for folders with a comma in their name."""
    if isinstance(value, str) and value.strip().startswith("["):
        value = tomllib.loads(f"value = {value}")["value"]
    elif isinstance(value, str):
        value = [part.strip() for part in value.split(",") if part.strip()]
    if not all(os.path.isabs(_text(folder)) for folder in value):
        raise ValueError
    return tuple(value)


def _store(value: Any) -> str | None:
    if value in ("", "none"):
        return None
    if not _BUCKET.fullmatch(place := _text(value).strip()):
        raise ValueError
    return place


_BUCKET = re.compile(r"s3://[a-z0-9][a-z0-9.-]{1,61}[a-z0-9](/[A-Za-z0-9!_.*'()=-]+)*/?")
_TEXT = Kind("a line of text", _text)
_PROMPT = Kind("a text, empty for no prompt at all, or none", _prompt)
_SWITCH = Kind("true or false", lambda value: _YES_NO[str(value).strip().lower()])
_CAPTURE = _choice(CAPTURES)
_INJECT = _choice(INJECTIONS, {word: injection(on) for word, on in _YES_NO.items()})
_FOLDERS = Kind("a list of absolute folders, separated by commas", _folders)
_STORE = Kind(
    "s3://bucket/prefix, or none for the home's own folder "
    "(LanceDB Cloud, db://, has no primary keys, which every write here needs)",
    _store,
)


@dataclass(frozen=True)
class Settings:
    """All settings, each with its default and one sentence for the user."""

    # the bundled model starts in 0.2 s and needs no download
    model: str = _TEXT.of(
        "bundled", "The embedding model: bundled, a folder, or the id of a model on this disk."
    )
    query_prompt: str | None = _PROMPT.of(
        None, "Prefix of queries for the model; none: the model's own prompt."
    )
    document_prompt: str | None = _PROMPT.of(None, "Prefix of stored texts for the model; none: its own.")
    # two points of recall for another half of a vector's bytes
    late_interaction: bool = _SWITCH.of(
        True, "Also compare texts token by token, which finds more and takes some disk space."
    )
    # long enough for a pause between two sessions, short enough that a closed laptop holds no model in memory
    idle_minutes: float = _number(0.01, 10_080, "minutes").of(
        15, "Minutes without a client after which a client-started engine ends."
    )
    capture: str = _CAPTURE.of(
        "all", "Which turns hooks record: all, salient ones, summaries only, or none (off)."
    )
    # "yes", "ok" and "go on" are never worth finding
    min_length: int = _number(0, 10_000, "characters", whole=True).of(
        10, "Shorter prompts and chat messages are not captured."
    )
    # HTTP results stay unchanged for clients that do not want turns in them
    chat_capture: str = _CAPTURE.of(
        "off", "Which turns of HTTP conversations searches return: all, salient, summary_only, off."
    )
    # enough turns to have a topic, few enough to be summarised in 1,000 characters
    summary_every: int = _number(2, 200, "turns", whole=True).of(
        20, "A session is summarised after every so many new turns, and when it ends."
    )
    # 300 tokens once per session are well spent; lines next to every prompt are the user's choice
    inject: str = _INJECT.of(
        "session",
        "What a model sees unasked: off, session (an opening), prompt (also lines next to prompts), "
        "edit (also lines before edits and commands; run `scrubjay setup` again).",
    )
    effect: int = _number(0, 1_000, "sessions", whole=True).of(
        0,
        "One session in so many gets no opening, so that `scrubjay effect` can compare; 0: none.",
    )
    paused: bool = _SWITCH.of(False, "Pause capture.")
    excluded: tuple[str, ...] = _FOLDERS.of(
        (), "Folders whose sessions are never captured, including folders below them."
    )
    roots: tuple[str, ...] = _FOLDERS.of(
        (), "Folders that add_document may read in addition to the client's project."
    )
    # a heavy year of turns with their vectors is under 1 GB
    disk_limit_gb: float = _number(0.1, 100_000, "gigabytes").of(
        10, "Above this, `scrubjay status` and `doctor` warn you."
    )
    # a local folder needs no network, and no other engine can interfere
    store: str | None = _STORE.of(
        None, "Where records are stored: a bucket that several engines can share; none: in the home."
    )


_FIELDS = {one.name: one for one in fields(Settings)}


def load(path: str) -> Settings:
    """Read the settings from this file, or its copy; missing ones have their defaults.

    Raises:
        InputError: invalid TOML, an unknown key or a value that is not allowed; names the key and what is
        allowed. HomeError: the file cannot be read.
    """
    return _settings(_read(path), path)


def in_store(settings: Settings, store: str | None) -> Settings:
    """Return these settings with the store that `SCRUBJAY_STORE` names; None changes nothing.

    Raises:
        InputError: it does not name a possible store.
    """
    if store is None:
        return settings
    return replace(settings, store=parsed("store", store, name="SCRUBJAY_STORE"))


def idle_minutes(path: str) -> float:
    """Read the one setting that an engine needs before it may fail; the default if the file is wrong."""
    try:
        return load(path).idle_minutes
    except (InputError, HomeError):
        return Settings().idle_minutes


def change(path: str, key: str, value: Any) -> Settings:
    """Write one setting, perhaps as the user typed it, and return all. Other lines of the file do not change.

    Raises:
        InputError: an unknown key, a value that is not allowed, or an error elsewhere in the file; nothing is
            written.
        HomeError: the file cannot be read or written.
    """
    value = parsed(key, value)
    with _locked(path):
        after = with_value(_read(path) or _HEADING, key, value)
        settings = _settings(after, path)
        _write(path, after.encode())
    return settings


def parsed(key: str, value: Any, where: str = "", name: str = "") -> Any:
    """Return the value of a setting, from TOML or as a user typed it; `name` is its name for the user.

    Raises:
        InputError: an unknown key, or a value that is not allowed.
    """
    if key not in _FIELDS:
        import difflib  # takes 1 ms, only after a typing error

        near = difflib.get_close_matches(key, _FIELDS, n=1)
        hint = f"did you mean {near[0]}?" if near else "remove it." if where else ""
        known = f"Known settings: {', '.join(_FIELDS)}."
        raise InputError(f"{_excerpt(key)}{where} is not a setting{f'; {hint}' if hint else '.'} {known}")
    kind: Kind = _FIELDS[key].metadata["kind"]
    try:
        return kind.read(value)
    except (ValueError, LookupError, TypeError):
        sentence = f"{name or key} = {_excerpt(value)}{where} is not possible; give {kind.allowed}."
        raise InputError(sentence) from None


def describe() -> list[tuple[str, str, str]]:
    """List (key, default as a user would type it, one sentence) of every setting, in order."""
    return [(name, typed(one.default), one.metadata["says"]) for name, one in _FIELDS.items()]


def typed(value: Any) -> str:
    """Return a setting's value as a user would type it."""
    if value is None or value == ():
        return "none"
    if isinstance(value, tuple):
        return ", ".join(value)
    return str(value).lower() if isinstance(value, bool) else str(value)


def capture_view(settings: Settings) -> dict[str, Any]:
    """Return the values that hooks need: capture, min_length, paused, excluded, inject and effect."""
    values = {key: getattr(settings, key) for key in Policy._fields}
    return {key: list(value) if isinstance(value, tuple) else value for key, value in values.items()}


def write_capture(home: Home, settings: Settings, now: datetime) -> None:
    """Derive `<home>/capture.json` and its copy from the settings.

    Its `since` is the time of the last change of the capture policy other than a pause. Turns from before are
    not fetched from transcripts afterwards (`captured_since`). `pauses` are the times without capture.
    """
    view = capture_view(settings)
    before = _read_capture(home) or capture_view(Settings())  # what hooks assume in a new home
    since = before.get("since")  # None if capture was never restricted
    changed = any(
        before.get(key) != value for key, value in view.items() if key not in ("inject", "paused", "effect")
    )
    if changed or not isinstance(since, str | None):
        since = now.isoformat()
    off = pauses(home)
    if _is_off(view) != _is_off(before):
        if _is_off(view):
            off = [*off, (now.isoformat(), None)]
        else:
            began = off.pop()[0] if off and off[-1][1] is None else before.get("since")
            off = [*off, (str(began or ""), now.isoformat())]
    content = (json.dumps({**view, "since": since, "pauses": off}, indent=1) + "\n").encode()
    with suppress(OSError, ValueError):
        if read_whole(home.capture, own=True) == content:
            return  # so that a full disk stops no engine whose settings did not change
    with _locked(home.config):  # one process writes both the copy and the file
        _write(home.capture, content)


def captured_since(home: Home) -> datetime | None:
    """Return when the current capture policy began; None if always, a day ago if unknown."""
    since = _read_capture(home).get("since")
    if since is None:
        return None
    try:
        moment = datetime.fromisoformat(since)
    except (TypeError, ValueError):  # not written by us
        return datetime.max.replace(tzinfo=UTC)
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def pauses(home: Home) -> list[tuple[str, str | None]]:
    """Return the times without capture, each as (start, end); an end of None is now."""
    kept = _read_capture(home).get("pauses")
    pairs = kept if isinstance(kept, list) else []
    return [(str(pair[0]), pair[1]) for pair in pairs if isinstance(pair, list) and len(pair) == 2]


def _is_off(view: dict[str, Any]) -> bool:
    return bool(view.get("paused")) or view.get("capture") == "off"


def _read_capture(home: Home) -> dict[str, Any]:
    """Read capture.json or its copy; unreadable files count as another policy."""
    try:
        return capture.read(home)
    except FileNotFoundError:
        return {}
    except (OSError, ValueError):
        return {"unreadable": True}


def _settings(text: str, path: str) -> Settings:
    try:
        table = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise InputError(f"{path} is not valid TOML: {error}. {_remedy(path)}") from None
    return Settings(**{key: parsed(key, value, f" in {path}") for key, value in table.items()})


def _read(path: str) -> str:
    try:
        return read_kept(path)[:_LONGEST].decode()
    except FileNotFoundError:
        return ""
    except ValueError as error:
        why = "is not UTF-8 text" if isinstance(error, UnicodeDecodeError) else "is not a settings file"
        raise InputError(f"{path} {why}: {error}. {_remedy(path)}") from None
    except OSError as error:
        sentence = f"The settings {path} cannot be read: {error.strerror}. Give yourself read permission."
        raise HomeError(sentence) from error


def _remedy(path: str) -> str:
    """Return advice for a wrong file; emptying it would lose a pause and the exclusions."""
    if os.path.isfile(copy_of(path)):
        return "Correct it, or restore the previous settings with `scrubjay doctor --mend`."
    return "Correct it, or empty it to get the defaults."


def restore_config(home: Home) -> str | None:
    """Replace a damaged config.toml with its copy; return the new path of the damaged file.

    None if the file is valid, or its copy is no better.

    Raises:
        HomeError: it cannot be read or written.
    """
    path = home.config
    try:
        load(path)
        return None
    except InputError:
        copy = copy_of(path)
    try:
        sound, damaged = read_whole(copy), read_whole(path)
        _settings(sound.decode(), copy)
    except (OSError, ValueError, InputError):
        return None
    _write(f"{path}.broken", damaged, with_copy=False)
    _write(path, sound, with_copy=False)
    return f"{path}.broken"


def _excerpt(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else text[:77] + "..."


@contextmanager
def _locked(config: str) -> Iterator[None]:
    """Keep other processes from changing the settings meanwhile. Raises HomeError."""
    try:
        lock = hold(f"{config}.lock", _LOCK_WAIT_S)
    except OSError as error:
        raise _not_written(config, error) from error
    try:
        yield
    finally:
        os.close(lock)


def _write(path: str, content: bytes, *, with_copy: bool = True) -> None:
    """Replace a file in one step, after its copy, so that a reader sees the old or the new one.

    A linked config.toml (dotfiles) stays a link: the file it points to is replaced. Raises HomeError.
    """
    try:
        if with_copy:
            write_copy(path, content)
        write_whole(os.path.realpath(path), content)
    except OSError as error:
        raise _not_written(path, error) from error


def _not_written(path: str, error: OSError) -> HomeError:
    sentence = f"{path} cannot be written: {error.strerror}."
    return HomeError(f"{sentence} Free some space or give yourself write permission.")


def with_value(text: str, key: str, value: object) -> str:
    """Set a top-level key in the valid TOML `text`, or remove it if the value is None; comments stay.

    `value` is a string, number, boolean, or a list or tuple of strings.
    """
    line_end = "\r\n" if "\r\n" in text else "\n"
    shown = json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")  # which TOML wants escaped
    line = "" if value is None else f"{key} = {shown}"
    lines = statements(text)
    for at, statement in enumerate(lines):
        if key in _parsed(statement):
            comment = _comment(statement)
            lines[at] = f"{line}{'  ' if comment else ''}{comment}{line_end}" if line else ""
            return "".join(lines)
    gap = line_end if text and not text.endswith(line_end) else ""
    return f"{text}{gap}{line}{line_end}" if line else text


def statements(text: str) -> list[str]:
    """Split valid TOML into lines, keeping a multi-line value as one; joined they are the text again."""
    whole, pending = [], ""
    for line in re.findall(r"[^\n]*\n|[^\n]+", text):
        pending += line
        if _parsed(pending) is not None:
            whole.append(pending)
            pending = ""
    return whole


def _parsed(statement: str) -> Any:
    try:
        return tomllib.loads(statement)
    except tomllib.TOMLDecodeError:
        return None


def _comment(statement: str) -> str:
    """Return the comment after a value: from the first # before which the value is complete."""
    starts = (at for at, char in enumerate(statement) if char == "#")
    found = (at for at in starts if _parsed(statement[:at]) == _parsed(statement))
    return statement[next(found, len(statement)) :].rstrip()

"""The paths of the files in a home.

Standard library only and Python 3.9 syntax, because hook scripts import it with `python -I -S`.
"""

from __future__ import annotations

import os
import sys

from scrubjay.errors import HomeError

TYPE_CHECKING = False  # typing.TYPE_CHECKING, without the import that every hook would pay
if TYPE_CHECKING:
    from collections.abc import Mapping

SCHEMA_VERSION = 1  # the version of the tables in data/, which the store and every backup record
SOCKET_PATH_LIMIT = 100  # bytes; sun_path has 104 (macOS) or 108 (Linux), with the final NUL
# The folders that every home has.
_FOLDERS = ("spool", "events", "spool_new", "spool_tmp", "spool_broken", "prompts", "log")


class Home:
    """The paths of one home folder. Creating it touches no disk; `open_home` does."""

    def __init__(self, root: str) -> None:
        self.root = os.path.abspath(root)
        self.config = self._path("config.toml")  # the settings
        self.capture = self._path("capture.json")  # the part that hooks need, derived from the settings
        self.scopes = self._path("scopes.json")  # the scope of each project
        self.scope_settings = self._path("scope_settings.json")  # names, contexts, profile buckets
        self.undo = self._path("undo.json")  # the last changes that can be undone, as ids
        self.partitions = self._path("partitions.json")  # the partitions that users added, by scope
        self.tokens = self._path("tokens.json")  # digests of the HTTP keys, with their rights
        self.tokens_lock = self._path("tokens.lock")  # held while tokens.json is changed
        self.words = self._path("words.tsv")  # developers' words that the user added
        self.purged_facts = self._path("purged_facts.txt")  # digests of facts that must not be imported again
        self.hooks = self._path("hooks.json")  # how to undo our changes to hosts' files
        self.engine_lock = self._path("engine.lock")  # held by the engine for its whole life
        self.starting_lock = self._path("starting.lock")  # held by the one pipe that is starting the engine
        self.engine_json = self._path("engine.json")  # engine's address, version, pid: a hint, never a lock
        self.socket = self._path("engine.sock")  # elsewhere if this path is too long
        self.data = self._path("data")  # LanceDB
        self.anchors = self._path("anchors.db")  # the places in code that records name, derived
        self.spool = self._path("spool")
        self.events = self._path("spool", "events")  # events of hooks, for the engine to pair
        self.spool_new = self._path("spool", "new")  # envelopes: the write-ahead log
        self.spool_tmp = self._path("spool", "tmp")  # envelopes being written
        self.spool_broken = self._path("spool", "broken")  # broken envelopes, each with a .reason file
        self.in_hand = self._path("spool", "in_hand")  # the envelope that the engine is reading
        self.prompts = self._path("spool", "prompts")  # prompts waiting for their answer
        self.reconcile = self._path("spool", "reconcile")  # sessions to be compared with their transcript
        self.patterns = self._path("patterns.bin")  # compiled patterns, shared between hooks, derived
        self.openings = self._path("openings")  # what the next session of each scope will be shown, derived
        self.distilled = self._path("distilled.json")  # the turn up to which each scope was distilled
        self.models = self._path("models")  # models converted from the weights in a package, derived
        self.backup_links = self._path("backup.links")  # hard links to data/, while a backup is made
        self.scratch = self._path("tmp")  # temporary files of the engine's libraries
        self.log = self._path("log")  # engine.log, hooks.log
        self.given = self._path("log", "given.log")  # what models were given, without its content
        self.deaths = self._path("log", "deaths.log")  # stack traces of engines that hung or crashed

    def _path(self, *parts: str) -> str:
        return os.path.join(self.root, *parts)


def default_root(env: Mapping[str, str]) -> str:
    """Return the default path of the home: `SCRUBJAY_HOME`, else the platform's data folder.

    Raises HomeError if it is relative, which would give every folder a separate home.
    """
    root = os.path.expanduser(env.get("SCRUBJAY_HOME") or _data_folder(env))
    if not os.path.isabs(root):
        what = f"There is no home folder: {root} is not an absolute path."
        raise HomeError(f"{what} Set SCRUBJAY_HOME to the absolute path of a folder that you own.")
    return root


def _data_folder(env: Mapping[str, str]) -> str:
    if sys.platform == "win32":
        return os.path.join(env.get("LOCALAPPDATA") or os.path.join("~", "AppData", "Local"), "scrubjay")
    if sys.platform == "darwin":
        return os.path.join("~", "Library", "Application Support", "scrubjay")
    return os.path.join(env.get("XDG_DATA_HOME") or os.path.join("~", ".local", "share"), "scrubjay")


def open_home(root: str) -> Home:
    """Return the home at `root`; if it is missing, create it with owner-only permissions.

    Raises HomeError if it belongs to another user, is not a folder, or cannot be created or written.
    """
    home = Home(root)
    try:
        if not os.path.exists(home.root):
            _take_restored(home)
        if os.path.islink(home.root) and not os.path.exists(home.root):
            why = f"The home folder {home.root} is a link to {os.readlink(home.root)}, which does not exist."
            raise HomeError(f"{why} Create that folder, or set SCRUBJAY_HOME to another one.")
        os.makedirs(home.root, mode=0o700, exist_ok=True)
        _check_owner(home.root)
        for name in _FOLDERS:
            os.makedirs(getattr(home, name), mode=0o700, exist_ok=True)
    except OSError as error:
        which = home.root if error.filename in (None, home.root) else f"{home.root} ({error.filename})"
        why = f"The home folder {which} cannot be used: {error.strerror or error}."
        raise HomeError(f"{why} Set SCRUBJAY_HOME to a folder that you own on a local disk.") from error
    if not os.access(home.spool_tmp, os.W_OK):
        sentence = f"The home folder {home.root} cannot be written."
        raise HomeError(f"{sentence} Give yourself write permission, or set SCRUBJAY_HOME.")
    return home


def restored(home: Home) -> str:
    """Return the path where a finished copy of a backup waits until the home is moved aside."""
    return f"{os.path.realpath(home.root)}.restored.part"


def _take_restored(home: Home) -> None:
    """Finish a `scrubjay restore-backup` that was killed after it had moved the old home aside."""
    try:
        os.rename(restored(home), os.path.realpath(home.root))
    except OSError:
        return  # usually no copy is waiting; or another process was faster


def _check_owner(root: str) -> None:
    """Refuse a folder of another user, or a public one with foreign files; make our own folder private."""
    if not hasattr(os, "getuid"):
        return
    stat = os.stat(root)
    if stat.st_uid != os.getuid():
        sentence = f"The home folder {root} belongs to user {stat.st_uid}, not to you ({os.getuid()})."
        raise HomeError(f"{sentence} Set SCRUBJAY_HOME to a folder that you own.")
    if stat.st_mode & 0o077:
        if not is_home(root) and _has_foreign_files(Home(root)):  # `/`, `/tmp`, a user's project
            sentence = f"The folder {root} is open to others and holds files that are not Scrubjay's."
            raise HomeError(f"{sentence} Set SCRUBJAY_HOME to a new folder, or close this one: chmod 700.")
        os.chmod(root, 0o700)


def _has_foreign_files(home: Home) -> bool:
    """Return True if a folder has files that do not belong to a home."""
    ours = {os.path.basename(path) for path in vars(home).values()}
    return not ours.issuperset(os.listdir(home.root))


def is_home(folder: str) -> bool:
    """Return True if a folder is a home, this user's or another's, judging by its spool."""
    return os.path.isdir(os.path.join(folder, "spool", "new"))


def is_shared(path: str) -> bool:
    """Return True if a store is in a bucket, where other engines may use it too.

    >>> is_shared("s3://bucket/team"), is_shared("/home/jay/data")
    (True, False)
    """
    return "://" in path

"""Makes backups of a home, checks them and restores them. Standard library only.

A backup is a folder with the files of a home, without its logs, locks and sockets, and `backup.json`, which
is written last: {format, version, scrubjay, schema_version, made_at, counts, files: {path: [bytes,
SHA-256]}}.
"""

import glob
import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from typing import Any

from scrubjay.errors import HomeError, InputError
from scrubjay.home.files import open_regular, parse_json, read_whole, sync_folder, write_whole
from scrubjay.home.kept import read_kept
from scrubjay.home.paths import SCHEMA_VERSION, Home, restored

MANIFEST = "backup.json"
FORMAT, FORMAT_VERSION = "scrubjay-backup", 1

_FILES = (
    "config.toml scopes.json scope_settings.json partitions.json tokens.json hooks.json "
    "words.tsv purged_facts.txt anchors.db"
).split()
# These folders hold envelopes and events that are not in a table yet.
_FOLDERS = ("spool/events", "spool/new", "spool/broken", "spool/prompts", "spool/reconcile")
_BLOCK = 1 << 20

Report = Callable[[int, int], None]  # called with the bytes done and the total bytes


def link_store(home: Home) -> None:
    """Hard-link every file of the store, which works because LanceDB never changes a written file.

    Writes wait only for the linking, a millisecond per hundred files. `copy_home` copies the links later.
    Raises HomeError if the store is on another disk than the home.
    """
    clear(home)
    try:
        shutil.copytree(home.data, os.path.join(home.backup_links, "data"), copy_function=os.link)
    except OSError as error:
        sentence = f"{home.data} cannot be linked into {home.root}: {error.strerror or error}."
        raise HomeError(f"{sentence} Both must be on the same local disk.") from error


def restoring(home: Home) -> str:
    """Return the path to which a backup is copied before it replaces the home."""
    return f"{os.path.realpath(home.root)}.restoring.part"


def clear(home: Home) -> None:
    """Remove what interrupted backups and restores left in and next to the home.

    The caller holds the home's lock, so that no other backup or restore is running.
    """
    for folder in (home.backup_links, restoring(home), restored(home)):
        shutil.rmtree(folder, ignore_errors=True)


def copy_home(home: Home, target: str, report: Report) -> dict[str, tuple[int, str]]:
    """Copy the linked store and the home's other files into a new folder, synced to the disk.

    Return {path: (bytes, SHA-256)}. Raises InputError if the disk has too little space, and OSError if the
    disk refused.
    """
    sources = dict(_sources(home))
    free = shutil.disk_usage(os.path.dirname(target)).free
    total = sum(os.path.getsize(path) for path in sources.values() if os.path.exists(path))
    if free < total:
        sentence = f"{target} needs {total:,} bytes, and {free:,} are free there."
        raise InputError(f"{sentence} Free disk space, or choose a folder on another disk.")
    os.mkdir(target, 0o700)
    files: dict[str, tuple[int, str]] = {}
    done = 0
    for name, path in sources.items():
        try:
            files[name] = _copy(path, os.path.join(target, name))
        except FileNotFoundError:
            if name.startswith("data/"):
                raise
            continue  # the engine took this envelope meanwhile
        done += files[name][0]
        report(done, total)
    _sync_folders(target)
    return files


def write_manifest(folder: str, facts: Mapping[str, Any], files: Mapping[str, tuple[int, str]]) -> None:
    """Write the manifest of a backup, which completes it."""
    manifest = {"format": FORMAT, "version": FORMAT_VERSION, **facts, "files": files}
    write_whole(os.path.join(folder, MANIFEST), json.dumps(manifest, indent=1).encode())


def read_manifest(folder: str) -> dict[str, Any]:
    """Read a backup's manifest. Raises InputError if it is not a backup, or a newer Scrubjay made it."""
    try:
        facts: dict[str, Any] = parse_json(read_whole(os.path.join(folder, MANIFEST)))
        if facts["format"] != FORMAT:
            raise ValueError(MANIFEST)
        is_newer = facts["version"] > FORMAT_VERSION or facts.get("schema_version", 0) > SCHEMA_VERSION
        if not is_newer:
            if "data/index.json" not in facts["files"]:
                raise ValueError(MANIFEST)
            datetime.fromisoformat(facts["made_at"])
            facts["counts"] = {name: int(count) for name, count in facts["counts"].items()}
            facts["files"] = {name: (int(size), str(check)) for name, (size, check) in facts["files"].items()}
    except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
        why = f"it has no readable {MANIFEST}"
        raise InputError(f"{folder} is not a complete Scrubjay backup: {why}.") from error
    if is_newer:
        sentence = f"{folder} was made by a newer Scrubjay ({facts.get('scrubjay')})."
        raise InputError(f"{sentence} Upgrade Scrubjay; nothing was changed.")
    return facts


def keep_tokens(home: Home) -> bool:
    """Copy the keys of the current home into the home that will replace it; return True if there are any.

    A backup may have keys that were removed later, and may lack newer keys.
    """
    try:
        content = read_kept(home.tokens)
    except FileNotFoundError:
        return False
    write_whole(os.path.join(restoring(home), os.path.basename(home.tokens)), content)
    return True


def copy_backup(folder: str, target: str, report: Report) -> None:
    """Copy a backup's files into a new folder, synced to the disk; check each against the manifest.

    Raises InputError if a file is missing or was altered, and OSError if the disk refused.
    """
    expected = read_manifest(folder)["files"]
    total, done = sum(size for size, _ in expected.values()), 0
    os.mkdir(target, 0o700)
    for name, (size, digest) in expected.items():
        if os.path.isabs(name) or ".." in name.split("/"):
            why = f"it names {name!r}, which is outside the backup"
            raise InputError(f"{folder} is damaged: {why}. Nothing was changed.")
        remedy = "Nothing was changed; use another backup."
        try:
            copy = _copy(os.path.join(folder, name), os.path.join(target, name))
        except FileNotFoundError as error:
            raise InputError(f"{folder} is damaged: {name} is missing. {remedy}") from error
        if copy != (size, digest):
            raise InputError(f"{folder} is damaged: {name} is not what was written. {remedy}")
        done += size
        report(done, total)
    _sync_folders(target)


def has_content(home: Home) -> bool:
    """Return True if a home holds anything of value: records, settings, or waiting writes."""
    paths = [os.path.join(home.data, "index.json"), *(os.path.join(home.root, name) for name in _FILES)]
    waiting = _files_in(home, ("spool/events", "spool/new", "spool/broken"))
    return any(os.path.exists(path) for path in paths) or next(waiting, None) is not None


def replace_home(home: Home, aside: str) -> None:
    """Rename the home to `aside`, and the finished copy at `restoring(home)` to the home, each in one step.

    If the process is killed in between, the next process that opens the home finishes the work. Raises
    HomeError if the disk refused; the home is unchanged.
    """
    draft, root = restored(home), os.path.realpath(home.root)
    try:
        os.rename(restoring(home), draft)
        os.rename(root, aside)
        try:
            os.rename(draft, root)
        except OSError:
            if os.path.exists(draft):  # otherwise a client that just started has finished the renaming
                os.rename(aside, root)
                raise
    except OSError as error:
        sentence = f"{root} cannot be replaced: {error.strerror}."
        raise HomeError(
            f"{sentence} It is unchanged; close the programs that use it and try again."
        ) from error
    sync_folder(os.path.dirname(root))


def _sources(home: Home) -> Iterator[tuple[str, str]]:
    linked = os.path.join(home.backup_links, "data")
    for folder, _, names in sorted(os.walk(linked)):
        for name in sorted(names):
            path = os.path.join(folder, name)
            yield "data/" + os.path.relpath(path, linked).replace(os.sep, "/"), path
    for name in _FILES:
        if os.path.isfile(os.path.join(home.root, name)):
            yield name, os.path.join(home.root, name)
    yield from _files_in(home, _FOLDERS)


def _files_in(home: Home, folders: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    for folder in folders:
        for path in sorted(glob.glob(os.path.join(glob.escape(home.root), folder, "**"), recursive=True)):
            if os.path.isfile(path):
                yield os.path.relpath(path, home.root).replace(os.sep, "/"), path


def _copy(source: str, target: str) -> tuple[int, str]:
    """Copy a file and sync it to the disk; return the size and digest of what was read."""
    digest = hashlib.sha256()
    with open_regular(source, own=False) as reader:
        os.makedirs(os.path.dirname(target), mode=0o700, exist_ok=True)
        with open(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as writer:
            while block := reader.read(_BLOCK):
                digest.update(block)
                writer.write(block)
            writer.flush()
            os.fsync(writer.fileno())
            return writer.tell(), digest.hexdigest()


def _sync_folders(root: str) -> None:
    for folder, _, _ in os.walk(root):
        sync_folder(folder)

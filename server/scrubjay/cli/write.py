"""`scrubjay add`, `edit`, `forget`, `restore` and `undo`: save and change facts, hide or delete records."""

from __future__ import annotations

import argparse
import os
import sys

from scrubjay.cli.command import Place, confirm, drop_none, within
from scrubjay.cli.display import first_line, local, plural, redaction_notice
from scrubjay.errors import InputError
from scrubjay.text.foreign import visible

TYPE_CHECKING = False  # typing.TYPE_CHECKING, without the import that every command would pay
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

SAVED = {
    "stored": "Saved as {id}.",
    "known": "Already known as {id}; nothing was added.",
    "updated": "Saved as {id}, version {version}.",
}
UNDONE = {
    "forget": "restored: searches find it again.",
    "restore": "forgotten again: searches no longer find it.",
    "edit": "has the words from before the edit, as a new version.",
}
SIMILAR = {
    "known": "It is already known in other words as",
    "update": "If it replaces the older one, add it again with `--updates ID`. Older:",
    "contradict": "It may contradict another. If it replaces that, add it again with `--updates ID`. Other:",
    "similar": "Similar is",
}


def add(place: Place, options: argparse.Namespace) -> None:
    """Save one fact, for this project or for all of them."""
    text = _read_input().strip() if options.text == ["-"] else " ".join(options.text)
    if not text.strip():
        advice = "Give some words, or `-` and the text on standard input."
        raise InputError(f"There is nothing to save: the text is empty. {advice}")
    links = {name: getattr(options, name) for name in ("updates", "extends", "derives")}
    scope = "user" if options.user else None
    params = drop_none(content=text, tags=options.tags, importance=options.importance, scope=scope, **links)
    with place.engine(scope=options.scope) as engine:
        result = engine.call("add", params)
    _print_saved(result)
    if result["action"] == "known" and (note := result.get("note")):
        print(note)
    for similar in result.get("similar", []):
        print(f"{SIMILAR[similar['reason']]} {similar['id']}: {first_line(similar['memory'], 100)}")


def _print_saved(result: dict[str, Any]) -> None:
    for sentence in (SAVED[result["action"]].format(**result), *redaction_notice(result["redacted"])):
        print(sentence)


def edit(place: Place, options: argparse.Namespace) -> None:
    """Change the words of a fact: a new version, which searches find instead."""
    record = place.ask("show", id=options.id).get("record", {})
    text = _read_input() if options.text == ["-"] else " ".join(options.text)
    if not options.text:
        text = _edit_text(place.env, record.get("content", ""))
    if not text.strip() or text.strip() == record.get("content"):
        print(f"The {'words are the same' if text.strip() else 'text is empty'}; nothing was changed.")
        return
    _print_saved(place.ask("edit", id=options.id, content=text.strip()))


def _read_input() -> str:
    return _decode(sys.stdin.buffer.read(), "The text on standard input")


def _decode(data: bytes, what: str) -> str:
    """Return a text of the user in UTF-8, or in the encoding that its bytes show.

    Raises:
        InputError: they show none.
    """
    from scrubjay.reading.encodings import decode
    from scrubjay.reading.result import Unreadable

    try:
        text, encoding = decode(data)
    except Unreadable as error:
        raise InputError(f"{what} {error}.") from None
    if encoding is None:
        raise InputError(f"{what} is in an unknown encoding; save it as UTF-8.")
    return text.replace("\r\n", "\n")


def _edit_text(env: Mapping[str, str], text: str) -> str:
    """Open a text in the user's editor and return what the user made of it."""
    import shlex
    import subprocess
    import tempfile

    if not sys.stdin.isatty():
        raise InputError("An editor needs a terminal. Give the new words: `scrubjay edit ID TEXT`.")
    command = shlex.split(env.get("VISUAL") or env.get("EDITOR") or "vi")
    with tempfile.TemporaryDirectory(prefix="scrubjay-") as folder:
        path = os.path.join(folder, "fact.txt")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text + "\n")
        try:
            code = subprocess.run([*command, path], check=False).returncode
        except OSError as error:
            raise InputError(f"The editor {command[0]} cannot be started: {error.strerror}.") from error
        if code != 0:
            raise InputError(f"The editor {command[0]} ended with code {code}; nothing was changed.")
        with open(path, "rb") as edited:
            return _decode(edited.read(), "The text from the editor")


def undo(place: Place, options: argparse.Namespace) -> int:
    """Take back the last forget, restore or edit."""
    result = place.ask("undo")
    for record_id in result.get("ids", ()):
        print(f"{record_id}: {UNDONE[result['did']]}")
    for sentence in result.get("refused", ()):
        print(f"scrubjay: {visible(sentence)}", file=sys.stderr)
    return 1 if result.get("refused") else 0


def forget(place: Place, options: argparse.Namespace) -> None:
    """Hide memories, turns or documents from every search."""
    targets: list[dict[str, Any]] = [{"id": each} for each in options.id]
    targets += [{name: getattr(options, name)} for name in ("content", "query") if getattr(options, name)]
    if not targets:
        advice = "Give an ID, --content with the exact words of a fact, or --query with its subject."
        raise InputError(f"No record is given. {advice}")
    shared_params = drop_none(scope=options.scope, reason=options.reason, purge=options.purge or None)
    for target in targets:
        params = target | shared_params
        needs_consent = "query" in target or options.dry_run or options.purge
        if needs_consent and not _has_agreed(place, params, options):
            print("Nothing was forgotten.")
            continue
        _print_forgotten(place.ask("forget", **params), next(iter(target.values())))
    if options.purge:
        _print_replaced_homes(place)


def _has_agreed(place: Place, params: dict[str, Any], options: argparse.Namespace) -> bool:
    """List the records that would be forgotten; return True if the user wants that, by option or answer."""
    hits = place.ask("forget", **params, dry_run=True).get("candidates", [])
    for hit in hits:
        text = first_line(hit.get("memory") or hit.get("chunk") or "", 100)
        print(f"{hit['id']}  {local(hit['date']):%Y-%m-%d}  {text}")
    if not hits:
        where = within(options.scope or place.current_scope())
        print(f"No fact or turn {where} is about {options.query!r}.")
    if options.dry_run or not hits:
        return False
    if options.yes:
        return True
    if not sys.stdin.isatty():
        advice = "Check the list, then repeat the command with --yes."
        raise InputError(f"This needs a terminal to confirm. {advice}")
    action = "Delete permanently, with older versions" if options.purge else "Forget"
    return confirm(f"{action}: {plural(len(hits), 'record')}?", default=False)


def _print_replaced_homes(place: Place) -> None:
    import glob

    if old_homes := glob.glob(f"{glob.escape(os.path.realpath(place.root))}.before-*"):
        print(f"Homes replaced by a backup may still contain it: {', '.join(sorted(old_homes))}.")


def _print_forgotten(result: dict[str, Any], name: str) -> None:
    if result.get("purged"):
        sentence = f"{plural(result['purged'], 'record')} permanently deleted from the disk."
        print(f"{sentence} Earlier backups and exports still contain it, and may restore it.")
        for path in result.get("files", []):
            warning = "the next `index` of its folder reads it again"
            print(f"{visible(path)} still exists: {warning}, unless you delete it or a .gitignore names it.")
        if until := result.get("kept_until"):
            print(
                "Older versions of the bucket's tables contain it for an hour, as other engines may read "
                f"them. They are removed by {local(until):%Y-%m-%d %H:%M}; if no engine runs then, by the "
                "next one within two minutes."
            )
    elif result["forgotten"]:
        ids = ", ".join(result["ids"])
        print(f"{ids}: forgotten: searches no longer find it. `scrubjay undo` takes this back.")
    else:
        print(f"{name} was already forgotten.")
    for newer in result.get("newer", ()):
        print(f"Searches still find the newer version: `scrubjay forget {newer}` forgets that too.")


def restore(place: Place, options: argparse.Namespace) -> None:
    """Restore a forgotten record."""
    for record_id in options.id:
        result = place.ask("restore", id=record_id)
        if newest := result.get("newest"):
            outcome = f"not forgotten, but its newest version is: `scrubjay restore {newest}` restores that"
        elif not result["restored"]:
            outcome = "not forgotten; nothing changed"
        elif reason := result.get("unseen"):
            outcome = f"restored, but searches leave it out: {reason}"
        else:
            outcome = "restored: searches find it again"
        print(f"{result['id']} is {outcome}.")

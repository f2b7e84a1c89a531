"""How one record is shown in full: its dates and links first, then all of its text. Only text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from scrubjay.cli.display import first_line, local, plural

WIDTH = 100  # characters of a linked record
_NAMES = {"turn": "turn", "memory": "fact", "document": "document"}
_DATES = {
    "started_at": "said",
    "created_at": "recorded",
    "updated_at": "changed",
    "replaced_at": "replaced",
    "expires_at": "expires",
    "forgotten_at": "forgotten",
    "purged_at": "deleted for good",
}
_TEXTS = ("user", "assistant", "text", "content", "summary")
_LISTS = ("tags", "tools", "files")
_PLAIN = ("title", "type", "path", "custom_id", "status", "error", "session_id", "prompt_id", "host", "source", "forget_reason")


def lines_in_full(found: Mapping[str, Any]) -> Iterator[str]:
    """The lines about a record as the engine answers it."""
    record = found["record"]
    for name, text in _facts(found, record):
        yield f"{name + ':':<18}{text}"
    for title, links in _links(found):
        yield f"{title}:"
        yield from (f"  {hit['id']}  {local(hit['date']):%Y-%m-%d}  {how}{first_line(_said(hit), WIDTH)}" for how, hit in links)
    for name in _TEXTS:
        if record.get(name):
            yield f"\n--- {record.get('role') or name if name == 'text' else name}"
            yield record[name]


def _facts(found: Mapping[str, Any], record: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    yield _NAMES[found["kind"]], record["id"]
    yield "scope", record["scope"]
    if found["kind"] == "memory":
        newer = f"; the newest is {found['newest']}" if "newest" in found else ""
        yield "version", f"{record['version']} of {record['root_id']}{'' if record['is_latest'] else ', replaced'}{newer}"
    for name in _PLAIN:
        if record.get(name) not in (None, ""):
            yield name.replace("_", " "), str(record[name])
    if record.get("turn") is not None:
        yield "number", str(record["turn"])
    for name, says in _DATES.items():
        if record.get(name):
            yield says, f"{local(record[name]):%Y-%m-%d %H:%M:%S}"
    yield "recalled", _recalled(record)
    yield "importance", f"{record['importance_score']:g} of 10, in {record['partition_id']}{', lasting' if record.get('is_static') else ''}"
    for name in _LISTS:
        if record.get(name):
            yield name, ", ".join(record[name])
    for name, value in record.get("metadata", {}).items():
        yield f"  {name}", str(value)
    waiting = found["waiting_for_vector"]
    yield "searchable", plural(found["passages"], "passage") + (f", {waiting:,} not embedded yet" if waiting else "")


def _recalled(record: Mapping[str, Any]) -> str:
    if not (times := record.get("access_count", 0)):
        return "never"  # the date of its last recall is then that of its recording
    return f"{plural(times, 'time')}, last {local(record['last_accessed_at']):%Y-%m-%d %H:%M:%S}"


def _links(found: Mapping[str, Any]) -> Iterator[tuple[str, Sequence[tuple[str, Mapping[str, Any]]]]]:
    relation = found["record"].get("relation", "comes of")
    if found.get("parents"):
        yield f"It {relation}", [("", hit) for hit in found["parents"]]
    if found.get("children"):
        yield "Of it came", [(f"{how}: ", hit) for how, hit in zip(found.get("relations", ()), found["children"], strict=True)]


def _said(hit: Mapping[str, Any]) -> str:
    return hit.get("title") or hit.get("memory") or hit.get("chunk") or ""

"""The resources: a whole memory, turn or document by id, and the profile of a scope."""

import re
from datetime import datetime
from urllib.parse import unquote

from mcp.types import Resource, ResourceTemplate, TextResourceContents

from scrubjay.engine.caller import Caller
from scrubjay.engine.engine import Engine
from scrubjay.errors import NotFound
from scrubjay.home.scopes import USER_SCOPE, find_scope, list_scopes
from scrubjay.mcp_server.render import fenced, profile
from scrubjay.models.records import AnyRecord, Document, Memory
from scrubjay.text.foreign import defused, one_line

# The id of a turn may also be SESSION/TURN, whose slash may be encoded. `?scope=` names another project, or
# `*` for all projects.
_URI = re.compile(
    r"^scrubjay://(memory|turn|document)/([A-Za-z0-9_.:%-]{1,300}(?:/[0-9]{1,8})?)"
    r"(?:\?scope=([^/?#&\s]{1,600}))?$"
)
_PROFILE = re.compile(r"^scrubjay://profile(?:/([^/?#&\s]{1,600}))?$")  # an encoded letter has up to 12
_TITLE = "The lasting and the newest facts of a project"
_TEMPLATES = (  # kind, address, title
    ("memory", "scrubjay://memory/{id}", "A saved fact"),
    ("turn", "scrubjay://turn/{id}", "One recorded turn, word for word"),
    ("document", "scrubjay://document/{id}", "The whole text of a document"),
    ("profile", "scrubjay://profile/{scope}", _TITLE),
)
_TEXT = "text/plain"


def templates() -> list[ResourceTemplate]:
    """Return the templates of the addresses that can be read."""
    return [
        ResourceTemplate(name=kind, title=title, uri_template=uri, description=title, mime_type=_TEXT)
        for kind, uri, title in _TEMPLATES
    ]


def resources() -> list[Resource]:
    """Return the only resource that needs no id: the profile of the client's project."""
    uri = "scrubjay://profile"
    return [Resource(name="profile", title=_TITLE, uri=uri, description=_TITLE, mime_type=_TEXT)]


async def read(engine: Engine, uri: str, by: Caller) -> TextResourceContents:
    """Return the full text of a `scrubjay://` address, fenced, below a line that names its origin.

    Raises NotFound if the address is invalid, or names no record of that kind that the caller may read;
    InputError if several projects have the name in it, or one has a similar name.
    """
    if profile_uri := _PROFILE.match(uri):
        scope = _scope_named(engine, profile_uri[1], by) or by.scope or USER_SCOPE
        if by.confined and scope != by.scope:
            raise NotFound(f"This token only reaches the scope {by.scope!r}. Read scrubjay://profile.")
        facts = await (await engine.core_soon()).search.profile((scope,) if by.confined else scope)
        return TextResourceContents(uri=uri, mime_type=_TEXT, text=profile(facts))
    match = _URI.match(uri)
    if match is None:
        raise NotFound(
            f"{uri[:200]!r} is not a resource here. Addresses look like scrubjay://turn/ID, "
            "scrubjay://memory/ID, scrubjay://document/ID, scrubjay://profile."
        )
    core, kind, record_id = await engine.core_soon(), match[1], unquote(match[2])
    record = await core.ids.record_within(record_id, by.reach(_scope_named(engine, match[3], by)))
    if record is None or _is_hidden(record, engine.clock()) or _kind(record) != kind:
        advice = "" if by.confined else " For another project's, add ?scope=* to the address."
        raise NotFound(
            f"There is no {kind} with the id {record_id!r}. Use the id of a search result.{advice}"
        )
    return TextResourceContents(uri=uri, mime_type=_TEXT, text="\n".join(fenced(defused(_full_text(record)))))


def _scope_named(engine: Engine, part: str | None, by: Caller) -> str | None:
    """Return the scope that a part of an address names, for a project also by its display name."""
    if part is None or by.confined or by.folder is None:
        return part and unquote(part)
    return find_scope(unquote(part), [each["scope"] for each in list_scopes(engine.home)], may_be_new=True)


def _is_hidden(record: AnyRecord, now: datetime) -> bool:
    """Return True for forgotten and expired records, which only the command line shows.

    Older versions of facts are not hidden.
    """
    return record.forgotten_at is not None or (record.expires_at is not None and record.expires_at <= now)


def _kind(record: AnyRecord) -> str:
    return "memory" if isinstance(record, Memory) else "document" if isinstance(record, Document) else "turn"


def _full_text(record: AnyRecord) -> str:
    """Render all of a record's text under its date and origin."""
    if isinstance(record, Memory):
        version = f" · version {record.version}" if record.version > 1 or not record.is_latest else ""
        replaced = f", replaced on {record.replaced_at:%Y-%m-%d}" if record.replaced_at else ""
        return f"[fact · {record.created_at:%Y-%m-%d} · {record.scope}{version}{replaced}]\n{record.content}"
    if isinstance(record, Document):
        title = one_line(record.title or record.id)
        return f"[document · {title} · {record.updated_at:%Y-%m-%d} · {record.scope}]\n{record.content}"
    speeches = [("user", record.user), ("assistant", record.assistant), (record.role or "text", record.text)]
    body = "\n\n".join(f"{one_line(role)}:\n{text}" for role, text in speeches if text)
    files = f"\n\nfiles: {one_line(', '.join(record.files))}" if record.files else ""
    tools = f"\ntools: {one_line(', '.join(record.tools))}" if record.tools else ""
    origin = f"turn {record.turn} of session {one_line(record.session_id)}"
    head = f"[{origin} · {record.started_at:%Y-%m-%d %H:%M} · {record.scope}]"
    return f"{head}\n{body}{files}{tools}"

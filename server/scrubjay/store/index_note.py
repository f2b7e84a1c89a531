"""What the store remembers of itself outside LanceDB: its schema version, the passages table in use, and the vector space of its vectors.

A small JSON text among the store's notes, replaced at once. It is the only way to switch from one generation of passages to the next.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, replace

from scrubjay.errors import StoreError
from scrubjay.store.notes import Notes

SCHEMA_VERSION = 1
INDEX = "index"  # its name among the notes


@dataclass(frozen=True)
class IndexNote:
    """`generation` names the passages table; `space_id` is None until a model was accepted for it.

    `complete` is False while passages are being filled from the records, of a new generation or of an older Scrubjay's.
    """

    schema_version: int = SCHEMA_VERSION
    generation: int = 1
    dim: int = 384
    space_id: str | None = None
    canaries: tuple[tuple[float, ...], ...] = ()
    complete: bool = True

    @property
    def passages(self) -> str:
        return f"passages_{self.generation}"

    def following(self, *, dim: int) -> IndexNote:
        """The note of the next generation, which holds no vectors yet."""
        return replace(self, generation=self.generation + 1, dim=dim, space_id=None, canaries=(), complete=False)

    def with_space(self, space_id: str, canaries: tuple[tuple[float, ...], ...]) -> IndexNote:
        return replace(self, space_id=space_id, canaries=canaries)

    def unfilled(self) -> IndexNote:
        """The note of passages that lack something, and are to be made anew of the records; they keep their vectors."""
        return replace(self, complete=False)

    def filled(self) -> IndexNote:
        return replace(self, complete=True)


def parse_note(text: str, where: str) -> IndexNote:
    """The note in a text; `where` is its store.

    Raises:
        StoreError: it cannot be read, or a newer Scrubjay wrote it; nothing is touched then.
    """
    try:
        values = json.loads(text)
        _refuse_newer(values["schema_version"], where)  # before anything else of it is looked at: a newer note may have other fields
        return IndexNote(**{**values, "canaries": tuple(tuple(row) for row in values.get("canaries", ()))})
    except (ValueError, TypeError, LookupError) as error:
        raise StoreError(
            f"The note `index` in {where} cannot be read ({error}). Move it away and run `scrubjay reindex`; the records are not touched."
        ) from error


def _refuse_newer(version: int, where: str) -> None:
    if version > SCHEMA_VERSION:
        raise StoreError(
            f"The store in {where} was written by a newer Scrubjay (schema {version}, this one knows {SCHEMA_VERSION}). "
            "Upgrade Scrubjay; nothing was changed."
        )


def spell_note(note: IndexNote) -> str:
    """The text that `parse_note` reads."""
    return json.dumps(asdict(note))


async def first_note(notes: Notes, path: str, dim: int | None) -> IndexNote:
    """The note on the index of a store whose engine may write; one that fits `dim` where nothing is embedded yet."""
    text = await notes.read(INDEX)
    note = None if text is None else parse_note(text, path)
    if note is None or (note.space_id is None and dim is not None and note.dim != dim):
        note = note.following(dim=dim) if note and dim else IndexNote(dim=dim or IndexNote.dim)  # nothing embedded yet: start over
        await notes.write(INDEX, spell_note(note))
    return note


async def brought_forward(notes: Notes, note: IndexNote, *, outdated: bool) -> IndexNote:
    """The note of a store whose passages may be `outdated`, so that whoever opened it fills them anew, also after an interruption."""
    if not outdated or not note.complete:
        return note
    await notes.write(INDEX, spell_note(note.unfilled()))
    return note.unfilled()

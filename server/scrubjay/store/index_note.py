"""What the store remembers of itself outside LanceDB: its schema version, the passages table in use, and the vector space of its vectors.

A small JSON file, written by write-then-rename. It is the only way to switch from one generation of passages to the next at once.
"""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass, replace

from scrubjay.errors import StoreError

SCHEMA_VERSION = 1


@dataclass(frozen=True)
class IndexNote:
    """`generation` names the passages table; `space_id` is None until a model was accepted for it.

    `complete` is False while a new generation is being filled from the records.
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

    def filled(self) -> IndexNote:
        return replace(self, complete=True)


def read_note(path: str) -> IndexNote | None:
    """The note at `path`, or None if there is none yet.

    Raises:
        StoreError: it cannot be read, or a newer Scrubjay wrote it; nothing is touched then.
    """
    try:
        with open(path, encoding="utf-8") as file:
            values = json.load(file)
        note = IndexNote(**{**values, "canaries": tuple(tuple(row) for row in values.get("canaries", ()))})
    except FileNotFoundError:
        return None
    except (ValueError, TypeError) as error:
        raise StoreError(
            f"{path} cannot be read ({error}). Move it away and run `scrubjay reindex`; the records are not touched."
        ) from error
    if note.schema_version > SCHEMA_VERSION:
        raise StoreError(
            f"This home was written by a newer Scrubjay (schema {note.schema_version}, this one knows {SCHEMA_VERSION}). "
            "Upgrade Scrubjay; nothing was changed."
        )
    return note


def write_note(path: str, note: IndexNote) -> None:
    draft = f"{path}.draft"
    with open(draft, "w", encoding="utf-8") as file:
        json.dump(asdict(note), file)
        file.flush()
        os.fsync(file.fileno())
    os.replace(draft, path)

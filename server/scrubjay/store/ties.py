"""A cache of the passages' ties: words that show which passages name the same things."""

from collections.abc import Iterable

import numpy as np
import pyarrow as pa
from lancedb import AsyncTable
from numpy.typing import NDArray

from scrubjay.store.cache import TableCache
from scrubjay.store.row_sets import among, shared_beginning


class TieCache:
    """An index, in memory, of a table's column `tied`: which rows have which words (ties).

    A look-up takes less than a millisecond; LanceDB's index of that column takes 5 to 8 ms on each core.
    """

    def __init__(self, whole: TableCache) -> None:
        self._whole = whole
        self._row_ids: NDArray[np.uint64] = np.empty(0, np.uint64)  # of the indexed rows
        # Ascending; a word of several rows is repeated.
        self._words: NDArray[np.uint64] = np.empty(0, np.uint64)
        self._places: NDArray[np.uint32] = np.empty(0, np.uint32)  # the row of each word, counted from 0
        self._counts: NDArray[np.uint16] = np.empty(0, np.uint16)  # number of ties of each row
        self._tied_rows, self._average = 0, 1.0  # number of rows with ties, and their average number of ties

    async def best(
        self, table: AsyncTable, words: Iterable[str], matching: NDArray[np.uint64], limit: int
    ) -> tuple[NDArray[np.uint64], NDArray[np.float64]] | None:
        """Return the `matching` rows that have one of the words, with their scores, best first.

        Scores are BM25 (k1 1.2, b 0.75), as in LanceDB's index. Return None if the table is not in memory.
        """
        if (rows := await self._whole.current(table)) is None:
            return None
        if self._row_ids is not self._whole.row_ids:
            self._update(rows["tied"], self._whole.row_ids)
        if not len(self._words):
            return np.empty(0, np.uint64), np.empty(0)
        all_places, values = [], []
        for word in dict.fromkeys(_tie_numbers(" ".join(words)).tolist()):
            start, end = (int(np.searchsorted(self._words, word, side)) for side in ("left", "right"))
            rarity = np.log1p((self._tied_rows - (end - start) + 0.5) / (end - start + 0.5))
            places = self._places[start:end]
            places = places[among(self._row_ids[places], matching)]
            all_places.append(places)
            values.append(rarity * 2.2 / (1 + 1.2 * (0.25 + 0.75 * self._counts[places] / self._average)))
        places, indexes = np.unique(np.concatenate(all_places), return_inverse=True)
        scores = np.bincount(indexes, np.concatenate(values), len(places)).astype(np.float64)
        best = np.lexsort((places, -scores))[:limit]
        return self._row_ids[places[best]], scores[best]

    def _update(self, tied: pa.ChunkedArray, row_ids: NDArray[np.uint64]) -> None:
        """Keep the rows before the first change of the table, and index the rows after it."""
        unchanged = shared_beginning(self._row_ids, row_ids)
        if unchanged < len(self._row_ids):
            remaining = self._places < unchanged
            self._words, self._places = self._words[remaining], self._places[remaining]
            self._counts = self._counts[:unchanged]
        added = [words or "" for words in tied.slice(unchanged).to_pylist()]
        counts = np.fromiter((words.count(" ") + bool(words) for words in added), np.uint16, len(added))
        words = _tie_numbers(" ".join(added))
        order = np.argsort(words, kind="stable")
        places = np.repeat(np.arange(unchanged, len(row_ids), dtype=np.uint32), counts)[order]
        insert_at = np.searchsorted(self._words, words[order], "right")  # after those of earlier rows
        self._words = np.insert(self._words, insert_at, words[order])
        self._places = np.insert(self._places, insert_at, places)
        self._counts, self._row_ids = np.concatenate([self._counts, counts]), row_ids
        self._tied_rows = int(np.count_nonzero(self._counts))
        self._average = len(self._words) / max(self._tied_rows, 1)


def _tie_numbers(words: str) -> NDArray[np.uint64]:
    """Convert ties, which are words of 16 hexadecimal digits, to numbers."""
    return np.frombuffer(bytes.fromhex(words), ">u8").astype(np.uint64)

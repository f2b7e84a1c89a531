"""The ties of the passages, in memory: which passages name the same things."""

from collections.abc import Iterable

import numpy as np
import pyarrow as pa
from lancedb import AsyncTable
from numpy.typing import NDArray

from scrubjay.store.cache import TableCache
from scrubjay.store.row_sets import among, shared_beginning


class TieCache:
    """An index of the column `tied` of a table in memory: which rows have which of its words (`ties`).

    A look-up takes less than a millisecond; LanceDB's index of that column takes 5 to 8 ms on each core.
    """

    def __init__(self, whole: TableCache) -> None:
        self._whole = whole
        self._row_ids: NDArray[np.uint64] = np.empty(0, np.uint64)  # whose ties are indexed
        self._words: NDArray[np.uint64] = np.empty(0, np.uint64)  # ascending, one for each tie of a row
        self._places: NDArray[np.uint32] = np.empty(0, np.uint32)  # of the rows that have these words
        self._counts: NDArray[np.uint16] = np.empty(0, np.uint16)  # ties of each row
        self._tied, self._usual = 0, 1.0  # rows with ties, and how many each of them has on average

    async def best(
        self, table: AsyncTable, words: Iterable[str], matching: NDArray[np.uint64], limit: int
    ) -> tuple[NDArray[np.uint64], NDArray[np.float64]] | None:
        """Return rows among the `matching` that have one of the words, with their scores, best first.

        Scores are BM25 (k1 1.2, b 0.75), as in LanceDB's index: rows that share more and rarer words, and
        have few others, come first. None if the table is not in memory.
        """
        if (rows := await self._whole.current(table)) is None:
            return None
        if self._row_ids is not self._whole.row_ids:
            self._take(rows["tied"], self._whole.row_ids)
        if not len(self._words):
            return np.empty(0, np.uint64), np.empty(0)
        found, values = [], []
        for word in dict.fromkeys(_tie_numbers(" ".join(words)).tolist()):
            start, end = (int(np.searchsorted(self._words, word, side)) for side in ("left", "right"))
            rarity = np.log1p((self._tied - (end - start) + 0.5) / (end - start + 0.5))
            places = self._places[start:end]
            places = places[among(self._row_ids[places], matching)]
            found.append(places)
            values.append(rarity * 2.2 / (1 + 1.2 * (0.25 + 0.75 * self._counts[places] / self._usual)))
        places, own = np.unique(np.concatenate(found), return_inverse=True)
        scores = np.bincount(own, np.concatenate(values), len(places)).astype(np.float64)
        best = np.lexsort((places, -scores))[:limit]
        return self._row_ids[places[best]], scores[best]

    def _take(self, tied: pa.ChunkedArray, row_ids: NDArray[np.uint64]) -> None:
        known = shared_beginning(self._row_ids, row_ids)
        if known < len(self._row_ids):
            kept = self._places < known
            self._words, self._places, self._counts = (
                self._words[kept],
                self._places[kept],
                self._counts[:known],
            )
        added = [words or "" for words in tied.slice(known).to_pylist()]
        counts = np.fromiter((words.count(" ") + bool(words) for words in added), np.uint16, len(added))
        words = _tie_numbers(" ".join(added))
        order = np.argsort(words, kind="stable")
        places = np.repeat(np.arange(known, len(row_ids), dtype=np.uint32), counts)[order]
        at = np.searchsorted(self._words, words[order], "right")  # after the same words of earlier rows
        self._words, self._places = (
            np.insert(self._words, at, words[order]),
            np.insert(self._places, at, places),
        )
        self._counts, self._row_ids = np.concatenate([self._counts, counts]), row_ids
        self._tied = int(np.count_nonzero(self._counts))
        self._usual = len(self._words) / max(self._tied, 1)


def _tie_numbers(words: str) -> NDArray[np.uint64]:
    """Return ties, words of 16 hexadecimal digits each, as numbers."""
    return np.frombuffer(bytes.fromhex(words), ">u8").astype(np.uint64)

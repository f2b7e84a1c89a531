"""Tensors of a safetensors file as arrays over the mapped file. Knows the format; does not know what the tensors mean.

Format: 8 bytes little-endian length, a JSON header of that length, then the data
(https://github.com/huggingface/safetensors#format).
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

_DTYPES = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "I64": "<i8", "I32": "<i4", "I16": "<i2", "I8": "i1", "U8": "u1", "BOOL": "?"}


def header(file: Path) -> tuple[dict[str, dict[str, Any]], int]:
    """The entries of a file by tensor name (`dtype`, `shape`, `data_offsets`) and the offset of its data in bytes.

    Raises:
        ValueError: the file is no safetensors file, or is cut short.
    """
    with file.open("rb") as stream:
        length = int.from_bytes(stream.read(8), "little")
        if not 0 < length < file.stat().st_size:
            raise ValueError(f"{file.name} has no safetensors header")
        entries = json.loads(stream.read(length))
    entries.pop("__metadata__", None)
    return entries, 8 + length


def tensors(file: Path) -> dict[str, NDArray[Any]]:
    """The tensors of a file by name: read-only views of the mapped file, so that pages are shared and reclaimable.

    Types that numpy does not have (bfloat16, float8) are left out.

    Raises:
        ValueError: the file is no safetensors file, or is cut short.
    """
    entries, start = header(file)
    mapped = np.memmap(file, np.uint8, "r")
    views = {}
    for name, entry in entries.items():
        dtype = _DTYPES.get(entry["dtype"])
        if dtype is None:
            continue
        begin, end = (start + offset for offset in entry["data_offsets"])
        if end > len(mapped) or end - begin != math.prod(entry["shape"]) * np.dtype(dtype).itemsize:
            raise ValueError(f"tensor {name} of {file.name} is cut short")
        # A plain array keeps the map alive and is sliced faster than the memmap subclass.
        views[name] = np.asarray(mapped[begin:end]).view(dtype).reshape(entry["shape"])
    return views

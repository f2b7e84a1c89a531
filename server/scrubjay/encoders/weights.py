"""Tensors of a safetensors file as arrays over the mapped file. Knows the format; does not know what the tensors mean.

Format: 8 bytes little-endian length, a JSON header of that length, then the data
(https://github.com/huggingface/safetensors#format).
"""

from __future__ import annotations

import json
import math
import mmap
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
    with file.open("rb") as stream:
        mapped = np.frombuffer(mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ), np.uint8)
    views = {}
    for name, entry in entries.items():
        dtype = _DTYPES.get(entry["dtype"])
        if dtype is None:
            continue
        begin, end = (start + offset for offset in entry["data_offsets"])
        if end > len(mapped) or end - begin != math.prod(entry["shape"]) * np.dtype(dtype).itemsize:
            raise ValueError(f"tensor {name} of {file.name} is cut short")
        views[name] = mapped[begin:end].view(dtype).reshape(entry["shape"])
    return views


def let_go(tensor: NDArray[Any]) -> None:
    """Drop a tensor's pages from this process; they stay in the system's cache and come back when they are read.

    Only whole pages inside the tensor are dropped. Does nothing where the system has no madvise (Windows).
    """
    whole: Any = tensor
    while isinstance(whole, np.ndarray) and isinstance(whole.base, np.ndarray):
        whole = whole.base
    mapped = whole.base.obj if isinstance(whole.base, memoryview) else None
    if not (isinstance(mapped, mmap.mmap) and hasattr(mmap, "MADV_DONTNEED")):
        return
    begin = tensor.ctypes.data - whole.ctypes.data
    first = -(-begin // mmap.PAGESIZE) * mmap.PAGESIZE
    length = (begin + tensor.nbytes - first) // mmap.PAGESIZE * mmap.PAGESIZE
    if length > 0:
        mapped.madvise(mmap.MADV_DONTNEED, first, length)

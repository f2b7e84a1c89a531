"""Mapped weights: dropping a tensor's pages changes nothing that is read."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from safetensors.numpy import save_file

from scrubjay.encoders.bert import let_go, tensors


def mapped_pages() -> int:
    """Kilobytes of mapped files that this process holds in memory; 0 where the system does not say."""
    status = Path("/proc/self/status")
    lines = status.read_text().splitlines() if status.exists() else []
    return next((int(line.split()[1]) for line in lines if line.startswith("RssFile")), 0)


def test_a_tensor_reads_the_same_after_its_pages_were_dropped(tmp_path: Path) -> None:
    values = {
        name: np.random.default_rng(seed).normal(size=(3_000, 500)).astype(np.float32)
        for seed, name in enumerate("abc")
    }
    save_file(values, tmp_path / "model.safetensors")
    read = tensors(tmp_path / "model.safetensors")
    for name, tensor in read.items():
        assert np.array_equal(tensor, values[name])
        resident = mapped_pages()
        let_go(tensor)
        assert mapped_pages() < resident - 4_000 or not resident
        assert np.array_equal(tensor, values[name])
    let_go(read["a"][:1])
    let_go(np.zeros(5))
    assert all(np.array_equal(read[name], values[name]) for name in values)

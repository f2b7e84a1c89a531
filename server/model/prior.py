"""Fits how likely it is that memories answer a question like this one, and writes the weights of a model.

    python server/model/prior.py bundled|multilingual

Logistic regression on the vectors of the lessons' questions, as a search embeds them; those with an answer
weigh as much as those without. Prints the area under the ROC curve (.5: chance, 1: perfect) on every tenth
project, left out. Needs scipy, and Scrubjay with the extra of the model. Takes five minutes.
"""

import argparse
import json
import tempfile
from pathlib import Path
from random import Random

import numpy as np
from lessons import QUESTIONS, projects
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.stats import rankdata

from scrubjay.encoders import Encoder, open_encoder
from scrubjay.encoders.prior import PRIORS
from scrubjay.search.retrieval.asked import parse_question

TIGHT = 3e-5  # strength of the penalty on large weights
LEFT_OUT = 10  # every so many projects judge
DIGITS = 3
MOST = 20_000  # questions

Floats = NDArray[np.float64]


def fit(vectors: Floats, is_answered: NDArray[np.bool_]) -> Floats:
    """Return the weights of the features, and last the offset."""
    table = np.column_stack([vectors, np.ones(len(vectors))])
    signs = np.where(is_answered, 1.0, -1.0)
    shares = np.where(is_answered, 0.5 / is_answered.sum(), 0.5 / (~is_answered).sum())

    def loss(values: Floats) -> tuple[float, Floats]:
        margin = signs * (table @ values)
        slope = -(shares * signs / (1 + np.exp(margin))) @ table
        penalty = np.append(values[:-1], 0.0) * TIGHT
        return float(shares @ np.logaddexp(0, -margin) + penalty @ values), slope + 2 * penalty

    found: Floats = minimize(loss, np.zeros(table.shape[1]), jac=True, method="L-BFGS-B").x
    return found


def area(odds: Floats, is_answered: NDArray[np.bool_]) -> float:
    """Return the chance that an answered question has greater odds than one without an answer."""
    count, ranks = int(is_answered.sum()), rankdata(odds)
    above = ranks[is_answered].sum() - count * (count + 1) / 2
    return float(above / (count * (len(odds) - count)))


def asked(encoder: Encoder, files: list[Path]) -> tuple[Floats, NDArray[np.bool_], NDArray[np.int64]]:
    """Return the questions' vectors, whether a memory answers each, and the number of its project."""
    rows = [
        (text, is_answered, number)
        for number, project in enumerate(projects(files))
        for memory in project
        for texts, is_answered in ((memory.answered, True), (memory.unanswered, False))
        for text in texts
    ]
    texts, answered, numbers = zip(*Random(0).sample(rows, min(MOST, len(rows))), strict=True)
    vectors = [encoder.embed_query(parse_question(text).embedded_text) for text in texts]
    return np.array(vectors, np.float64), np.array(answered), np.array(numbers)


def main() -> None:
    """Fit, print and write."""
    parser = argparse.ArgumentParser(description="Fit how likely memories answer a question like this one.")
    parser.add_argument("model", choices=("bundled", "multilingual"))
    model = parser.parse_args().model
    files = sorted(QUESTIONS.glob("*.txt" if model == "bundled" else "**/*.txt"))
    with tempfile.TemporaryDirectory() as scratch:
        vectors, is_answered, numbers = asked(open_encoder(model, models=Path(scratch)), files)
    others = numbers % LEFT_OUT != 0
    values = fit(vectors[others], is_answered[others])
    odds = vectors[~others] @ values[:-1] + values[-1]
    print(f"{len(vectors):,} questions, {is_answered.sum():,} answered; left out: AUC", end=" ")
    print(f"{area(odds, is_answered[~others]):.3f}")
    values = fit(vectors, is_answered).round(DIGITS)
    kept = json.loads(PRIORS.read_text("utf-8")) if PRIORS.exists() else {}
    kept[model] = {"offset": values[-1], "weights": values[:-1].tolist()}
    PRIORS.write_text(json.dumps(kept) + "\n", "utf-8")


if __name__ == "__main__":
    main()

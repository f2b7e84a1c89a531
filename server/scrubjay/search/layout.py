"""Lays vectors out in a plane, so that similar meanings are close together."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from scrubjay.store import conditions
from scrubjay.store.conditions import Where
from scrubjay.store.store import Store

Matrix = NDArray[np.float32]
Place = tuple[float, float]

# Points that are laid out by all of their distances; the others follow their nearest landmarks.
LANDMARKS = 400
NEIGHBOURS = 4  # landmarks that a point follows
PERPLEXITY = 15.0  # effective neighbours of a landmark; van der Maaten and Hinton use 5 to 50
STEPS = 250  # of descent, after which 400 landmarks no longer move
_EXAGGERATED, _EXAGGERATION = 60, 6.0  # first steps that pull neighbours together, and how strongly
_AWAY = 0.04  # distance of a point from its landmarks, in widths of the plane


async def places(store: Store, where: Where, ids: Sequence[str]) -> dict[str, Place]:
    """Place these passages, which must match and have vectors, in a plane: x and y from 0 to 1 by id.

    Landmarks are laid out by t-SNE, and every other point is placed between its nearest ones. Vectors are
    read in batches and released, so that 10,000 need no more memory than the landmarks do. The same vectors
    give the same plane.
    """
    if not ids:
        return {}
    chosen = {ids[int(at)] for at in np.linspace(0, len(ids) - 1, min(len(ids), LANDMARKS))}
    read = [
        each
        async for batch in store.vectors(conditions.one_of("id", chosen))
        for each in zip(*batch, strict=True)
    ]
    if not read:  # purged a moment ago
        return {}
    read.sort(key=lambda pair: pair[0])
    plane = await asyncio.to_thread(lay_out, np.array([vector for _, vector in read]))
    names, parts = [name for name, _ in read], [plane.places]
    if len(ids) > len(chosen):
        others = set(ids) - chosen
        async for found, vectors in store.vectors(where):
            at = [number for number, name in enumerate(found) if name in others]
            names += [found[number] for number in at]
            parts.append(await asyncio.to_thread(plane.place, vectors[at]))
    framed = _framed(np.concatenate(parts)).round(4).tolist()
    return {name: (x, y) for name, (x, y) in zip(names, framed, strict=True)}


@dataclass(frozen=True)
class Plane:
    """Landmarks, as unit vectors (n, dim), and their places (n, 2)."""

    landmarks: Matrix
    places: Matrix

    def place(self, vectors: Matrix) -> Matrix:
        """Place each of these vectors among its nearest landmarks, weighted by nearness.

        Vectors with the same neighbours would hide each other, so each is moved by its difference from the
        nearest landmark, along two directions.
        """
        cosine = vectors @ self.landmarks.T
        count = min(NEIGHBOURS, len(self.landmarks))
        nearest = np.argpartition(-cosine, count - 1, axis=1)[:, :count]
        values = np.take_along_axis(cosine, nearest, axis=1)
        weight = np.exp(12.0 * (values - values.max(axis=1, keepdims=True)))
        weight /= weight.sum(axis=1, keepdims=True)
        directions = np.random.default_rng(0).normal(size=(vectors.shape[1], 2)).astype(np.float32)
        own = (self.landmarks @ directions)[
            np.take_along_axis(nearest, values.argmax(axis=1)[:, None], 1)[:, 0]
        ]
        away = float(self.places.std()) * _AWAY * (vectors @ directions - own)
        placed: Matrix = ((self.places[nearest] * weight[:, :, None]).sum(axis=1) + away).astype(np.float32)
        return placed


def lay_out(vectors: Matrix) -> Plane:
    """Lay out landmarks, unit vectors (n, dim), by all of their distances."""
    if len(vectors) < 3:
        return Plane(vectors, np.linspace(0.25, 0.75, 2 * len(vectors), dtype=np.float32).reshape(-1, 2))
    return Plane(vectors, _spread(vectors))


def _spread(vectors: Matrix) -> Matrix:
    """Lay out a few vectors by t-SNE, starting from their two main directions."""
    distance = np.maximum(0.0, 2.0 - 2.0 * (vectors @ vectors.T))
    near = _affinities(distance, min(PERPLEXITY, (len(vectors) - 1) / 3))
    centred = vectors - vectors.mean(axis=0)
    _, _, axes = np.linalg.svd(centred, full_matrices=False)
    plane = centred @ axes[:2].T
    if plane.shape[1] < 2:  # all vectors have one direction
        plane = np.column_stack([plane, np.arange(len(plane)) * 1e-3]).astype(np.float32)
    plane *= 1e-2 / max(float(plane[:, 0].std()), 1e-9)
    speed, gains = np.zeros_like(plane), np.ones_like(plane)
    rate = max(len(vectors) / _EXAGGERATION, 50.0)
    for step in range(STEPS):
        weight = _distances(plane)
        weight += 1.0
        np.reciprocal(weight, out=weight)
        np.fill_diagonal(weight, 0.0)
        pull = near * (_EXAGGERATION if step < _EXAGGERATED else 1.0)
        pull -= weight / weight.sum()
        pull *= weight
        gradient = 4.0 * (pull.sum(axis=1)[:, None] * plane - pull @ plane)
        gains = np.where(gradient * speed < 0, gains + 0.2, np.maximum(gains * 0.8, 0.01))
        speed = (0.5 if step < _EXAGGERATED else 0.8) * speed - rate * gains * gradient
        plane = plane + speed
        plane -= plane.mean(axis=0)
    laid_out: Matrix = plane.astype(np.float32)
    return laid_out


def _affinities(distance: Matrix, perplexity: float) -> Matrix:
    """Convert squared distances into shares that sum to 1; each row's width is found by bisection."""
    count = len(distance)
    low, high, beta = np.zeros(count), np.full(count, np.inf), np.ones(count)
    others = distance.astype(np.float32)
    np.fill_diagonal(others, np.inf)
    finite = distance.copy()
    np.fill_diagonal(finite, 0.0)
    for _ in range(40):
        weight = np.exp(-others * beta[:, None].astype(np.float32))
        total = np.maximum(weight.sum(axis=1), 1e-30)
        entropy = np.log(total) + beta * np.einsum("ij,ij->i", finite, weight) / total
        wide = entropy > np.log(perplexity)
        low, high = np.where(wide, beta, low), np.where(wide, high, beta)
        beta = np.where(np.isinf(high), beta * 2.0, (low + high) / 2.0)
    shares = np.exp(-others * beta[:, None].astype(np.float32))
    shares /= np.maximum(shares.sum(axis=1, keepdims=True), 1e-30)
    both: Matrix = np.maximum((shares + shares.T) / (2.0 * count), 1e-12).astype(np.float32)
    return both


def _distances(plane: Matrix) -> Matrix:
    squares = (plane * plane).sum(axis=1)
    apart: Matrix = plane @ plane.T
    apart *= -2.0
    apart += squares[:, None]
    apart += squares[None, :]
    return np.maximum(apart, 0.0, out=apart)


def _framed(plane: Matrix) -> Matrix:
    low, high = plane.min(axis=0), plane.max(axis=0)
    framed: Matrix = ((plane - low) / np.maximum(high - low, 1e-9)).astype(np.float32)
    return framed

"""Lays vectors out in a plane, so that what means the same lies together."""

import numpy as np
from numpy.typing import NDArray

Matrix = NDArray[np.float32]

LANDMARKS = 400  # points that are laid out by all of their distances; the others follow the nearest of them
NEIGHBOURS = 4  # landmarks that a point follows
PERPLEXITY = 15.0  # neighbours that count for a landmark, about; van der Maaten and Hinton take 5 to 50
STEPS = 250  # of descent; 400 landmarks move no more after that
_EXAGGERATED, _EXAGGERATION = 60, 6.0  # steps at the beginning that pull neighbours together, and how hard


def layout(vectors: Matrix) -> Matrix:
    """Place vectors of length 1, (n, dim), in a plane: (n, 2), each coordinate from 0 to 1.

    Landmarks are laid out by t-SNE, and every other point lies between its nearest ones, so that the time
    grows with n alone. The same vectors give the same plane.
    """
    count = len(vectors)
    if count < 3:
        return np.linspace(0.25, 0.75, 2 * count, dtype=np.float32).reshape(count, 2)
    chosen = np.unique(np.linspace(0, count - 1, min(count, LANDMARKS)).astype(int))
    plane = _spread(vectors[chosen])
    return _framed(plane if len(chosen) == count else _follow(vectors, vectors[chosen], plane))


def _spread(vectors: Matrix) -> Matrix:
    """Lay out a few vectors by t-SNE, from their two main directions on."""
    distance = np.maximum(0.0, 2.0 - 2.0 * (vectors @ vectors.T).astype(np.float64))
    near = _affinities(distance, min(PERPLEXITY, (len(vectors) - 1) / 3))
    centred = vectors - vectors.mean(axis=0)
    _, _, axes = np.linalg.svd(centred, full_matrices=False)
    plane = (centred @ axes[:2].T).astype(np.float64)
    if plane.shape[1] < 2:  # all in one direction
        plane = np.column_stack([plane, np.arange(len(plane)) * 1e-3])
    plane *= 1e-2 / max(float(plane[:, 0].std()), 1e-9)
    speed, gains = np.zeros_like(plane), np.ones_like(plane)
    rate = max(len(vectors) / _EXAGGERATION, 50.0)
    for step in range(STEPS):
        weight = 1.0 / (1.0 + _distances(plane))
        np.fill_diagonal(weight, 0.0)
        pull = near * (_EXAGGERATION if step < _EXAGGERATED else 1.0) - weight / weight.sum()
        pull *= weight
        gradient = 4.0 * (pull.sum(axis=1)[:, None] * plane - pull @ plane)
        gains = np.where(gradient * speed < 0, gains + 0.2, np.maximum(gains * 0.8, 0.01))
        speed = (0.5 if step < _EXAGGERATED else 0.8) * speed - rate * gains * gradient
        plane = plane + speed
        plane -= plane.mean(axis=0)
    laid_out: Matrix = plane.astype(np.float32)
    return laid_out


def _affinities(distance: NDArray[np.float64], perplexity: float) -> NDArray[np.float64]:
    """Turn squared distances into shares that sum to 1; each row's width is found by bisection."""
    count = len(distance)
    low, high, beta = np.zeros(count), np.full(count, np.inf), np.ones(count)
    others = distance + np.diag(np.full(count, np.inf))
    for _ in range(40):
        weight = np.exp(-others * beta[:, None])
        total = np.maximum(weight.sum(axis=1), 1e-300)
        finite = np.where(np.isfinite(others), others, 0.0)
        entropy = np.log(total) + beta * (finite * weight).sum(axis=1) / total
        wide = entropy > np.log(perplexity)
        low, high = np.where(wide, beta, low), np.where(wide, high, beta)
        beta = np.where(np.isinf(high), beta * 2.0, (low + high) / 2.0)
    shares = np.exp(-others * beta[:, None])
    shares /= np.maximum(shares.sum(axis=1, keepdims=True), 1e-300)
    both: NDArray[np.float64] = np.maximum((shares + shares.T) / (2.0 * count), 1e-12)
    return both


def _distances(plane: NDArray[np.float64]) -> NDArray[np.float64]:
    squares = (plane * plane).sum(axis=1)
    apart: NDArray[np.float64] = squares[:, None] + squares[None, :] - 2.0 * plane @ plane.T
    return np.maximum(apart, 0.0, out=apart)


def _follow(vectors: Matrix, landmarks: Matrix, plane: Matrix) -> Matrix:
    """Place each vector among its nearest landmarks, the nearer the more."""
    placed = np.empty((len(vectors), 2), dtype=np.float32)
    reach = plane.std() * 0.06
    shift = np.random.default_rng(0).normal(0.0, 1.0, (len(vectors), 2))
    for start in range(0, len(vectors), 1_000):
        cosine = vectors[start : start + 1_000] @ landmarks.T
        nearest = np.argpartition(-cosine, NEIGHBOURS - 1, axis=1)[:, :NEIGHBOURS]
        values = np.take_along_axis(cosine, nearest, axis=1)
        weight = np.exp(12.0 * (values - values.max(axis=1, keepdims=True)))
        weight /= weight.sum(axis=1, keepdims=True)
        part = (plane[nearest] * weight[:, :, None]).sum(axis=1)
        # What is as near to a landmark as its twin would hide it: the less near, the further away.
        away = reach * np.sqrt(np.clip(1.0 - values.max(axis=1, keepdims=True), 0.0, 1.0))
        placed[start : start + 1_000] = part + away * shift[start : start + 1_000]
    return placed


def _framed(plane: Matrix) -> Matrix:
    low, high = plane.min(axis=0), plane.max(axis=0)
    framed: Matrix = ((plane - low) / np.maximum(high - low, 1e-9)).astype(np.float32)
    return framed

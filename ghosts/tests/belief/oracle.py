"""A brute-force hidden Markov model over all Θ · Y · X states: slow, obvious, and independent of the code it checks."""

from __future__ import annotations

import math

import numpy as np


def heading_share(angle: float, headings: int) -> np.ndarray:
    """Clamped cosine, normalised, written out."""
    if headings == 1:
        return np.ones(1)
    shares = np.array([max(0.0, math.cos(angle - 2 * math.pi * bin_ / headings)) for bin_ in range(headings)])
    shares[shares < 1e-12] = 0.0
    return shares / shares.sum()


def factorised_transitions(map_logits: np.ndarray, language_logits: np.ndarray) -> np.ndarray:
    """Transition matrix [from, to] of one map: softmax over displacements on the map, then heading by displacement.

    Args:
        map_logits: K² × Y × X.
        language_logits: Θ × K², turned to each source heading.
    """
    entries, rows, cols = map_logits.shape
    headings, size = len(language_logits), math.isqrt(entries)
    matrix = np.zeros((headings, rows, cols, headings, rows, cols))
    for theta in range(headings):
        for y in range(rows):
            for x in range(cols):
                ends, logits = [], []
                for k in range(entries):
                    dy, dx = k // size - size // 2, k % size - size // 2
                    if 0 <= y + dy < rows and 0 <= x + dx < cols:
                        ends.append((dy, dx))
                        logits.append(map_logits[k, y, x] + language_logits[theta, k])
                weights = np.exp(np.array(logits) - max(logits))
                for (dy, dx), share in zip(ends, weights / weights.sum()):
                    if dy == dx == 0:
                        matrix[theta, y, x, theta, y, x] += share
                    else:
                        matrix[theta, y, x, :, y + dy, x + dx] += share * heading_share(math.atan2(dy, dx), headings)
    return matrix.reshape(headings * rows * cols, -1)


def joint_transitions(logits: np.ndarray) -> np.ndarray:
    """Transition matrix [from, to] of one map from logits Θ × (Θ · K²) × Y × X."""
    headings, channels, rows, cols = logits.shape
    entries = channels // headings
    size = math.isqrt(entries)
    matrix = np.zeros((headings, rows, cols, headings, rows, cols))
    for theta in range(headings):
        for y in range(rows):
            for x in range(cols):
                for new in range(headings):
                    for k in range(entries):
                        to_y, to_x = y + k // size - size // 2, x + k % size - size // 2
                        if 0 <= to_y < rows and 0 <= to_x < cols:
                            matrix[theta, y, x, new, to_y, to_x] = np.exp(logits[theta, new * entries + k, y, x])
    matrix = matrix.reshape(headings * rows * cols, -1)
    return matrix / matrix.sum(1, keepdims=True)


def filtered(start: np.ndarray, transitions: list[np.ndarray], likelihoods: list[np.ndarray]) -> list[np.ndarray]:
    """Beliefs after each step, the first one included; flat states."""
    beliefs = [start]
    for transition, likelihood in zip(transitions, likelihoods):
        weights = (beliefs[-1] @ transition) * likelihood
        beliefs.append(weights / weights.sum())
    return beliefs


def smoothed(start: np.ndarray, transitions: list[np.ndarray], likelihoods: list[np.ndarray]) -> list[np.ndarray]:
    """Posterior of each step's state from the joint probability of whole trajectories, summed out at both ends."""
    result = []
    for step in range(len(transitions) + 1):
        before = start
        for transition, likelihood in zip(transitions[:step], likelihoods[:step]):
            before = (before @ transition) * likelihood
        after = np.ones_like(start)
        for transition, likelihood in reversed(list(zip(transitions[step:], likelihoods[step:]))):
            after = transition @ (likelihood * after)
        result.append(before * after / (before * after).sum())
    return result

"""What an iteration's number decides: its learning rate and its examples."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from ghosts.config import OptimiserConfig


def learning_rate(config: OptimiserConfig, iteration: int) -> float:
    """Learning rate of an iteration."""
    if config.schedule == "constant":
        return config.learning_rate
    warm = max(1, round(0.05 * config.iterations))
    if iteration < warm:
        return config.learning_rate * (iteration + 1) / warm
    progress = (iteration - warm) / max(1, config.iterations - warm)
    return config.learning_rate * 0.5 * (1.0 + math.cos(math.pi * progress))


def batch_numbers(count: int, config: OptimiserConfig, iteration: int) -> np.ndarray:
    """Which examples an iteration trains on: an epoch is a permutation that depends on its number alone."""
    first = iteration * config.batch
    numbers = np.arange(first, first + config.batch)
    return np.array([_epoch(config.seed, number // count, count)[number % count] for number in numbers.tolist()])


@lru_cache(maxsize=4)
def _epoch(seed: int, epoch: int, count: int) -> np.ndarray:
    return np.random.default_rng([seed, 1, epoch]).permutation(count)

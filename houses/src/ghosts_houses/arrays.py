"""Arrays of NumPy on a CPU and of torch on a GPU: the few things that the two libraries spell differently.

Code for both takes functions of one name and meaning from `library`, such as `where`, `clip`, `stack` and `amax`.
Vectors are `3 n`, one row per axis: reducing over a last axis of length 3 takes NumPy longer than all the rest.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

Array = Any
"""A NumPy array or a torch tensor."""
Axes = Any
"""The same axis by axis: x, y, z."""


def library(values: Array) -> Any:
    """The library of an array, `numpy` or `torch`."""
    return np if isinstance(values, np.ndarray) else sys.modules["torch"]


def put(values: Any, device: Any, dtype: Any = None) -> Array:
    """A NumPy array for the device "cpu", a tensor for one of torch's devices ("cuda", or a `torch.device`)."""
    array = np.asarray(values, dtype)
    if isinstance(device, str) and device == "cpu":
        return array
    import torch  # here: it takes seconds, and a CPU does not need it

    return torch.asarray(array, device=device)


def fetch(values: Array) -> np.ndarray:
    """As a NumPy array."""
    return values if isinstance(values, np.ndarray) else np.asarray(values.cpu())


def take(values: Array, index: Array) -> Array:
    """Entries along the last axis."""
    return values.take(index, -1) if isinstance(values, np.ndarray) else values[..., index]


def integer(values: Array) -> Array:
    """Whole numbers of 32 bits, rounded towards zero."""
    xp = library(values)
    return xp.asarray(values, dtype=xp.int32)


def single(values: Array) -> Array:
    """Numbers of 32 bits."""
    xp = library(values)
    return xp.asarray(values, dtype=xp.float32)


def dot(a: Axes, b: Axes) -> Array:
    """Products of vectors given axis by axis."""
    total = a[0] * b[0]
    for x, y in zip(a[1:], b[1:], strict=True):
        total = total + x * y
    return total


def constant(values: Sequence[float], like: Array) -> Array:
    """A column `k 1` of single precision beside another array."""
    xp = library(like)
    return xp.asarray(values, dtype=xp.float32, device=like.device)[:, None]

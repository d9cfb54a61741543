"""Arrays of an episode record as plain JSON values: eight bits each on a square-root scale, deflated, in base64."""

from __future__ import annotations

import base64
import math
import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Float, UInt8

from ghosts_sim.errors import DataError

EXPORT = "write one with: ghosts belief --data ROOT --run RUN --out DIR (or the viewer's export)"
LARGEST = 1e30
"""Larger numbers in a record are refused."""
_MOST_VALUES = 1 << 27
"""An array of a record that claims to hold more is refused before anything is unpacked."""


def pack(values: np.ndarray) -> dict[str, Any]:
    """An array of numbers in 0..∞ as plain JSON values: square roots in eight bits, scaled by the first axis' maxima.

    The error is at most 0.4 % of the maximum; small values, which are most of a belief, are kept finer than large ones.
    """
    flat = np.asarray(values, np.float64).reshape(len(values), -1) if len(values) else np.zeros((0, 0))
    top = flat.max(1, initial=0.0)
    share = np.sqrt(np.clip(flat / np.where(top > 0.0, top, 1.0)[:, None], 0.0, 1.0))
    return {
        "shape": list(values.shape),
        "scale": [float(f"{value:.6g}") for value in top],
        "data": deflate(np.round(share * 255.0).astype(np.uint8)),
    }


def unpack(value: Any, where: str) -> Float[np.ndarray, "..."]:
    """Inverse of `pack`, up to its rounding.

    Raises:
        DataError: the value is no packed array.
    """
    try:
        shape, scale = value["shape"], np.array(value["scale"], float)
        if scale.shape != (int(shape[0]),) or not (np.abs(scale) <= LARGEST).all():
            raise ValueError
        levels = inflate(value["data"], shape)
    except (TypeError, LookupError, ValueError, OverflowError, zlib.error):
        raise DataError("not a packed array of an episode record", field=where, hint=EXPORT) from None
    return (levels / 255.0) ** 2 * scale.reshape(-1, *[1] * (levels.ndim - 1))


def deflate(values: UInt8[np.ndarray, "..."]) -> str:
    """Bytes as text."""
    return base64.b64encode(zlib.compress(values.tobytes(), 9)).decode()


def inflate(text: str, shape: Sequence[Any]) -> UInt8[np.ndarray, "..."]:
    """Inverse of `deflate`; a text that is none, or does not fit the shape, raises what `unpack` catches."""
    sizes = [int(size) for size in shape]
    count = math.prod(sizes)
    if min(sizes) < 0 or count > _MOST_VALUES:
        raise ValueError
    raw = zlib.decompressobj().decompress(base64.b64decode(text, validate=True), count + 1)
    return np.frombuffer(raw, np.uint8).reshape(sizes)

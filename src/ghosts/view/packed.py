"""Arrays of an episode record as plain JSON values: eight bits each on a square-root scale, deflated, in base64."""

from __future__ import annotations

import base64
import math
import zlib
from typing import Any

import numpy as np
from jaxtyping import Float

from ghosts.errors import DataError
from ghosts.view.motion import EXPORT

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
        "data": base64.b64encode(zlib.compress(np.round(share * 255.0).astype(np.uint8).tobytes(), 9)).decode(),
    }


def unpack(value: Any, where: str) -> Float[np.ndarray, "..."]:
    """Inverse of `pack`, up to its rounding.

    Raises:
        DataError: the value is no packed array.
    """
    try:
        shape, scale = [int(size) for size in value["shape"]], np.array(value["scale"], float)
        count = math.prod(shape)
        if min(shape, default=0) < 0 or count > _MOST_VALUES or scale.shape != (shape[0],):
            raise ValueError
        if not (np.abs(scale) <= LARGEST).all():
            raise ValueError
        unzip = zlib.decompressobj()
        raw = np.frombuffer(unzip.decompress(base64.b64decode(value["data"], validate=True), count + 1), np.uint8)
        if len(raw) != count:
            raise ValueError
    except (TypeError, LookupError, ValueError, OverflowError, zlib.error):
        raise DataError("not a packed array of an episode record", field=where, hint=EXPORT) from None
    share = (raw.astype(np.float64) / 255.0) ** 2
    return share.reshape(shape) * scale.reshape(-1, *[1] * (len(shape) - 1))

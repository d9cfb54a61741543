"""Planes through the pixels around a hole.

On a cube face, 1 / z of a plane is an affine function of the pixel.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import cv2
import numpy as np

if TYPE_CHECKING:
    from jaxtyping import Bool, Float64

_SQUARES = ((6, 0), (6, 3), (4, 2), (3, 0))  # sides and shifts of the squares in which planes are looked for
_WITHIN = 0.012  # a pixel that differs from a plane by less than this share lies on it
_FEWEST_PX = 4  # pixels of a plane
_MOST = 12  # planes around a hole, those of most pixels first
_CRUMB_PX = 6  # connected pixels on a plane; fewer may lie on it by accident
_PERHAPS = 0.3  # planes that miss each other by more are not tried as one
_MERGED = 0.95  # share of the pixels of each of two planes that must lie on the one through both
_SEEDS = 150  # squares that are looked at
_SAMPLES = 1500
ONE = 0.995
"""A plane with this share of the pixels is all there is."""
_RIDGE = 1.0  # square pixels, against slopes of planes through few pixels


def find_planes(
    x: Float64[np.ndarray, " n"], y: Float64[np.ndarray, " n"], value: Float64[np.ndarray, " n"]
) -> tuple[Float64[np.ndarray, "k 3"], Bool[np.ndarray, "k n"]]:
    """The planes of 1 / z that most pixels lie on, one by one: each goes through pixels the ones before have left.

    Returns:
        Coefficients of 1, x and y, and which pixels each plane was fitted to.
    """
    terms = np.stack([np.ones_like(x), x, y], 1)
    if x.size >= _FEWEST_PX:
        plane = _fit_one(x, y, value)
        inside = np.abs(terms @ plane - value) < _WITHIN * value
        if inside.sum() >= ONE * x.size:
            return plane[None], inside[None]
    seeds = np.concatenate([_square_planes(x, y, value, size, shift) for size, shift in _SQUARES])
    seeds = seeds[:: 1 + len(seeds) // _SEEDS]
    # Long rims, of holes larger than 50 pixels, are only sampled when seeds are compared.
    some = slice(None, None, 1 + x.size // _SAMPLES)
    on = (np.abs(seeds @ terms[some].T - value[some]) < _WITHIN * value[some]).astype(np.float32)
    left = np.ones(x.size, bool)
    planes: list[np.ndarray] = []
    members: list[np.ndarray] = []
    while len(planes) < _MOST and len(seeds):
        count = on @ left[some].astype(np.float32)
        best = int(count.argmax())
        inside = left & (np.abs(terms @ seeds[best] - value) < _WITHIN * value)
        if count[best] < 1.0 or inside.sum() < _FEWEST_PX:
            break
        plane = _fit_one(x[inside], y[inside], value[inside])
        for _ in range(2):
            again = left & (np.abs(terms @ plane - value) < _WITHIN * value)
            if again.sum() < _FEWEST_PX:
                break
            inside = again
            plane = _fit_one(x[inside], y[inside], value[inside])
        inside = _without_crumbs(x, y, inside)
        plane = _fit_one(x[inside], y[inside], value[inside])
        planes.append(plane)
        members.append(inside)
        # Pixels that nearly lie on it are its noise, not another plane.
        left &= ~inside & ~_beside(x, y, inside, np.abs(terms @ plane - value) < 1.5 * _WITHIN * value)
    _merge(terms, value, planes, members)
    return np.array(planes).reshape(-1, 3), np.array(members, bool).reshape(-1, x.size)


def _merge(terms: np.ndarray, value: np.ndarray, planes: list[np.ndarray], members: list[np.ndarray]) -> None:
    """Make one plane of two that a single plane goes through, such as both ends of a narrow one, in place."""
    first = 0
    while first < len(planes):
        second = first + 1
        while second < len(planes):
            both = members[first] | members[second]
            middle = terms[members[second]].mean(0)
            if np.abs(middle @ (planes[first] - planes[second])) < _PERHAPS * np.abs(middle @ planes[second]):
                plane = _fit_one(terms[both, 1], terms[both, 2], value[both])
                on = np.abs(terms @ plane - value) < _WITHIN * value
                if min(on[members[first]].mean(), on[members[second]].mean()) > _MERGED:
                    planes[first], members[first] = plane, both
                    del planes[second], members[second]
                    continue
            second += 1
        first += 1


def _beside(x: np.ndarray, y: np.ndarray, inside: np.ndarray, nearly: np.ndarray) -> np.ndarray:
    """Pixels that nearly lie on a plane, at most 2 pixels from those that do."""
    column, row = x.astype(int), y.astype(int)
    mask = np.zeros((row.max() + 1, column.max() + 1), np.uint8)
    mask[row[inside], column[inside]] = 1
    return nearly & (cv2.dilate(mask, np.ones((5, 5), np.uint8))[row, column] > 0)


def _without_crumbs(x: np.ndarray, y: np.ndarray, inside: np.ndarray) -> np.ndarray:
    """Only connected parts of a plane that are large enough not to lie on it by accident, or the largest."""
    column, row = x[inside].astype(int), y[inside].astype(int)
    mask = np.zeros((row.max() + 1, column.max() + 1), np.uint8)
    mask[row, column] = 1
    _, part = cv2.connectedComponents(mask, connectivity=8)
    size = np.bincount(part.ravel())
    size[0] = 0
    kept = inside.copy()
    kept[inside] = (size >= min(_CRUMB_PX, size.max()))[part[row, column]]
    return kept


def _fit_one(x: np.ndarray, y: np.ndarray, value: np.ndarray) -> np.ndarray:
    """Least-squares plane through pixels: coefficients of 1, x and y."""
    return _fit(x, y, value, np.zeros(x.size, int), 1)[0]


def _square_planes(x: np.ndarray, y: np.ndarray, value: np.ndarray, size: int, shift: int) -> np.ndarray:
    """Planes through the pixels of every square of a grid."""
    column, row = (x.astype(int) + shift) // size, (y.astype(int) + shift) // size
    _, which, count = np.unique(row * (column.max(initial=0) + 1) + column, return_inverse=True, return_counts=True)
    return _fit(x, y, value, which, count.size)[count >= _FEWEST_PX]


def _fit(x: np.ndarray, y: np.ndarray, value: np.ndarray, which: np.ndarray, count: int) -> np.ndarray:
    """Least-squares planes through sets of pixels; pixel k belongs to set `which[k]`."""
    size = np.maximum(np.bincount(which, minlength=count), 1)
    mean_x, mean_y, mean = (np.bincount(which, part, count) / size for part in (x, y, value))
    x, y, value = x - mean_x[which], y - mean_y[which], value - mean[which]
    products = (x * x, y * y, x * y, x * value, y * value)
    xx, yy, xy, xv, yv = (np.bincount(which, part, count) for part in products)
    xx, yy = np.add(xx, _RIDGE), np.add(yy, _RIDGE)
    determinant = xx * yy - xy * xy
    slope_x, slope_y = (yy * xv - xy * yv) / determinant, (xx * yv - xy * xv) / determinant
    return np.stack([mean - slope_x * mean_x - slope_y * mean_y, slope_x, slope_y], 1)

"""Which surface the pixels of a hole belong to, as far as colour tells.

The rim of a hole is cut into pieces of surfaces: where depth steps, and where one plane does not go on as the next. The
pieces then grow into the hole, most easily over pixels that hardly differ in colour (watershed), so that they meet on
the strongest edge of the colour image between them.

On a cube face, 1 / z of a plane is an affine function of the pixel, so all of this is done on 1 / z.
"""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np
from jaxtyping import Bool, Float32, Int32, UInt8
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components

_BAND_PX = 8  # width of the rim that is looked at
_BLOCK_PX = 6  # side of the squares in which planes are fitted
_SMALL_PX = 12  # holes of fewer pixels have no inside worth cutting up
_STEP = 0.04  # neighbours that differ by this share, and not as a slanted plane would, lie on two surfaces
_SAME = 0.03  # planes of neighbouring squares that foretell each other's middle within this share are one surface
_FEWEST_PX = 9  # pixels of a surface; fewer say too little about its slope
_RIDGE = 6.0  # square pixels, against planes through too few pixels: the 36 of a square have a moment of 105
_BEYOND = 1.2  # a surface may go on beyond the range of its rim by this factor


@dataclass(frozen=True)
class Surfaces:
    """Surfaces around the holes of an image."""

    label: Int32[np.ndarray, "h w"]
    """Number of each pixel's surface, from 1; 0 away from holes."""
    border: Bool[np.ndarray, "h w"]
    """Known pixels just behind a step: perhaps of neither side."""
    plane: Float32[np.ndarray, "h w"]
    """1 / z of the plane through a pixel's surface; 1 where the label is 0."""


def find_surfaces(
    inverse_z: Float32[np.ndarray, "h w"], missing: Bool[np.ndarray, "h w"], colour: UInt8[np.ndarray, "h w 3"]
) -> Surfaces:
    """Cut the rims of holes into surfaces and let them grow into the holes.

    Args:
        inverse_z: 1 / z, any unit; not looked at where it is missing.
        missing: the holes.
        colour: RGB.
    """
    near = _around_large_holes(missing)
    border = near & _behind_steps(inverse_z, ~missing)
    rim = near & ~missing & ~border
    label, count = _pieces(inverse_z, rim)
    tiny = rim & (np.bincount(label.ravel(), minlength=count + 1) < _FEWEST_PX)[label]
    border, rim, label[tiny] = border | tiny, rim & ~tiny, 0
    _grow(label, count, near, colour)
    label[label < 0] = 0
    rows, columns = np.nonzero(label)
    which, known = label[rows, columns] - 1, rim[rows, columns]
    plane = np.ones(inverse_z.shape, np.float32)
    if known.any():
        x, y = columns.astype(np.float64), rows.astype(np.float64)
        values = inverse_z[rows, columns].astype(np.float64)
        fit = _Planes.through(x[known], y[known], values[known], which[known], count)
        lowest, highest = np.full(count, np.inf), np.zeros(count)
        np.minimum.at(lowest, which[known], values[known])
        np.maximum.at(highest, which[known], values[known])
        limited = np.clip(fit.at(which, x, y), lowest[which] / _BEYOND, highest[which] * _BEYOND)
        plane[rows, columns] = limited
    return Surfaces(label, border, plane)


def _around_large_holes(missing: np.ndarray) -> np.ndarray:
    """Large holes and their rims, with whatever small holes lie in them."""
    _, number, figures, _ = cv2.connectedComponentsWithStats(missing.astype(np.uint8), connectivity=8)
    large = (figures[:, cv2.CC_STAT_AREA] > _SMALL_PX)[number] & missing
    disc = cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (2 * _BAND_PX + 1, 2 * _BAND_PX + 1))
    return cv2.dilate(large.astype(np.uint8), disc) > 0


def _behind_steps(values: np.ndarray, known: np.ndarray) -> np.ndarray:
    """The farther pixel of every two neighbours between which depth steps."""
    behind = np.zeros(values.shape, bool)
    for axis in (0, 1):
        value, there, found = (np.moveaxis(part, axis, 0) for part in (values, known, behind))
        both = there[1:] & there[:-1]
        jump = np.where(both, value[1:] - value[:-1], np.float32(0.0))
        step = np.abs(jump) > _STEP * np.minimum(value[1:], value[:-1])
        # On a slanted plane the next difference, or the one before, is about the same.
        bend = np.abs(jump[1:] - jump[:-1])
        steady = bend < 0.5 * np.minimum(np.abs(jump[1:]), np.abs(jump[:-1]))
        step[1:] &= ~steady
        step[:-1] &= ~steady
        found[1:] |= step & (jump < 0.0)
        found[:-1] |= step & (jump > 0.0)
    return behind


def _pieces(values: np.ndarray, rim: np.ndarray) -> tuple[np.ndarray, int]:
    """Numbers the surfaces of a rim from 1; also how many there are."""
    height, width = rim.shape
    # Squares are set one pixel apart, so that connected parts end at their sides.
    rows, columns = (np.arange(size) + np.arange(size) // _BLOCK_PX for size in rim.shape)
    apart = np.zeros((rows[-1] + 1, columns[-1] + 1), np.uint8)
    apart[np.ix_(rows, columns)] = rim
    parts, spread = cv2.connectedComponents(apart, connectivity=4)
    part = spread[np.ix_(rows, columns)] - 1
    y, x = np.nonzero(rim)
    fit = _Planes.through(
        x.astype(np.float64), y.astype(np.float64), values[y, x].astype(np.float64), part[y, x], parts
    )
    down = part[_BLOCK_PX - 1 : height - 1 : _BLOCK_PX], part[_BLOCK_PX::_BLOCK_PX]
    right = part[:, _BLOCK_PX - 1 : width - 1 : _BLOCK_PX], part[:, _BLOCK_PX::_BLOCK_PX]
    first, second = (np.concatenate([down[side].ravel(), right[side].ravel()]) for side in (0, 1))
    touching = (first >= 0) & (second >= 0)
    first, second = first[touching], second[touching]
    same = np.maximum(fit.miss(first, second), fit.miss(second, first)) < _SAME
    links = coo_matrix((np.ones(int(same.sum()), bool), (first[same], second[same])), (parts, parts))
    count, surface = connected_components(links, directed=False)
    return np.where(rim, surface[part] + 1, 0).astype(np.int32), int(count)


@dataclass(frozen=True)
class _Planes:
    """Least-squares planes through sets of pixels."""

    x: np.ndarray
    y: np.ndarray
    value: np.ndarray
    """Means of each set."""
    slope_x: np.ndarray
    slope_y: np.ndarray

    @classmethod
    def through(cls, x: np.ndarray, y: np.ndarray, value: np.ndarray, which: np.ndarray, count: int) -> _Planes:
        """Fit planes; pixel k belongs to set `which[k]`."""
        size = np.maximum(np.bincount(which, minlength=count), 1)
        mean_x, mean_y, mean = (np.bincount(which, part, count) / size for part in (x, y, value))
        x, y, value = x - mean_x[which], y - mean_y[which], value - mean[which]
        products = (x * x, y * y, x * y, x * value, y * value)
        xx, yy, xy, xv, yv = (np.bincount(which, part, count) / size for part in products)
        xx, yy = xx + _RIDGE / size, yy + _RIDGE / size
        determinant = xx * yy - xy * xy
        return cls(mean_x, mean_y, mean, (yy * xv - xy * yv) / determinant, (xx * yv - xy * xv) / determinant)

    def at(self, which: np.ndarray, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Values of some sets' planes at some pixels."""
        return self.value[which] + self.slope_x[which] * (x - self.x[which]) + self.slope_y[which] * (y - self.y[which])

    def miss(self, which: np.ndarray, other: np.ndarray) -> np.ndarray:
        """By which share a set's plane misses the middle of another."""
        return np.abs(self.at(which, self.x[other], self.y[other]) / self.value[other] - 1.0)


def _grow(label: np.ndarray, count: int, near: np.ndarray, colour: np.ndarray) -> None:
    """Give every pixel near a hole a surface, in place."""
    away = count + 1
    markers = cv2.copyMakeBorder(np.where(near, label, away), 1, 1, 1, 1, cv2.BORDER_REPLICATE)
    # OpenCV leaves out the outermost pixels. A little smoothing keeps the noise of single pixels from being an edge.
    smooth = cv2.GaussianBlur(cv2.copyMakeBorder(colour, 1, 1, 1, 1, cv2.BORDER_REPLICATE), (0, 0), 1.0)
    cv2.watershed(smooth, markers)
    grown = markers[1:-1, 1:-1]
    _join_lines(grown, near, away, colour)
    label[near] = np.where(grown == away, 0, grown)[near]


def _join_lines(grown: np.ndarray, near: np.ndarray, away: int, colour: np.ndarray) -> None:
    """Pixels on the lines between surfaces join the neighbour that is most like them in colour, in place."""
    rows, columns = np.nonzero(near & ((grown < 1) | (grown == away)))
    padded = np.pad(grown, 1, constant_values=-1)
    shades = np.pad(colour.astype(np.int32), ((1, 1), (1, 1), (0, 0)), mode="edge")
    here = shades[rows + 1, columns + 1]
    least, chosen = np.full(rows.size, 1 << 20), np.zeros(rows.size, np.int32)
    for dy, dx in ((-1, 0), (0, -1), (0, 1), (1, 0), (-1, -1), (-1, 1), (1, -1), (1, 1)):
        number = padded[rows + 1 + dy, columns + 1 + dx]
        unlike = np.abs(shades[rows + 1 + dy, columns + 1 + dx] - here).sum(-1)
        better = (number > 0) & (number != away) & (unlike < least)
        least, chosen = np.where(better, unlike, least), np.where(better, number, chosen)
    grown[rows, columns] = chosen

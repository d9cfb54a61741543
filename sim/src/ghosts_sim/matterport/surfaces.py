"""Which surface the pixels of a hole belong to, as far as its rim and colour tell.

Around every hole, planes are found (`planes`). Each pixel of the hole is given to one of them so that the whole costs
least (`cuts`): a pixel should look like pixels of its surface on the rim, rim pixels should lie on their surface, and
surfaces should meet on edges of the colour image or, where they bend into each other, on the line where they are equal.

On a cube face, 1 / z of a plane is an affine function of the pixel, so all of this is done on 1 / z.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import cv2
import numpy as np
from scipy.ndimage import distance_transform_edt
from scipy.spatial import cKDTree

from ghosts_sim.matterport.cuts import Energy, least_energy
from ghosts_sim.matterport.planes import ONE, find_planes

if TYPE_CHECKING:
    from jaxtyping import Bool, Float32, Int32, UInt8

_BAND_PX = 8  # width of the rim that planes are fitted to
_RING_PX = 3  # width of the rim that takes part in the cut
_SMALL_PX = 12  # holes of fewer pixels have no inside worth cutting up
_REACH_PX = 35  # from the rim: farther pixels are not filled
_STEP = 0.04  # neighbours that differ by this share, and not as a slanted plane would, lie on two surfaces
_BEYOND = 1.4  # a surface may go on beyond the range of its rim by this factor
_NODES = 4000  # pixels of a cut; of larger holes every second, third … row and column is cut
_SWEEPS = 1  # more hardly change anything
# Costs. A pixel that looks like its surface costs 0.
_SHADES = 12.0  # standard deviation of a surface's colour, of 255
_NEAR_PX = 15.0  # standard deviation of the distance to pixels that look the same
_STRANGE = 2.0  # a colour that was never seen on a surface costs at most this …
_STRANGER = 1.0  # … and this times the logarithm of the surface's pixels: of a large one, more has been seen
_LOOK = 2.0
_NOISE = 0.02  # a rim pixel's share off its surface that costs 4; at most 9
_EDGE = 0.9  # two neighbours of one colour on two surfaces that meet
_FREE = 0.03  # share of it that remains across an edge of colour
_STRAIGHT = 0.15  # share that remains across the straight line between the two ends of an edge on the rim
_CLIFF = 6.7  # a step costs this many times more
_GAP = 0.12  # logarithm of 1 / z that is a whole step
OFF = 0.05
"""Known pixels that differ from their surface by this share lie on none."""


@dataclass(frozen=True)
class Surfaces:
    """Surfaces around the holes of an image."""

    label: Int32[np.ndarray, "h w"]
    """Number of each pixel's surface, from 1; 0 away from holes."""
    border: Bool[np.ndarray, "h w"]
    """Known pixels near holes that lie on none of the surfaces found."""
    plane: Float32[np.ndarray, "h w"]
    """1 / z of the plane through a pixel's surface; 1 where the label is 0."""


def find_surfaces(
    inverse_z: Float32[np.ndarray, "h w"], missing: Bool[np.ndarray, "h w"], colour: UInt8[np.ndarray, "h w 3"]
) -> Surfaces:
    """Find the surfaces on the rims of holes and let them go on into the holes.

    Args:
        inverse_z: 1 / z, any unit; not looked at where it is missing.
        missing: the holes.
        colour: RGB.
    """
    label, border = np.zeros(missing.shape, np.int32), np.zeros(missing.shape, bool)
    plane = np.ones(missing.shape, np.float32)
    _, number, figures, _ = cv2.connectedComponentsWithStats(missing.astype(np.uint8), connectivity=8)
    large = figures[:, cv2.CC_STAT_AREA] > _SMALL_PX
    large[0] = False
    sure = ~missing & ~_behind_steps(inverse_z, ~missing) if large.any() else missing
    count = 0
    for which in np.flatnonzero(large):
        window = _window(figures[which], missing.shape)
        inside = number[window] == which
        around = ~large[number[window]] | inside
        hole = _Hole(
            inside, around, missing[window], sure[window], inverse_z[window], colour[window].astype(np.float32)
        )
        own, height, planes = hole.surfaces()
        here = own >= 0
        # A pixel on the rims of two holes stays with the plane that it lies on.
        better = np.abs(inverse_z[window] - height) < np.abs(inverse_z[window] - plane[window])
        here &= (label[window] == 0) | inside | better
        label[window][here] = own[here] + count + 1
        plane[window][here] = height[here]
        off = here & ~missing[window] & (np.abs(inverse_z[window] - height) > OFF * height)
        border[window][here] = off[here]
        count += planes
    return Surfaces(label, border, plane)


def _window(figures: np.ndarray, shape: tuple[int, ...]) -> tuple[slice, slice]:
    """Rows and columns of a hole and its rim."""
    left, top, width, height = (int(figures[k]) for k in range(4))
    rows = slice(max(top - _BAND_PX, 0), min(top + height + _BAND_PX, shape[0]))
    return rows, slice(max(left - _BAND_PX, 0), min(left + width + _BAND_PX, shape[1]))


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


@dataclass(frozen=True)
class _Hole:
    """A hole and what lies around it; all arrays are of its window."""

    inside: np.ndarray
    around: np.ndarray
    """Pixels that are not of other large holes."""
    missing: np.ndarray
    """With whatever other holes there are."""
    sure: np.ndarray
    """Pixels whose depth is that of their own surface for sure."""
    values: np.ndarray
    """1 / z."""
    colour: np.ndarray

    def surfaces(self) -> tuple[np.ndarray, np.ndarray, int]:
        """Number from 0 of each pixel's surface, −1 for none; 1 / z of its plane; how many planes there are."""
        distance = cv2.distanceTransform((~self.inside).astype(np.uint8), cv2.DIST_L2, 5)
        depth = cv2.distanceTransform(self.inside.astype(np.uint8), cv2.DIST_L2, 5)
        band = self.around & (distance <= _BAND_PX) & (depth <= _REACH_PX)
        rows, columns = np.nonzero(band & self.sure)
        values = self.values[rows, columns].astype(np.float64)
        planes, members = find_planes(columns.astype(np.float64), rows.astype(np.float64), values)
        touching = members[:, distance[rows, columns] <= _RING_PX].sum(1) >= 2
        planes, members = planes[touching], members[touching]
        nowhere = np.full(band.shape, -1), np.ones(band.shape, np.float32), 0
        if not len(planes):
            return nowhere
        y, x = np.mgrid[: band.shape[0], : band.shape[1]]
        lowest = np.array([values[some].min() for some in members])[:, None, None]
        highest = np.array([values[some].max() for some in members])[:, None, None]
        heights = planes[:, 0, None, None] + planes[:, 1, None, None] * x + planes[:, 2, None, None] * y
        heights = np.clip(heights, lowest / _BEYOND, highest * _BEYOND)
        own = np.full(band.shape, -1)
        known = band & ~self.missing
        misses = np.abs(heights / np.where(known, self.values, 1.0) - 1.0)
        own[known] = misses.argmin(0)[known]
        if len(planes) == 1 or members[0].sum() >= ONE * rows.size:
            own[band & self.inside] = 0
        else:
            self._cut(own, np.log(heights), band & (distance <= _RING_PX), (rows, columns, members))
        self._spread(own, band)
        return own, np.take_along_axis(heights, np.maximum(own, 0)[None], 0)[0], len(planes)

    def _cut(
        self,
        own: np.ndarray,
        heights: np.ndarray,
        near: np.ndarray,
        samples: tuple[np.ndarray, np.ndarray, np.ndarray],
    ) -> None:
        """Give the pixels of the hole to surfaces, in place."""
        nodes = near & (self.inside | self.sure)
        stride = int(np.ceil(np.sqrt(nodes.sum() / _NODES)))
        thin = np.zeros_like(nodes)
        thin[::stride, ::stride] = True
        nodes &= thin
        y, x = np.nonzero(nodes)
        open_ = self.inside[y, x]
        cost = np.empty((y.size, len(heights)))
        off = (heights[:, y, x] - np.log(np.where(open_, 1.0, self.values[y, x]))) / _NOISE
        cost[~open_] = 4.0 * np.minimum(off * off, 2.25).T[~open_]
        cost[open_] = self._looks(y[open_], x[open_], samples)
        energy = self._energy(nodes, stride, cost, heights, rim_lines(self.inside, own))
        label = least_energy(energy, cost.argmin(1), _SWEEPS)
        own[y, x] = label

    def _looks(self, y: np.ndarray, x: np.ndarray, samples: tuple[np.ndarray, np.ndarray, np.ndarray]) -> np.ndarray:
        """How unlike each surface pixels look: distance in colour and place to the pixel of its rim most like them."""
        rows, columns, members = samples
        cost = np.empty((y.size, len(members)))
        for label, some in enumerate(members):
            tree = cKDTree(self._features(rows[some], columns[some]))
            most = _STRANGE + _STRANGER * np.log(some.sum() + 1.0)
            distance, _ = tree.query(self._features(y, x), distance_upper_bound=float(np.sqrt(most)))
            cost[:, label] = _LOOK * np.minimum(distance * distance, most)
        return cost

    def _features(self, y: np.ndarray, x: np.ndarray) -> np.ndarray:
        place = np.stack([x, y], 1) / _NEAR_PX
        return np.concatenate([self.colour[y, x] / _SHADES, place], 1) * np.sqrt(0.5)

    def _energy(
        self, nodes: np.ndarray, stride: int, cost: np.ndarray, heights: np.ndarray, lines: np.ndarray
    ) -> Energy:
        """Pairs of neighbouring pixels and what it costs to part them."""
        number = np.full(nodes.shape, -1)
        number[nodes] = np.arange(len(cost))
        number = number[::stride, ::stride]
        pairs = [(number[:, :-1], number[:, 1:], 1.0), (number[:-1], number[1:], 1.0)]
        pairs += [(number[:-1, :-1], number[1:, 1:], 0.7), (number[:-1, 1:], number[1:, :-1], 0.7)]
        both = [(one >= 0) & (other >= 0) for one, other, _ in pairs]
        first = np.concatenate([one[some] for (one, _, _), some in zip(pairs, both)])
        second = np.concatenate([other[some] for (_, other, _), some in zip(pairs, both)])
        length = np.concatenate([np.full(some.sum(), share) for (_, _, share), some in zip(pairs, both)])
        shade, height = self.colour[nodes].astype(np.float64), heights[:, nodes].T
        contrast = np.square(shade[first] - shade[second]).sum(1)
        likeness = np.exp(-contrast / (2.0 * max(float(contrast.mean()), 1.0)))
        place = np.argwhere(nodes)[:, ::-1].astype(np.float64)
        straight = np.where(_crosses(lines, place, first, second), _STRAIGHT, 1.0)
        weight = _EDGE * length * (likeness * straight + _FREE)
        return Energy(cost, first, second, weight, (height[first] + height[second]) / (2.0 * _GAP), _CLIFF)

    def _spread(self, own: np.ndarray, band: np.ndarray) -> None:
        """Pixels without a surface get that of the nearest pixel with one, in place."""
        lacking = band & (own < 0)
        if lacking.any():
            _, nearest = distance_transform_edt(own < 0, return_indices=True)
            own[lacking] = own[tuple(nearest)][lacking]


def rim_lines(inside: np.ndarray, own: np.ndarray) -> np.ndarray:
    """Straight lines through a hole along which an edge on its rim probably goes on.

    Where two surfaces part on the rim and part again elsewhere on it, the other way round, the edge between them most
    likely runs straight from one place to the other, as edges of buildings do.

    Returns:
        Ends as x₁, y₁, x₂, y₂.
    """
    grown = cv2.dilate(np.pad(inside, 2).astype(np.uint8), np.ones((3, 3), np.uint8))
    outlines, _ = cv2.findContours(grown, cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_NONE)
    lines = []
    for outline in outlines:
        x, y = (outline[:, 0] - 2).T
        seen = (x >= 0) & (y >= 0) & (x < own.shape[1]) & (y < own.shape[0])
        label = np.where(seen, own[np.clip(y, 0, own.shape[0] - 1), np.clip(x, 0, own.shape[1] - 1)], -1)
        some = np.flatnonzero(label >= 0)
        x, y, label = x[some], y[some], label[some]
        change = np.flatnonzero(label != np.roll(label, -1))
        after = (change + 1) % max(label.size, 1)
        place = np.stack([x[change] + x[after], y[change] + y[after]], 1) / 2.0
        one, other = label[change], label[after]
        begin, end = np.nonzero(np.triu((one[:, None] == other) & (other[:, None] == one)))
        lines.append(np.concatenate([place[begin], place[end]], 1))
    return np.concatenate(lines) if lines else np.zeros((0, 4))


def _crosses(lines: np.ndarray, place: np.ndarray, first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Which pairs of places lie on two sides of some line between its ends."""
    crosses = np.zeros(first.size, bool)
    for line in lines:
        along = line[2:] - line[:2]
        from_begin = place - line[:2]
        left = along[0] * from_begin[:, 1] - along[1] * from_begin[:, 0] > 0.0
        share = from_begin @ along / max(float(along @ along), 1e-9)
        parted = np.flatnonzero(left[first] != left[second])
        middle = (share[first[parted]] + share[second[parted]]) / 2.0
        crosses[parted[(middle >= 0.0) & (middle <= 1.0)]] = True
    return crosses

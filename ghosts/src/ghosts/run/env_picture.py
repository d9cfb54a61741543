"""Pictures of the Gymnasium environment: the walk from above, what the walker sees ahead, the instruction."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass

import cv2
import numpy as np
from jaxtyping import UInt8

from ghosts_sim.geometry import direction
from ghosts_sim.graph import NavGraph
from ghosts_sim.types import SUCCESS_M

SIZE_PX, SIDE_PX = 480, 400
_PAPER, _EDGE, _WALK, _SHOWN = (255, 255, 255), (200, 207, 212), (0, 114, 178), (230, 159, 0)
_START, _GOAL, _INK = (0, 158, 115), (204, 121, 167), (31, 36, 40)


@dataclass(frozen=True)
class Moment:
    """What a picture shows."""

    graph: NavGraph
    walk: tuple[int, ...]
    """Rows of the viewpoints so far; the last is where the walker stands."""
    heading_rad: float
    path: tuple[int, ...]
    """The demonstrator's; of a test split the start alone."""
    text: str
    ahead: UInt8[np.ndarray, "h w 3"] | None = None
    """What a camera sees straight ahead, where there are images."""


def draw_moment(moment: Moment) -> UInt8[np.ndarray, "480 880 3"]:
    """The picture: map on the left, view and instruction on the right."""
    return np.concatenate([_map(moment), _side(moment)], 1)


def _map(moment: Moment) -> UInt8[np.ndarray, "480 480 3"]:
    graph, picture = moment.graph, np.full((SIZE_PX, SIZE_PX, 3), _PAPER, np.uint8)
    xy = graph.position_m[:, :2]
    shown = xy[graph.included]
    low, high = shown.min(0) - 1.0, shown.max(0) + 1.0
    scale = (SIZE_PX - 1) / float((high - low).max())
    margin = (SIZE_PX - (high - low) * scale) / 2.0

    def at(point: np.ndarray) -> tuple[int, int]:
        x, y = (point - low) * scale + margin
        return round(float(x)), SIZE_PX - 1 - round(float(y))  # rows of pictures grow downwards, y upwards

    for here, there in np.argwhere(np.triu(graph.adjacent)).tolist():
        cv2.line(picture, at(xy[here]), at(xy[there]), _EDGE, 1, cv2.LINE_AA)
    for rows, colour, width in ((moment.path, _SHOWN, 2), (moment.walk, _WALK, 4)):
        line = np.array([at(xy[row]) for row in rows], np.int32)
        cv2.polylines(picture, [line], False, colour, width, cv2.LINE_AA)
    cv2.circle(picture, at(xy[moment.walk[0]]), 7, _START, -1, cv2.LINE_AA)
    if len(moment.path) > 1:
        goal = at(xy[moment.path[-1]])
        cv2.circle(picture, goal, round(SUCCESS_M * scale), _GOAL, 1, cv2.LINE_AA)
        cv2.drawMarker(picture, goal, _GOAL, cv2.MARKER_STAR, 18, 2, cv2.LINE_AA)
    here = xy[moment.walk[-1]]
    cv2.circle(picture, at(here), 8, _WALK, -1, cv2.LINE_AA)
    cv2.arrowedLine(picture, at(here), at(here + direction(moment.heading_rad)[:2] * 24 / scale), _WALK, 2, cv2.LINE_AA)
    return picture


def _side(moment: Moment) -> UInt8[np.ndarray, "480 400 3"]:
    picture, row = np.full((SIZE_PX, SIDE_PX, 3), _PAPER, np.uint8), 24
    if moment.ahead is not None:
        height = min(300, round(SIDE_PX * moment.ahead.shape[0] / moment.ahead.shape[1]))
        picture[:height] = cv2.resize(moment.ahead, (SIDE_PX, height), interpolation=cv2.INTER_AREA)
        row += height
    plain = moment.text.encode("ascii", "replace").decode()  # all that OpenCV's letters can write
    for line in textwrap.wrap(plain, 46)[: (SIZE_PX - row) // 20]:
        cv2.putText(picture, line, (8, row), cv2.FONT_HERSHEY_SIMPLEX, 0.47, _INK, 1, cv2.LINE_AA)
        row += 20
    return picture

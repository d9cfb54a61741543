"""The map of an episode as a picture: floor, obstacles, reference, walk, body and goal, seen from above.

Signs and colours are those of all our pictures (`draw.style`).
"""

from __future__ import annotations

import math

import cv2
import numpy as np
from jaxtyping import UInt8

from ghosts_houses.body.ground import CELL_M
from ghosts_houses.draw import style
from ghosts_houses.task.episode import ContinuousEpisode

_FLOOR, _BLOCKED, _WHITE = (244, 241, 234), (176, 170, 160), (255, 255, 255)
_FINE = 16
"""OpenCV draws lines with fractions of a pixel."""


def top_down(episode: ContinuousEpisode, side_px: int, step: int = -1) -> UInt8[np.ndarray, "h w 3"]:
    """The storey that the body stands on, as a square picture, north up.

    Args:
        episode: so far.
        side_px: side of the picture.
        step: after how many actions; −1 for all of them.
    """
    walk = episode.walk if step < 0 else episode.walk[: step + 1]
    ground, here = episode.simulator.ground, walk[-1]
    open_ = ground.layers[here.layer].clearance_m > 0.0
    reached = np.isfinite(episode.simulator.field(episode.goal).distance_m[here.layer])
    rows, cols = open_.shape
    scale = side_px / max(rows, cols)
    image = np.full((side_px, side_px, 3), 255, np.uint8)
    # Outdoors nothing blocks either, but no way leads there; a body's breadth along walls is floor all the same.
    near = cv2.dilate(reached.astype(np.uint8), np.ones((5, 5), np.uint8)) > 0
    colors = np.select([(open_ & near)[..., None], ~open_[..., None]], [np.array(_FLOOR), np.array(_BLOCKED)], 255)
    size = (max(1, round(cols * scale)), max(1, round(rows * scale)))
    image[: size[1], : size[0]] = cv2.resize(colors.astype(np.uint8), size, interpolation=cv2.INTER_AREA)

    def pixel(x_m: float, y_m: float) -> tuple[int, int]:
        col, row = (x_m - ground.x0_m) / CELL_M + 0.5, (y_m - ground.y0_m) / CELL_M + 0.5
        return round(col * scale * _FINE), round(row * scale * _FINE)

    def line(places: list[tuple[float, float]], color: str, wide: int = 2) -> None:
        points = np.array([pixel(*place) for place in places], np.int32)
        cv2.polylines(image, [points], False, style.rgb(color), wide, cv2.LINE_AA, 4)

    def shape(x_m: float, y_m: float, corners: list[tuple[float, float]], color: str) -> None:
        """Filled, with a white edge, in metres around a place."""
        points = np.array([pixel(x_m + x, y_m + y) for x, y in corners], np.int32)
        cv2.fillPoly(image, [points], style.rgb(color), cv2.LINE_AA, 4)
        cv2.polylines(image, [points], True, _WHITE, 1, cv2.LINE_AA, 4)

    level = here.z_m
    turns = [k * math.tau / 24 for k in range(24)]
    line([(x, y) for x, y, z in episode.reference_m if abs(z - level) < 1.5], style.DEMONSTRATOR)
    line([(s.x_m, s.y_m) for s in walk if abs(s.z_m - level) < 1.5], style.AGENT)
    if abs(walk[0].z_m - level) < 1.5:
        square = [(-0.18, -0.18), (0.18, -0.18), (0.18, 0.18), (-0.18, 0.18)]
        shape(walk[0].x_m, walk[0].y_m, square, style.START)
    if abs(episode.goal.z_m - level) < 1.5:
        far = [0.36 if k % 2 == 0 else 0.15 for k in range(10)]
        star = [(r * math.sin(k * math.tau / 10), r * math.cos(k * math.tau / 10)) for k, r in enumerate(far)]
        shape(episode.goal.x_m, episode.goal.y_m, star, style.GOAL)
    nose = (here.x_m + 0.5 * math.sin(here.heading_rad), here.y_m + 0.5 * math.cos(here.heading_rad))
    line([(here.x_m, here.y_m), nose], style.AGENT, 3)
    shape(here.x_m, here.y_m, [(0.22 * math.cos(k), 0.22 * math.sin(k)) for k in turns], style.AGENT)
    # Rows of the map grow to the north, rows of pictures downwards.
    image[: size[1]] = image[: size[1]][::-1]
    return np.roll(image, ((side_px - size[1]) // 2, (side_px - size[0]) // 2), (0, 1))


def snapshot(episode: ContinuousEpisode) -> UInt8[np.ndarray, "h w 3"]:
    """Camera and map side by side."""
    rgb = episode.look().rgb
    return np.hstack([rgb, top_down(episode, len(rgb))])


def filmstrip(pictures: list[np.ndarray], most: int = 8) -> UInt8[np.ndarray, "h w 3"]:
    """Some of the pictures, evenly spaced, two in a row, first and last included."""
    kept = np.unique(np.linspace(0, len(pictures) - 1, most).round().astype(int))
    rows = [pictures[k] for k in kept]
    if len(rows) % 2:
        rows.append(np.full_like(rows[0], 255))
    return np.vstack([np.hstack(rows[k : k + 2]) for k in range(0, len(rows), 2)])

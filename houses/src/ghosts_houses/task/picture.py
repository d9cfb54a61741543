"""The map of an episode as a picture: floor, obstacles, reference, walk, body and goal, seen from above."""

from __future__ import annotations

import math
from collections.abc import Callable

import cv2
import numpy as np
from jaxtyping import UInt8

from ghosts_houses.body.ground import CELL_M
from ghosts_houses.task.episode import ContinuousEpisode

_FLOOR, _BLOCKED, _REFERENCE = (244, 241, 234), (176, 170, 160), (150, 190, 150)
_WALK, _BODY, _GOAL = (70, 110, 200), (200, 60, 50), (30, 140, 60)
_FINE = 16
"""OpenCV draws lines with fractions of a pixel."""


Under = Callable[[np.ndarray, np.ndarray], np.ndarray]
"""World x and y of pixels to the colour and opacity (0..1) of what lies on the floor there."""


def top_down(
    episode: ContinuousEpisode, side_px: int, step: int = -1, under: Under | None = None
) -> UInt8[np.ndarray, "h w 3"]:
    """The storey that the body stands on, as a square picture, north up.

    Args:
        episode: so far.
        side_px: side of the picture.
        step: after how many actions; −1 for all of them.
        under: lies on the floor, under walk and goal, such as a belief.
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

    if under is not None:
        col, row = ((np.arange(size[axis]) + 0.5) / scale - 0.5 for axis in (0, 1))
        rgba = under(*np.meshgrid(ground.x0_m + CELL_M * col, ground.y0_m + CELL_M * row))
        part = image[: size[1], : size[0]]
        part[:] = (part * (1.0 - rgba[..., 3:]) + 255.0 * rgba[..., :3] * rgba[..., 3:] + 0.5).astype(np.uint8)

    def pixel(x_m: float, y_m: float) -> tuple[int, int]:
        col, row = (x_m - ground.x0_m) / CELL_M + 0.5, (y_m - ground.y0_m) / CELL_M + 0.5
        return round(col * scale * _FINE), round(row * scale * _FINE)

    def line(places: list[tuple[float, float]], color: tuple[int, int, int]) -> None:
        points = np.array([pixel(*place) for place in places], np.int32)
        cv2.polylines(image, [points], False, color, 2, cv2.LINE_AA, 4)

    def dot(x_m: float, y_m: float, radius_m: float, color: tuple[int, int, int]) -> None:
        radius = round(radius_m / CELL_M * scale * _FINE)
        cv2.circle(image, pixel(x_m, y_m), radius, color, -1, cv2.LINE_AA, 4)

    level = here.z_m
    line([(x, y) for x, y, z in episode.reference_m if abs(z - level) < 1.5], _REFERENCE)
    line([(s.x_m, s.y_m) for s in walk if abs(s.z_m - level) < 1.5], _WALK)
    if abs(episode.goal.z_m - level) < 1.5:
        dot(episode.goal.x_m, episode.goal.y_m, 0.25, _GOAL)
    dot(here.x_m, here.y_m, 0.22, _BODY)
    nose = (here.x_m + 0.5 * math.sin(here.heading_rad), here.y_m + 0.5 * math.cos(here.heading_rad))
    line([(here.x_m, here.y_m), nose], _BODY)
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

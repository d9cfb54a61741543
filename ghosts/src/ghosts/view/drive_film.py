"""A film of a drive, as films of walks look: the words, map and belief, what the camera sees, and how it ended."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Callable, Iterator
from typing import Any

import cv2
import numpy as np
from jaxtyping import UInt8

from ghosts.driving.agent import Look
from ghosts.driving.drive_record import Drive, beliefs_of
from ghosts.view.canvas import Box, draw_guess, draw_heat, draw_legend
from ghosts.view.film import SIDE_IN, even_picture, fitted
from ghosts_houses.draw import style
from ghosts_houses.draw.canvas import draw_demonstrator, draw_plan, draw_scale, new_figure
from ghosts_sim.types import SUCCESS_M, Grid

ACTIONS_A_SECOND = 12
_HOLD = ACTIONS_A_SECOND
"""A look around, and the end, stay for a second."""
_DPI, _WIDE_IN, _NOTE_IN = 100, 7.2 + SIDE_IN, 0.56
_FINE = 16
"""OpenCV draws lines with fractions of a pixel."""


def drive_pictures(
    drive: Drive, scene: dict[str, Any], report: Callable[[int, int], None] = lambda done, total: None
) -> Iterator[tuple[UInt8[np.ndarray, "h w 3"], int]]:
    """A picture after every action, and for how many frames each is shown; `report` is told how many are drawn.

    What changes at looks alone is drawn by matplotlib, once; the way, the body and the camera's picture are put on it.
    """
    episode = drive.episode
    stops = {taken for taken, _ in drive.looks} | {episode.steps}
    drawn: tuple[int, int] | None = None
    for step, pose in enumerate(episode.walk):
        look = drive.look_at(step)
        levels = np.array(scene["storeys"])
        key = (int(np.abs(levels - pose.z_m).argmin()), -1 if look is None else id(look))
        if key != drawn:
            drawn, (ground, box, side) = key, _ground(drive, scene, key[0], look)
        picture = _with_way(ground.copy(), box, drive, step, float(levels[key[0]]))
        camera = cv2.resize(_camera(drive, step), (side[2], side[2]), interpolation=cv2.INTER_AREA)
        picture[side[1] : side[1] + side[2], side[0] : side[0] + side[2]] = camera
        note = _note_picture(_note(drive, step, look))
        picture[-len(note) :, : note.shape[1]] = note[:, : picture.shape[1]]
        yield picture, _HOLD if step in stops else 1
        report(step + 1, len(episode.walk))


def _ground(
    drive: Drive, scene: dict[str, Any], storey: int, look: Look | None
) -> tuple[UInt8[np.ndarray, "h w 3"], tuple[Box, Box], tuple[int, int, int]]:
    """All that stays until the next look; the map's corners in metres and in pixels; left, top, side of the camera."""
    episode = drive.episode
    corners = np.concatenate([shape["p"] for shape in scene["shapes"] if shape["s"] == storey and shape["p"]])
    (x0, y0), (x1, y1) = corners.min(0) - 0.7, corners.max(0) + 0.7
    high = 7.0 * float(np.clip((y1 - y0) / (x1 - x0), 0.72, 1.0))
    words = textwrap.fill(f"“{episode.instruction.text}”", 110)
    height = 0.24 + 0.2 * (words.count("\n") + 1) + high + _NOTE_IN
    figure = new_figure(_WIDE_IN, height, "drawing a film")
    figure.set_dpi(_DPI)
    figure.text(0.5, 1 - 0.1 / height, words, ha="center", va="top", fontsize=10, color=style.INK)
    box = fitted((float(x0), float(x1), float(y0), float(y1)), 7.0 / high)
    axes = figure.add_axes((0.1 / _WIDE_IN, _NOTE_IN / height, 7.0 / _WIDE_IN, high / height), xticks=[], yticks=[])
    axes.set(xlim=box[:2], ylim=box[2:], aspect="equal", facecolor="#f3f4f5")
    draw_plan(axes, scene, storey)
    level = scene["storeys"][storey]
    path = [{"x": x, "y": y} for x, y, z in episode.reference_m if abs(z - level) < 1.5]
    if path:
        draw_demonstrator(axes, path, goal=abs(episode.goal.z_m - level) < 1.5)
    if look is not None:
        estimate = look.estimate
        x, y = estimate.x_m, estimate.y_m
        grid = Grid(len(y), len(x), float(x[1] - x[0]))
        draw_heat(axes, beliefs_of(look)[-1][None], grid, (float(x.mean()), float(y.mean())))
        draw_guess(axes, estimate.position_m)
    draw_scale(axes, *box)
    side = SIDE_IN - 0.1
    beside = figure.add_axes((7.2 / _WIDE_IN, _NOTE_IN / height, 0.3, max(0.1, high - side - 0.1) / height))
    draw_legend(beside, ["belief", "predicted", "goal", "agent", "start", "demonstrator"])
    picture = even_picture(figure)
    rows = round(height * _DPI)
    corner = axes.transAxes.transform([(0, 0), (1, 1)])
    pixels = (float(corner[0, 0]), float(corner[1, 0]), rows - float(corner[0, 1]), rows - float(corner[1, 1]))
    return picture, (box, pixels), (round(7.2 * _DPI), round(pixels[3]), round(side * _DPI))


def _with_way(
    picture: UInt8[np.ndarray, "h w 3"], box: tuple[Box, Box], drive: Drive, step: int, level: float
) -> UInt8[np.ndarray, "h w 3"]:
    """The way so far and the body."""
    (x0, x1, y0, y1), (left, right, bottom, top) = box

    def pixel(x_m: float, y_m: float) -> tuple[int, int]:
        col, row = left + (x_m - x0) / (x1 - x0) * (right - left), bottom + (y_m - y0) / (y1 - y0) * (top - bottom)
        return round(col * _FINE), round(row * _FINE)

    walked = drive.episode.walk[: step + 1]
    here, ahead = walked[-1], 0.45
    nose = pixel(here.x_m + ahead * math.sin(here.heading_rad), here.y_m + ahead * math.cos(here.heading_rad))
    way = np.array([pixel(pose.x_m, pose.y_m) for pose in walked if abs(pose.z_m - level) < 1.5], np.int32)
    for colour, wide in (((255, 255, 255), 3), (style.rgb(style.AGENT), 0)):
        cv2.polylines(picture, [way], False, colour, 4 + wide, cv2.LINE_AA, 4)
        cv2.line(picture, pixel(here.x_m, here.y_m), nose, colour, 3 + wide, cv2.LINE_AA, 4)
        cv2.circle(picture, pixel(here.x_m, here.y_m), (6 + wide // 2) * _FINE, colour, -1, cv2.LINE_AA, 4)
    start = walked[0]
    if abs(start.z_m - level) < 1.5 and step:
        col, row = (round(value / _FINE) for value in pixel(start.x_m, start.y_m))
        for colour, half in (((255, 255, 255), 6), (style.rgb(style.START), 5)):
            cv2.rectangle(picture, (col - half, row - half), (col + half, row + half), colour, -1)
    return picture


def _camera(drive: Drive, step: int) -> UInt8[np.ndarray, "h w 3"]:
    """What the camera sees after so many actions."""
    simulator = drive.episode.simulator
    pose = simulator.camera_pose(drive.episode.walk[step])
    return simulator.renderer.render([pose], simulator.config.camera).rgb[0]


def _note_picture(note: str) -> UInt8[np.ndarray, "h w 3"]:
    """The line below, by itself: it changes with every action."""
    figure = new_figure(_WIDE_IN, _NOTE_IN - 0.06, "drawing a film")
    figure.set_dpi(_DPI)
    figure.text(0.5, 0.92, note, ha="center", va="top", fontsize=9, color=style.INK)
    return even_picture(figure)


def _note(drive: Drive, step: int, look: Look | None) -> str:
    bumps = sum(taken <= step for taken in drive.bumps)
    note = f"action {step} of {drive.episode.steps}    bumps {bumps}"
    if look is not None:
        note += f"    {100 * look.estimate.confidence:.0f} % within {SUCCESS_M:.0f} m of ✕"
    if step == drive.episode.steps:
        left_m = drive.scores.distance_to_goal
        note += f"\n{'arrived' if drive.scores.success else 'missed'}: it stops {left_m:.1f} m from the goal"
        note += "" if drive.scores.success else f" (within {SUCCESS_M:.0f} m counts as arrived)"
    return note

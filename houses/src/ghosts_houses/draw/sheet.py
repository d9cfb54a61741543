"""A contact sheet: every room of a house, seen from the viewpoints that stand in it."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Bool, UInt8

from ghosts_houses.draw import style
from ghosts_houses.draw.canvas import new_figure
from ghosts_houses.graph.sight import things_seen
from ghosts_houses.graph.viewpoints import HouseGraph
from ghosts_houses.house import House, Room
from ghosts_sim.geometry import heading_of, turn_rad
from ghosts_sim.types import Intrinsics, Pose

if TYPE_CHECKING:
    from matplotlib.figure import Figure

VIEWS = 2
"""Pictures per room."""
_COLUMNS = 4
_CAMERA = Intrinsics(480, 368, math.radians(62))
_HEADINGS = 16
_IN_PER_PX = 1 / 120


def sheet_figure(house: House, graph: HouseGraph, title: str, device: str = "cpu") -> Figure:
    """Draw every room of a house from the viewpoints in it.

    Raises:
        MissingExtraError: matplotlib is not installed.
    """
    rows = -(-len(house.rooms) * VIEWS // _COLUMNS)
    wide, tall, gap = _CAMERA.width * _IN_PER_PX, _CAMERA.height * _IN_PER_PX, 0.25
    width, height = _COLUMNS * wide, rows * (tall + gap) + 0.4
    figure = new_figure(width, height, "drawing a contact sheet")
    figure.text(0.5, 1.0 - 0.1 / height, title, ha="center", va="top", fontsize=12, color=style.INK)
    for index, (room, picture) in enumerate(_pictures(house, graph, device)):
        row, column = divmod(index, _COLUMNS)
        bottom = height - 0.4 - (row + 1) * (tall + gap)
        axes = figure.add_axes((column / _COLUMNS, bottom / height, 1 / _COLUMNS, tall / height))
        axes.set_axis_off()
        axes.imshow(picture, interpolation="nearest", aspect="auto")
        axes.set_title(caption(room), fontsize=9, color=style.INK, pad=3)
    return figure


def caption(room: Room) -> str:
    """What is written above a picture of a room."""
    size = f"{room.area_m2:.1f} m², {room.ceiling_z_m - room.floor_z_m:.2f} m high"
    return f"{room.index} {room.kind}, storey {room.storey}: {size}"


def _pictures(house: House, graph: HouseGraph, device: str) -> list[tuple[Room, UInt8[np.ndarray, "h w 3"]]]:
    """Each room with one of its pictures, room by room."""
    from ghosts_houses.render.panorama import frames_of, render_frames  # here: torch takes seconds
    from ghosts_houses.render.scene import prepare

    scene, seen = prepare(house, device), things_seen(house, graph.positions_m)
    made = []
    for room in house.rooms:
        for viewpoint, heading in choose_views(house, graph, seen, room.index):
            pose = Pose(*graph.viewpoints[viewpoint].position_m, heading, math.radians(-8))
            made.append((room, render_frames(scene, frames_of([pose], _CAMERA, device)).rgb[0]))
    return made


def choose_views(
    house: House, graph: HouseGraph, seen: Bool[np.ndarray, "n things"], room: int
) -> list[tuple[int, float]]:
    """Viewpoint and heading of each picture of a room: those that show most of its things, each once if possible."""
    half = math.atan(math.tan(_CAMERA.vfov_rad / 2) * _CAMERA.width / _CAMERA.height)
    mine = np.array([thing.room == room for thing in house.things], bool)
    headings = np.arange(_HEADINGS) * (2 * math.pi / _HEADINGS)
    options: list[tuple[int, float, np.ndarray]] = []
    for index, point in enumerate(graph.viewpoints):
        if point.room == room and point.stair < 0:
            away = house.centers_m[:, :2] - np.array(point.xy_m)
            bearing = turn_rad(headings[:, None], np.asarray(heading_of(away))[None])
            far = np.linalg.norm(away, axis=1) > 0.7
            shown = mine & seen[index] & far & (np.abs(bearing) < 0.85 * half)
            options += [(index, float(heading), row) for heading, row in zip(headings, shown)]
    chosen: list[tuple[int, float]] = []
    known = np.zeros(len(house.things), bool)
    for _ in range(VIEWS):
        worth = [row[~known].sum() + 0.2 * row.sum() - 0.1 * ((i, h) in chosen) for i, h, row in options]
        index, heading, row = options[int(np.argmax(worth))]
        chosen.append((index, heading))
        known |= row
    return chosen

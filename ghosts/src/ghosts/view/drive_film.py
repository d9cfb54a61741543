"""A film of a drive: the words, camera and map side by side, the belief on the floor, and how it ended."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterator

import numpy as np
from jaxtyping import UInt8

from ghosts.driving.agent import Look
from ghosts.driving.drive_record import Drive, beliefs_of
from ghosts.view.film import even_picture
from ghosts_houses.draw import style
from ghosts_houses.draw.canvas import new_figure
from ghosts_houses.task.picture import Under, top_down
from ghosts_sim.geometry import lattice_cells
from ghosts_sim.types import SUCCESS_M

ACTIONS_A_SECOND = 12
_SIDE_PX = 448
_HOLD = ACTIONS_A_SECOND
"""A look around, and the end, stay for a second."""


def drive_pictures(
    drive: Drive, report: Callable[[int, int], None] = lambda done, total: None
) -> Iterator[tuple[UInt8[np.ndarray, "h w 3"], int]]:
    """A picture after every action, and for how many frames each is shown; `report` is told how many are drawn."""
    episode = drive.episode
    words = textwrap.fill(f"“{episode.instruction.text}”", 92)
    head = 0.2 + 0.22 * (words.count("\n") + 1)
    height = head + 4.48 + 0.5
    figure = new_figure(9.16, height, "drawing a film")
    figure.set_dpi(100)
    blank = np.full((_SIDE_PX, _SIDE_PX, 3), 255, np.uint8)
    images = []
    for left in (0.08, 4.6):
        axes = figure.add_axes((left / 9.16, 0.48 / height, 4.48 / 9.16, 4.48 / height), xticks=[], yticks=[])
        images.append(axes.imshow(blank, interpolation="bilinear"))
    figure.text(0.5, 1 - 0.1 / height, words, ha="center", va="top", fontsize=10, color=style.INK)
    note = figure.text(0.5, 0.38 / height, "", ha="center", va="top", fontsize=9, color=style.INK)
    stops = {taken for taken, _ in drive.looks} | {episode.steps}
    for step in range(len(episode.walk)):
        look = drive.look_at(step)
        images[0].set_data(_camera(drive, step))
        images[1].set_data(top_down(episode, _SIDE_PX, step, _carpet(look) if look is not None else None))
        note.set_text(_note(drive, step, look))
        yield even_picture(figure), _HOLD if step in stops else 1
        report(step + 1, len(episode.walk))


def _camera(drive: Drive, step: int) -> UInt8[np.ndarray, "h w 3"]:
    """What the camera sees after so many actions."""
    simulator = drive.episode.simulator
    pose = simulator.camera_pose(drive.episode.walk[step])
    return simulator.renderer.render([pose], simulator.config.camera).rgb[0]


def _carpet(look: Look) -> Under:
    """The goal's belief, drawn as everywhere."""
    x, y, mass = look.estimate.x_m, look.estimate.y_m, beliefs_of(look)[-1]
    colors = style.heat_rgba(mass.astype(float), max(0.02, float(mass.max())))
    cell = float(x[1] - x[0])

    def under(x_m: np.ndarray, y_m: np.ndarray) -> np.ndarray:
        corner = np.array([x[0], y[0]]) - cell / 2
        col, row = np.moveaxis(lattice_cells(np.stack([x_m, y_m], -1) - corner, cell), -1, 0)
        inside = (col >= 0) & (row >= 0) & (col < len(x)) & (row < len(y))
        found = colors[np.where(inside, row, 0), np.where(inside, col, 0)]
        return np.where(inside[..., None], found, 0.0)

    return under


def _note(drive: Drive, step: int, look: Look | None) -> str:
    bumps = sum(taken <= step for taken in drive.bumps)
    note = f"action {step} of {drive.episode.steps}    bumps {bumps}"
    if look is not None:
        note += f"    {100 * look.estimate.confidence:.0f} % sure of the goal"
    if step == drive.episode.steps:
        left_m = drive.scores.distance_to_goal
        note += f"\n{'arrived' if drive.scores.success else 'missed'}: it stops {left_m:.1f} m from the goal"
        note += "" if drive.scores.success else f" (within {SUCCESS_M:.0f} m counts as arrived)"
    return note

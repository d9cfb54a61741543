"""Where an instruction leads, as a robot asks for it: a distribution, how sure it is, and what was not understood."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import torch
from jaxtyping import Bool, Float, Int8

from ghosts.belief.filter import FilterTrace
from ghosts.belief.histogram import mass_near
from ghosts_sim.errors import MissingExtraError
from ghosts_sim.types import SUCCESS_M, Grid, Pose

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SURE = 0.5
"""An estimate with at least this confidence is sure: it is more likely right than wrong."""
ARRIVED = 0.6
"""A robot has arrived where the goal is at least so likely within 3 m (docs/robot.md has the numbers)."""
LOOKS = 2
"""After so many looks around without being sure, another one seldom helps."""


@dataclass(frozen=True, eq=False)
class Occupancy:
    """What depth images tell of the ground, as `nav_msgs/OccupancyGrid` has it."""

    values: Int8[np.ndarray, "y x"]
    """0 where one can stand, 100 where one cannot, −1 where nothing is known; rows grow with y."""
    corner_xy_m: tuple[float, float]
    """The lower left corner of the first cell, in the world."""
    cell_m: float


@dataclass(frozen=True, eq=False)
class SeenMap:
    """What a tracker has seen, on the cells of its map."""

    observed: Bool[np.ndarray, "y x"]
    """Cells of which anything is known."""
    frontier: Bool[np.ndarray, "y x"]
    """Cells beside these of which nothing is known."""
    x_m: Float[np.ndarray, " x"]
    y_m: Float[np.ndarray, " y"]
    """World coordinates of the cells' centres."""
    occupancy: Occupancy | None
    """From depth; None before a floor was seen."""


@dataclass(frozen=True)
class GoalEstimate:
    """Where the instruction leads, in world metres."""

    mass: Float[np.ndarray, "y x"]
    """Probability that the goal lies in each cell; sums to 1."""
    x_m: Float[np.ndarray, " x"]
    y_m: Float[np.ndarray, " y"]
    """World coordinates of the cells' centres."""
    position_m: tuple[float, float]
    """Where the goal is most likely within 3 m, to half a cell."""
    confidence: float
    """Mass within 3 m of it, times `trust`."""
    trust: float
    """From 0 to 1: how far the model knows the instruction's words (`words.tokens.TextRead.trust`), and how likely the
    building has what they name (`agent.evidence.presence`). 0 before anything was seen."""
    notes: tuple[str, ...]
    """What the model did not understand, in words: unknown words, unknown labels. Empty where there is nothing."""
    entropy_nats: float
    """Uncertainty of the goal and its heading; 0 = certain."""
    trajectory: Float[np.ndarray, "t1 c y x"]
    """Posterior of the demonstrator's pose at the start and after each step, given the whole instruction."""
    trajectory_xy_m: Float[np.ndarray, "t1 2"]
    """Most likely position at each of these."""
    trace: FilterTrace
    """Motion kernels, predictions and likelihoods, for inspection."""

    def __repr__(self) -> str:
        """Without its arrays, which have thousands of numbers."""
        x, y = self.position_m
        about = f"position_m=({x:.1f}, {y:.1f}), confidence={self.confidence:.2f}"
        return (
            f"GoalEstimate({about}, trust={self.trust:.2f}, entropy_nats={self.entropy_nats:.2f}, notes={self.notes})"
        )

    @property
    def sure(self) -> bool:
        """Whether the goal is more likely within 3 m of `position_m` than not."""
        return self.confidence >= SURE

    def near(self, xy_m: Float[np.ndarray, "n 2"]) -> Float[np.ndarray, " n"]:
        """How likely the goal lies within 3 m of places in the world, to half a cell, less where words are unknown.

        At `position_m` it is the `confidence`; no place has more.
        """
        return self.mass_near(xy_m) * self.trust

    def arrived(self, pose: Pose) -> bool:
        """Whether a robot at a pose may stop: the goal is likely within 3 m (`ARRIVED`)."""
        return bool(self.near(np.array([[pose.x_m, pose.y_m]]))[0] >= ARRIVED)

    def advice(self, pose: Pose, looks: int) -> Literal["stop", "go", "look", "ask"]:
        """What to do next: `stop` here, `go` to `position_m`, `look` around, or `ask` a person.

        Args:
            pose: where the robot is.
            looks: how often it has looked around since the instruction was given.
        """
        if not self.sure:
            return "look" if looks < LOOKS else "ask"
        return "stop" if self.arrived(pose) else "go"

    def mass_near(self, xy_m: Float[np.ndarray, "n 2"]) -> Float[np.ndarray, " n"]:
        """Mass of the belief within 3 m of places in the world, to half a cell."""
        grid = Grid(len(self.y_m), len(self.x_m), float(self.x_m[1] - self.x_m[0]))
        away_m = torch.from_numpy(xy_m - (self.x_m[0], self.y_m[0]))
        return mass_near(torch.from_numpy(self.mass), away_m, grid, SUCCESS_M).numpy()

    def plot(self, axes: Any = None) -> Figure:
        """Draw the belief, the likely trajectory and the best guess.

        Args:
            axes: of matplotlib, to draw on; a new figure by default.

        Returns:
            The figure; a notebook shows it, `savefig` writes it.

        Raises:
            MissingExtraError: matplotlib is not installed.
        """
        try:
            from matplotlib.figure import Figure
        except ImportError:
            raise MissingExtraError("matplotlib", "viz", "drawing an estimate") from None
        if axes is None:
            axes = Figure(figsize=(5, 5), dpi=110).add_subplot()
        half = (self.x_m[1] - self.x_m[0]) / 2 if len(self.x_m) > 1 else 0.5
        extent = (self.x_m[0] - half, self.x_m[-1] + half, self.y_m[0] - half, self.y_m[-1] + half)
        # Square roots: thin mass is seen as well.
        axes.imshow(np.sqrt(self.mass), extent=extent, origin="lower", cmap="OrRd", interpolation="nearest")
        axes.plot(*self.trajectory_xy_m.T, "o-", color="#0072B2", ms=3, lw=1.2, label="likely trajectory")
        axes.plot(*self.trajectory_xy_m[0], "s", color="#009E73", label="start")
        axes.plot(*self.position_m, "x", color="black", ms=9, mew=2.2, label="best guess")
        spread = np.argwhere(self.mass > 0.02 * self.mass.max())
        points = np.concatenate([self.trajectory_xy_m, np.stack([self.x_m[spread[:, 1]], self.y_m[spread[:, 0]]], 1)])
        (left, bottom), (right, top) = points.min(0) - 2.0, points.max(0) + 2.0
        axes.set(xlim=(left, right), ylim=(bottom, top), aspect="equal", xlabel="x (m)", ylabel="y (m)")
        axes.set_title("; ".join([f"{100 * self.confidence:.0f} % within 3 m", *self.notes]), fontsize=9, wrap=True)
        axes.legend(fontsize=8, loc="upper right")
        figure: Figure = axes.figure
        return figure

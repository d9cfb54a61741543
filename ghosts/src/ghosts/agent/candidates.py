"""Viewpoints that a walker may choose, and what a belief says about each: mass around it, and mass it leads to.

Candidates of all episodes of a batch are laid one after the other; `episode` says whose each is. No loops over the
batch.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from ghosts.belief.histogram import NOT_FINITE, cell_centres_m, gaussian_axes, marginal
from ghosts.config import RegionConfig
from ghosts_sim.errors import DataError
from ghosts_sim.types import Grid


@dataclass(frozen=True)
class Candidates:
    """Viewpoints seen so far in each of b episodes, flat."""

    episode: Int[Tensor, " k"]
    """Which episode each belongs to, in [0, b)."""
    xyz_m: Float[Tensor, "k 3"]
    """Position relative to the episode's start."""
    from_start_m: Float[Tensor, " k"]
    """Length of the shortest known path from the start."""
    from_agent_m: Float[Tensor, " k"]
    """Length of the shortest known path from the agent."""
    visited: Bool[Tensor, " k"]
    """Choosing a visited viewpoint means stop."""


def on_slots(mask: Bool[np.ndarray, "b slots"], values: Float[Tensor, " k"]) -> Float[np.ndarray, "b slots"]:
    """Flat values, walker by walker in the order of their slots, back on the slots of a mask; −∞ elsewhere.

    Raises:
        DataError: a value is NaN, which no choice can be made on.
    """
    table = np.full(mask.shape, -np.inf)
    table[mask] = values.detach().double().cpu().numpy()
    if np.isnan(table).any():
        raise DataError("the scores of what can be chosen are not finite", hint=NOT_FINITE)
    return table


def segment_log_softmax(logits: Float[Tensor, " k"], segment: Int[Tensor, " k"], count: int) -> Float[Tensor, " k"]:
    """Log-softmax within each of `count` segments of a flat array; empty segments are allowed."""
    index, peak = segment.long(), segment_max(logits.detach(), segment, count)
    shifted = logits - peak[index]
    total = logits.new_zeros(count).index_add(0, index, shifted.exp())
    return shifted - total.log()[index]


def segment_max(values: Float[Tensor, " k"], segment: Int[Tensor, " k"], count: int) -> Float[Tensor, " n"]:
    """Largest value of each segment; −∞ for an empty one."""
    return values.new_full((count,), -torch.inf).scatter_reduce(0, segment.long(), values, "amax")


def belief_around(
    beliefs: Float[Tensor, "b t1 c y x"],
    xy_m: Float[Tensor, "k 2"],
    episode: Int[Tensor, " k"],
    grid: Grid,
    sigma_m: float,
) -> Float[Tensor, "k t1"]:
    """Belief at each filter step in a Gaussian neighbourhood of each position.

    Args:
        beliefs: of each episode, the first one included.
        xy_m: positions, metres from the origin of their episode's map.
        episode: which episode each belongs to.
        grid: the belief's grid.
        sigma_m: of the neighbourhood.

    Returns:
        The mean mass per cell under the Gaussian's weights; differentiable in beliefs and positions. The weights sum to
        the share of the Gaussian that lies on the map: 1, or less near its edge. In the released code their peak is 1.
    """
    xy_m = xy_m.to(beliefs.dtype)
    columns, rows = gaussian_axes(xy_m, grid, sigma_m)
    weights = rows[:, :, None] * columns[:, None, :] * _share_on_map(xy_m, grid, sigma_m)[:, None, None]
    return weigh(weights.flatten(1), marginal(beliefs).flatten(2), episode)


def _share_on_map(xy_m: Float[Tensor, "k 2"], grid: Grid, sigma_m: float) -> Float[Tensor, " k"]:
    """How much of a Gaussian around each position lies on the map: the profiles on the grid always sum to 1."""
    half_m = torch.tensor([grid.cols, grid.rows], device=xy_m.device, dtype=xy_m.dtype) * (grid.cell_m / 2.0)
    scale = sigma_m * math.sqrt(2.0)
    return (0.5 * (torch.erf((half_m - xy_m) / scale) + torch.erf((half_m + xy_m) / scale))).prod(1)


def weigh(
    weights: Float[Tensor, "k cells"], mass: Float[Tensor, "b t1 cells"], episode: Int[Tensor, " k"]
) -> Float[Tensor, "k t1"]:
    """Sum of each candidate's weights times its episode's mass, at each filter step.

    One matrix product per episode: a copy of the mass for each candidate would be t1 times as large as the weights.
    """
    place, rank, most = ranks(episode, len(mass))
    padded = weights.new_zeros(len(mass), most, weights.shape[1]).index_put((place, rank), weights)
    return (padded @ mass.transpose(1, 2))[place, rank]


def ranks(episode: Int[Tensor, " k"], count: int) -> tuple[Int[Tensor, " k"], Int[Tensor, " k"], int]:
    """Each candidate's episode and its number among that episode's candidates, and the most one has."""
    place = episode.long()
    order = torch.argsort(place, stable=True)
    sizes = torch.bincount(place, minlength=count)
    first = torch.cumsum(sizes, 0) - sizes
    rank = torch.empty_like(place)
    rank[order] = torch.arange(len(place), device=place.device) - first[place[order]]
    return place, rank, int(sizes.max())


@dataclass(frozen=True)
class Reach:
    """What a belief says about each candidate."""

    through: Float[Tensor, "k t1"]
    """Mass that is reached through it at each filter step; over an episode's candidates it sums to 1."""
    ending: Float[Tensor, " k"]
    """Final mass within `regions.radius_m`: what stopping there is worth."""
    nearby: Float[Tensor, " k"]
    """Final mass within `regions.wide_m`."""
    goal_m: Float[Tensor, " k"]
    """Expected distance to the goal, in a straight line."""


def reach_mass(
    candidates: Candidates,
    beliefs: Float[Tensor, "b t1 c y x"],
    start_xy_m: Float[Tensor, "b 2"],
    grid: Grid,
    settings: RegionConfig,
) -> Reach:
    """Mass that is reached through each candidate at each filter step, and final mass around it.

    A cell belongs to the candidate through which the demonstrator would have reached it: the one with the shortest walk
    from the start, known edges first and then straight on, where a metre off the known graph costs more.

    Args:
        candidates: all viewpoints seen so far.
        beliefs: of each episode, the first one included.
        start_xy_m: each episode's start, metres from its map's origin.
        grid: the belief's grid.
        settings: how ways are compared.
    """
    mass = marginal(beliefs).flatten(2)
    xy_m = candidates.xyz_m[:, :2] + start_xy_m.index_select(0, candidates.episode.long())
    x_m, y_m = cell_centres_m(grid, device=xy_m.device, dtype=xy_m.dtype)
    away_m = torch.hypot(x_m[None, None] - xy_m[:, 0, None, None], y_m[None, :, None] - xy_m[:, 1, None, None])
    away_m = away_m.flatten(1)
    beyond = torch.where(candidates.visited, settings.visited_cost - settings.unseen_cost, 0.0)[:, None]
    straight = settings.unseen_cost * away_m + beyond * (away_m - settings.own_m).clamp(min=0.0)
    way = candidates.from_start_m[:, None] + straight
    place, rank, most = ranks(candidates.episode, len(beliefs))
    # Finite, since an episode without candidates would get a softmax of nothing.
    closeness = way.new_full((len(beliefs), most, way.shape[1]), torch.finfo(way.dtype).min)
    closeness = closeness.index_put((place, rank), -way / settings.softness_m)
    through = (closeness.softmax(1).to(mass.dtype) @ mass.transpose(1, 2))[place, rank]
    final = mass[:, -1:]
    ending, nearby, goal_m = (
        weigh(weights.to(mass.dtype), final, candidates.episode)[:, 0]
        for weights in (away_m < settings.radius_m, away_m < settings.wide_m, away_m)
    )
    return Reach(through, ending, nearby, goal_m)

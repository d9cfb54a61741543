"""Pure functions on beliefs (paper, section 4.2): probability mass over heading bins, rows and columns of a grid.

A belief has shape `... c y x` (heading bins, rows growing with world +y, columns with world +x) and sums to 1.
Positions are metres from the grid's origin, which is its centre (`ghosts_sim.geometry.to_cells`). Cells are read at
their **centres**: the released code reads their corners, which costs 0.76 m for a perfect belief.
"""

from __future__ import annotations

import math
from functools import lru_cache

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float
from torch import Tensor

from ghosts_sim.errors import ConfigError
from ghosts_sim.geometry import TAU, from_cells, heading_to_angle, to_cells
from ghosts_sim.types import Grid

NO_MASS = 1e-30
"""A total at or below this counts as no mass at all; far above float32's and bfloat16's smallest normal number."""

NOT_FINITE = (
    "the model's weights or what it reads overflow; name another run, or train again with a lower learning rate"
)
"""What to do about a belief that is not finite."""

RIM = 0.03
"""Mass at the rim of a neighbourhood counts so much less than mass in its middle (`mass_within`)."""
_PARTS = 8
"""Into which a cell's sides are divided to measure how much of it lies in a neighbourhood."""


def cell_centres_m(
    grid: Grid, *, device: torch.device | None = None, dtype: torch.dtype = torch.float32
) -> tuple[Float[Tensor, " x"], Float[Tensor, " y"]]:
    """World-aligned offsets of the columns' and the rows' centres from the grid's origin, in metres."""
    count = max(grid.rows, grid.cols)
    diagonal = from_cells(torch.arange(count, device=device, dtype=dtype)[:, None].expand(-1, 2), grid)
    return diagonal[: grid.cols, 0], diagonal[: grid.rows, 1]


def gaussian_axes(
    xy_m: Float[Tensor, "*n 2"], grid: Grid, sigma_m: float
) -> tuple[Float[Tensor, "*n x"], Float[Tensor, "*n y"]]:
    """Column and row profiles of Gaussians sampled at cell centres; each sums to 1, so their outer product does.

    A centre beyond the edge puts its mass on the nearest cells of the map (and stays finite however far it is).
    """
    if not sigma_m > 0.0:
        raise ConfigError(f"sigma_m must be positive, got {sigma_m}")
    cells = to_cells(xy_m, grid)
    sigma_cells = sigma_m / grid.cell_m
    profiles = []
    for axis, count in ((0, grid.cols), (1, grid.rows)):
        index = torch.arange(count, device=cells.device, dtype=cells.dtype)
        profiles.append(torch.softmax(-0.5 * ((index - cells[..., axis, None]) / sigma_cells) ** 2, -1))
    return profiles[0], profiles[1]


def gaussian(xy_m: Float[Tensor, "*n 2"], grid: Grid, sigma_m: float) -> Float[Tensor, "*n y x"]:
    """Gaussians on the grid, each normalised to mass 1; their width does not depend on the cell size."""
    columns, rows = gaussian_axes(xy_m, grid, sigma_m)
    return rows[..., :, None] * columns[..., None, :]


def heading_weights(angle_rad: Float[Tensor, "*n"], headings: int) -> Float[Tensor, "*n c"]:
    """Directions spread over heading bins: clamp(cos(angle − bin), 0, 1), normalised; a single bin has all.

    Args:
        angle_rad: mathematical angles.
        headings: bins; the first lies towards +x, the others follow counter-clockwise (for 4: +x, +y, −x, −y).
    """
    if headings == 1:
        return torch.ones_like(angle_rad)[..., None]
    # Made on the device: a copy from the host would make a GPU wait.
    bins = torch.arange(headings, device=angle_rad.device, dtype=angle_rad.dtype) * (TAU / headings)
    weights = torch.cos(angle_rad[..., None] - bins)
    # cos(π/2) is not quite 0 in floating point; a bin at a right angle must stay empty.
    weights = torch.where(weights < 1e-6, 0.0, weights)
    return weights / weights.sum(-1, keepdim=True)


def pose_belief(
    xy_m: Float[Tensor, "*n 2"], heading_rad: Float[Tensor, "*n"], grid: Grid, sigma_m: float, headings: int
) -> Float[Tensor, "*n c y x"]:
    """Belief at a known pose: the filter's start, and the targets of its training.

    Args:
        xy_m: positions, metres from the grid's origin.
        heading_rad: clockwise from +y; ignored when `headings` is 1.
        grid: the belief's grid.
        sigma_m: standard deviation of the position in metres.
        headings: number of heading bins Θ.
    """
    shares = heading_weights(heading_to_angle(heading_rad), headings)
    return shares[..., None, None] * gaussian(xy_m, grid, sigma_m)[..., None, :, :]


def total_mass(weights: Float[Tensor, "*n c y x"]) -> Float[Tensor, "*n 1 1 1"]:
    """Sum over headings and cells, accumulated in at least float32."""
    dtype = torch.promote_types(weights.dtype, torch.float32)
    return weights.sum((-3, -2, -1), keepdim=True, dtype=dtype)


def normalise(
    weights: Float[Tensor, "*n c y x"], fallback: Float[Tensor, "*n c y x"] | None = None
) -> Float[Tensor, "*n c y x"]:
    """Scale to mass 1. Values that are not finite stay so, and are not replaced by the uniform belief.

    Args:
        weights: non-negative, any scale.
        fallback: what to return for items without mass; by default the uniform belief.
    """
    total = total_mass(weights)
    has_mass = ~(total <= NO_MASS)  # NaN counts as mass, or it would be hidden by the fallback
    scaled = (weights / torch.where(has_mass, total, 1.0)).to(weights.dtype)
    if fallback is None:
        fallback = torch.ones_like(weights) / math.prod(weights.shape[-3:])
    return torch.where(has_mass, scaled, fallback)


def update(prediction: Float[Tensor, "*n c y x"], likelihood: Float[Tensor, "*n c y x"]) -> Float[Tensor, "*n c y x"]:
    """Bayes' rule. An observation that excludes every state the prediction allows is ignored: the prediction stays."""
    return normalise(prediction * likelihood, normalise(prediction))


def marginal(belief: Float[Tensor, "*n c y x"]) -> Float[Tensor, "*n y x"]:
    """Sum over headings."""
    return belief.sum(-3)


def arg_max_m(belief: Float[Tensor, "*n c y x"], grid: Grid, *, radius: int = 0) -> Float[Tensor, "*n 2"]:
    """Most likely position, metres from the grid's origin.

    Args:
        belief: mass over headings and cells; headings are summed first.
        grid: the belief's grid.
        radius: 0 gives the centre of the cell with the most mass; r ≥ 1 the centre of mass of the (2r + 1)² cells
            around it, which is sub-cell precise.
    """
    mass = marginal(belief)
    best = mass.flatten(-2).argmax(-1)
    row, col = best // grid.cols, best % grid.cols
    if radius == 0:
        return from_cells(torch.stack([col, row], -1).to(mass.dtype), grid)
    rows = torch.arange(grid.rows, device=mass.device)
    cols = torch.arange(grid.cols, device=mass.device)
    near_row = (rows - row[..., None]).abs() <= radius
    near_col = (cols - col[..., None]).abs() <= radius
    return centre_of_mass_m(mass * (near_row[..., :, None] & near_col[..., None, :]), grid)


def best_guess_m(
    mass: Float[Tensor, "*n y x"], grid: Grid, radius_m: float, standable: Bool[Tensor, "*n y2 x2"] | None = None
) -> Float[Tensor, "*n 2"]:
    """The place with the most mass within a distance of it, metres from the grid's origin.

    Who must come within that distance stops there. The peak of a belief may be a sharp spike beside a broad hill that
    holds far more. Places half a cell apart are compared.

    Args:
        mass: over cells.
        grid: of the mass.
        radius_m: the distance.
        standable: False at places, half a cell apart as in `mass_within`, where nobody can stand; by default any will
            do, and so they will where there is none.
    """
    near = mass_within(mass, grid, radius_m)
    if standable is not None:
        near = near * (standable | ~standable.any(-1, keepdim=True).any(-2, keepdim=True))
    best = near.flatten(-2).argmax(-1)
    col, row = best % near.shape[-1] / 2, best // near.shape[-1] / 2
    return from_cells(torch.stack([col, row], -1).to(mass.dtype), grid)


def mass_within(mass: Float[Tensor, "*n y x"], grid: Grid, radius_m: float) -> Float[Tensor, "*n y2 x2"]:
    """Mass within a distance of places half a cell apart; the first place is the centre of the first cell.

    A cell's mass lies evenly in the cell. Mass at the rim counts a little less (`RIM`), so of equal places the one in
    the middle has the most.
    """
    shares = _shares(radius_m / grid.cell_m)
    # Double precision: a GPU rounds convolutions of floats to 10 bits.
    near = F.conv2d(mass.double().reshape(-1, 1, grid.rows, grid.cols), shares.to(mass.device), padding="same")
    return F.pixel_shuffle(near, 2).reshape(*mass.shape[:-2], 2 * grid.rows, 2 * grid.cols)


@lru_cache(maxsize=8)
def _shares(radius: float) -> Float[Tensor, "4 1 k k"]:
    """How much the cells around a cell's centre, and around places half a cell beyond it in x, y and both, count."""
    half = math.ceil(radius + 1.0)
    parts = (torch.arange(_PARTS, dtype=torch.float64) + 0.5) / _PARTS - 0.5
    at = (torch.arange(-half, half + 1)[:, None] + parts).flatten()
    shares = []
    for down, right in ((0.0, 0.0), (0.0, 0.5), (0.5, 0.0), (0.5, 0.5)):
        away = ((at[:, None] - down) ** 2 + (at - right) ** 2) / radius**2
        worth = torch.where(away < 1.0, 1.0 - RIM * away, 0.0)
        shares.append(worth.reshape(2 * half + 1, _PARTS, 2 * half + 1, _PARTS).mean((1, 3)))
    return torch.stack(shares)[:, None]


def centre_of_mass_m(mass: Float[Tensor, "*n y x"], grid: Grid) -> Float[Tensor, "*n 2"]:
    """Mean position of mass on the grid, metres from its origin; the origin where there is no mass."""
    x_m, y_m = cell_centres_m(grid, device=mass.device, dtype=mass.dtype)
    total = mass.sum((-2, -1))
    total = torch.where(total > NO_MASS, total, 1.0)
    return torch.stack([(mass.sum(-2) * x_m).sum(-1), (mass.sum(-1) * y_m).sum(-1)], -1) / total[..., None]


def entropy(belief: Float[Tensor, "*n c y x"]) -> Float[Tensor, "*n"]:
    """Entropy in nats over headings and cells; log of the number of states for the uniform belief."""
    # Without mass, entr is 0 but its slope infinite, which would spoil every gradient; 1 has the same value.
    return torch.special.entr(torch.where(belief == 0.0, 1.0, belief)).sum((-3, -2, -1))


def mass_near(
    mass: Float[Tensor, "*n y x"], away_m: Float[Tensor, "*n p 2"], grid: Grid, radius_m: float
) -> Float[Tensor, "*n p"]:
    """Mass within a distance of places, each taken to half a cell (`mass_within`); 0 for a place beyond the map.

    Args:
        mass: over cells.
        away_m: places, metres from the centre of the first cell.
        grid: of the mass.
        radius_m: the distance.
    """
    near = mass_within(mass, grid, radius_m)
    col, row = (away_m / (grid.cell_m / 2)).round().long().unbind(-1)
    inside = (col >= 0) & (col < near.shape[-1]) & (row >= 0) & (row < near.shape[-2])
    place = torch.where(inside, row * near.shape[-1] + col, 0)
    return (near.flatten(-2).gather(-1, place) * inside).clamp(max=1.0)

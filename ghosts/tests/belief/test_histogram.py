from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from torch.testing import assert_close

from ghosts.belief.histogram import (
    RIM,
    arg_max_m,
    best_guess_m,
    cell_centres_m,
    entropy,
    gaussian,
    heading_weights,
    marginal,
    mass_near,
    normalise,
    pose_belief,
    update,
)
from ghosts.equations import first_belief
from ghosts_sim.errors import ConfigError
from ghosts_sim.types import Grid

COARSE = Grid(12, 20, 1.0)
EVEN, ODD = Grid(8, 10, 0.5), Grid(7, 5, 0.5)


@pytest.mark.parametrize(("grid", "first"), [(EVEN, (-2.25, -1.75)), (ODD, (-1.0, -1.5))])
def test_cell_centres_are_symmetric_about_the_origin(grid: Grid, first: tuple[float, float]) -> None:
    x_m, y_m = cell_centres_m(grid)
    assert (len(x_m), len(y_m)) == (grid.cols, grid.rows)
    assert (float(x_m[0]), float(y_m[0])) == first
    assert_close(x_m, -x_m.flip(0))
    assert_close(y_m, -y_m.flip(0))


def test_sigma_is_in_metres_whatever_the_cell() -> None:
    point = torch.tensor([[0.3, -0.2]], dtype=torch.float64)
    for cell_m in (0.25, 0.5, 1.0):
        grid = Grid(round(24 / cell_m), round(24 / cell_m), cell_m)
        mass = gaussian(point, grid, 1.5)[0]
        x_m, y_m = cell_centres_m(grid, dtype=torch.float64)
        assert float((mass.sum(0) * (x_m - 0.3) ** 2).sum()) == pytest.approx(1.5**2, rel=1e-6)
        assert float((mass.sum(1) * (y_m + 0.2) ** 2).sum()) == pytest.approx(1.5**2, rel=1e-6)


def test_sigma_must_be_positive() -> None:
    with pytest.raises(ConfigError, match=r"sigma_m must be positive, got 0\.0"):
        gaussian(torch.zeros(1, 2), EVEN, 0.0)


@pytest.mark.parametrize("headings", [1, 4, 8])
def test_first_belief_is_that_of_the_equations(headings: int) -> None:
    for heading in np.linspace(-7.0, 7.0, 29).tolist():
        belief = pose_belief(torch.tensor([[0.3, -0.7]]).double(), torch.tensor([heading]).double(), ODD, 0.5, headings)
        expected = first_belief(0.3, -0.7, math.pi / 2 - heading, ODD, headings)
        assert_close(belief[0], expected, rtol=1e-6, atol=1e-6)
    between, right = heading_weights(torch.tensor([math.pi / 4, -math.pi / 2]), 4).tolist()
    assert between == pytest.approx([0.5, 0.5, 0.0, 0.0])
    assert right == [0.0, 0.0, 0.0, 1.0]


def test_a_pose_off_the_map_stays_finite_at_its_edge() -> None:
    belief = pose_belief(torch.tensor([[500.0, 0.25]]), torch.tensor([0.0]), EVEN, 0.25, 4)
    assert_close(belief.sum(), torch.tensor(1.0))
    assert_close(arg_max_m(belief, EVEN), torch.tensor([[2.25, 0.25]]))


@pytest.mark.parametrize("grid", [EVEN, ODD])
def test_arg_max_is_the_cell_centre(grid: Grid) -> None:
    x_m, y_m = cell_centres_m(grid)
    for row in range(grid.rows):
        belief = torch.zeros(2, 4, grid.rows, grid.cols)
        belief[0, 1, row, 0], belief[1, 3, row, -1] = 1.0, 1.0
        expected = torch.tensor([[x_m[0], y_m[row]], [x_m[-1], y_m[row]]])
        assert_close(arg_max_m(belief, grid), expected)


def test_arg_max_sums_headings_first() -> None:
    belief = torch.zeros(1, 4, 8, 10)
    belief[0, 0, 2, 3] = 0.4
    belief[0, :2, 5, 6] = 0.3
    assert_close(arg_max_m(belief, EVEN), torch.tensor([[0.75, 0.75]]))


def test_arg_max_between_cells_is_unbiased() -> None:
    seed = 4
    print("seed", seed)
    generator = torch.Generator().manual_seed(seed)
    grid = Grid(48, 48, 1.0)
    truth = (torch.rand(400, 2, generator=generator, dtype=torch.float64) - 0.5) * 30.0
    belief = gaussian(truth, grid, 0.5)[:, None]
    coarse, fine = arg_max_m(belief, grid) - truth, arg_max_m(belief, grid, radius=2) - truth
    assert coarse.abs().max() <= 0.5 + 1e-9
    assert coarse.mean(0).abs().max() < 0.06  # the released code: (-0.5, -0.5)
    assert fine.norm(dim=-1).max() < 0.035  # what sampling σ = half a cell at cell centres leaves


def test_the_best_guess_lies_in_the_broad_hill_and_not_on_the_spike() -> None:
    mass = torch.zeros(1, 12, 20)
    mass[0, 5, 2] = 0.2  # the peak
    mass[0, 4:7, 13:16] = 0.8 / 9
    x_m, y_m = cell_centres_m(COARSE)
    assert_close(arg_max_m(mass[:, None], COARSE), torch.tensor([[x_m[2], y_m[5]]]))
    assert_close(best_guess_m(mass, COARSE, 3.0), torch.tensor([[x_m[14], y_m[5]]]))
    # Within half a metre there is room for one cell alone.
    assert_close(best_guess_m(mass, COARSE, 0.4), torch.tensor([[x_m[2], y_m[5]]]))


@pytest.mark.parametrize("grid", [Grid(8, 10, 0.5), Grid(7, 5, 0.5), Grid(12, 20, 1.0)])
def test_the_best_guess_for_a_sure_belief_is_its_place(grid: Grid) -> None:
    x_m, y_m = cell_centres_m(grid)
    for row in range(grid.rows):
        mass = torch.zeros(2, grid.rows, grid.cols)
        mass[0, row, 0] = mass[1, row, -1] = 1.0
        expected = torch.tensor([[x_m[0], y_m[row]], [x_m[-1], y_m[row]]])
        assert_close(best_guess_m(mass, grid, 3.0), expected)


def test_nowhere_is_more_mass_near_than_at_the_best_guess() -> None:
    seed = 7
    print("seed", seed)
    generator = torch.Generator().manual_seed(seed)
    mass = torch.rand(6, 12, 20, generator=generator, dtype=torch.float64) ** 8
    mass = mass / mass.sum((1, 2), keepdim=True)
    # Fine cells instead of shares of coarse ones, and every place half a cell apart on its own.
    fine = mass.repeat_interleave(10, 1).repeat_interleave(10, 2) / 100
    x_m, y_m = cell_centres_m(Grid(120, 200, 0.1), dtype=torch.float64)
    guess = best_guess_m(mass, COARSE, 3.0)

    def near(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        away = torch.hypot(x_m[None] - x, y_m[:, None] - y) / 3.0
        return (fine * torch.where(away < 1.0, 1.0 - RIM * away**2, 0.0)).sum((1, 2))

    at_guess = torch.stack([near(x, y)[k] for k, (x, y) in enumerate(guess)])
    places = [near(x, y) for x in torch.arange(-9.5, 10.0, 0.5) for y in torch.arange(-5.5, 6.0, 0.5)]
    assert (at_guess >= torch.stack(places).amax(0) - 2e-3).all()
    assert_close(torch.stack([torch.stack(places).amax(0), at_guess]).mean(0), at_guess, atol=2e-3, rtol=0.0)


def test_mass_near_a_place_is_that_of_a_disc() -> None:
    places = torch.tensor([[9.5, 5.5], [10.0, 4.6], [0.0, 5.5], [0.0, 0.0], [99.0, 0.0], [5.0, -1.0]])
    found = 240 * mass_near(torch.full((12, 20), 1.0 / 240), places, COARSE, 3.0)
    disc = math.pi * 9.0 * (1.0 - RIM / 2)  # counting cells by their centres would give 25
    edge = disc / 2 + 3.0  # half a disc, and the strip between the outermost centres and the edge
    assert_close(found[:3], torch.tensor([disc, disc, edge]).double(), atol=0.1, rtol=0.0)
    assert 0.0 < found[3] < found[2]
    assert found[4:].tolist() == [0.0, 0.0]


def test_turning_the_world_turns_the_best_guess() -> None:
    seed = 8
    print("seed", seed)
    mass = torch.rand(4, 14, 14, generator=torch.Generator().manual_seed(seed)) ** 6
    grid = Grid(14, 14, 1.0)
    x_m, y_m = best_guess_m(mass, grid, 3.0).unbind(-1)
    turned = best_guess_m(mass.rot90(1, (-1, -2)), grid, 3.0)  # rows grow with +y: x → y, so (x, y) → (−y, x)
    assert_close(turned, torch.stack([-y_m, x_m], -1))


def test_entropy() -> None:
    uniform = torch.full((1, 4, 8, 10), 1 / 320)
    assert float(entropy(uniform)) == pytest.approx(math.log(320), rel=1e-6)
    certain = torch.zeros(1, 4, 8, 10)
    certain[0, 0, 0, 0] = 1.0
    certain.requires_grad_()
    entropy(certain).sum().backward()
    assert float(entropy(certain.detach())) == 0.0
    assert certain.grad is not None
    assert bool(certain.grad.isfinite().all())


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float64])
def test_fallbacks(dtype: torch.dtype) -> None:
    prediction = torch.zeros(3, 4, 8, 10, dtype=dtype)
    prediction[:, 1, 2, 3] = 1.0
    likelihood = torch.ones_like(prediction)
    likelihood[1] = 0.0  # excludes everything: the prediction stays
    likelihood[2, 1, 2, 3] = 0.0  # excludes the only state there is
    assert_close(update(prediction, likelihood), prediction)
    uniform = normalise(torch.zeros(1, 4, 8, 10, dtype=dtype))
    assert_close(uniform, torch.full_like(uniform, 1 / 320))
    both_empty = update(torch.zeros_like(uniform), torch.zeros_like(uniform))
    assert_close(both_empty, uniform)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("scale", [1e-38, 1e-30, 1e-12, 1.0, 1e12])
def test_normalise_is_finite_forwards_and_backwards(dtype: torch.dtype, scale: float) -> None:
    generator = torch.Generator().manual_seed(0)
    weights = (torch.rand(2, 4, 8, 10, generator=generator) * scale).to(dtype).requires_grad_()
    belief = normalise(weights)
    assert_close(belief.float().sum((1, 2, 3)), torch.ones(2), rtol=1e-2 if dtype == torch.bfloat16 else 1e-5, atol=0)
    belief[0, 0, 0, 0].backward()
    assert weights.grad is not None
    assert bool(weights.grad.isfinite().all())


def test_turning_the_pose_turns_the_belief() -> None:
    grid, heading = Grid(9, 9, 0.5), torch.tensor([0.3])
    belief = pose_belief(torch.tensor([[0.8, -0.3]]), heading, grid, 0.6, 4)
    # A quarter turn counter-clockwise: (x, y) -> (-y, x), headings decrease, bins go up by one.
    turned = pose_belief(torch.tensor([[0.3, 0.8]]), heading - math.pi / 2, grid, 0.6, 4)
    assert_close(turned, torch.rot90(belief, -1, (-2, -1)).roll(1, -3), rtol=1e-5, atol=1e-7)
    assert_close(marginal(turned).sum(), torch.tensor(1.0))

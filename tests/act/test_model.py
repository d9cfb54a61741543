from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from tests.act.makers import CAMERA, random_points, small_config, small_model
from torch import Tensor
from torch.testing import assert_close

from ghosts.act.candidates import Candidates
from ghosts.act.model import GoalModel, cells_from_points
from ghosts.act.policy import policy_loss
from ghosts.belief.histogram import pose_belief
from ghosts.belief.loss import filter_loss
from ghosts.config import ModelConfig, from_dict, to_dict
from ghosts.geometry import camera_to_world
from ghosts.mapping.backbone import SmallBackbone
from ghosts.mapping.mapper import MapState
from ghosts.mapping.points import Points, points_from_rgbd
from ghosts.mapping.project import project

ORIGIN = np.array([[0.0, 0.0], [1.0, -0.5]])
TOKENS, LENGTHS = torch.tensor([[3, 4, 5, 6], [7, 8, 0, 0]]), torch.tensor([4, 2])
START, HEADING = torch.tensor([[0.1, 0.2], [-0.2, 0.1]]), torch.tensor([0.3, 2.0])


def inputs(model: GoalModel, steps: int = 2):
    points = random_points(2 * steps, 50, model.config.mapper.features)
    return cells_from_points(points, steps, ORIGIN, model.config.mapper.grid), TOKENS, LENGTHS, START, HEADING


def test_cells_from_points_equal_projection() -> None:
    model, points = small_model(), random_points(4, 50, 8)
    cells = cells_from_points(points, 2, ORIGIN, model.config.mapper.grid)
    maps, observed = model.mapper.unroll_cells(cells)
    origin = torch.from_numpy(ORIGIN).repeat_interleave(2, 0)
    features, seen = project(points, origin, model.config.mapper.grid)
    expected, expected_seen = model.mapper.unroll(features.unflatten(0, (2, 2)), seen.unflatten(0, (2, 2)))
    assert_close(maps, expected)
    assert bool((observed == expected_seen).all())


@pytest.mark.parametrize("kind", ["factorised", "joint"])
@pytest.mark.parametrize("headings", [1, 4, 8])
def test_beliefs_are_distributions_for_every_agent_and_filter_step(kind: str, headings: int) -> None:
    model = small_model(headings, kind).eval()
    trace = model(*inputs(model))
    assert trace.beliefs.shape == (2, 2, 4, headings, 12, 12)
    assert_close(trace.beliefs.sum((-3, -2, -1)), torch.ones(2, 2, 4))
    assert_close(trace.beliefs[:, 1, 0], pose_belief(START, HEADING, trace.grid, 0.5, headings))
    assert trace.latents.action_attention.shape == (2, 3, 4)
    assert (trace.grid.rows, trace.grid.cell_m) == (12, 1.0)


def test_one_step_at_a_time_equals_all_at_once() -> None:
    model = small_model().eval()
    points = random_points(4, 50, 8)
    grid = model.config.mapper.grid
    together = model(*inputs(model))
    state = model.mapper.empty(2, grid.rows, grid.cols)
    for step in range(2):
        mine = Points(points.features[step::2], points.xyz_m[step::2], points.valid[step::2])
        cells = cells_from_points(mine, 1, ORIGIN, grid)
        alone = model(cells, TOKENS, LENGTHS, START, HEADING, state=state)
        state = MapState(alone.maps[:, 0], alone.observed[:, 0])
        assert_close(alone.beliefs[:, 0], together.beliefs[:, step], rtol=1e-4, atol=1e-6)


def test_a_few_steps_of_training_lower_the_loss_and_reach_every_weight_but_the_policys() -> None:
    model = small_model()
    batch = inputs(model)
    grid = model.belief_grid(24, 24)
    targets = pose_belief(torch.randn(2, 3, 2), torch.randn(2, 3), grid, 0.5, 4)
    optimiser = torch.optim.Adam(model.parameters(), 1e-2)
    losses = []
    for _ in range(12):
        trace = model(*batch, masks=model.mapper.draw_masks(2, torch.Generator().manual_seed(0)))
        loss = filter_loss(trace.filter.posteriors, targets)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        losses.append(float(loss.detach()))
    assert losses[-1] < 0.8 * losses[0]
    without = {
        name
        for name, weight in model.named_parameters()
        if weight.grad is None or not bool(weight.grad.isfinite().all())
    }
    assert without == {name for name, _ in model.policy.named_parameters(prefix="policy")}


def test_gradients_reach_from_the_policys_loss_to_the_pixels() -> None:
    """Action → belief → likelihood and kernel → map → projection → backbone → RGB, nothing but the policy's loss."""
    features = 8
    model = small_model(features=features)
    torch.manual_seed(1)
    backbone = SmallBackbone(features)
    generator = torch.Generator().manual_seed(2)
    rgb = (torch.rand(2, CAMERA.height, CAMERA.width, 3, generator=generator) * 255).requires_grad_()
    depth = 1.0 + 2.0 * torch.rand(1, 2, CAMERA.height, CAMERA.width, generator=generator, dtype=torch.float64)
    to_world = torch.from_numpy(camera_to_world([[0, 0, 1.5], [0, 0, 1.5]], [0.0, 2.0], -math.pi / 6))
    points = points_from_rgbd(backbone(rgb)[None], depth, to_world[None], CAMERA)
    cells = cells_from_points(points, 1, ORIGIN[:1], model.config.mapper.grid)
    trace = model(cells, TOKENS[:1], LENGTHS[:1], START[:1], HEADING[:1])
    seen = Candidates(
        episode=torch.zeros(3, dtype=torch.long),
        xyz_m=torch.tensor([[0.0, 0, 0], [1.5, 0.5, 0], [-1.0, 2.0, 0]]),
        from_start_m=torch.tensor([0.0, 1.6, 2.2]),
        from_agent_m=torch.tensor([0.0, 1.6, 2.2]),
        visited=torch.tensor([True, False, False]),
    )
    chosen = model.policy(seen, trace.beliefs[:, -1], START[:1], trace.grid)
    policy_loss(chosen, torch.tensor([1])).backward()
    assert rgb.grad is not None
    assert bool(rgb.grad.isfinite().all())
    reached = (rgb.grad.abs() > 0).any(-1).float().mean((1, 2))
    assert bool((reached > 0.2).all()), f"share of pixels reached in each view: {reached.tolist()}"
    for name in ("mapper.input_to_state.weight", "filter.motion.far.weight", "language.encoder.embedding.weight"):
        gradient = model.get_parameter(name).grad
        assert gradient is not None, name
        assert float(gradient.abs().max()) > 0.0, name


def test_turning_the_observed_world_by_90_degrees_turns_map_input_and_start() -> None:
    """Learned convolutions are not equivariant; what is exact is checked here: where points and start land."""
    model, points = small_model(), random_points(1, 50, 8)
    turn = torch.tensor([[0.0, -1, 0], [1, 0, 0], [0, 0, 1]], dtype=torch.float64)
    turned = Points(points.features, points.xyz_m @ turn.T, points.valid)
    grid = model.config.mapper.grid
    origin = torch.zeros(1, 2, dtype=torch.float64)

    def rotate(values: Tensor) -> Tensor:
        return torch.rot90(values, -1, (-2, -1))

    features, seen = project(points, origin, grid)
    turned_features, turned_seen = project(turned, origin, grid)
    assert bool((rotate(seen) == turned_seen).all())
    assert_close(rotate(features), turned_features)
    belief_grid = model.belief_grid(24, 24)
    start = model.start_belief(START[:1], HEADING[:1], belief_grid)
    turned_start = model.start_belief(START[:1] @ turn[:2, :2].float().T, HEADING[:1] - math.pi / 2, belief_grid)
    assert_close(rotate(start).roll(1, 1), turned_start, rtol=1e-5, atol=1e-7)


def test_config_survives_json() -> None:
    config = small_config(8, "joint")
    assert from_dict(ModelConfig, to_dict(config)) == config

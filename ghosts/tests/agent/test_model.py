from __future__ import annotations

import math
from dataclasses import fields, replace

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

from agent.makers import CAMERA, random_points, seen_from, small_model
from ghosts.agent.candidates import Candidates
from ghosts.agent.interface import Briefing
from ghosts.agent.policy import policy_loss
from ghosts.belief.histogram import pose_belief
from ghosts.belief.loss import filter_loss
from ghosts.equations import project
from ghosts.mapping.backbone import SmallBackbone
from ghosts.mapping.mapper import draw_masks
from ghosts.mapping.observations import Observations
from ghosts.mapping.points import Points, points_from_rgbd
from ghosts.mapping.tiles import place_tiles, tiles_from_points
from ghosts.methods.ghost.model import GoalModel
from ghosts_sim.geometry import camera_to_world
from mapping.whole_maps import maps_from_cells, unroll

ORIGIN = np.array([[0.0, 0.0], [1.0, -0.5]])
BRIEFING = Briefing(
    tokens=torch.tensor([[3, 4, 5, 6], [7, 8, 0, 0]]),
    lengths=torch.tensor([4, 2]),
    start_xy_m=torch.tensor([[0.1, 0.2], [-0.2, 0.1]]),
    start_heading_rad=torch.tensor([0.3, 2.0]),
)


def sight(model: GoalModel, steps: int = 2) -> Observations:
    """What two episodes see."""
    return seen_from(random_points(2 * steps, 50, model.config.mapper.features), steps, ORIGIN, model.config)


def test_maps_equal_those_of_projected_points() -> None:
    model, points = small_model(), random_points(4, 50, 8)
    steps = model.look(seen_from(points, 2, ORIGIN, model.config))
    origin = torch.from_numpy(ORIGIN).repeat_interleave(2, 0)
    features, seen = project(points, origin, model.config.mapper.grid)
    expected, expected_seen = unroll(model.mapper, features.unflatten(0, (2, 2)), seen.unflatten(0, (2, 2)))
    assert_close(steps.maps(), expected)
    assert_close(steps.last().map, expected[:, -1])
    assert torch.equal(steps.last().observed, expected_seen[:, -1])


@pytest.mark.parametrize("kind", ["factorised", "joint"])
@pytest.mark.parametrize("headings", [1, 4, 8])
def test_beliefs_are_distributions_for_every_agent_and_filter_step(kind: str, headings: int) -> None:
    model = small_model(headings, kind).eval()
    trace = model(BRIEFING, sight(model))
    beliefs = trace.filter.beliefs
    assert beliefs.shape == (2, 2, 4, headings, 12, 12)
    assert_close(beliefs.sum((-3, -2, -1)), torch.ones(2, 2, 4))
    start = pose_belief(BRIEFING.start_xy_m, BRIEFING.start_heading_rad, trace.grid, 0.5, headings)
    assert_close(beliefs[:, 1, 0], start)
    assert trace.latents.action_attention.shape == (2, 3, 4)
    assert (trace.grid.rows, trace.grid.cell_m) == (12, 1.0)


def test_one_step_at_a_time_equals_all_at_once() -> None:
    """Agents, tracker and viewer take single steps; training and evaluation take whole walks."""
    model, points = small_model().eval(), random_points(4, 50, 8)
    grid = model.config.mapper.grid
    together = model(BRIEFING, sight(model))
    heard, state = model.read(BRIEFING), model.mapper.empty(2, grid.rows, grid.cols)
    for step in range(2):
        mine = Points(points.features[step::2], points.xyz_m[step::2], points.valid[step::2])
        state = model.observe(state, place_tiles(tiles_from_points(mine, grid.cell_m), 1, ORIGIN, grid))
        alone = model.track(heard, state.pooled(model.config.filter.pool))
        assert_close(state.map, together.map.maps()[:, step], rtol=1e-4, atol=1e-6)
        assert_close(alone.beliefs[:, 0], together.filter.beliefs[:, step], rtol=1e-4, atol=1e-6)


def test_a_few_steps_of_training_lower_the_loss_and_reach_every_weight_but_the_policys() -> None:
    model = small_model()
    seen = sight(model)
    targets = pose_belief(torch.randn(2, 3, 2), torch.randn(2, 3), model.config.belief_grid, 0.5, 4)
    optimiser = torch.optim.Adam(model.parameters(), 1e-2)
    losses = []
    for _ in range(12):
        trace = model(BRIEFING, seen, draw_masks(model.config.mapper, 2, torch.Generator().manual_seed(0)))
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
    briefing = Briefing(*(getattr(BRIEFING, item.name)[:1] for item in fields(Briefing)))
    trace = model(briefing, seen_from(points, 1, ORIGIN[:1], model.config))
    seen = Candidates(
        episode=torch.zeros(3, dtype=torch.long),
        xyz_m=torch.tensor([[0.0, 0, 0], [1.5, 0.5, 0], [-1.0, 2.0, 0]]),
        from_start_m=torch.tensor([0.0, 1.6, 2.2]),
        from_agent_m=torch.tensor([0.0, 1.6, 2.2]),
        visited=torch.tensor([True, False, False]),
    )
    chosen = model.policy(seen, trace.filter.beliefs[:, -1], briefing.start_xy_m, trace.grid)
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
    origin = np.zeros((1, 2))

    def rotate(values: Tensor) -> Tensor:
        return torch.rot90(values, -1, (-2, -1))

    features, seen = maps_from_cells(seen_from(points, 1, origin, model.config).cells)
    turned_features, turned_seen = maps_from_cells(seen_from(turned, 1, origin, model.config).cells)
    assert bool((rotate(seen) == turned_seen).all())
    assert_close(rotate(features), turned_features)

    def start(xy_m: Tensor, heading_rad: Tensor) -> Tensor:
        briefing = replace(BRIEFING, start_xy_m=xy_m, start_heading_rad=heading_rad)
        return model(briefing, sight(model, 1)).filter.start

    xy_m, heading_rad = BRIEFING.start_xy_m, BRIEFING.start_heading_rad
    turned_start = start(xy_m @ turn[:2, :2].float().T, heading_rad - math.pi / 2)
    assert_close(rotate(start(xy_m, heading_rad)).roll(1, 1), turned_start, rtol=1e-5, atol=1e-7)

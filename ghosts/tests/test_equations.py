"""The equations: by hand, by enumeration, their gradients, and the released code's answers."""

from __future__ import annotations

import doctest
import itertools
import math
from pathlib import Path

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import Tensor
from torch.testing import assert_close

from ghosts import equations
from ghosts.equations import (
    divergence,
    factorised_kernel,
    filter_beliefs,
    masked_convolution,
    motion_kernel,
    move,
    observe,
    project,
    smooth_beliefs,
    sparse_convolution,
    transition_matrix,
    unproject,
)
from ghosts.mapping.points import Points, points_from_rgbd
from ghosts_sim.geometry import camera_to_world
from ghosts_sim.types import Grid, Intrinsics
from mapping.whole_maps import recorded_points


def random(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def test_examples() -> None:
    failed, tried = doctest.testmod(equations, extraglobs={"torch": torch, "math": math})
    assert (failed, tried > 2) == (0, True)


def test_filter_and_smoother_equal_the_sum_over_all_trajectories() -> None:
    states, steps = 3, 3
    start, *likelihoods = random(1 + steps, states, seed=1).softmax(-1)
    motions = list(random(steps, states, states, seed=2).softmax(-1))
    joint = torch.zeros((states,) * (steps + 1), dtype=torch.float64)
    for way in itertools.product(range(states), repeat=steps + 1):
        joint[way] = start[way[0]]
        for step in range(steps):
            joint[way] *= motions[step][way[step], way[step + 1]] * likelihoods[step][way[step + 1]]
    posterior = joint / joint.sum()
    smoothed = [posterior.sum(tuple(set(range(steps + 1)) - {step})) for step in range(steps + 1)]
    assert_close(smooth_beliefs(start, motions, likelihoods), torch.stack(smoothed))
    beliefs = filter_beliefs(start, motions, likelihoods)
    assert_close(beliefs[-1], smoothed[-1])
    assert_close(beliefs[1], filter_beliefs(start, motions[:1], likelihoods[:1])[1])


def test_mass_moves_by_the_kernel_of_the_cell_it_leaves() -> None:
    kernel = torch.zeros(2, 2, 3, 3, 2, 4)
    kernel[0, 1, 2, 0, 0, 1] = 0.75  # from (0, 1) one row up and one column left, with heading 0 before and 1 after
    kernel[0, 0, 1, 1, 0, 1] = 0.25  # or it stays
    belief = torch.zeros(2, 2, 4)
    belief[0, 0, 1] = 1.0
    moved = move(belief, kernel)
    assert (float(moved[1, 1, 0]), float(moved[0, 0, 1]), float(moved.sum())) == (0.75, 0.25, 1.0)
    assert_close(belief.flatten() @ transition_matrix(kernel), moved.flatten())


def test_kernels_are_distributions_over_moves_that_stay_on_the_map() -> None:
    for kernel in (motion_kernel(random(4, 4, 3, 3, 4, 5)), factorised_kernel(random(3, 3, 4, 5), random(4, 3, 3))):
        assert_close(kernel.sum((1, 2, 3)), torch.ones(4, 4, 5, dtype=torch.float64))
        assert_close(transition_matrix(kernel).sum(1), torch.ones(80, dtype=torch.float64))
        assert float(kernel[:, :, 0, :, 0].sum()) == 0.0  # a row down from the lowest row


def test_a_factorised_kernel_by_hand() -> None:
    words = torch.full((4, 3, 3), -math.inf, dtype=torch.float64)
    words[:, 1, 2], words[:, 1, 1] = math.log(0.75), math.log(0.25)
    kernel = factorised_kernel(torch.zeros(3, 3, 3, 3).double(), words)[..., 1, 1]
    assert kernel[3, :, 1, 2].tolist() == pytest.approx([0.75, 0.0, 0.0, 0.0])  # moving towards +x turns there
    assert kernel[3, :, 1, 1].tolist() == pytest.approx([0.0, 0.0, 0.0, 0.25])  # standing still keeps the heading


def test_an_observation_has_at_least_the_floor() -> None:
    prediction, scores = torch.full((1, 1, 2), 0.5), torch.tensor([[[-100.0, 100.0]]])
    assert_close(observe(prediction, scores, 0.25), torch.tensor([[[0.2, 0.8]]]))


def test_average_of_observed_neighbours_by_hand() -> None:
    values = torch.zeros(1, 1, 3, 4)
    values[0, 0, 1, 1], values[0, 0, 1, 2], values[0, 0, 0, 0] = 4.0, 2.0, 100.0
    observed = torch.zeros(1, 1, 3, 4, dtype=torch.bool)
    observed[0, 0, 1, 1:3] = True
    result = sparse_convolution(values, observed, torch.ones(1, 1, 3, 3), torch.tensor([0.5]))
    assert result[0, 0].tolist() == [[4.5, 3.5, 3.5, 2.5]] * 3
    result = sparse_convolution(values, observed, torch.ones(1, 1, 1, 1), torch.tensor([0.5]))
    assert result[0, 0].tolist() == [[0.5] * 4, [0.5, 4.5, 2.5, 0.5], [0.5] * 4]


def test_masked_convolution_is_zero_off_the_mask() -> None:
    observed = random(1, 1, 5, 5) < 0.0
    values, weight, bias = random(1, 2, 5, 5), random(3, 2, 3, 3), random(3)
    plain = F.conv2d(values, weight, bias, padding=1)
    assert_close(masked_convolution(values, observed, weight, bias), torch.where(observed, plain, 0.0))


def points(features: list, xy: list, valid: list | None = None) -> Points:
    """One item from plain lists."""
    place = torch.tensor([[[x, y, 9.0] for x, y in xy]])
    return Points(torch.tensor([features]), place, torch.tensor([valid or [True] * len(xy)]))


def test_max_per_cell_keeps_negative_features() -> None:
    seen = points([[-1.0, 5.0], [-2.0, 7.0], [3.0, 3.0], [9.0, 9.0]], [(0.1, 0.1), (0.2, 0.3), (-1.2, 0.6), (5.0, 0.0)])
    features, observed = project(seen, torch.zeros(1, 2), Grid(4, 6, 0.5))
    assert features[0, :, 2, 3].tolist() == [-1.0, 7.0]
    assert features[0, :, 3, 0].tolist() == [3.0, 3.0]
    assert observed.nonzero().tolist() == [[0, 0, 2, 3], [0, 0, 3, 0]]
    assert (features * ~observed == 0).all()


def test_sum_for_landmarks_and_invalid_points() -> None:
    seen = points([[1.0], [2.0], [40.0]], [(0.1, 0.1), (0.2, 0.3), (0.2, 0.2)], [True, True, False])
    features, observed = project(seen, torch.zeros(1, 2), Grid(4, 6, 0.5), reduce="sum")
    assert features[0, 0, 2, 3].item() == 3.0
    assert int(observed.sum()) == 1


def test_points_of_images_lie_where_the_pinhole_camera_says() -> None:
    lens = Intrinsics(width=40, height=32, vfov_rad=math.pi / 3)
    poses = torch.from_numpy(camera_to_world(np.array([[3.0, -2.0, 1.5]]), 0.7, -0.3))
    depth_m = 1.0 + random(4, 5).abs()
    seen = points_from_rgbd(
        torch.zeros(1, 1, 2, 4, 5),
        depth_m.repeat_interleave(8, 0).repeat_interleave(8, 1)[None, None],
        poses[None],
        lens,
    )
    assert_close(seen.xyz_m[0], unproject(depth_m, poses[0], lens).flatten(0, 1))


@pytest.mark.parametrize(
    ("prefix", "grid", "clip_m"), [("", Grid(12, 12, 0.5), 5.0), ("odd/", Grid(13, 11, 0.5), 0.05)]
)
def test_golden_projection(golden: Path, prefix: str, grid: Grid, clip_m: float) -> None:
    """The recorded features are not negative and every pooled depth exists, so both definitions agree."""
    seen, recorded = recorded_points(golden, clip_m)
    features, observed = project(seen, torch.from_numpy(recorded["xyzhe_start"][:, :2]), grid)
    expected = torch.from_numpy(recorded[f"{prefix}spatial_map_nhwc"]).permute(0, 3, 1, 2)
    assert_close(features, expected, rtol=1e-5, atol=0.0)
    assert torch.equal(observed[:, 0].float(), torch.from_numpy(recorded[f"{prefix}mask"]))


def test_divergence_equals_torchs_and_counts_what_was_excluded() -> None:
    target, belief = random(2, 3, 4 * 5 * 6).softmax(-1).view(2, 3, 4, 5, 6).unbind(0)
    expected = F.kl_div(belief.log(), target, reduction="none").sum((1, 2, 3))
    assert_close(divergence(target, belief), expected)
    certain, elsewhere = torch.eye(2).view(2, 1, 1, 2)
    assert float(divergence(certain, elsewhere, floor=1e-8)) == pytest.approx(-math.log(1e-8))
    assert float(divergence(certain, elsewhere)) == math.inf

"""Mapper: equal to the textbook conv-GRU on whole maps, to the released code's recorded updates, and its invariants."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch.testing import assert_close

from ghosts.config import MapperConfig
from ghosts.equations import Gates, masked_convolution, project, sparse_convolution, update_map
from ghosts.fast.choose import cell_conv
from ghosts.fast.stencil import flat_weight, pair_conv, stencil, table_conv
from ghosts.mapping.mapper import Mapper, MapState, Masks, draw_masks
from ghosts.mapping.observations import observations_of
from ghosts.mapping.points import points_from_rgbd
from ghosts.precision import networks_in
from ghosts_sim.errors import ConfigError
from ghosts_sim.types import Grid, Intrinsics
from mapping.whole_maps import cells_from_maps, unroll, update


def dense_update(
    mapper: Mapper, state: MapState, features: torch.Tensor, observed: torch.Tensor, masks: Masks | None
) -> MapState:
    """The map update of `equations`, with a mapper's weights."""
    convolution = sparse_convolution if mapper.config.convolution == "sparse" else masked_convolution

    def gates(layer: torch.nn.Conv2d, mask: torch.Tensor | None) -> Gates:
        scale = 1.0 if mask is None else mask[..., None, None]
        return lambda values, known: scale * convolution(values, known, layer.weight, layer.bias)

    convolutions = (
        gates(mapper.input_to_state, None if masks is None else masks.input),
        gates(mapper.state_to_state, None if masks is None else masks.state),
    )
    return MapState(*update_map(state.map, state.observed, features * observed, observed, *convolutions))


def scene(seed: int, dtype: torch.dtype = torch.float32) -> tuple[torch.Tensor, torch.Tensor]:
    """Two episodes of four steps on a 7 × 9 map; the third step sees nothing in either."""
    generator = torch.Generator().manual_seed(seed)
    observed = torch.rand(2, 4, 1, 7, 9, generator=generator) < 0.35
    observed[:, 2] = False
    features = torch.randn(2, 4, 5, 7, 9, generator=generator, dtype=dtype) * observed
    return features, observed


def make(convolution: str = "masked", kernel: int = 3) -> Mapper:
    torch.manual_seed(11)
    return Mapper(MapperConfig(features=5, channels=4, kernel=kernel, convolution=convolution))


@pytest.mark.parametrize("convolution", ["masked", "sparse"])
@pytest.mark.parametrize("kernel", [1, 3, 5])
@pytest.mark.parametrize("drop", [False, True])
def test_unroll_equals_the_dense_definition(convolution: str, kernel: int, drop: bool) -> None:
    mapper = make(convolution, kernel)
    features, observed = scene(1)
    masks = draw_masks(mapper.config, 2, torch.Generator().manual_seed(0)) if drop else None
    features.requires_grad_()
    maps, seen = unroll(mapper, features, observed, masks)
    state, expected, expected_seen = mapper.empty(2, 7, 9), [], []
    for step in range(4):
        state = dense_update(mapper, state, features[:, step], observed[:, step], masks)
        expected.append(state.map)
        expected_seen.append(state.observed)
    torch.testing.assert_close(maps, torch.stack(expected, 1), rtol=1e-5, atol=1e-6)
    assert torch.equal(seen, torch.stack(expected_seen, 1))

    probe = torch.randn(maps.shape, generator=torch.Generator().manual_seed(5))
    inputs = [features, *mapper.parameters()]
    ours = torch.autograd.grad((maps * probe).sum(), inputs)
    theirs = torch.autograd.grad((torch.stack(expected, 1) * probe).sum(), inputs)
    for mine, other in zip(ours, theirs, strict=True):
        torch.testing.assert_close(mine, other, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("convolution", ["masked", "sparse"])
def test_updates_one_by_one_equal_the_unroll(convolution: str) -> None:
    mapper = make(convolution)
    features, observed = scene(2)
    masks = draw_masks(mapper.config, 2, torch.Generator().manual_seed(0))
    maps, seen = unroll(mapper, features, observed, masks)
    state = mapper.empty(2, 7, 9)
    for step in range(4):
        state = update(mapper, state, features[:, step], observed[:, step], masks)
        torch.testing.assert_close(state.map, maps[:, step])
        assert torch.equal(state.observed, seen[:, step])
    halfway = MapState(maps[:, 1], seen[:, 1])
    later, _ = unroll(mapper, features[:, 2:], observed[:, 2:], masks, halfway)
    torch.testing.assert_close(later, maps[:, 2:])


def test_both_ways_to_convolve_observed_cells_agree() -> None:
    features, observed = scene(6)
    cells = cells_from_maps(features, observed)
    plan, weight = stencil(cells, 3), torch.randn(7, 5, 3, 3, generator=torch.Generator().manual_seed(2))
    by_table = table_conv(F.pad(cells.features, (0, 0, 0, 1)), plan.sources, flat_weight(weight))
    assert_close(by_table, pair_conv(cells.features, plan, weight))
    dense = F.conv2d(features.flatten(0, 1), weight, padding=1).unflatten(0, features.shape[:2])
    assert_close(cell_conv(cells.features, plan, weight), cells_from_maps(dense, observed).features)


@pytest.mark.parametrize("pool", [1, 2, 4])
def test_pooled_maps_equal_maps_pooled_later(pool: int) -> None:
    cells = cells_from_maps(*(F.pad(value, (0, 3, 0, 1)) for value in scene(5)))
    mapper = make()
    masks = draw_masks(mapper.config, cells.batch, torch.Generator().manual_seed(1))
    gradients = []
    steps = mapper(observations_of(cells, 3, pool), None, masks)
    whole, pooled = steps.maps(), steps.pooled()
    later = F.max_pool2d(whole.flatten(0, 1), pool).unflatten(0, whole.shape[:2])
    assert_close(pooled, later, rtol=0.0, atol=0.0)
    assert_close(steps.pooled([2, 0]), later[:, [2, 0]], rtol=0.0, atol=0.0)
    assert_close(steps.last().pooled(pool)[:, 0], later[:, -1], rtol=0.0, atol=0.0)
    for maps in (later, pooled):
        mapper.zero_grad()
        (maps * torch.arange(1.0, maps.shape[-1] + 1)).sum().backward(retain_graph=True)
        gradients.append([weight.grad.clone() for weight in mapper.parameters() if weight.grad is not None])
    assert len(gradients[0]) == 4
    for expected, got in zip(*gradients):
        assert_close(got, expected)


def test_a_pool_that_does_not_divide_the_map_is_named() -> None:
    cells = cells_from_maps(*scene(0))
    with pytest.raises(ConfigError, match=r"cannot be pooled by filter\.pool = 7"):
        observations_of(cells, 3, 7)


def test_masks_keep_the_mean_and_are_reproducible() -> None:
    config = MapperConfig(features=2, channels=128, dropout=0.25)
    masks = draw_masks(config, 64, torch.Generator().manual_seed(0))
    assert sorted(masks.input.unique().tolist()) == pytest.approx([0.0, 4 / 3])
    assert masks.input.mean().item() == pytest.approx(1.0, abs=0.02)
    assert masks.state.mean().item() == pytest.approx(1.0, abs=0.02)
    assert not torch.equal(masks.input, masks.state)
    assert torch.equal(masks.input, draw_masks(config, 64, torch.Generator().manual_seed(0)).input)


def test_wrong_number_of_features_is_named() -> None:
    with pytest.raises(ConfigError, match=r"takes 5 features.*got 6"):
        unroll(make(), torch.zeros(1, 1, 6, 3, 3), torch.zeros(1, 1, 1, 3, 3, dtype=torch.bool))


def test_half_precision_inputs_give_full_precision_maps() -> None:
    mapper = make()
    features, observed = scene(7)
    exact, _ = unroll(mapper, features, observed)
    stored, _ = unroll(mapper, features.half(), observed)
    assert stored.dtype == torch.float32
    torch.testing.assert_close(stored, exact, atol=2e-3, rtol=0.0)
    with networks_in("bf16-mixed", torch.device("cpu")):
        rough, _ = unroll(mapper, features, observed)
    assert rough.dtype == torch.float32
    torch.testing.assert_close(rough, exact, atol=5e-2, rtol=0.0)


def test_golden_updates(golden: Path) -> None:
    """Two updates of the released code, whose dropout masks are 0 or 1 without scale."""
    recorded = np.load(golden / "model" / "mapper_update_train.npz")
    mapper = Mapper(MapperConfig(features=6, channels=8))
    names = {"input_to_state": "x2h", "state_to_state": "h2h"}
    mapper.load_state_dict(
        {
            f"{ours}.{part}": torch.from_numpy(recorded[f"weights/{theirs}.{part}"])
            for ours, theirs in names.items()
            for part in ("weight", "bias")
        }
    )
    masks = Masks(*(torch.from_numpy(recorded[f"dropout_masks/{name}"])[:, :, 0, 0] for name in ("x2h", "h2h")))
    origin = torch.from_numpy(recorded["xyzhe_start"][:, :2])
    lens = Intrinsics(width=40, height=32, vfov_rad=math.pi / 3)
    grid = Grid(12, 12, 0.5)
    poses = np.load(golden / "model" / "projection.npz")["T_w"]
    state = mapper.empty(2, 12, 12)

    def by_map(values: np.ndarray) -> torch.Tensor:  # recorded image i belongs to map i % 2
        return torch.from_numpy(values.reshape(3, 2, *values.shape[1:])).transpose(0, 1)

    for step in range(2):
        matrices = poses.copy()
        matrices[:, :3, 3] = recorded[f"outputs/{step}/0"][:, :3]
        points = points_from_rgbd(
            by_map(recorded["features_nchw"]),
            by_map(recorded[f"depths/{step}"])[:, :, 0] / 4000.0,
            by_map(matrices),
            lens,
        )
        state = update(mapper, state, *project(points, origin, grid), masks)
        expected = torch.from_numpy(recorded[f"outputs/{step}/1"])
        torch.testing.assert_close(state.map, expected, rtol=1e-5, atol=1e-6)
        assert torch.equal(state.observed.float(), torch.from_numpy(recorded[f"outputs/{step}/2"]))


def test_nothing_observed_at_all() -> None:
    mapper = make()
    nothing = torch.zeros(2, 3, 1, 4, 6, dtype=torch.bool)
    maps, seen = unroll(mapper, torch.zeros(2, 3, 5, 4, 6), nothing)
    assert maps.shape == (2, 3, 4, 4, 6)
    assert not maps.any()
    assert not seen.any()
    features, observed = scene(8)
    maps, seen = unroll(mapper, features, observed)
    state = update(
        mapper, MapState(maps[:, -1], seen[:, -1]), torch.zeros(2, 5, 7, 9), torch.zeros(2, 1, 7, 9, dtype=torch.bool)
    )
    assert torch.equal(state.map, maps[:, -1])
    assert torch.equal(state.observed, seen[:, -1])


def test_many_steps_stay_finite_and_bounded() -> None:
    """The candidate is a tanh and the update an average, so no number of updates leaves [−1, 1]."""
    mapper = make("sparse")
    generator = torch.Generator().manual_seed(0)
    observed = torch.rand(1, 100, 1, 5, 5, generator=generator) < 0.5
    features = 100.0 * torch.randn(1, 100, 5, 5, 5, generator=generator) * observed
    maps, _ = unroll(mapper, features.requires_grad_(), observed)
    assert maps.abs().max() <= 1.0
    maps[:, -1].sum().backward()
    assert torch.isfinite(features.grad).all()

"""Answers recorded from the authors' modules (`golden/model`), through a small mapping of names."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

from ghosts.belief.histogram import gaussian, pose_belief
from ghosts.belief.kernel import JointKernel
from ghosts.belief.observation import ObservationModel
from ghosts.config import FilterConfig, LingUNetConfig
from ghosts.equations import divergence
from ghosts.mapping.mapper import pool_maps
from ghosts_sim.types import Grid

TOLERANCE = {"rtol": 1e-5, "atol": 0.0}


def load(golden: Path, name: str) -> tuple[dict[str, Tensor], dict]:
    with np.load(golden / "model" / f"{name}.npz", allow_pickle=False) as archive:
        arrays = {key: torch.from_numpy(np.array(archive[key])) for key in archive.files}
    return arrays, json.loads((golden / "model" / f"{name}.json").read_text(encoding="utf-8"))


def test_propagation_with_a_given_kernel(golden: Path) -> None:
    arrays, _ = load(golden, "propagate")
    kernel = JointKernel(arrays["log_kernel"].exp())
    assert_close(kernel.propagate(arrays["log_belief"].exp()), arrays["out"].exp(), **TOLERANCE)


# Names of the recorded weights -> ours.
LINGUNET = {
    "conv1": "down.0",
    "conv2": "down.1",
    "conv3": "down.2",
    "deconv1": "up.0",
    "deconv2": "up.1",
    "deconv3": "last",
    "lang15": "filters.0",
    "lang24": "filters.1",
    "lang3": "filters.2",
}


def test_lingunet_with_given_weights(golden: Path) -> None:
    arrays, scalars = load(golden, "observation")
    prefix = "weights/lingunet.unet_posterior."
    weights = {}
    for key, value in arrays.items():
        if key.startswith(prefix):
            block, rest = key.removeprefix(prefix).split(".", 1)
            weights[f"lingunet.{LINGUNET[block]}.{rest}"] = value
    config = FilterConfig(
        headings=4,
        likelihood_floor=scalars["min_obs_likelihood"],
        observation=LingUNetConfig(levels=3, channels=48, language=24, output=128),
    )
    model = ObservationModel(8, 10, config)
    model.load_state_dict(weights)
    maps = arrays["semantic_map"].requires_grad_()
    likelihood = model(pool_maps(maps, 2), arrays["embedding"][:, None])[:, 0]
    # Processors add in different orders: 1.6e-5 with ONEDNN_MAX_CPU_ISA=SSE41, below 1e-5 with AVX2 and AVX-512.
    assert_close(likelihood, arrays["out"].exp(), rtol=1e-4, atol=1e-7)
    likelihood.log().sum().backward()
    recorded = arrays["grad_semantic_map"]
    assert maps.grad is not None
    error = (maps.grad - recorded).norm() / recorded.norm()
    assert error < 1e-4, f"gradient of the summed log likelihood differs by {error:.2e}"


def test_kl_where_finite(golden: Path) -> None:
    arrays, _ = load(golden, "kl_loss")
    predicted, target = arrays["pred"], arrays["target"]
    finite = predicted.isfinite()
    per_item = divergence(torch.where(finite, target, 0.0), torch.where(finite, predicted.exp(), 1.0))
    assert_close(per_item.sum(), arrays["loss"], **TOLERANCE)
    assert_close(per_item[arrays["valid"]].sum(), arrays["loss_valid"], **TOLERANCE)


CASES = [f"cases/{index}" for index in range(12)] + ["no_heading", "odd"]


@pytest.mark.parametrize("case", CASES)
def test_belief_at_a_pose(golden: Path, case: str) -> None:
    arrays, scalars = load(golden, "belief_map")
    pose, recorded = arrays[f"{case}/xyzhe"], arrays[f"{case}/belief"]
    cell_m = scalars["cell"] * scalars["downsample"]
    # The released code divides σ by the map's cell and uses it on the belief's: give that many belief cells.
    sigma_m = scalars[f"{case}/sigma"] / scalars["cell"] * cell_m
    grid = Grid(recorded.shape[-2], recorded.shape[-1], cell_m)
    xy_m = pose[:, :2] - arrays["xyzhe_start"][:, :2]
    belief = pose_belief(xy_m, pose[:, 3], grid, sigma_m, recorded.shape[1])
    # Recorded bins at a right angle hold 1e-8 where cos(π/2) was not quite 0; ours are empty.
    assert_close(belief, recorded, rtol=1e-5, atol=2e-8)


def test_heat_map_of_one_point(golden: Path) -> None:
    arrays, scalars = load(golden, "belief_map")
    heat = arrays["heatmap/heat"]
    grid = Grid(heat.shape[-2], heat.shape[-1], scalars["cell"])
    xy_m = arrays["heatmap/xy"] - arrays["xyzhe_start"][:, :2]
    sigma_m = scalars["heatmap/sigma"]
    ours = gaussian(xy_m, grid, sigma_m)
    density = ours / ours.amax((-2, -1), keepdim=True) * heat.amax((-2, -1), keepdim=True)
    assert math.isclose(sigma_m, 2.0)
    assert_close(density, heat, rtol=1e-5, atol=1e-9)

"""The torch camera: recorded answers of the original simulator, and the CPU's camera, give the same views."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch

from ghosts.mapping.camera_torch import make_bank, render_views, view_matrices
from ghosts_sim.camera import faces_in_view, sample_depth_m, sample_rgb
from ghosts_sim.errors import ConfigError
from ghosts_sim.graph import load_graph
from ghosts_sim.store import Panorama, PanoramaStore
from ghosts_sim.types import Intrinsics
from makers import upright_rotation


@pytest.mark.parametrize("number", [0, 3, 7, 8, *range(10, 19), 25])
def test_recorded_images(golden: Path, navigation: Path, number: int) -> None:
    folder = golden / "simulator"
    cases = json.loads((folder / "render_cases.json").read_text())["cases"]
    case = next(case for case in cases if case["name"] == f"case{number:02d}")
    every = np.s_[:: case["stride"], :: case["stride"]]  # of large pictures some rows and columns are kept
    camera = Intrinsics(case["width"], case["height"], case["vfov"])
    graph = load_graph(navigation / "connectivity" / f"{case['scan']}_connectivity.json")
    panorama = PanoramaStore(folder / "scans").load(case["scan"], case["viewpoint"])
    rotation = graph.rotation[graph.index(case["viewpoint"])]
    answer = np.load(folder / case["file"])
    expected = answer["depth"].reshape(answer["rgb"].shape[:2]).astype(float)
    bank = make_bank([panorama], "cpu")
    matrices = view_matrices(rotation[None], np.array([case["heading"]]), np.array([case["elevation"]]))
    rgb, depth = render_views(bank, torch.zeros(1, dtype=torch.int32), torch.tensor(matrices).float(), camera)
    assert depth is not None
    assert (np.abs(rgb[0].numpy()[every].astype(int) - answer["rgb"]).max(-1) <= 1).mean() >= 0.9999
    assert (np.abs(depth[0].numpy()[every] * 4000.0 - expected) <= 1).mean() >= 0.999


@pytest.mark.parametrize("device", ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)])
def test_torch_batch_equals_single_views(device: str) -> None:
    random = np.random.default_rng(3)
    panoramas = [
        Panorama.from_rgb(
            np.ascontiguousarray(np.repeat(np.repeat(random.integers(0, 255, (4, 24, 3), np.uint8), 8, 0), 8, 1)),
            random.integers(0, 60000, (32, 192), dtype=np.uint16),
        )
        for _ in range(3)
    ]
    camera, bank = Intrinsics(33, 22, 1.1), make_bank(panoramas, device)
    which, headings, elevations = [2, 0, 1, 2], np.array([0.1, 2.0, 4.0, 5.5]), np.array([0.0, -0.5, 0.6, -1.2])
    rotations = np.stack([upright_rotation(h) for h in (0.0, 1.0, 2.0, 3.0)])
    matrices = torch.tensor(view_matrices(rotations, headings, elevations)).float()
    places = torch.tensor(which, dtype=torch.int32, device=device)
    rgb, depth = render_views(bank, places, matrices.to(device), camera)
    assert depth is not None
    rgb, depth = rgb.cpu(), depth.cpu()
    for k, number in enumerate(which):
        view = faces_in_view(camera, rotations[k], float(headings[k]), float(elevations[k]), 32).ready()
        off = np.abs(rgb[k].numpy().astype(int) - sample_rgb(panoramas[number], view))
        assert (off <= 1).mean() > 0.999
        same = np.isclose(depth[k].numpy(), sample_depth_m(panoramas[number], view), rtol=1e-5)
        assert same.mean() > 0.995  # nearest texel: a rounding tie may fall either way


def plain_panorama(face_px: int) -> Panorama:
    strip = (face_px, 6 * face_px)
    return Panorama.from_rgb(np.zeros((*strip, 3), np.uint8), np.zeros(strip, np.uint16))


def test_bank_refuses_mixtures() -> None:
    with pytest.raises(ConfigError, match="face size"):
        make_bank([plain_panorama(8), plain_panorama(16)], "cpu")
    bare = Panorama.from_rgb(plain_panorama(8).rgb, None)
    with pytest.raises(ConfigError, match="depth"):
        make_bank([plain_panorama(8), bare], "cpu")
    camera = Intrinsics(8, 6, 0.5)
    rgb, depth = render_views(make_bank([bare], "cpu"), torch.zeros(1, dtype=torch.int32), torch.eye(3)[None], camera)
    assert depth is None
    assert rgb.shape == (1, 6, 8, 3)

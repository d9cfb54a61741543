"""Labelled views of houses for training a backbone: decoded once, sampled on the device.

All panoramas and label strips stay on the device, so that an iteration reads no file. Views of iteration i follow from
the seed and i alone.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int, UInt8
from torch import Tensor

from ghosts.config import BackboneConfig
from ghosts.data.examples import split_buildings
from ghosts.data.tile_store import included
from ghosts.mapping.backbone import SmallBackbone
from ghosts.mapping.camera_torch import PanoramaBank, pack_rgb, render_labels, render_views, view_matrices
from ghosts_houses.index import MORE_HOUSES
from ghosts_houses.render.scene import LABELS
from ghosts_sim.dataroot import DataRoot
from ghosts_sim.errors import DataError
from ghosts_sim.images import read_skybox_labels, read_skybox_rgb
from ghosts_sim.types import Intrinsics

_ANEW = "remove the scans/ of this world; the same ghosts world then makes them again"
LABEL_STEP = 4
"""Labels are looked up at every fourth pixel: 16 samples per feature pixel."""
VFOV_RAD = math.radians(60.0)


@dataclass(frozen=True, eq=False)
class LabelledPanoramas:
    """Panoramas with their labels, resident on a device."""

    bank: PanoramaBank
    labels: UInt8[Tensor, "n texels"]
    rotations: Float[np.ndarray, "n 3 3"]

    def __len__(self) -> int:
        return len(self.rotations)


@dataclass(frozen=True)
class Views:
    """Which views are looked at."""

    which: Int[np.ndarray, " b"]
    headings_rad: Float[np.ndarray, " b"]
    elevations_rad: Float[np.ndarray, " b"]
    camera: Intrinsics
    flipped: Bool[np.ndarray, " b"]
    """Mirrored left to right."""

    def split(self, batch: int) -> Iterator[Views]:
        """The same views, a few at a time."""
        for at in range(0, len(self.which), batch):
            yield self.part(slice(at, at + batch))

    def part(self, some: slice) -> Views:
        """Some of the views."""
        return Views(
            self.which[some], self.headings_rad[some], self.elevations_rad[some], self.camera, self.flipped[some]
        )


def training_houses(root: DataRoot) -> tuple[list[str], list[str]]:
    """Houses to train on and houses to score on.

    All are buildings of `train` that no unseen or test split uses. (The buildings of val_seen are those of `train` by
    definition.) The houses to score on are those that goal prediction holds out too.

    Raises:
        DataError: fewer than two are left.
    """
    seen, held_out = split_buildings(root)
    others = [name for name in root.splits if name not in ("train", "val_seen")]
    evaluated = {episode.scan for name in others for episode in root.episodes(name)}
    seen = [scan for scan in seen if scan not in evaluated]
    held_out = [scan for scan in held_out if scan not in evaluated]
    if not held_out and len(seen) >= 2:
        seen, held_out = seen[:-1], seen[-1:]
    if not seen or not held_out:
        hint = f"make a world of more houses with: {MORE_HOUSES}"
        raise DataError(
            "fewer than two houses of train are in no other split: one to train on, one to check",
            file=root.path,
            hint=hint,
        )
    return seen, held_out


def load_labelled(root: DataRoot, scans: Sequence[str], limit: int, device: torch.device) -> LabelledPanoramas:
    """Decode panoramas and labels of some houses onto a device; at most `limit` of them, evenly spread.

    Raises:
        DataError: a picture is missing or damaged, sizes differ, or a label has no name.
    """
    places = [(scan, row) for scan in scans for row in included(root, scan)]
    if not places:
        raise DataError(
            "no included viewpoint in the houses to train on", file=root.path, hint="make houses with: ghosts world"
        )
    places = [places[k] for k in np.linspace(0, len(places) - 1, min(limit, len(places))).round().astype(int)]

    store = root.panoramas()

    def decode(place: tuple[str, int]) -> tuple[np.ndarray, np.ndarray]:
        scan, row = place
        rgb_path, _, label_path = store.paths(scan, root.graph(scan).ids[row])
        rgb = read_skybox_rgb(rgb_path, hint="make houses with: ghosts world")
        labels = read_skybox_labels(label_path, hint="only houses have label images; make some with: ghosts world")
        if labels.shape != rgb.shape[:2]:
            problem = f"the label skybox has faces of {labels.shape[0]} pixels, the colour one of {rgb.shape[0]}"
            raise DataError(problem, file=label_path, hint=_ANEW)
        if labels.max() >= len(LABELS):
            raise DataError(f"labels must be below {len(LABELS)}", file=label_path, value=int(labels.max()), hint=_ANEW)
        return pack_rgb(rgb), labels.ravel()

    texels = len(decode(places[0])[1])
    rgbx = torch.empty(len(places), texels, dtype=torch.int32, device=device)
    labels = torch.empty(len(places), texels, dtype=torch.uint8, device=device)
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for number, (words, strip) in enumerate(pool.map(decode, places)):
            if len(words) != texels:
                raise DataError(
                    "houses have faces of different sizes", file=root.path, record=places[number][0], hint=_ANEW
                )
            rgbx[number], labels[number] = torch.from_numpy(words), torch.from_numpy(strip)
    rotations = np.stack([root.graph(scan).rotation[row] for scan, row in places])
    return LabelledPanoramas(PanoramaBank(rgbx, None, math.isqrt(texels // 6)), labels, rotations)


def draw_views(config: BackboneConfig, panoramas: int, iteration: int) -> Views:
    """Views of one iteration: any heading, around the sweep's elevation, a little nearer or farther, half mirrored."""
    random = np.random.default_rng([config.seed, 3, iteration])
    zoom = math.exp(random.uniform(-0.15, 0.15))
    camera = Intrinsics(config.width, config.height, 2.0 * math.atan(math.tan(VFOV_RAD / 2.0) * zoom))
    return Views(
        which=random.integers(0, panoramas, config.batch),
        headings_rad=random.uniform(0.0, 2.0 * math.pi, config.batch),
        elevations_rad=np.radians(random.uniform(-50.0, 0.0, config.batch)),
        camera=camera,
        flipped=random.random(config.batch) < 0.5,
    )


def held_out_views(config: BackboneConfig, panoramas: int) -> Views:
    """The views scores are computed on: the sweep's camera and elevation, headings as they come."""
    count = config.held_out_views
    headings = np.random.default_rng([config.seed, 4]).uniform(0.0, 2.0 * math.pi, count)
    camera = Intrinsics(config.width, config.height, VFOV_RAD)
    which = np.linspace(0, panoramas - 1, count).round().astype(np.int64)
    return Views(which, headings, np.full(count, math.radians(-30.0)), camera, np.zeros(count, bool))


def render_labelled(
    panoramas: LabelledPanoramas, views: Views
) -> tuple[UInt8[Tensor, "b h w 3"], Float[Tensor, "b l y x"]]:
    """Colour images, and the share of each label in the block of every feature pixel."""
    device = panoramas.labels.device
    matrices = view_matrices(panoramas.rotations[views.which], views.headings_rad, views.elevations_rad)
    matrices[views.flipped, :, 0] *= -1.0
    where = torch.from_numpy(views.which).to(device), torch.from_numpy(matrices).float().to(device)
    rgb, _ = render_views(panoramas.bank, *where, views.camera, fused=False)
    step = LABEL_STEP
    coarse = Intrinsics(views.camera.width // step, views.camera.height // step, views.camera.vfov_rad)
    labels = render_labels(panoramas.labels, panoramas.bank.face_px, *where, coarse)
    one_hot = F.one_hot(labels.long(), len(LABELS)).permute(0, 3, 1, 2).float()
    return rgb, F.avg_pool2d(one_hot, SmallBackbone.stride // step)


def recolour(rgb: UInt8[Tensor, "b h w 3"], config: BackboneConfig, iteration: int) -> Float[Tensor, "b h w 3"]:
    """Brighter or darker, and a little of a tint."""
    random = np.random.default_rng([config.seed, 5, iteration])
    count = len(rgb)
    gain = np.exp(random.uniform(-0.4, 0.4, (count, 1)) + random.uniform(-0.1, 0.1, (count, 3)))
    scale = torch.from_numpy(gain).float().to(rgb.device)[:, None, None]
    return (rgb.float() * scale).clamp(0.0, 255.0)

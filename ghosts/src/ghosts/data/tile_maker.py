"""From pictures to tiles: sweep, backbone, projection; made once per backbone and kept on disk (`tile_store`)."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Float, UInt8
from torch import Tensor

from ghosts.data.tile_store import TileSettings, find_tiles, included, join_parts, pictures_of, write_part
from ghosts.mapping.backbone import Backbone
from ghosts.mapping.camera_torch import PanoramaBank, make_bank, render_views, view_matrices
from ghosts.mapping.points import Points, points_from_rgbd
from ghosts.mapping.tiles import Tiles, join_tiles, tiles_from_points
from ghosts_sim import geometry
from ghosts_sim.dataroot import DataRoot
from ghosts_sim.errors import DataError
from ghosts_sim.renderer import PanoramaRenderer
from ghosts_sim.store import Panorama, PanoramaStore

BATCH = 8
"""Viewpoints at a time: 96 images of the paper's sweep."""


def sweep_poses(root: DataRoot, scan: str, rows: Sequence[int], settings: TileSettings) -> Float[Tensor, "b v 4 4"]:
    """Camera-to-world matrices of the sweeps at some viewpoints; float64, as un-projection wants."""
    headings = _headings(settings)
    position = root.graph(scan).position_m[list(rows), None]
    return torch.from_numpy(geometry.camera_to_world(position, headings, settings.elevation_rad))


def sweep_on_cpu(
    renderer: PanoramaRenderer, scan: str, rows: Sequence[int], settings: TileSettings
) -> tuple[UInt8[Tensor, "b v h w 3"], Float[Tensor, "b v h w"]]:
    """Colour and z-depth of the sweeps at some viewpoints."""
    names = [renderer.graph_of(scan).ids[row] for row in rows]
    sweep = renderer.sweep(
        [scan] * len(names),
        names,
        camera=settings.camera,
        headings=settings.headings,
        elevation_rad=settings.elevation_rad,
    )
    return torch.from_numpy(sweep.rgb), torch.from_numpy(sweep.depth_m)


def sweep_on_device(
    bank: PanoramaBank, rotations: Float[np.ndarray, "b 3 3"], first: int, settings: TileSettings
) -> tuple[UInt8[Tensor, "b v h w 3"], Float[Tensor, "b v h w"]]:
    """The same from resident panoramas: those from number `first` on, as many as there are rotations."""
    batch, views = len(rotations), settings.headings
    elevations = np.full(batch * views, settings.elevation_rad)
    matrices = view_matrices(np.repeat(rotations, views, 0), np.tile(_headings(settings), batch), elevations)
    device = bank.rgbx.device
    which = torch.arange(first, first + batch, device=device).repeat_interleave(views)
    # Not compiled: a compiled kernel is tied to the bank's size, which every building changes.
    rgb, depth = render_views(bank, which, torch.from_numpy(matrices).float().to(device), settings.camera, fused=False)
    if depth is None:
        raise DataError(
            "the panoramas have no depth; tiles need it", hint="make it with: ghosts prepare --raw RAW --out ROOT"
        )
    return rgb.unflatten(0, (batch, views)), depth.unflatten(0, (batch, views))


def _headings(settings: TileSettings) -> Float[np.ndarray, " v"]:
    return np.arange(settings.headings) * (geometry.TAU / settings.headings)


def sweep_points(
    backbone: Backbone,
    rgb: UInt8[Tensor, "b v h w 3"],
    depth_m: Float[Tensor, "b v h w"],
    camera_to_world: Float[Tensor, "b v 4 4"],
    settings: TileSettings,
) -> Points:
    """Points of whole sweeps: features of all views, un-projected. Differentiable in the backbone's weights."""
    features = backbone(rgb.flatten(0, 1)).float().unflatten(0, rgb.shape[:2])
    return points_from_rgbd(features, depth_m, camera_to_world, settings.camera, settings.height_clip_m)


@dataclass(frozen=True)
class TileMaker:
    """Makes the tiles of whole buildings.

    On the CPU `PanoramaRenderer` renders. On a GPU a building's panoramas are resident while it is worked on, and the
    next building's are decoded meanwhile.
    """

    root: DataRoot
    backbone: Backbone
    settings: TileSettings
    device: torch.device
    batch: int = BATCH

    def buildings(self, scans: Sequence[str]) -> Iterator[tuple[str, Tiles]]:
        """Tiles of each building's included viewpoints, float16 on the CPU, building by building."""
        if self.device.type == "cpu":
            renderer = PanoramaRenderer(self.root.graph, self.root.panoramas())
            for scan in scans:
                yield scan, self.building(scan, partial(self._cpu, renderer, scan))
            return
        store = self.root.panoramas(cache_bytes=0)
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            waiting = [_decode(pool, store, self.root, scan) for scan in scans[:1]]
            for number, scan in enumerate(scans):
                waiting += [_decode(pool, store, self.root, after) for after in scans[number + 1 : number + 2]]
                bank = make_bank([future.result() for future in waiting.pop(0)], self.device)
                yield scan, self.building(scan, partial(self._gpu, bank, scan))

    def building(self, scan: str, sweep: Callable[[int], tuple[Tensor, Tensor]]) -> Tiles:
        """Tiles of one building from a function that gives the next batch of sweeps, from a number on."""
        rows = included(self.root, scan)
        starts = range(0, len(rows), self.batch)
        return join_tiles([self.tiles(scan, rows[at : at + self.batch], *sweep(at)) for at in starts])

    @torch.no_grad()
    def tiles(self, scan: str, rows: list[int], rgb: Tensor, depth_m: Tensor) -> Tiles:
        """Tiles of some viewpoints from their sweeps."""
        poses = sweep_poses(self.root, scan, rows, self.settings).to(self.device)
        points = sweep_points(self.backbone, rgb, depth_m, poses, self.settings)
        tiles = tiles_from_points(points, self.settings.cell_m)
        features = tiles.features.half().cpu()
        if not torch.isfinite(features).all():
            raise DataError(
                "the backbone's features do not fit into 16 bits",
                record=f"building {scan}",
                hint="use another --backbone",
            )
        return Tiles(features, tiles.cells.cpu(), tiles.counts, tiles.cell_m)

    def probe(self, scan: str) -> tuple[float, float]:
        """Seconds and bytes per viewpoint, measured on a few of one building."""
        rows = included(self.root, scan)[: self.batch]
        seconds, cells = 0.0, 0
        for _ in range(1 if self.device.type == "cpu" else 2):  # on a GPU the first time starts libraries
            begin = time.perf_counter()
            store = self.root.panoramas()
            if self.device.type == "cpu":
                sweep = self._cpu(PanoramaRenderer(self.root.graph, store), scan, 0)
            else:
                names = [self.root.graph(scan).ids[row] for row in rows]
                sweep = self._gpu(make_bank([store.load(scan, name) for name in names], self.device), scan, 0)
            cells = len(self.tiles(scan, rows, *sweep).cells)
            seconds = time.perf_counter() - begin
        return seconds / len(rows), cells / len(rows) * (2 * self.settings.channels + 8)

    def _cpu(self, renderer: PanoramaRenderer, scan: str, at: int) -> tuple[Tensor, Tensor]:
        return sweep_on_cpu(renderer, scan, included(self.root, scan)[at : at + self.batch], self.settings)

    def _gpu(self, bank: PanoramaBank, scan: str, at: int) -> tuple[Tensor, Tensor]:
        rows = included(self.root, scan)[at : at + self.batch]
        return sweep_on_device(bank, self.root.graph(scan).rotation[rows], at, self.settings)


def _decode(pool: ThreadPoolExecutor, store: PanoramaStore, root: DataRoot, scan: str) -> list[Future[Panorama]]:
    names = [root.graph(scan).ids[row] for row in included(root, scan)]
    return [pool.submit(store.load, scan, name) for name in names]


@dataclass(frozen=True)
class Work:
    """What is to be done."""

    scans: tuple[str, ...]
    """Buildings with pictures."""
    todo: tuple[str, ...]
    """Those whose tiles are missing or out of date, this process's share."""
    missing: int
    """How many such buildings there are, over all processes."""
    left_out: tuple[str, ...]
    """Buildings without pictures."""

    def viewpoints(self, root: DataRoot) -> int:
        """Viewpoints of this process's share."""
        return sum(len(included(root, scan)) for scan in self.todo)


def plan_work(maker: TileMaker, folder: Path, rank: int = 0, world: int = 1) -> Work:
    """Look at what is there, and take this process's share of the rest.

    Every process takes each `world`-th building, largest first, whether it is there or not: shares must not depend on
    when a process looks.
    """
    root = maker.root
    root.panoramas()  # says so when there are no pictures at all
    with_pictures = [scan for scan in root.scans if (root.path / "scans" / scan).is_dir() and included(root, scan)]
    found = find_tiles(folder, root, maker.settings, with_pictures)
    by_size = sorted(with_pictures, key=lambda scan: (-len(included(root, scan)), scan))
    todo = tuple(scan for scan in by_size[rank::world] if scan not in found)
    left_out = tuple(scan for scan in root.scans if scan not in set(with_pictures))
    return Work(tuple(with_pictures), todo, len(with_pictures) - len(found), left_out)


def check_space(folder: Path, needed_bytes: float) -> None:
    """Refuse to start what cannot be finished: parts and the joined file exist together for a moment.

    Raises:
        DataError: the disk is too full.
    """
    existing = next(path for path in (folder, *folder.absolute().parents) if path.exists())
    free = shutil.disk_usage(existing).free
    if free < 2.0 * needed_bytes:
        problem = f"the tiles need {2.0 * needed_bytes / 1e9:.1f} GB while they are made, {free / 1e9:.1f} GB are free"
        raise DataError(problem, file=folder, hint="choose another folder with --out")


def build_tiles(maker: TileMaker, folder: Path, work: Work, done: Callable[[str, Tiles], None] | None = None) -> bool:
    """Make the tiles of this process's buildings, each written when it is whole, then join if all are there.

    Returns:
        Whether all buildings are joined; False while other processes are still at theirs.
    """
    for scan, tiles in maker.buildings(work.todo):
        write_part(folder, maker.root, scan, maker.settings, pictures_of(maker.root, scan), tiles)
        if done is not None:
            done(scan, tiles)
    return join_parts(folder, maker.root, maker.settings, work.scans)

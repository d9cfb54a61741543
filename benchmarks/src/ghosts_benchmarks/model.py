"""What each part of the model and one training iteration cost, at the paper's shapes.

Batch 5, 12 views of 320 × 256, 768-channel features, a 128 × 96 × 96 map, 6 agent steps × 6 filter steps, Θ = 4. All
rows are forward and backward unless they say otherwise. The authors' times are those of their released code on 2 idle
CPU cores at the same shapes. Parts work on one map per episode, an iteration on six.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from typing import Literal

import numpy as np
import torch
from torch import Tensor

from ghosts.agent.interface import Briefing
from ghosts.belief.histogram import pose_belief
from ghosts.belief.loss import filter_loss
from ghosts.belief.motion import build_motion
from ghosts.config import ModelConfig, MotionConfig
from ghosts.devices import to_device
from ghosts.fast.graphs import Captured, capture
from ghosts.mapping.backbone import ResNetBackbone
from ghosts.mapping.cells import MapCells
from ghosts.mapping.mapper import MapState, draw_masks
from ghosts.mapping.observations import Observations, observations_of
from ghosts.mapping.points import points_from_rgbd
from ghosts.mapping.tiles import Tiles, place_tiles, tiles_from_points
from ghosts.methods.ghost.model import GoalModel
from ghosts.precision import network_type, networks_in
from ghosts_benchmarks.measure import Measurement, measure
from ghosts_sim.geometry import camera_to_world, lattice_cells, snap_origin
from ghosts_sim.types import Intrinsics

VIEWS, CAMERA = 12, Intrinsics(320, 256, math.radians(60.0))
AGENT_STEPS, WORDS, TILE_RADIUS_CELLS, STRIDE_M = 6, 30, 7.8, 2.25
"""R2R's mean instruction has 29 words; viewpoints are 2.25 m apart; a disc of this radius has about 190 cells."""


@dataclass(frozen=True)
class Row:
    """One line of the table."""

    what: str
    measurement: Measurement
    authors_s: float | None = None
    """The released code's time on 2 idle CPU cores, where it has a comparable part."""

    @property
    def speed_up(self) -> float | None:
        """How many times as fast as the authors' code."""
        return None if self.authors_s is None else self.authors_s / self.measurement.seconds


@dataclass(frozen=True)
class Made:
    """Made-up training data of one iteration."""

    tiles: Tiles
    """One for each episode and agent step, episode-major, as they would lie in a cache."""
    origin_xy_m: np.ndarray
    briefing: Briefing
    targets: Tensor


def measure_model(
    device: torch.device,
    *,
    batch: int = 5,
    repeats: int = 5,
    seed: int = 0,
    config: ModelConfig | None = None,
    images: bool = True,
) -> Iterator[Row]:
    """Measure every part and one iteration, row by row.

    Args:
        device: where to run. On a GPU the networks run in bfloat16, the filter's recursion in float32.
        batch: episodes.
        repeats: timed runs per row, after a warm-up.
        seed: of weights and data.
        config: of the model; the paper's shapes by default.
        images: whether to measure the backbone and the projection too.
    """
    torch.manual_seed(seed)
    config = config or ModelConfig()
    if images:
        yield from _image_rows(device, batch, repeats, seed)
    model = GoalModel(config).to(device).train()
    data = synthetic_batch(config, batch, AGENT_STEPS, device, seed)
    yield from _part_rows(model, data, device, repeats)
    yield from _motion_rows(config, data.targets, device, repeats)
    yield from _iteration_rows(model, data, device, repeats)


def synthetic_batch(config: ModelConfig, batch: int, steps: int, device: torch.device, seed: int) -> Made:
    """Walks of `steps` viewpoints with a dense disc of observed cells around each: the worst case for its number."""
    random = np.random.default_rng(seed)
    generator = torch.Generator().manual_seed(seed)
    grid, cell_m = config.mapper.grid, config.mapper.cell_m
    starts = random.uniform(-50.0, 50.0, (batch, 2))
    moves = random.normal(size=(batch, steps - 1, 2))
    moves = STRIDE_M * moves / np.linalg.norm(moves, axis=-1, keepdims=True)
    positions = starts[:, None] + np.concatenate([np.zeros((batch, 1, 2)), moves.cumsum(1)], 1)
    half = math.ceil(TILE_RADIUS_CELLS)
    offsets = np.stack(np.meshgrid(*[np.arange(-half, half + 1)] * 2, indexing="ij"), -1).reshape(-1, 2)
    disc = offsets[np.hypot(offsets[:, 0], offsets[:, 1]) <= TILE_RADIUS_CELLS]
    centres = lattice_cells(positions.reshape(-1, 2)[:, ::-1], cell_m)
    cells = torch.from_numpy((centres[:, None] + disc).reshape(-1, 2).astype(np.int32))
    features = torch.rand(len(cells), config.mapper.features, generator=generator).half()
    origin = snap_origin(starts, grid)
    start_xy = torch.from_numpy(starts - origin).float()
    headings = torch.rand(batch, config.language.steps + 1, generator=generator) * 2 * math.pi
    path = start_xy[:, None] + torch.randn(batch, config.language.steps, 2, generator=generator).cumsum(1)
    targets = pose_belief(path, headings[:, 1:], config.belief_grid, config.filter.sigma_m, config.filter.headings)
    tokens = torch.randint(2, config.language.vocabulary, (batch, WORDS), generator=generator)
    briefing = Briefing(tokens, torch.full((batch,), WORDS), start_xy, headings[:, 0])
    tiles = Tiles(features, cells, (len(disc),) * (batch * steps), cell_m)
    return Made(tiles, origin, to_device(briefing, device), targets.to(device))


def place(config: ModelConfig, data: Made) -> Observations:
    """The index work of an iteration, which a data loader can do beforehand."""
    steps = len(data.tiles) // len(data.origin_xy_m)
    cells = place_tiles(data.tiles, steps, data.origin_xy_m, config.mapper.grid)
    return observations_of(cells, config.mapper.kernel, config.filter.pool)


def train_step(
    model: GoalModel,
    optimiser: torch.optim.Optimizer,
    data: Made,
    seen: Observations,
    captured: Captured | None = None,
) -> Tensor:
    """One training iteration: forward, loss, backward, optimiser. Returns the loss."""
    device = data.targets.device
    masks = to_device(draw_masks(model.config.mapper, seen.cells.batch), device)
    with networks_in("auto", device):
        trace = model(data.briefing, seen.to(device), masks, captured=captured)
    loss = filter_loss(trace.filter.posteriors, data.targets)
    optimiser.zero_grad(set_to_none=True)
    loss.backward()
    optimiser.step()
    return loss.detach()


def make_optimiser(model: GoalModel, device: torch.device) -> torch.optim.Optimizer:
    """The paper's Adam; one fused kernel on a GPU."""
    return torch.optim.Adam(model.parameters(), lr=1e-3, weight_decay=1e-7, fused=device.type == "cuda")


def _image_rows(device: torch.device, batch: int, repeats: int, seed: int) -> Iterator[Row]:
    generator = torch.Generator().manual_seed(seed)
    backbone = ResNetBackbone().to(device).eval().requires_grad_(False)
    rgb = torch.randint(0, 256, (batch * VIEWS, CAMERA.height, CAMERA.width, 3), generator=generator).byte().to(device)

    def run_backbone() -> Tensor:
        with torch.no_grad(), networks_in("auto", device):
            return backbone(rgb)

    yield Row(f"backbone, {batch * VIEWS} images (forward)", measure(run_backbone, device, repeats=repeats), 6.4)
    features = run_backbone().float().unflatten(0, (batch, VIEWS))
    depth = torch.rand(batch, VIEWS, CAMERA.height, CAMERA.width, generator=generator).to(device) * 6.0
    headings = np.arange(VIEWS) * (2 * math.pi / VIEWS)
    to_world = camera_to_world(np.zeros((batch, VIEWS, 3)), headings, -math.pi / 6)
    poses = torch.from_numpy(to_world).float().to(device)

    def run_projection() -> Tiles:
        return tiles_from_points(points_from_rgbd(features, depth, poses, CAMERA), 0.5)

    yield Row(f"projection, {batch} sweeps (forward)", measure(run_projection, device, repeats=repeats))


def _part_rows(model: GoalModel, data: Made, device: torch.device, repeats: int) -> Iterator[Row]:
    config, batch = model.config, len(data.origin_xy_m)
    grid, mapper = config.belief_grid, config.mapper

    def row(what: str, forward: Callable[[], Tensor], authors_s: float | None = None) -> Row:
        def work() -> None:
            with networks_in("auto", device):
                result = forward()
            result.float().square().sum().backward()

        return Row(what, measure(work, device, repeats=repeats), authors_s)

    def run_language() -> Tensor:
        latents = model.read(data.briefing).latents
        return latents.observations + latents.actions

    yield row(f"language, {config.language.steps} latent steps", run_language)
    cells = place(config, data).cells
    first, second = (to_device(one_step(cells, step), device) for step in (0, 1))
    with torch.no_grad():
        state = model.observe(model.mapper.empty(batch, mapper.rows, mapper.cols), first)
    state = MapState(state.map.clone().requires_grad_(), state.observed)
    masks = to_device(draw_masks(mapper, batch), device)

    def run_map() -> Tensor:
        seen = observations_of(second, mapper.kernel, config.filter.pool, state.observed)
        return model.look(seen, state, masks).maps()

    yield row("map update", run_map, 4.4)
    maps = torch.rand(batch, 1, mapper.channels, grid.rows, grid.cols, device=device).requires_grad_()
    latent = torch.randn(batch, config.language.steps, 3 * config.language.hidden, device=device).requires_grad_()
    yield row("observation, 1 step", lambda: model.filter.observation(maps.flatten(0, 1), latent[:, :1]), 0.13)
    start = data.targets[:, 0]
    yield row(f"filter, {config.language.steps} steps", lambda: model.filter(maps, latent, latent, start).goal)
    posteriors = data.targets[:, None].repeat(1, AGENT_STEPS, 1, 1, 1, 1).requires_grad_()
    yield row(f"loss, {AGENT_STEPS} × {config.language.steps} beliefs", lambda: filter_loss(posteriors, data.targets))


def one_step(cells: MapCells, step: int) -> MapCells:
    """What one agent step saw, as a sequence of its own."""
    ends = np.concatenate([[0], np.cumsum(cells.counts)])
    low, high = list(pairwise(ends.tolist()))[step]
    kept = {name: getattr(cells, name)[low:high] for name in ("features", "item", "row", "col")}
    zero = torch.zeros_like(cells.step[low:high])
    return MapCells(**kept, step=zero, counts=(high - low,), batch=cells.batch, rows=cells.rows, cols=cells.cols)


def _motion_rows(config: ModelConfig, targets: Tensor, device: torch.device, repeats: int) -> Iterator[Row]:
    channels, latent, steps = config.mapper.channels, 3 * config.language.hidden, config.language.steps
    belief = targets[:, 0].clone().requires_grad_()
    maps = torch.rand(len(belief), channels, *belief.shape[-2:], device=device).requires_grad_()
    actions = torch.randn(len(belief), steps, latent, device=device).requires_grad_()
    kinds: tuple[Literal["factorised", "joint"], ...] = ("factorised", "joint")
    for kind in kinds:
        motion = build_motion(channels, latent, replace(config.filter, motion=MotionConfig(kind=kind))).to(device)

        def walk(count: int, motion: torch.nn.Module = motion) -> None:
            with networks_in("auto", device):
                kernel_at = motion(maps, actions[:, :count])
                predicted = belief
                for step in range(count):
                    kernel = kernel_at(step)
                    with torch.autocast(device.type, enabled=False):
                        predicted = kernel.propagate(predicted)
            predicted.square().sum().backward()

        one, all_steps = (measure(partial(walk, count), device, repeats=repeats) for count in (1, steps))
        yield Row(f"motion, {kind}, 1 step", one, 0.97)
        yield Row(f"motion, {kind}, {steps} steps", all_steps, 0.97 * steps)


def _iteration_rows(model: GoalModel, data: Made, device: torch.device, repeats: int) -> Iterator[Row]:
    optimiser, captured = make_optimiser(model, device), None
    if device.type == "cuda":
        shape = len(data.origin_xy_m), AGENT_STEPS
        captured = capture(model.language, model.filter, model.config, *shape, network_type("auto", device))
    yield Row("place tiles (host)", measure(lambda: place(model.config, data), device, repeats=repeats))
    placed = place(model.config, data)

    def prepared() -> None:
        train_step(model, optimiser, data, placed, captured)

    yield Row("iteration, tiles placed beforehand", measure(prepared, device, repeats=repeats), 108.0)

    def whole() -> None:
        train_step(model, optimiser, data, place(model.config, data), captured)

    yield Row("iteration, from cached tiles", measure(whole, device, repeats=repeats), 108.0)
    yield Row("optimiser", measure(optimiser.step, device, repeats=repeats))

"""How the cost of training grows: episodes per second against batch, map size, heading bins and number of buildings.

Every point is a short run of the training loop itself: batches by the real builder in threads, forward, backward,
optimiser step, log. Its first half warms up (allocator, captured graphs), its second half is the loop's own log row.
"""

from __future__ import annotations

import gc
import io
import json
import tempfile
from collections.abc import Iterator
from contextlib import redirect_stdout
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch
from lightning_fabric import Fabric

from ghosts.data.bank import TileBank
from ghosts.data.dataset import Dataset, open_dataset
from ghosts.data.examples import TRAIN
from ghosts.data.reading import reading_of
from ghosts.mapping.cells import starts_of
from ghosts.methods import method_of
from ghosts.methods.ghost.settings import FilterExperiment
from ghosts.train.trainer import RunFiles, train
from ghosts.weights.checkpoint import LOG
from ghosts_benchmarks.synthetic import synthetic_data
from ghosts_sim.dataroot import DataRoot

AXES = ("batch", "map", "headings", "houses")


@dataclass(frozen=True)
class Ranges:
    """Values to measure along each axis."""

    batch: tuple[int, ...] = (5, 16, 32, 64, 128, 256)
    """Episodes per iteration."""
    map: tuple[int, ...] = (48, 96, 144, 192)
    """Cells per side of the map."""
    headings: tuple[int, ...] = (1, 4, 8)
    """Heading bins."""
    houses: tuple[int, ...] = (1, 4, 16, 64)
    """Training buildings."""


TINY_RANGES = Ranges(batch=(2, 4, 8, 16), map=(32, 48, 64), houses=(1, 4, 8))
"""For a CPU."""


@dataclass(frozen=True)
class Point:
    """What training costs at one setting."""

    axis: str
    """Of `AXES`."""
    value: int
    base: bool
    """Whether this is the preset's own value: the point that all axes share."""
    iteration_ms: float | None
    """None where memory did not suffice."""
    episodes_per_s: float | None
    waiting: float | None
    """Share of the time that the loop waits for a batch, so that the device has nothing to do."""
    problem: str | None = None


Setting = dict[str, int]
"""A value for each of `AXES`."""


def measure_growth(
    experiment: FilterExperiment,
    ranges: Ranges,
    fabric: Fabric,
    *,
    data: Path | None = None,
    iterations: int = 10,
    threads: int = 2,
) -> Iterator[Point]:
    """Measure along each axis in turn, the others at the preset's values (buildings: as many as there are).

    Args:
        experiment: the preset.
        ranges: values of each axis; the preset's own are added, and more buildings than there are left out.
        fabric: where to train, launched.
        data: a data root; by default one is made up, with the largest number of buildings.
        iterations: timed at each point, after as many that are not.
        threads: that make batches.

    Raises:
        ConfigError: the model cannot have one of the values.
    """
    with tempfile.TemporaryDirectory(prefix="ghosts-growth-") as folder:
        if data is None:
            whole = synthetic_data(experiment, max(ranges.houses), Path(folder) / "root", experiment.train.seed)
        else:
            whole = open_dataset(DataRoot(data), reading_of(experiment, training=True))
        model, buildings = experiment.model, len({example.scan for example in whole.splits[TRAIN]})
        own = (experiment.train.batch, model.mapper.rows, model.filter.headings)
        base = dict(zip(AXES, (*own, buildings if data is not None else max(ranges.houses))))
        known: dict[tuple[int, ...], Point] = {}
        for axis in AXES:
            for value in sorted({base[axis], *getattr(ranges, axis)}):
                if axis == "houses" and value > base[axis]:
                    continue
                setting = base | {axis: value}
                key = tuple(setting.values())
                if key not in known:
                    part = _restricted(experiment, whole, setting, iterations)
                    known[key] = _measure_point(*part, fabric, threads)
                yield replace(known[key], axis=axis, value=value, base=setting == base)


def _restricted(
    experiment: FilterExperiment, data: Dataset, setting: Setting, iterations: int
) -> tuple[FilterExperiment, Dataset]:
    """The preset at one setting, for as many iterations to warm up as are timed, and the buildings that it reads."""
    model, side = experiment.model, setting["map"]
    model = replace(
        model,
        mapper=replace(model.mapper, rows=side, cols=side),
        filter=replace(model.filter, headings=setting["headings"]),
    )
    settings = replace(
        experiment.train,
        batch=setting["batch"],
        iterations=2 * iterations,
        log_every=iterations,
        checkpoint_every=2 * iterations,
    )
    scans = sorted({example.scan for example in data.splits[TRAIN]})
    part = restrict(data, scans[: setting["houses"]])
    part = replace(part, reading=replace(part.reading, grid=model.mapper.grid))
    return replace(experiment, model=model, train=settings), part


def _measure_point(experiment: FilterExperiment, data: Dataset, fabric: Fabric, threads: int) -> Point:
    """Train for a moment; where memory does not suffice the point says so."""
    point = Point("", 0, False, None, None, None)
    try:
        with tempfile.TemporaryDirectory(prefix="ghosts-growth-") as out, redirect_stdout(io.StringIO()):
            task = method_of(experiment).task(experiment, data.to(fabric.device))
            train(task, fabric, RunFiles.of(Path(out)), threads=threads)
            # The log's first row covers the warm-up.
            row = json.loads((Path(out) / LOG).read_text(encoding="utf-8").splitlines()[-1])
    except (RuntimeError, MemoryError) as error:
        if not _is_memory(error):
            raise
        point = replace(point, problem="out of memory")
    else:
        rate = float(row["episodes_per_s"])
        cost_ms = 1e3 * experiment.train.batch / rate
        point = replace(point, iteration_ms=cost_ms, episodes_per_s=rate, waiting=float(row["waiting"]))
    if fabric.device.type == "cuda":
        gc.collect()  # a captured graph and its memory live in cycles
        torch.cuda.empty_cache()
    return point


def _is_memory(error: Exception) -> bool:
    """Whether memory did not suffice: torch's own error, the driver's within a capture, or the CPU's allocator's."""
    text = str(error).lower()
    kinds = (torch.OutOfMemoryError, MemoryError)
    return isinstance(error, kinds) or "out of memory" in text or "allocate memory" in text


def restrict(data: Dataset, scans: list[str]) -> Dataset:
    """The data with some of its training buildings only: their examples, and a bank of their tiles and no others."""
    kept = set(scans)
    train = [example for example in data.splits[TRAIN] if example.scan in kept]
    return replace(data, splits={TRAIN: train}, bank=restrict_bank(data.bank, kept))


def restrict_bank(bank: TileBank, scans: set[str]) -> TileBank:
    """A copy of a bank with the tiles of some buildings only."""
    places = [place for place in bank.numbers if place[0] in scans]
    tiles = np.array([bank.tile(*place, variant) for variant in range(len(bank.angles_rad)) for place in places])
    owner, rows = bank.gather(tiles)
    counts, cells, labels = np.bincount(owner, minlength=len(tiles)), bank.cells[rows], bank.labels
    if labels is not None:
        labels = labels.pick(tiles)
    features = bank.features[torch.from_numpy(rows)] if bank.features is not None else None
    numbers = {place: number for number, place in enumerate(places)}
    return TileBank(numbers, bank.angles_rad, starts_of(counts), cells, labels, features)

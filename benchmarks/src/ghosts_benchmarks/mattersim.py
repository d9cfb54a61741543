"""How fast the drop-in for MatterSim is, alone or in turn with a build of the original."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from importlib.machinery import PathFinder
from pathlib import Path
from typing import IO

import cv2
import numpy as np

import ghosts_sim
from ghosts_benchmarks import mattersim_worker
from ghosts_sim.errors import DataError, UnknownNameError
from ghosts_sim.files import write_json, write_text
from ghosts_sim.images import write_image

ROUNDS = 10
VIEWPOINTS, LARGEST = 117, 348
"""Of an average building of R2R, and of its largest."""
PICTURES, FACE_PX, SMALL_PX = 24, 512, 128
BUILDINGS = 61
ONCE = ("start", "preload", "preload depth")
"""Work that is done once."""
OURS = Path(ghosts_sim.__file__).parents[1]
"""Where ghosts-sim has its module `MatterSim`."""


@dataclass(frozen=True)
class Row:
    """One kind of work, by both."""

    name: str
    """Of the work."""
    what: str
    unit: str
    ours: float
    original: float | None
    """None where there is no build of it to measure."""
    ratio: float | None
    """How many times as fast (or as lean) ours is: the median of rounds in which both took turns."""
    cpu_ratio: float | None = None
    """The same by processor time of all threads, which other work on the machine disturbs less."""


def measure_mattersim(seconds: float, against: Path | None = None, work: tuple[str, ...] = ()) -> Iterator[Row]:
    """Measure kinds of work one after the other.

    Args:
        seconds: how long each is measured, by each simulator.
        against: a folder with a build of the original (`MatterSim….so`).
        work: names of `mattersim_worker.WORK`; all by default.

    Raises:
        DataError: the folder holds no module `MatterSim`, or a simulator failed.
        UnknownNameError: there is no such work.
    """
    for name in work:
        if name not in _ROWS:
            raise UnknownNameError("row", name, tuple(_ROWS), "--only")
    if against is not None and PathFinder.find_spec("MatterSim", [str(against)]) is None:
        raise DataError(
            "no module MatterSim here",
            file=against,
            hint="--against takes the folder of a build of the original, with its MatterSim….so",
        )
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        roots = _make_roots(folder)
        modules = [OURS] if against is None else [OURS, against.absolute()]
        for kind, (what, unit, root) in _ROWS.items():
            if not work or kind in work:
                yield from _rows(kind, what, unit, modules, roots[root], seconds)


_ROWS = {
    "discretised": ("640 × 480 RGB-D, discretised views", "frames/s", "average"),
    "free": ("640 × 480 RGB-D, free headings", "frames/s", "average"),
    "batch": ("640 × 480 RGB-D, free headings, batch 16", "frames/s", "average"),
    "colour": ("640 × 480 RGB, free headings", "frames/s", "average"),
    "discretised colour": ("640 × 480 RGB, discretised views", "frames/s", "average"),
    "small cache": ("batch 16 turns on the spot, cache for 8, RGB-D", "frames/s", "average"),
    "jumps": (f"random jumps over {VIEWPOINTS} viewpoints, cache for 50, RGB-D", "frames/s", "average"),
    "colour jumps": ("the same, RGB", "frames/s", "average"),
    "cached": (f"{LARGEST} viewpoints, all in the cache", "frames/s", "large"),
    "preloaded": (f"{LARGEST} viewpoints, preloaded", "frames/s", "large"),
    "turn": ("turns, nothing rendered", "steps/s", "many"),
    "reach": ("turns, and where one may go", "steps/s", "many"),
    "discretised reach": ("the same, discretised views", "steps/s", "many"),
    "walk": ("moves, in all directions", "steps/s", "many"),
    "start": ("64 simulators started", "s", "many"),
    "preload": (f"{VIEWPOINTS} viewpoints read before the first view, RGB", "s", "average"),
    "preload depth": ("the same, RGB-D", "s", "average"),
}


def _rows(kind: str, what: str, unit: str, modules: list[Path], root: Path, seconds: float) -> Iterator[Row]:
    """Let workers take turns, so that a burst of the machine's other work slows both down."""
    if kind == "start":  # our first start ever keeps the graphs for all later ones
        with _worker(modules[0], root, kind) as worker:
            first = _ask(worker, 0.0)["seconds"]
    once = kind in ONCE
    rounds, stretch = (1, 0.0) if once else (ROUNDS, seconds / ROUNDS)
    with ExitStack() as stack:
        workers = [stack.enter_context(_worker(module, root, kind)) for module in modules]
        answers = [[_ask(worker, stretch) for worker in workers] for _ in range(rounds)]

    def values(key: str) -> np.ndarray:
        return np.array([[answer[key] for answer in turn] for turn in answers])

    def ratio(key: str, sign: int) -> float | None:
        both = values(key)
        return float(np.median((both[:, 0] / both[:, 1]) ** sign)) if against else None

    def row(what: str, unit: str, key: str, sign: int, cpu_ratio: float | None = None) -> Row:
        ours, *original = np.median(values(key), axis=0).tolist()
        return Row(kind, what, unit, ours, original[0] if against else None, ratio(key, sign), cpu_ratio)

    against = len(modules) > 1
    if once:
        yield row(what, unit, "seconds", -1, ratio("cpu_rate", 1))
        yield row("their memory", "MB", "more_mb", -1)
    else:
        yield row(what, unit, "rate", 1, ratio("cpu_rate", 1))
    if kind == "start":
        yield Row(kind, "the first start ever", unit, first, None, None)
    if kind == "jumps":
        yield row("its memory", "MB", "more_mb", -1)


@contextmanager
def _worker(module: Path, root: Path, kind: str) -> Iterator[subprocess.Popen[str]]:
    """A simulator in a process of its own, ready to work."""
    # Without a screen, Mesa's software renderer has to be told so; elsewhere the variable means nothing.
    cache = root / ("cache of starts" if kind == "start" else "cache")
    environment = {"EGL_PLATFORM": "surfaceless", **os.environ, "GHOSTS_CACHE": str(cache)}
    words = [sys.executable, mattersim_worker.__file__, str(module), str(root), kind]
    with tempfile.TemporaryFile("w+") as errors:
        worker = subprocess.Popen(
            words, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, text=True
        )
        try:
            _line(worker, errors, module)
            yield worker
        finally:
            for pipe in (worker.stdin, worker.stdout):
                if pipe is not None:
                    pipe.close()
            worker.wait()


def _line(worker: subprocess.Popen[str], errors: IO[str], module: Path) -> str:
    assert worker.stdout is not None
    line = worker.stdout.readline()
    if not line:
        worker.wait()
        errors.seek(0)
        said = errors.read().strip().splitlines() or [f"it ended with status {worker.returncode}"]
        raise DataError(f"the simulator failed: {said[-1]}", file=module, hint="run one of its own programs first")
    return line


def _ask(worker: subprocess.Popen[str], seconds: float) -> dict[str, float]:
    assert worker.stdin is not None
    assert worker.stdout is not None
    print(seconds, file=worker.stdin, flush=True)
    answer: dict[str, float] = json.loads(worker.stdout.readline() or "{}")
    if not answer:
        raise DataError(f"the simulator ended with status {worker.wait()}", file=str(worker.args[2]))  # type: ignore[index]
    return answer


def _make_roots(folder: Path) -> dict[str, Path]:
    """Data roots in the real formats: an average building, the largest one, and as many as R2R trains on."""
    random = np.random.default_rng(0)
    roots = {name: folder / name for name in ("average", "large", "many")}
    for name, count, face_px in (("average", VIEWPOINTS, FACE_PX), ("large", LARGEST, SMALL_PX)):
        _write_graphs(roots[name], ["bench"], count, random)
        _write_pictures(roots[name] / "scans" / "bench" / "matterport_skybox_images", count, face_px, random)
    _write_graphs(roots["many"], [f"building{number:03d}" for number in range(BUILDINGS)], VIEWPOINTS, random)
    return roots


def _write_graphs(root: Path, scans: list[str], count: int, random: np.random.Generator) -> None:
    """Buildings of viewpoints about 2 m apart, four neighbours each; upright panoramas at random headings."""
    side = int(np.ceil(np.sqrt(count)))
    cell = np.stack(np.divmod(np.arange(count), side), -1)
    linked = (np.abs(cell[:, None] - cell).sum(-1) == 1).tolist()
    records = []
    for row in range(count):
        heading = random.uniform(0.0, 2.0 * np.pi)
        right, ahead = (np.cos(heading), -np.sin(heading), 0.0), (np.sin(heading), np.cos(heading), 0.0)
        pose = np.eye(4)
        pose[:3, :3] = -np.stack([right, (0.0, 0.0, 1.0), ahead]).T
        pose[:3, 3] = *(2.0 * cell[row] + random.uniform(-0.4, 0.4, 2)), random.uniform(1.4, 1.6)
        flags = {"included": True, "visible": linked[row], "unobstructed": linked[row]}
        records.append({"image_id": f"{row:032x}", "pose": pose.ravel().tolist(), "height": 1.5, **flags})
    for scan in scans:
        write_json(root / "connectivity" / f"{scan}_connectivity.json", records)
    write_text(root / "connectivity" / "scans.txt", "\n".join(scans) + "\n")


def _write_pictures(folder: Path, count: int, face_px: int, random: np.random.Generator) -> None:
    """Skyboxes with texture at all scales; beyond the first few, viewpoints share their files."""
    size = (6 * face_px, face_px)
    for row in range(count):
        colour, depth = folder / f"{row:032x}_skybox_small.jpg", folder / f"{row:032x}_skybox_depth_small.png"
        if row < PICTURES:
            scales = [cv2.resize(random.uniform(0, 60, (k, 6 * k, 3)), size) for k in (4, 16, 64, face_px // 2)]
            write_image(colour, np.sum(scales, axis=0).astype(np.uint8))
            write_image(depth, cv2.resize(random.uniform(4000, 30000, (8, 48)), size).astype(np.uint16))
        else:
            for path in (colour, depth):
                os.link(folder / f"{row % PICTURES:032x}{path.name[32:]}", path)

"""Measure speed (`ghosts bench model|growth|simulator|prepare|houses|viewer|rgbd|tracker`), or gains of data
(`… buildings`)."""

from __future__ import annotations

import math
import os
import platform
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Literal

import tyro
from rich.console import Console
from rich.table import Table

from ghosts import __version__
from ghosts.cli._launch import launch
from ghosts.config.experiment import Sixteens
from ghosts.config.values import Bound, CommandOptions, Count, Positive, Whole
from ghosts_sim.cli._options import parse_kind
from ghosts_sim.cli._out import check_out_file
from ghosts_sim.errors import ConfigError
from ghosts_sim.files import write_json
from ghosts_sim.values import require


@dataclass(frozen=True)
class Simulator(CommandOptions):
    """Speed of the drop-in for MatterSim (with --against, beside the original), of 12-view sweeps and of GPU views."""

    device: str = "cpu"
    """Where to render: cpu, cuda or auto."""
    against: Path | None = None
    """A folder with a build of the original (its MatterSim….so), measured in turn with ours on the CPU."""
    seconds: Annotated[Positive, Bound("must be finite", math.isfinite)] = 3.0
    """How long each row is measured, in seconds."""
    only: tuple[str, ...] = ()
    """Measure only this row of the drop-in's table, by its name in brackets there (discretised, free, start, …)."""
    out: Path | None = None
    """Also write the numbers here, as JSON."""

    def __post_init__(self) -> None:
        super().__post_init__()
        require(self.against is None or self.device == "cpu", "--against measures on --device cpu", self.device)


@dataclass(frozen=True)
class Prepare(CommandOptions):
    """Processor time per panorama of `ghosts prepare`, on made-up images of the real sizes."""

    panoramas: Count = 1
    """How many are made; the fastest counts."""
    faces: int = 512
    """Side of a skybox face in pixels."""
    colour: Literal["skybox", "undistorted"] = "skybox"
    """Source of colour."""
    out: Path | None = None
    """Also write the numbers here, as JSON."""
    device: Literal["cpu"] = "cpu"
    """Must be cpu: nothing of this runs on a GPU."""


@dataclass(frozen=True)
class Houses(CommandOptions):
    """RGB-D frames per second of processor time at any pose of a house, by renderer."""

    device: str = "cpu"
    """Where to draw: cpu, cuda or auto; a GPU draws only with the renderer `exact`, in batches of 64."""
    seed: Whole = 0
    """Seed of the house."""
    frames: Count = 60
    """Pictures per renderer."""
    size: Sixteens = 256
    """Pixels per side of a picture, a multiple of 16."""
    out: Path | None = None
    """Also write the numbers here, as JSON."""


@dataclass(frozen=True)
class Model(CommandOptions):
    """Time and peak memory of each part of the model and of a training iteration, at the paper's shapes."""

    device: str = "cpu"
    """Where to run: cpu, cuda or auto."""
    quick: bool = False
    """Time one run per row instead of five (on a GPU, 30)."""
    batch: Count = 5
    """Episodes per iteration."""
    seed: Whole = 0
    """Seed of weights and data."""
    out: Path | None = None
    """Also write the numbers here, as JSON."""


@dataclass(frozen=True)
class Growth(CommandOptions):
    """Training speed against batch, map size, heading bins and number of buildings; needs no data."""

    device: str = "cpu"
    """Where to train: cpu, cuda or auto."""
    preset: str | None = None
    """Preset to train, `landmarks-filter` by default (`tiny` on the CPU)."""
    data: Path | None = None
    """A data root that suits the preset; a made-up one by default."""
    batch: tuple[int, ...] = ()
    """Episodes per iteration; repeat for more. Replaces the default values, as the next three options do. Only one of
    the four varies at a time."""
    map: tuple[int, ...] = ()
    """Cells per side of the map."""
    headings: tuple[int, ...] = ()
    """Heading bins (1, 4, 8)."""
    houses: tuple[int, ...] = ()
    """Training buildings."""
    iterations: Count = 10
    """Iterations timed at each point, after as many to warm up."""
    threads: Whole = 2
    """Threads that prepare batches."""
    out: Path | None = None
    """Also write the numbers here, as JSON, and a picture beside them, as SVG and PNG."""

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("batch", "map", "headings", "houses"):
            for value in getattr(self, name):
                require(value >= 1, f"--{name} must be at least 1", value)


@dataclass(frozen=True)
class Viewer(CommandOptions):
    """How long the viewer takes to answer, as processor time."""

    data: Path
    """Data root."""
    run: Path
    """Folder of a run, a checkpoint or shipped weights."""
    questions: Count = 50
    """Number of new instructions to ask."""
    out: Path | None = None
    """Also write the numbers here, as JSON."""
    device: Literal["cpu"] = "cpu"
    """Must be cpu: the viewer uses no GPU."""


@dataclass(frozen=True)
class Rgbd(CommandOptions):
    """Geometry, belief, speed and memory of the tracker on real RGB-D recordings."""

    recordings: Annotated[Path, tyro.conf.arg(name="data")]  # `data` would be checked as a data root
    """Folder with the recordings kitchen/, office/ and house/."""
    run: Path = Path("landmarks-agent")
    """The tracker's weights: a run on labels."""
    minutes: Positive = 10.0
    """Length of the long recording: the first one, to and fro."""
    hz: Positive = 2.0
    """Its frames per second."""
    out: Path | None = None
    """Also write the numbers here, as JSON."""
    device: Literal["cpu"] = "cpu"
    """Must be cpu."""


@dataclass(frozen=True)
class Tracker(CommandOptions):
    """Time and memory of a robot's tracker, per instruction, observation and belief, on one thread."""

    perception: bool = False
    """Also with BLIP and DETR (needs ghosts[perception], and their weights)."""
    repeats: Count = 20
    """How often each is measured; the median counts."""
    out: Path | None = None
    """Also write the numbers here, as JSON."""
    device: Literal["cpu"] = "cpu"
    """Must be cpu."""


@dataclass(frozen=True)
class Buildings(CommandOptions):
    """Success against the number of training buildings, for runs that differ in --train.buildings."""

    table: Path
    """goal.json of `ghosts eval goal --run A --run B … --out FOLDER`."""
    split: str = "val_unseen"
    """Split of the table."""
    out: Path | None = None
    """Also write the numbers here, as JSON, and a picture beside them, as SVG and PNG."""
    device: str = "cpu"
    """Without effect: nothing is trained or scored here."""


def main(arguments: list[str]) -> None:
    """Run `ghosts bench`."""
    measures: dict[type, Callable[[Any], list[dict[str, Any]]]] = {
        Simulator: simulator_rows,
        Prepare: prepare_rows,
        Houses: house_rows,
        Model: model_rows,
        Growth: growth_rows,
        Viewer: viewer_rows,
        Tracker: tracker_rows,
        Rgbd: rgbd_rows,
        Buildings: building_rows,
    }
    names = [kind.__name__.lower() for kind in measures]
    kinds = {name: Annotated[kind, tyro.conf.subcommand(name)] for name, kind in zip(names, measures)}
    options = parse_kind("bench", "measure", kinds, arguments, __doc__ or "", likely="model")
    if options.out is not None:
        check_out_file(options.out, "a table of figures", (".json",))
    # The profiler that counts memory writes two lines per run otherwise.
    os.environ.setdefault("KINETO_LOG_LEVEL", "99")
    from ghosts.devices import choose_device  # torch: here, so that `ghosts bench --help` does not wait for it

    options = replace(options, device=choose_device(options.device).type)
    rows = measures[type(options)](options)
    if options.out is not None:
        command = " ".join(["ghosts bench", *arguments])
        write_json(options.out, {"command": command, **environment(options.device), "rows": rows}, indent=1)


def simulator_rows(options: Simulator) -> list[dict[str, Any]]:
    """Measure and print the drop-in for MatterSim and the renderer of panoramas."""
    from ghosts_benchmarks.mattersim import measure_mattersim
    from ghosts_benchmarks.renderer import measure_renderer
    from ghosts_sim.native import native

    console = Console(width=max(Console().width, 100))
    rows: list[dict[str, Any]] = []
    if options.device == "cpu":
        table = Table("drop-in for MatterSim", "", "ours", "original", "ratio", "by CPU time")
        with console.status("measuring") as status:
            for row in measure_mattersim(options.seconds, options.against, options.only):
                figures = (_figure(value) for value in (row.ours, row.original, row.ratio, row.cpu_ratio))
                table.add_row(f"{row.what} \\[{row.name}]", row.unit, *figures)
                rows.append(asdict(row))
                status.update(f"measured {row.what}")
        console.print(table)
        console.print(f"Ours are drawn by {'the compiled kernel' if native() is not None else 'OpenCV'}.")
        if options.against is not None:
            console.print("Medians of stretches in which both took turns; ratio: how many times as fast, or as lean.")
    if not options.only:
        table = Table("panorama renderer", "device", "frames/s")
        for frames in measure_renderer(options.device, seconds=options.seconds):
            table.add_row(frames.what, frames.device, f"{frames.frames_per_s:,.0f}")
            rows.append(asdict(frames))
        console.print(table)
    return rows


def _figure(value: float | None) -> str:
    """Three digits, or nothing."""
    return "" if value is None else f"{value:,.0f}" if abs(value) >= 100.0 else f"{value:.3g}"


def prepare_rows(options: Prepare) -> list[dict[str, Any]]:
    """Measure and print the preparation of raw panoramas."""
    from ghosts_benchmarks.prepare import measure_prepare

    row = measure_prepare(options.panoramas, options.faces, options.colour)
    hours = row["cpu_s"] * 10_800 / 3600.0
    print(f"{options.faces} px faces, colour from {options.colour}: {row['cpu_s']:.2f} s of one core per panorama")
    print("  " + ", ".join(f"{name} {seconds:.2f} s" for name, seconds in row["parts_s"].items()))
    print(f"  {1.0 / row['cpu_s']:.2f} panoramas per second and core; 10 800 panoramas: {hours:.1f} core hours")
    return [{"cpu_s": row["cpu_s"], "parts_s": row["parts_s"]}]


def house_rows(options: Houses) -> list[dict[str, Any]]:
    """Measure and print the renderers of houses."""
    from ghosts_benchmarks.houses import measure_houses

    table = Table("renderer", "ready after s", "frames per CPU second", "depth within 2 mm", "colours, dB")
    rows = list(measure_houses(options.seed, frames=options.frames, size_px=options.size, device=options.device))
    for row in rows:
        figures = (f"{row.ready_s:.1f}", f"{row.frames_per_s:.1f}", f"{row.depth_share:.2%}")
        table.add_row(row.renderer, *figures, f"{row.psnr_db:.1f}" if math.isfinite(row.psnr_db) else "")
    Console().print(table)
    # JSON has no infinity.
    return [asdict(row) | {"psnr_db": row.psnr_db if math.isfinite(row.psnr_db) else None} for row in rows]


def model_rows(options: Model) -> list[dict[str, Any]]:
    """Measure and print the model."""
    import torch

    from ghosts_benchmarks.model import measure_model

    console = Console(width=max(Console().width, 100))
    table = Table("part", "ms", "best ms", "peak MiB", "authors' ms", "ratio")
    for column in table.columns:
        column.no_wrap = True
        column.justify = "left" if column.header == "part" else "right"
    rows = []
    repeats = 1 if options.quick else 5 if options.device == "cpu" else 30
    with console.status("measuring") as status:
        for row in measure_model(torch.device(options.device), batch=options.batch, repeats=repeats, seed=options.seed):
            cost = row.measurement
            authors = "" if row.authors_s is None else f"{1e3 * row.authors_s:,.0f}"
            ratio = "" if row.speed_up is None else f"{row.speed_up:,.1f}"
            times = (f"{1e3 * cost.seconds:,.1f}", f"{1e3 * cost.fastest_s:,.1f}")
            table.add_row(row.what, *times, f"{cost.peak_bytes / 2**20:,.0f}", authors, ratio)
            rows.append({"what": row.what, **asdict(cost), "authors_s": row.authors_s})
            status.update(f"measured {row.what}")
    console.print(table)
    if options.device == "cuda":
        console.print("Parts are launched kernel by kernel; an iteration replays captured graphs (their pool: no MiB).")
    console.print("ms: median, best: fastest run. The authors': their released code on 2 idle CPU cores, same shapes.")
    return rows


def rgbd_rows(options: Rgbd) -> list[dict[str, Any]]:
    """Measure and print the tracker on recordings."""
    from ghosts.run.tracker import load_tracker
    from ghosts_benchmarks.rgbd import mass_in_view, read_recordings, replay, reprojection_m, share_in_cloud

    recordings = read_recordings(options.recordings)
    images, tracker = load_tracker("houses-agent", "houses-backbone"), load_tracker(options.run)
    rows: list[dict[str, Any]] = []
    for name, frames in recordings.items():
        median_m, worst_m = reprojection_m(frames)
        share = share_in_cloud(images, frames)
        print(f"{name}: {len(frames)} frames, reprojection {100 * median_m:.1f} cm (worst pair {100 * worst_m:.1f} cm)")
        print(f"  {share:.1%} of the observed cells hold points of the recording")
        rows.append({"recording": name, "median_m": median_m, "worst_m": worst_m, "in_cloud": share})
    for row in mass_in_view(tracker, recordings):
        print(f"{row.recording}: {row.share:.0%} of the mass on observed or frontier cells: {row.instruction}")
        rows.append(asdict(row))
    frames = next(iter(recordings.values()))
    long = replay(tracker, frames, max(2, round(60 * options.minutes * options.hz)))
    before, after = long.memory_mb
    print(f"{long.frames} frames ({options.minutes:g} min) with a belief after each: {long.seconds:.0f} s", end="")
    print(f" ({long.cpu_s:.0f} s of processor time), {before:.0f} MB after a fifth of them, {after:.0f} MB at the end")
    return [*rows, asdict(long)]


def viewer_rows(options: Viewer) -> list[dict[str, Any]]:
    """Measure and print the viewer's answers."""
    from ghosts.view.library import Library
    from ghosts_benchmarks.viewer import measure_viewer

    table = Table("answer", "median ms", "worst ms", "questions")
    rows = measure_viewer(Library([options.data], [options.run]), options.questions)
    for row in rows:
        table.add_row(row.what, f"{1e3 * row.median_s:,.0f}", f"{1e3 * row.worst_s:,.0f}", str(row.questions))
    Console().print(table)
    return [asdict(row) for row in rows]


def tracker_rows(options: Tracker) -> list[dict[str, Any]]:
    """Measure and print a robot's tracker."""
    from ghosts_benchmarks.tracker import measure_tracker, peak_mb

    table = Table("tracker", "", "median CPU ms", "best CPU ms", "MB of tensors")
    rows = []
    for row in measure_tracker(options.perception, options.repeats):
        cost = row.cost
        figures = (f"{1e3 * cost.seconds:,.0f}", f"{1e3 * cost.fastest_s:,.0f}", f"{cost.peak_bytes / 1e6:,.0f}")
        table.add_row(row.tracker, row.what, *figures)
        rows.append({"tracker": row.tracker, "what": row.what, **asdict(cost)})
    Console(width=max(Console().width, 100)).print(table)
    print(f"One thread, views of 640 × 480 pixels in a generated house; the process held {peak_mb():,.0f} MB at most.")
    return rows


def building_rows(options: Buildings) -> list[dict[str, Any]]:
    """Print and draw what more training buildings bring."""
    from ghosts_benchmarks.buildings import draw_points, read_points

    points = read_points(options.table, options.split)
    table = Table("training buildings", "model", "seeds", f"goals within 3 m, {options.split}", "95 %")
    for point in points:
        interval = f"{point.low:.1%}–{point.high:.1%}"
        table.add_row(str(point.buildings), point.model, str(point.seeds), f"{point.success:.1%}", interval)
    Console().print(table)
    if options.out is not None:
        for suffix in (".svg", ".png"):
            draw_points(points, f"{options.split}, by training buildings", options.out.with_suffix(suffix))
    return [asdict(point) for point in points]


def growth_rows(options: Growth) -> list[dict[str, Any]]:
    """Measure, print and draw the growth of training's cost."""
    import torch

    from ghosts.methods import preset
    from ghosts.methods.ghost.settings import FilterExperiment
    from ghosts_benchmarks.growth import AXES, TINY_RANGES, Ranges, measure_growth
    from ghosts_benchmarks.growth_plot import draw_growth

    on_gpu = options.device == "cuda"
    experiment = preset(options.preset or ("landmarks-filter" if on_gpu else "tiny"))
    ranges = replace(
        Ranges() if on_gpu else TINY_RANGES, **{axis: getattr(options, axis) for axis in AXES if getattr(options, axis)}
    )
    if not isinstance(experiment, FilterExperiment):
        raise ConfigError(f"--preset {experiment.name} has no filter; name a preset of the filter")
    fabric = launch(options.device, precision=experiment.train.precision)
    points = []
    print(f"{'':<9} {'':>6} {'ms':>9} {'episodes/s':>11} {'waiting':>8}")
    how: dict[str, Any] = {name: getattr(options, name) for name in ("data", "iterations", "threads")}
    for point in measure_growth(experiment, ranges, fabric, **how):
        points.append(point)
        if point.iteration_ms is None:
            figures = point.problem
        else:
            figures = f"{point.iteration_ms:9.1f} {point.episodes_per_s:11.1f} {point.waiting:8.1%}"
        print(f"{point.axis:<9} {point.value:>6} {figures}", flush=True)
    if options.out is not None:
        name = torch.cuda.get_device_name() if on_gpu else "CPU"
        for suffix in (".svg", ".png"):
            draw_growth(points, f"training {experiment.name} on {name}", options.out.with_suffix(suffix))
    return [asdict(point) for point in points]


def environment(device: str) -> dict[str, Any]:
    """What a figure depends on besides the code."""
    import torch

    return {
        "ghosts": __version__,
        "python": platform.python_version(),
        "torch": torch.__version__,
        "device": torch.cuda.get_device_name() if device == "cuda" else platform.machine(),
        "threads": torch.get_num_threads(),
        "platform": sys.platform,
    }

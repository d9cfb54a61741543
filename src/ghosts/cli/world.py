"""Make a world of procedural houses: graph, instructions and panoramas, in Matterport's and R2R's formats.

`ghosts world --out DIR --houses N --seed S` writes a data root; `--show` draws a floor plan; `--stats ROOT` measures a
data root, made or real.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import tyro
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from ghosts.cli._out import check_out_file, check_out_folder
from ghosts.config import require
from ghosts.errors import ConfigError
from ghosts.files import atomic_path
from ghosts.world.houses.world import WorldConfig, make_world


@dataclass(frozen=True)
class Options:
    """Make a world of procedural houses (--out), draw one (--show), or measure a data root (--stats)."""

    out: Path | None = None
    """Folder to write; with --show, the picture (PNG, SVG or PDF)."""
    houses: int = 20
    """Number of houses."""
    seed: int = 0
    """Seed of the world; with --show, of the house."""
    paths: int = 77
    """Most paths per house (R2R: 77)."""
    unseen: float = 0.15
    """Share of the houses kept for val_unseen."""
    seen: float = 0.07
    """Share of a training house's paths kept for val_seen."""
    faces: int = 256
    """Side of a skybox face in pixels."""
    images: bool = True
    """Render skyboxes (--no-images: graph and text only)."""
    workers: int = 0
    """Processes; 0 = one per core."""
    device: str = "cpu"
    """Where to render: cpu, cuda or auto."""
    show: bool = False
    """Draw the floor plan of the house of --seed with a path and its instruction."""
    path: int = 0
    """With --show, which path to draw; −1 for none."""
    stats: Path | None = None
    """Print the figures of this data root."""

    def __post_init__(self) -> None:
        require(self.seed >= 0, "--seed must not be negative", self.seed)
        require(self.workers >= 0, "--workers must not be negative", self.workers)


def main(arguments: list[str]) -> None:
    """Run `ghosts world`."""
    options = tyro.cli(Options, prog="ghosts world", description=__doc__, args=arguments)
    if options.stats is not None:
        _print_statistics(options.stats)
    elif options.show:
        _show(options)
    elif options.out is None:
        raise ConfigError("say where to write the world: --out DIR (or use --show or --stats ROOT)")
    else:
        check_out_folder(options.out)
        _make(options.out, options)


def _make(root: Path, options: Options) -> None:
    config = WorldConfig(options.houses, options.seed, options.paths, options.unseen, options.seen, options.faces)
    device = options.device
    if device != "cpu":
        from ghosts.devices import choose_device  # here: torch takes seconds, and the CPU does not need it

        device = choose_device(device).type
    workers = options.workers or os.cpu_count() or 1
    console = Console()
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console) as progress:
        houses = progress.add_task("graphs and text", total=config.houses)
        # About 45 viewpoints per house until the true number is known.
        panoramas = progress.add_task("panoramas", total=config.houses * 45, visible=options.images)

        def report(what: str, count: int) -> None:
            progress.advance(houses if what == "house" else panoramas, count)

        world = make_world(root, config, images=options.images, workers=workers, device=device, report=report)
        total = sum(house["viewpoints"] for house in world["houses"].values())
        progress.update(panoramas, total=total, completed=total)
    console.print(
        f"{root}: {config.houses} houses, {total} viewpoints, "
        + ", ".join(f"{world['statistics'][f'paths, {split}']} paths {split}" for split in world["splits"])
    )


def _print_statistics(root: Path) -> None:
    from ghosts.world.houses.statistics import statistics
    from ghosts.world.houses.words.style import R2R

    table = Table("figure", "value", "R2R", title=str(root))
    for name, value in statistics(root).items():
        table.add_row(name, f"{value:.2f}" if isinstance(value, float) else str(value), str(R2R.get(name, "")))
    Console().print(table)


def _show(options: Options) -> None:
    from ghosts.view.plan import house_figure
    from ghosts.view.scene import house_scene
    from ghosts.world.graph import parse_graph
    from ghosts.world.houses.graph.paths import sample_paths
    from ghosts.world.houses.graph.sight import things_seen
    from ghosts.world.houses.graph.viewpoints import connectivity, make_graph
    from ghosts.world.houses.make import make_house
    from ghosts.world.houses.words.instructions import Teller

    target = options.out or Path(f"house-{options.seed}.png")
    check_out_file(target, "a floor plan", (".png", ".svg", ".pdf"))
    house = make_house(options.seed)
    graph = make_graph(house)
    scene = house_scene(house, parse_graph(house.name, connectivity(graph), target))
    names, heading_rad, text = [], 0.0, ""
    if options.path >= 0:
        rng = np.random.default_rng([options.seed, options.path])
        path = sample_paths(house, graph, options.path + 1, rng)[-1]
        text = Teller(house, graph, things_seen(house, graph.positions_m)).tell(path, rng, 1)[0].text
        names, heading_rad = [graph.viewpoints[step].name for step in path.steps], path.heading_rad
    known = f"house {house.name}, seed {options.seed}: {len(house.rooms)} rooms, {len(graph.viewpoints)} viewpoints"
    figure = house_figure(scene, known, names, heading_rad, text)
    with atomic_path(target) as temporary:
        figure.savefig(temporary)
    print(f"{target}: {known}" + (f"; {text}" if text else ""))

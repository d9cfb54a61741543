"""Make a world of procedural houses: graph, instructions and panoramas, in Matterport's and R2R's formats.

`ghosts world --out DIR --houses N --seed S` writes a data root. `--show` draws a floor plan, and `--show --sheet`
pictures of every room. `--stats ROOT` measures a data root, made or real. `--export FORMAT` writes a house (or with
`--of ROOT` all houses) for other programs.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, fields
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from ghosts_houses.cli._assets import export
from ghosts_houses.world import WorldConfig, make_world
from ghosts_sim.cli._options import parse
from ghosts_sim.cli._out import check_out_file, check_out_folder
from ghosts_sim.cli._progress import columns
from ghosts_sim.errors import ConfigError, MissingExtraError
from ghosts_sim.values import require


@dataclass(frozen=True, kw_only=True)
class Options(WorldConfig):
    out: Path | None = None
    """Folder to write; with --show, the picture (PNG, SVG or PDF)."""
    seed: int = 0
    """Seed of the world; with --show, of the house. The same seed gives the same graph and text, byte for byte."""
    images: bool = True
    """Render skyboxes (--no-images writes only graph and text)."""
    landmarks: bool = False
    """Also write rooms and things as landmarks, labelled as in R2R's buildings. Models can use them without images."""
    shards: bool = False
    """Write the training split as one file per house, so that training can stream thousands of them; needs --seen 0."""
    workers: int = 0
    """Processes; 0 = one per core."""
    device: str = "cpu"
    """Where to render: cpu, cuda or auto."""
    show: bool = False
    """Draw the floor plan of the house of --seed with a path and its instruction."""
    path: int = 0
    """With --show, the number of the path to draw; −1 for none."""
    sheet: bool = False
    """With --show, draw pictures of every room instead of the floor plan."""
    stats: Path | None = None
    """Print statistics of this data root."""
    export: str | None = None
    """Write the house of --seed and the sizes to --out as glb, mjcf or usd, or a root's episodes as vlnce."""
    of: Path | None = None
    """With --export, a data root made by ghosts world: all its houses, or its episodes, go to the folder --out."""
    texel: float = 0.025
    """With --export, the side of a texel of the baked light in metres."""

    def __post_init__(self) -> None:  # what a world may be is asked when one is made
        require(self.seed >= 0, "--seed must not be negative", self.seed)
        require(self.workers >= 0, "--workers must not be negative", self.workers)
        require(0.005 <= self.texel <= 1.0, "--texel must lie in 0.005..1", self.texel)


def main(arguments: list[str], *, hint: bool = True) -> None:
    """Run `ghosts world`; with a hint at what comes next."""
    options = parse(Options, "world", arguments, __doc__)
    if options.stats is not None:
        _print_statistics(options.stats)
    elif options.show:
        _show(options)
    elif options.export is not None:
        export(options.export, (options.seed, options.size), options.of, options.out, options.texel)
    elif options.out is None:
        raise ConfigError("say where to write the world: --out DIR (or use --show, --export or --stats ROOT)")
    else:
        check_out_folder(options.out)
        _make(options.out, options)
        if hint and options.images:
            print(f"next: ghosts tiles --data {options.out} --backbone houses-backbone")


def _make(root: Path, options: Options) -> None:
    config = WorldConfig(**{field.name: getattr(options, field.name) for field in fields(WorldConfig)})
    device = _render_device(options.device)
    here = int(os.environ.get("LOCAL_WORLD_SIZE", "1"))  # processes of torchrun that share this machine
    workers = options.workers or max(1, (os.cpu_count() or 1) // here)
    console = Console(markup=False)
    share = int(os.environ.get("RANK", "0")), int(os.environ.get("WORLD_SIZE", "1"))
    with Progress(*columns(), console=console) as progress:
        mine = len(range(config.houses)[share[0] :: share[1]])
        houses = progress.add_task("graphs and text", total=mine)
        # About 45 viewpoints per house until the true number is known.
        panoramas = progress.add_task("panoramas", total=mine * 45, visible=options.images)

        def report(what: str, count: int) -> None:
            progress.advance(houses if what == "house" else panoramas, count)

        settings = {"images": options.images, "workers": workers, "device": device, "share": share}
        world = make_world(root, config, report=report, **settings)  # type: ignore[arg-type]
        if world is None:
            print(
                f"process {share[0]}: done; other houses are missing (still being made, or run the same command again)"
            )
            return
        total = sum(house["viewpoints"] for house in world["houses"].values())
        progress.update(panoramas, total=total, completed=total)
    console.print(
        f"{root}: {'one house' if config.houses == 1 else f'{config.houses} houses'}, {total} viewpoints, "
        + ", ".join(f"{world['statistics'].get(f'paths, {split}', 0)} paths {split}" for split in world["splits"]),
        soft_wrap=True,
    )


def _print_statistics(root: Path) -> None:
    from ghosts_houses.statistics import statistics
    from ghosts_houses.summary import R2R

    table = Table("figure", "value", "R2R", title=str(root))
    for name, value in statistics(root).items():
        table.add_row(name, f"{value:.2f}" if isinstance(value, float) else str(value), str(R2R.get(name, "")))
    Console().print(table)


def _show(options: Options) -> None:
    from ghosts_houses.draw.canvas import save_figure
    from ghosts_houses.draw.floor_plan import house_floor_plan
    from ghosts_houses.draw.plan import house_figure
    from ghosts_houses.graph.paths import sample_paths
    from ghosts_houses.graph.sight import things_seen
    from ghosts_houses.graph.viewpoints import connectivity, make_graph
    from ghosts_houses.make import make_house
    from ghosts_houses.words.instructions import InstructionWriter
    from ghosts_sim.graph import parse_graph

    target = options.out or Path(f"house-{options.seed}.png")
    check_out_file(target, "a contact sheet" if options.sheet else "a floor plan", (".png", ".svg", ".pdf"))
    house = make_house(options.seed, options.size)
    graph = make_graph(house)
    known = f"house {house.name}, seed {options.seed}: {len(house.rooms)} rooms, {len(graph.viewpoints)} viewpoints"
    if options.sheet:
        from ghosts_houses.draw.sheet import sheet_figure

        save_figure(sheet_figure(house, graph, known, _render_device(options.device)), target)
        print(f"{target}: {known}")
        return
    scene = house_floor_plan(house, parse_graph(house.name, connectivity(graph), target))
    names, heading_rad, text = [], 0.0, ""
    if options.path >= 0:
        rng = np.random.default_rng([options.seed, options.path])
        path = sample_paths(house, graph, options.path + 1, rng)[-1]
        text = InstructionWriter(house, graph, things_seen(house, graph.positions_m)).write(path, rng, 1)[0].text
        names, heading_rad = [graph.viewpoints[step].name for step in path.steps], path.heading_rad
    save_figure(house_figure(scene, known, names, heading_rad, text), target)
    print(f"{target}: {known}" + (f"; {text}" if text else ""))


def _render_device(name: str) -> str:
    """A device by name: "cpu", "cuda" (under torchrun, the local process's own), or "auto".

    Raises:
        ConfigError: another name, or CUDA is asked for and not there.
        MissingExtraError: CUDA is asked for without torch.
    """
    if name not in ("auto", "cpu", "cuda"):
        raise ConfigError(f"--device must be cpu, cuda or auto, got {name!r}")
    if name == "cpu":
        return name
    try:
        import torch  # here: it takes seconds, and the CPU does not need it
    except ImportError:
        if name == "auto":
            return "cpu"
        raise MissingExtraError("torch", "ghosts-houses[gpu]", "--device cuda") from None
    if torch.cuda.is_available():
        return f"cuda:{int(os.environ.get('LOCAL_RANK', '0')) % torch.cuda.device_count()}"
    if name == "auto":
        return "cpu"
    raise ConfigError("--device cuda: torch finds no CUDA device here; use --device cpu or auto")

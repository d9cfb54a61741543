"""Make map tiles (features of floor cells) of all panoramas with a frozen backbone; training then reads no pixels.

`ghosts tiles --data ROOT --backbone FILE` makes the tiles that are missing or out of date, and resumes where it was
stopped. Several processes can share the buildings: `torchrun --nproc-per-node 4 --no-python ghosts tiles …`.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import Progress

from ghosts.config import MapperConfig
from ghosts.config.values import CommandOptions, Count, Number, Positive
from ghosts_sim.cli._options import parse
from ghosts_sim.cli._out import check_out_folder
from ghosts_sim.cli._progress import columns

if TYPE_CHECKING:
    from ghosts.data.tile_maker import TileMaker, Work


@dataclass(frozen=True)
class Options(CommandOptions):
    data: Path
    """Data root with images."""
    backbone: Path
    """Weights of the backbone: a file of `ghosts backbone`, shipped weights, or torchvision's ResNet-34."""
    out: Path | None = None
    """Folder of the tiles; by default ROOT/tiles, where training looks for them."""
    cell_m: Positive = MapperConfig.cell_m
    """Side of a map cell, as in the model."""
    height_clip_m: Number = MapperConfig.height_clip_m
    """Points more than this above the camera are dropped, as in the model."""
    device: str = "auto"
    """cpu, cuda or auto."""
    batch: Count = 8
    """Viewpoints at a time."""


def main(arguments: list[str]) -> None:
    """Run `ghosts tiles`."""
    options = parse(Options, "tiles", arguments, __doc__)
    if options.out is not None:
        check_out_folder(options.out)
    # Imported here: torch takes seconds, and `--help` should not wait for it.
    from ghosts.data.tile_maker import TileMaker, build_tiles, plan_work
    from ghosts.data.tile_store import FOLDER, TileSettings
    from ghosts.devices import choose_device
    from ghosts.mapping.saved_backbone import load_backbone, weights_hash
    from ghosts_sim.dataroot import DataRoot

    rank, world = int(os.environ.get("RANK", "0")), int(os.environ.get("WORLD_SIZE", "1"))
    console = Console(quiet=rank > 0, markup=False)
    root = DataRoot(options.data)
    model = load_backbone(options.backbone)
    settings = TileSettings(weights_hash(model), model.channels, options.cell_m, options.height_clip_m)
    device = choose_device(options.device)
    maker = TileMaker(root, model.to(device), settings, device, options.batch)
    folder = options.out or root.path / FOLDER
    work = plan_work(maker, folder, rank, world)
    if work.left_out:
        names = ", ".join(work.left_out[:4]) + (" …" if len(work.left_out) > 4 else "")
        console.print(f"{len(work.left_out)} buildings without pictures are left out: {names}", soft_wrap=True)
    if work.todo:
        _estimate(maker, folder, work, world, console)
    with Progress(*columns(), console=console) as progress:
        bar = progress.add_task("viewpoints", total=work.viewpoints(root))
        joined = build_tiles(maker, folder, work, lambda scan, tiles: progress.advance(bar, len(tiles)))
    kept = len(work.scans) - work.missing
    console.print(f"{work.missing} buildings made, {kept} were up to date: {folder}", soft_wrap=True)
    if not joined:
        print(f"process {rank}: done; other buildings are missing (still being made, or run the same command again)")


def _estimate(maker: TileMaker, folder: Path, work: Work, world: int, console: Console) -> None:
    """Say how large the tiles will be and how long they take, and refuse what does not fit."""
    from ghosts.data.tile_maker import check_space

    seconds, size = maker.probe(work.todo[0])
    total = work.viewpoints(maker.root)
    check_space(folder, size * total * world)
    console.print(
        f"{work.missing} of {len(work.scans)} buildings to make: about {size * total * world / 1e6:.0f} MB, "
        f"at most {max(1.0, seconds * total):.0f} s on {maker.device} ({world} process{'es' if world > 1 else ''})",
        soft_wrap=True,
    )

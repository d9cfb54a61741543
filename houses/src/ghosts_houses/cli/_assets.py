"""`ghosts world --export`: houses and episodes in the formats of other programs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ghosts_sim.cli._out import check_out_file, check_out_folder
from ghosts_sim.errors import ConfigError, UnknownNameError

if TYPE_CHECKING:
    from ghosts_houses.house import House
    from ghosts_houses.plan.slots import HouseSize

SUFFIXES = {"glb": ".glb", "mjcf": ".xml", "usd": ".usda"}
FORMATS = (*SUFFIXES, "vlnce")


def export(form: str, house: tuple[int, HouseSize], root: Path | None, out: Path | None, texel_m: float) -> None:
    """Write a house to a file, or all houses or the episodes of a data root to a folder.

    Args:
        form: one of `FORMATS`.
        house: seed and size, where no root is given.
        root: made by `ghosts world`.
        out: file or folder.
        texel_m: side of a texel of the baked light.

    Raises:
        UnknownNameError: there is no such format.
        ConfigError: an option is missing.
    """
    if form not in FORMATS:
        raise UnknownNameError("format", form, FORMATS)
    if form == "vlnce":
        _episodes(root, out)
    elif root is None:
        from ghosts_houses.make import make_house

        made = make_house(*house)
        path = out or Path(f"{made.name}{SUFFIXES[form]}")
        check_out_file(path, f"a house as {form}", (SUFFIXES[form], *([".usdc"] if form == "usd" else [])))
        _write(form, made, path, texel_m)
    else:
        from ghosts_houses.task.episode import houses_of
        from ghosts_houses.world import load_house

        if out is None:
            raise ConfigError("say where to write the houses: --out DIR")
        check_out_folder(out)
        for scan in houses_of(root).scans:
            _write(form, load_house(root, scan), out / scan / f"{scan}{SUFFIXES[form]}", texel_m)


def _write(form: str, house: House, path: Path, texel_m: float) -> None:
    if form == "mjcf":
        from ghosts_houses.assets.mjcf import write_mjcf

        write_mjcf(house, path)
    else:
        from ghosts_houses.assets.glb import write_glb
        from ghosts_houses.assets.usd import write_usd
        from ghosts_houses.mesh.bake import bake

        baked = bake(house, texel_m)
        (write_glb if form == "glb" else write_usd)(baked, path)
    print(f"{path}: house {house.name}, {path.stat().st_size / 1e6:.1f} MB")


def _episodes(root: Path | None, out: Path | None) -> None:
    from ghosts_houses.task.episode import houses_of
    from ghosts_houses.task.simulator import HouseSimulators, SimulatorConfig
    from ghosts_houses.task.vlnce import write_vlnce

    if root is None or out is None:
        raise ConfigError("episodes are those of a data root; name --of ROOT and --out DIR")
    check_out_folder(out)
    opened, houses = houses_of(root), HouseSimulators(root, SimulatorConfig())
    for split in opened.splits:
        for path in write_vlnce(opened, houses, split, out):
            print(f"{path}: {path.stat().st_size / 1e6:.2f} MB")
    scenes = f"ghosts world --export glb --of {root} --out SCENES/ghosts"
    print(
        f"the episodes' scenes are SCENES/ghosts/SCAN/SCAN.glb (VLN-CE: data/scene_datasets); make them with: {scenes}"
    )

"""What a world of houses is like, and its files about all of them: R2R's splits, `scans.txt`, `world.json`."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from ghosts_houses import __version__
from ghosts_houses.make import ANY_SIZE
from ghosts_houses.plan.slots import HouseSize
from ghosts_houses.statistics import SPLITS, statistics
from ghosts_sim.files import write_json, write_text
from ghosts_sim.values import require

_MOST_HOUSES = 100_000
MORE_HOUSES = "ghosts world --out DIR --houses 20"
"""Makes a world to train in."""


@dataclass(frozen=True)
class WorldConfig:
    """What a world is like."""

    houses: int = 20
    """Number of houses. One house alone is unseen: there is no training split."""
    seed: int = 0
    """Seed of the world; the same seed gives the same graph and text, byte for byte."""
    paths: int = 77
    """Most paths per house (R2R: 77 per building)."""
    unseen: float = 0.15
    """Share of the houses kept for val_unseen (at least one)."""
    seen: float = 0.07
    """Share of a training house's paths kept for val_seen."""
    faces: int = 256
    """Side of a skybox face in pixels."""
    storeys: tuple[int, int] = ANY_SIZE.storeys
    """Least and most storeys of a house."""
    rooms: tuple[int, int] = ANY_SIZE.rooms
    """Least and most rooms of a house, hallways included."""
    area: tuple[float, float] = ANY_SIZE.area_m2
    """Least and most floor of a house in m², all storeys and walls included."""
    landmarks: bool = False
    """Whether rooms and things are also written as landmarks (`ghosts_sim.landmarks`)."""
    shards: bool = False
    """Whether the training split is one file per house, `r2r/R2R_train/<scan>.json`, which training streams."""

    @property
    def size(self) -> HouseSize:
        """How large a house may be."""
        return HouseSize(self.storeys, self.rooms, self.area)

    def __post_init__(self) -> None:
        _ = self.size  # which refuses what cannot be
        require(1 <= self.houses <= _MOST_HOUSES, f"houses must lie in 1..{_MOST_HOUSES}", self.houses)
        require(0 <= self.seed < 400_000, "seed must lie in 0..399999", self.seed)
        require(1 <= self.paths <= 1000, "paths must lie in 1..1000", self.paths)
        require(0.0 < self.unseen < 1.0, "unseen, the share of houses, must lie in (0, 1)", self.unseen)
        require(0.0 <= self.seen < 1.0, "seen, the share of paths, must lie in [0, 1)", self.seen)
        require(not self.shards or self.seen == 0.0, "shards leave no val_seen: use --seen 0", self.seen)
        require(self.faces >= 16 and self.faces % 16 == 0, "faces must be a multiple of 16", self.faces)


def r2r_record(record: dict[str, Any], path: dict[str, Any]) -> dict[str, Any]:
    """A path as R2R's files have it."""
    fields = {"distance": path["distance"], "scan": record["scan"], "path_id": path["path_id"]}
    return fields | {name: path[name] for name in ("path", "heading", "instructions")}


@lru_cache(maxsize=4)
def unseen_houses(config: WorldConfig) -> frozenset[int]:
    """Numbers of the houses of val_unseen."""
    order = np.random.default_rng([config.seed, 0x7370_6C69]).permutation(config.houses)
    return frozenset(order[: max(1, round(config.unseen * config.houses))].tolist())


def _split(config: WorldConfig, records: list[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    """R2R records by split: unseen houses apart, and the last paths of every other house as val_seen."""
    names = SPLITS if config.houses > 1 else ("val_unseen",)
    splits: dict[str, list[dict[str, Any]]] = {split: [] for split in names}
    for index, record in enumerate(records):
        paths = record["paths"]
        held = max(1, round(config.seen * len(paths))) if config.seen else 0
        for number, path in enumerate(paths):
            unseen = index in unseen_houses(config)
            splits["val_unseen" if unseen else "val_seen" if number >= len(paths) - held else "train"].append(path)
    return splits


def write_index(root: Path, config: WorldConfig, records: list[dict[str, Any]]) -> None:
    """scans.txt and the R2R files."""
    write_text(root / "connectivity" / "scans.txt", "".join(f"{record['scan']}\n" for record in records))
    for split, episodes in _split(config, records).items():
        if episodes:
            write_json(root / "r2r" / f"R2R_{split}.json", episodes)


def world_summary(root: Path, config: WorldConfig, records: list[dict[str, Any]]) -> dict[str, Any]:
    splits = {split: sorted({path["scan"] for path in paths}) for split, paths in _split(config, records).items()}
    figures = statistics(root)
    if config.shards:
        trained = [record for record in records if record["index"] not in unseen_houses(config)]
        splits["train"] = sorted(record["scan"] for record in trained)
        figures |= {"paths, train": sum(record["path_count"] for record in trained), "houses": len(records)}
    values = {field.name: getattr(config, field.name) for field in dataclasses.fields(config)}
    options = " ".join(_option(name, value) for name, value in values.items() if value is not False)
    return {
        "kind": "procedural houses",
        "version": __version__,
        "seed": config.seed,
        "command": f"ghosts world --out DIR {options}",
        "config": dataclasses.asdict(config),
        "splits": splits,
        "houses": {
            record["scan"]: {name: record[name] for name in ("seed", "rooms", "storeys", "things")}
            | {"viewpoints": len(record["viewpoints"]), "paths": record["path_count"]}
            for record in records
        },
        "statistics": figures,
    }


def _option(name: str, value: Any) -> str:
    """A setting on the command line."""
    if value is True:
        return f"--{name}"
    return f"--{name} {' '.join(map(str, value)) if isinstance(value, tuple) else value}"

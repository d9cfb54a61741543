"""Makes a whole data root of procedural houses: connectivity, R2R files, skyboxes, `world.json`.

Every house is its own piece of work with its own seed, so the bytes do not depend on the number of workers, and a run
that was stopped goes on with what is missing. Files appear whole or not at all.
"""

from __future__ import annotations

import dataclasses
import json
import zlib
from collections.abc import Callable
from concurrent.futures import Executor, as_completed
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ghosts import __version__
from ghosts.config import require
from ghosts.errors import ConfigError, DataError, UnknownNameError
from ghosts.files import is_finite, read_json, read_object, write_json, write_text
from ghosts.workers import pool_of
from ghosts.world.houses.graph.paths import sample_paths
from ghosts.world.houses.graph.sight import things_seen
from ghosts.world.houses.graph.viewpoints import HouseGraph, connectivity, make_graph
from ghosts.world.houses.house import House
from ghosts.world.houses.make import ANY_SIZE, house_name, make_house
from ghosts.world.houses.plan.layout import HouseSize
from ghosts.world.houses.statistics import SPLITS, statistics
from ghosts.world.houses.summary import building_facts, check_building, summarise
from ghosts.world.houses.words.instructions import Teller
from ghosts.world.store import PanoramaStore

_MOST_HOUSES = 2500
_SEEDS_PER_WORLD = 4 * _MOST_HOUSES  # room for three spare seeds per house
_LEAST_PATHS = 20
Report = Callable[[str, int], None]
"""Called with ("house" | "panorama", how many were finished)."""


_PATH = {"distance", "path_id", "path", "heading", "instructions"}
"""Fields of a path that its R2R record needs."""


@dataclass(frozen=True)
class WorldConfig:
    """What a world is like."""

    houses: int = 20
    """Number of houses."""
    seed: int = 0
    """Seed of the world; the same seed gives the same graph and text, byte for byte."""
    paths: int = 77
    """Most paths per house (R2R: 77 in a building)."""
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

    @property
    def size(self) -> HouseSize:
        """How large a house may be."""
        return HouseSize(self.storeys, self.rooms, self.area)

    def __post_init__(self) -> None:
        _ = self.size  # which refuses what cannot be
        require(
            2 <= self.houses <= _MOST_HOUSES, f"houses must lie in 2..{_MOST_HOUSES} (train and unseen)", self.houses
        )
        require(0 <= self.seed < 400_000, "seed must lie in 0..399999", self.seed)
        require(1 <= self.paths <= 1000, "paths must lie in 1..1000", self.paths)
        require(0.0 < self.unseen < 1.0, "unseen, the share of houses, must lie in (0, 1)", self.unseen)
        require(0.0 <= self.seen < 1.0, "seen, the share of paths, must lie in [0, 1)", self.seen)
        require(self.faces >= 16 and self.faces % 16 == 0, "faces must be a multiple of 16", self.faces)


def make_world(
    root: Path,
    config: WorldConfig,
    *,
    images: bool = True,
    workers: int = 1,
    device: str = "cpu",
    report: Report = lambda what, count: None,
) -> dict[str, Any]:
    """Write a data root, or finish one.

    Args:
        root: folder to write.
        config: what the world is like.
        images: whether to render skyboxes.
        workers: processes; 1 works in this one. A GPU is fed by one process, which writes with threads.
        device: where to render, "cpu" or "cuda".
        report: told about progress.

    Returns:
        The content of `world.json`.

    Raises:
        DataError: the folder holds another world.
    """
    _refuse_other_world(root, config, images)
    with nullcontext() if workers <= 1 else pool_of(workers) as pool:
        plans = _run(
            pool, [(_describe_house, (root, config, index)) for index in range(config.houses)], report, "house"
        )
        records = sorted(plans, key=lambda record: int(record["index"]))
        _write_index(root, config, records)
        if images:
            _write_images(root, config, records, pool if device == "cpu" else None, workers, device, report)
    summary = _summary(root, config, records)
    write_json(root / "summary.json", summarise(records, summary["statistics"]), indent=1)
    write_json(root / "world.json", summary, indent=1)
    return summary


def load_house(root: Path, scan: str) -> House:
    """The geometry of a house of a data root, made again from its seed.

    Raises:
        DataError: the root is no procedural world, or was made by a version whose houses differ.
        UnknownNameError: no such house in it.
    """
    path = root / "world.json"
    world = read_object(path, hint='only roots made by "ghosts world" hold one')
    houses = world.get("houses")
    if not isinstance(houses, dict) or not all(isinstance(item, dict) for item in houses.values()):
        raise DataError("expected an object for every house", file=path, field="houses", value=houses)
    if scan not in houses:
        raise UnknownNameError("scan", scan, houses, str(root))
    told = houses[scan]
    if not isinstance(told.get("seed"), int):
        raise DataError("expected a whole number", file=path, record=scan, field="seed", value=told.get("seed"))
    house = make_house(told["seed"], _size_of(path, world.get("config")))
    if house.name != scan or (len(house.rooms), len(house.things)) != (told.get("rooms"), told.get("things")):
        raise DataError(
            f"house {scan!r} was made by another version of ghosts and cannot be made again",
            file=path,
            hint="make a world in another folder with: ghosts world --out DIR",
        )
    return house


def _size_of(path: Path, config: Any) -> HouseSize:
    """The size a world's houses were made for."""
    try:
        return HouseSize(*(tuple(config[name]) for name in ("storeys", "rooms", "area")))
    except (TypeError, KeyError, ValueError, ConfigError) as error:
        raise DataError(
            "expected storeys, rooms and area, two numbers each",
            file=path,
            field="config",
            value=config,
            hint="make the world again in another folder with: ghosts world --out DIR",
        ) from error


def describe(seed: int, count: int, size: HouseSize = ANY_SIZE) -> tuple[House, HouseGraph, list[dict[str, Any]]]:
    """A house, its graph, and its paths with instructions and the facts they state (plain JSON values)."""
    house = make_house(seed, size)
    graph = make_graph(house)
    seen = things_seen(house, graph.positions_m)
    rng = np.random.default_rng([seed, 0x7061_7468])
    teller, paths = Teller(house, graph, seen), []
    for path in sample_paths(house, graph, count, rng):
        told = teller.tell(path, rng)
        paths.append(
            {
                "distance": path.length_m,
                "path": [graph.viewpoints[step].name for step in path.steps],
                "heading": path.heading_rad,
                "instructions": [item.text for item in told],
                "styles": [item.style for item in told],
                "others": [item.others for item in told],
                "facts": [[_plain_fact(fact) for fact in item.facts] for item in told],
            }
        )
    return house, graph, paths


def _plain_fact(fact: Any) -> dict[str, Any]:
    """A fact without the fields that say nothing, numbers rounded."""
    values = dataclasses.asdict(fact) | {"name": fact.name.how, "other_name": fact.other_name.how}
    kept = {name: value for name, value in values.items() if value not in (-1, "", 0.0) or name in ("step", "at_m")}
    return {name: round(value, 3) if isinstance(value, float) else value for name, value in kept.items()}


def _describe_house(root: Path, config: WorldConfig, index: int) -> dict[str, Any]:
    """Write one house's connectivity file and its paths, unless they are there. Returns the record of its paths."""
    for attempt in range(_SEEDS_PER_WORLD // _MOST_HOUSES):
        seed = config.seed * _SEEDS_PER_WORLD + attempt * _MOST_HOUSES + index
        stored = root / "houses" / f"{house_name(seed)}.json"
        if stored.is_file():
            return _read_record(stored, index)
        try:
            house, graph, paths = describe(seed, config.paths, config.size)
        except DataError:
            if attempt == _SEEDS_PER_WORLD // _MOST_HOUSES - 1:
                raise
            continue  # furniture cut a room off: take the next seed
        if len(paths) >= min(config.paths, _LEAST_PATHS):
            break
    for number, path in enumerate(paths):
        path["path_id"] = index * 1000 + number
    write_json(root / "connectivity" / f"{house.name}_connectivity.json", connectivity(graph))
    record = {
        "scan": house.name,
        "index": index,
        "seed": seed,
        "made": _made(config),
        "rooms": len(house.rooms),
        "storeys": len({room.storey for room in house.rooms}),
        "things": len(house.things),
        "building": building_facts(house),
        "viewpoints": [[point.name, *point.position_m] for point in graph.viewpoints],
        "paths": paths,
    }
    record["checksum"] = _checksum(record)
    write_json(stored, record)
    return record


def _read_record(path: Path, index: int) -> dict[str, Any]:
    """What an earlier, interrupted run knew of a house.

    Raises:
        DataError: the file is damaged.
    """
    record = read_object(path)
    hint = "remove the file; the same command makes it again"
    if record.get("index") != index or record.get("scan") != path.stem or not isinstance(record.get("seed"), int):
        raise DataError(f"not the record of house {index}", file=path, hint=hint)
    paths, viewpoints = record.get("paths"), record.get("viewpoints")
    if not isinstance(paths, list) or not all(isinstance(item, dict) and item.keys() >= _PATH for item in paths):
        raise DataError(f"expected paths with {', '.join(sorted(_PATH))}", file=path, field="paths", hint=hint)
    if not isinstance(viewpoints, list) or not all(
        isinstance(item, list) and len(item) == 4 and all(is_finite(value) for value in item[1:]) for item in viewpoints
    ):
        raise DataError("expected a name and three numbers each", file=path, field="viewpoints", hint=hint)
    if record.get("checksum", _checksum(record)) != _checksum(record):  # earlier versions wrote none
        raise DataError("a damaged record (its checksum differs)", file=path, hint=hint)
    for field in ("rooms", "storeys", "things", "building"):
        if field not in record:
            raise DataError("missing", file=path, field=field, hint=hint)
    check_building(path, record["building"], hint)
    return record


def _checksum(record: dict[str, Any]) -> int:
    """CRC-32 of what a house's record says."""
    said = {name: value for name, value in record.items() if name != "checksum"}
    return zlib.crc32(json.dumps(said).encode())


def _made(config: WorldConfig) -> dict[str, Any]:
    """What a house's graph and text depend on."""
    size = {"storeys": [*config.storeys], "rooms": [*config.rooms], "area": [*config.area]}
    return {"version": __version__, "seed": config.seed, "paths": config.paths, **size}


def _refuse_other_world(root: Path, config: WorldConfig, images: bool) -> None:
    hint = "choose another --out, or the options it was made with"
    for path in sorted((root / "houses").glob("h*.json"))[:1]:
        made = read_object(path).get("made")
        if made != _made(config):
            raise DataError("the folder holds another world", file=path, field="made", value=made, hint=hint)
    stored = root / "scans" / "images.json"
    if images and stored.is_file() and read_json(stored) != {"faces": config.faces}:
        raise DataError("the folder holds other images", file=stored, value=read_json(stored), hint=hint)
    if not (root / "houses").is_dir() and (root / "connectivity").is_dir():
        raise DataError("the folder holds data of another kind", file=root, hint="choose another --out")


def _split(config: WorldConfig, records: list[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    """R2R records by split: unseen houses apart, and the last paths of every other house as val_seen."""
    order = np.random.default_rng([config.seed, 0x7370_6C69]).permutation(len(records))
    unseen = set(order[: max(1, round(config.unseen * len(records)))].tolist())
    splits: dict[str, list[dict[str, Any]]] = {split: [] for split in SPLITS}
    for index, record in enumerate(records):
        paths = record["paths"]
        held = max(1, round(config.seen * len(paths))) if config.seen else 0
        for number, path in enumerate(paths):
            fields = {"distance": path["distance"], "scan": record["scan"], "path_id": path["path_id"]}
            fields |= {name: path[name] for name in ("path", "heading", "instructions")}
            name = "val_unseen" if index in unseen else "val_seen" if number >= len(paths) - held else "train"
            splits[name].append(fields)
    return splits


def _write_index(root: Path, config: WorldConfig, records: list[dict[str, Any]]) -> None:
    """scans.txt and the R2R files."""
    write_text(root / "connectivity" / "scans.txt", "".join(f"{record['scan']}\n" for record in records))
    for split, episodes in _split(config, records).items():
        write_json(root / "r2r" / f"R2R_{split}.json", episodes)


def _summary(root: Path, config: WorldConfig, records: list[dict[str, Any]]) -> dict[str, Any]:
    splits = {split: sorted({path["scan"] for path in paths}) for split, paths in _split(config, records).items()}
    values = {field.name: getattr(config, field.name) for field in dataclasses.fields(config)}
    values = {name: " ".join(map(str, v)) if isinstance(v, tuple) else v for name, v in values.items()}
    options = " ".join(f"--{name} {value}" for name, value in values.items())
    return {
        "kind": "procedural houses",
        "version": __version__,
        "seed": config.seed,
        "command": f"ghosts world --out DIR {options}",
        "config": dataclasses.asdict(config),
        "splits": splits,
        "houses": {
            record["scan"]: {name: record[name] for name in ("seed", "rooms", "storeys", "things")}
            | {"viewpoints": len(record["viewpoints"]), "paths": len(record["paths"])}
            for record in records
        },
        "statistics": statistics(root),
    }


def _write_images(
    root: Path,
    config: WorldConfig,
    records: list[dict[str, Any]],
    pool: Executor | None,
    workers: int,
    device: str,
    report: Report,
) -> None:
    """Render what is missing, house by house; a house is shared by several workers when there are few houses."""
    write_json(root / "scans" / "images.json", {"faces": config.faces})
    parts = 1 if pool is None else max(1, -(-2 * workers // len(records)))
    jobs = []
    for record in records:
        points = [(str(p[0]), (float(p[1]), float(p[2]), float(p[3]))) for p in record["viewpoints"]]
        for part in range(parts):
            jobs.append(
                (
                    _render_house,
                    (root, record["scan"], record["seed"], points[part::parts], config.faces, device, config.size),
                )
            )
    _run(pool, jobs, report, "panorama")


def _render_house(
    root: Path,
    scan: str,
    seed: int,
    points: list[tuple[str, tuple[float, float, float]]],
    faces: int,
    device: str,
    size: HouseSize = ANY_SIZE,
) -> int:
    """Write the skyboxes of some viewpoints that are not there yet. Returns how many viewpoints are done."""
    from concurrent.futures import ThreadPoolExecutor

    from ghosts.world.houses.render.panorama import render_panoramas
    from ghosts.world.houses.render.scene import prepare

    store = PanoramaStore(root / "scans")
    missing = [(name, place) for name, place in points if not all(map(Path.is_file, store.paths(scan, name)))]
    if missing:
        scene = prepare(make_house(seed, size), device)
        # On a GPU a house is one batch (0.9 s instead of 7.4 s for 40 viewpoints), faster than one core compresses.
        with ThreadPoolExecutor(1 if device == "cpu" else 8) as writers:
            pictures = render_panoramas(scene, np.array([place for _, place in missing], np.float32), faces)
            written = [
                writers.submit(store.write, scan, name, picture.rgb, picture.depth_m, picture.label)
                for (name, _), picture in zip(missing, pictures, strict=True)
            ]
            for future in written:
                future.result()
    return len(points)


def _run(
    pool: Executor | None, jobs: list[tuple[Callable[..., Any], tuple[Any, ...]]], report: Report, what: str
) -> list[Any]:
    """Run jobs, in this process or in the pool, telling about each that ends."""
    if pool is None:
        ended = (function(*arguments) for function, arguments in jobs)
    else:
        futures = [pool.submit(function, *arguments) for function, arguments in jobs]
        ended = (future.result() for future in as_completed(futures))
    results = []
    for result in ended:
        results.append(result)
        report(what, result if isinstance(result, int) else 1)
    return results

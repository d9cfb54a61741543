"""Makes a whole data root of procedural houses: connectivity, R2R files, skyboxes, `world.json`.

Every house is its own piece of work with its own seed, so the bytes do not depend on the number of workers, and a run
that was stopped goes on with what is missing. Files appear whole or not at all.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor, as_completed
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Bool

from ghosts_houses import __version__
from ghosts_houses.graph.sight import things_seen
from ghosts_houses.graph.viewpoints import HouseGraph, connectivity, make_graph
from ghosts_houses.house import House
from ghosts_houses.index import WorldConfig, r2r_record, unseen_houses, world_summary, write_index
from ghosts_houses.landmarks import house_landmarks
from ghosts_houses.make import house_name, make_house
from ghosts_houses.plan.slots import HouseSize
from ghosts_houses.record import checksum, describe, read_record
from ghosts_houses.summary import building_facts, summarise
from ghosts_sim.errors import ConfigError, DataError, UnknownNameError
from ghosts_sim.files import read_json, read_object, write_json
from ghosts_sim.landmarks.format import write_landmarks
from ghosts_sim.store import PanoramaStore
from ghosts_sim.workers import pool_of

_PER_SEED = 2500
"""Houses of one world seed; a larger world goes on with those of the next seeds."""
_SEEDS_PER_WORLD = 4 * _PER_SEED  # room for three spare seeds per house
_LEAST_PATHS = 20
Report = Callable[[str, int], None]
"""Called with ("house" | "panorama", how many were finished)."""


def make_world(
    root: Path,
    config: WorldConfig,
    *,
    images: bool = True,
    workers: int = 1,
    device: str = "cpu",
    share: tuple[int, int] = (0, 1),
    report: Report = lambda what, count: None,
) -> dict[str, Any] | None:
    """Write a data root, or finish one.

    Args:
        root: folder to write.
        config: what the world is like.
        images: whether to render skyboxes.
        workers: processes; 1 works in this one. A GPU is fed by one process, which writes with threads.
        device: where to render, "cpu" or "cuda".
        share: number of this process and how many share the houses, on this machine or on several (torchrun's).
        report: told about progress.

    Returns:
        The content of `world.json`; None while others are still at their share.

    Raises:
        DataError: the folder holds another world.
    """
    _refuse_other_world(root, config, images)
    # First of all: connectivity without it is data of another kind.
    (root / "houses").mkdir(parents=True, exist_ok=True)
    mine, alone = range(config.houses)[share[0] :: share[1]], share[1] == 1
    with nullcontext() if workers <= 1 else pool_of(workers) as pool:
        found = _run(pool, [(_describe_house, (root, config, index)) for index in mine], report, "house")
        records = sorted(found, key=lambda record: int(record["index"]))
        if alone:
            write_index(root, config, records)
        if images:
            write_json(root / "scans" / "images.json", {"faces": config.faces})
            renderers = pool if device == "cpu" else None
            # A house is shared by several workers when there are few houses.
            parts = 1 if renderers is None or not records else -(-2 * workers // len(records))
            drawn = [{name: record[name] for name in ("scan", "seed", "viewpoints")} for record in records]
            jobs = [(root, config, device, record, (part, parts)) for record in drawn for part in range(parts)]
            _run(renderers, [(_render_house, job) for job in jobs], report, "panorama")
    if not alone:
        everyone = (_known_record(root, config, index) for index in range(config.houses))
        done = (record for record in everyone if record is not None and not _lacking(root, config, record))
        records = [_light(config, record) for record in done]
        if len(records) < config.houses:
            return None
        write_index(root, config, records)
    summary = world_summary(root, config, records)
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
    entry = houses[scan]
    if not isinstance(entry.get("seed"), int):
        raise DataError("expected a whole number", file=path, record=scan, field="seed", value=entry.get("seed"))
    house = make_house(entry["seed"], _size_of(path, world.get("config")))
    if house.name != scan or (len(house.rooms), len(house.things)) != (entry.get("rooms"), entry.get("things")):
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


def _seeds(config: WorldConfig, index: int) -> list[int]:
    """Seeds to try for a house, in this order."""
    block, place = divmod(index, _PER_SEED)
    first = (config.seed + block) * _SEEDS_PER_WORLD + place
    return [first + attempt * _PER_SEED for attempt in range(_SEEDS_PER_WORLD // _PER_SEED)]


def _known_record(root: Path, config: WorldConfig, index: int) -> dict[str, Any] | None:
    """The record of a house that is there."""
    for seed in _seeds(config, index):
        stored = root / "houses" / f"{house_name(seed)}.json"
        if stored.is_file():
            return read_record(stored, index)
    return None


def _lacking(root: Path, config: WorldConfig, record: dict[str, Any]) -> bool:
    """Whether a house has no landmarks, though the world has."""
    return config.landmarks and not (root / "landmarks" / f"{record['scan']}.json").is_file()


def _describe_house(root: Path, config: WorldConfig, index: int) -> dict[str, Any]:
    """Write one house's connectivity file, its paths and its landmarks, unless they are there. Returns what is needed
    of its record."""
    known = _known_record(root, config, index)
    if known is not None:
        if _lacking(root, config, known):
            house = make_house(known["seed"], config.size)
            graph = make_graph(house)
            _write_landmarks(root, house, graph, things_seen(house, graph.positions_m))
        _write_shard(root, config, known)
        return _light(config, known)
    seeds = _seeds(config, index)
    for seed in seeds:
        try:
            found = describe(seed, config.paths, config.size)
        except DataError:
            if seed == seeds[-1]:
                raise
            continue  # furniture cut a room off: take the next seed
        if len(found.paths) >= min(config.paths, _LEAST_PATHS):
            break
    house, graph, paths = found.house, found.graph, found.paths
    for number, path in enumerate(paths):
        path["path_id"] = index * 1000 + number
    write_json(root / "connectivity" / f"{house.name}_connectivity.json", connectivity(graph))
    if config.landmarks:
        _write_landmarks(root, house, graph, found.seen)
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
    record["checksum"] = checksum(record)
    _write_shard(root, config, record)
    write_json(root / "houses" / f"{house.name}.json", record)
    return _light(config, record)


def _write_shard(root: Path, config: WorldConfig, record: dict[str, Any]) -> None:
    """Write a house's part of the training split, unless it is there, or the split is whole."""
    file = root / "r2r" / "R2R_train" / f"{record['scan']}.json"
    if config.shards and record["index"] not in unseen_houses(config) and not file.is_file():
        write_json(file, [r2r_record(record, path) for path in record["paths"]])


def _write_landmarks(root: Path, house: House, graph: HouseGraph, seen: Bool[np.ndarray, "n things"]) -> None:
    write_landmarks(root / "landmarks" / f"{house.name}.json", house_landmarks(house, graph, seen))


def _light(config: WorldConfig, record: dict[str, Any]) -> dict[str, Any]:
    """What a world's files of all houses need of a record: thousands of houses are held together."""
    kept = [] if config.shards and record["index"] not in unseen_houses(config) else record["paths"]
    fields = ("scan", "index", "seed", "rooms", "storeys", "things", "building", "viewpoints")
    light = {name: record[name] for name in fields} | {"path_count": len(record["paths"])}
    return light | {"paths": [r2r_record(record, path) for path in kept]}


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
    if (root / "r2r" / ("R2R_train.json" if config.shards else "R2R_train")).exists():
        kind = "whole" if config.shards else "in shards"
        raise DataError(f"the folder holds a world whose training split is {kind}", file=root, hint=hint)
    stored = root / "scans" / "images.json"
    if images and stored.is_file() and read_json(stored) != {"faces": config.faces}:
        raise DataError("the folder holds other images", file=stored, value=read_json(stored), hint=hint)
    if not (root / "houses").is_dir() and (root / "connectivity").is_dir():
        raise DataError("the folder holds data of another kind", file=root, hint="choose another --out")


def _render_house(
    root: Path, config: WorldConfig, device: str, record: dict[str, Any], part: tuple[int, int] = (0, 1)
) -> int:
    """Write the skyboxes that are not there yet of a house, or of a part of it: its number, of how many.

    Returns:
        How many viewpoints are done, old and new.
    """
    from concurrent.futures import ThreadPoolExecutor

    from ghosts_houses.render.panorama import render_panoramas
    from ghosts_houses.render.scene import prepare

    store, scan, points = PanoramaStore(root / "scans"), record["scan"], record["viewpoints"][part[0] :: part[1]]
    missing = [point for point in points if not all(map(Path.is_file, store.paths(scan, point[0])))]
    if missing:
        scene = prepare(make_house(record["seed"], config.size), device)
        # On a GPU a house is one batch (0.9 s instead of 7.4 s for 40 viewpoints), faster than one core compresses.
        with ThreadPoolExecutor(1 if device == "cpu" else 8) as writers:
            pictures = render_panoramas(scene, np.array([place for _, *place in missing], np.float32), config.faces)
            written = [
                writers.submit(store.write, scan, name, picture.rgb, picture.depth_m, picture.label)
                for (name, *_), picture in zip(missing, pictures, strict=True)
            ]
            for future in written:
                future.result()
    return len(points)


def _run(
    pool: Executor | None, jobs: list[tuple[Callable[..., Any], tuple[Any, ...]]], report: Report, what: str
) -> list[Any]:
    """Run jobs, in this process or in the pool; reports each one that ends."""
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

"""From connectivity, REVERIE's listings and region files to landmark files, and a summary of how well it went."""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ghosts_sim.errors import DataError
from ghosts_sim.files import read_bytes
from ghosts_sim.graph import NavGraph, load_graph
from ghosts_sim.landmarks.format import (
    METHODS,
    Landmark,
    SceneLandmarks,
    normalise_label,
    read_landmarks,
    write_landmarks,
)
from ghosts_sim.landmarks.place import place
from ghosts_sim.landmarks.regions import Region, read_regions
from ghosts_sim.landmarks.reverie import Sighting, parse_listing
from ghosts_sim.landmarks.triangulate import CAMERA, Bearings, bearing, is_whole, view_rotations

if TYPE_CHECKING:
    from jaxtyping import Float

BUILDER = 1  # counts changes of the method, so that files of an older one are made again


@dataclass(frozen=True)
class Inputs:
    """Where the raw files are."""

    connectivity: Path
    """Folder of `<scan>_connectivity.json`."""
    bbox: Path
    """REVERIE's listings, for messages."""
    listings: Mapping[str, Mapping[str, bytes]]
    """Their content, as `read_listings` returns it."""
    regions: Path
    """Folder of `<scan>.panorama_to_region.txt`."""


def build_scene(scan: str, inputs: Inputs, target: Path) -> bool:
    """Make one building's landmark file, unless one made from the same input is there. Returns whether it was made.

    Raises:
        DataError: an input is missing or malformed.
    """
    graph_file = inputs.connectivity / f"{scan}_connectivity.json"
    region_file = inputs.regions / f"{scan}.panorama_to_region.txt"
    graph, regions = load_graph(graph_file), read_regions(region_file)
    if scan not in inputs.listings:
        raise DataError(f"holds no listing of scan {scan}", file=inputs.bbox, hint="pass REVERIE's whole BBox folder")
    listings = inputs.listings[scan]
    source = f"ghosts landmarks {BUILDER}, inputs {_digest(graph_file, region_file, listings)}"
    if _is_current(target, source):
        return False
    known = set(graph.ids)
    unlike = known.symmetric_difference(regions) - {
        name for row, name in enumerate(graph.ids) if not graph.included[row]
    }
    if unlike:
        problem = f"viewpoints of this file and of {graph_file.name} differ"
        raise DataError(problem, file=region_file, value=min(unlike), hint="use files of one release")
    sightings: dict[str, list[Sighting]] = {}
    for viewpoint in sorted(listings):
        file = f"{inputs.bbox}/{scan}_{viewpoint}.json"
        if viewpoint not in known:
            raise DataError(
                f"viewpoint not in {graph_file.name}", file=file, value=viewpoint, hint="use files of one release"
            )
        sightings[viewpoint] = parse_listing(listings[viewpoint], viewpoint, file)
    write_landmarks(target, assemble(graph, sightings, regions, source))
    return True


def assemble(
    graph: NavGraph, sightings: Mapping[str, Sequence[Sighting]], regions: Mapping[str, Region], source: str
) -> SceneLandmarks:
    """Place every object listed in a building; `source` is a line on where the data come from."""
    included = [name for row, name in enumerate(graph.ids) if graph.included[row]]
    by_object: dict[str, dict[str, Sighting]] = defaultdict(dict)
    for viewpoint in included:
        for sighting in sightings.get(viewpoint, ()):
            by_object[sighting.object_id][viewpoint] = sighting
    members: dict[str, list[str]] = defaultdict(list)
    for viewpoint in included:
        if viewpoint in regions and viewpoint in sightings:
            members[regions[viewpoint].region].append(viewpoint)
    objects = []
    for name in sorted(by_object, key=lambda name: (len(name), name)):
        seen = by_object[name]
        rooms = {regions[viewpoint].region for viewpoint in seen if viewpoint in regions}
        # Silence of a viewpoint says something only where the object's one region is known.
        peers = members[rooms.pop()] if len(rooms) == 1 else []
        objects.append(_landmark(graph, name, seen, [other for other in peers if other not in seen]))
    viewpoints = {name: regions.get(name) for name in included}
    return SceneLandmarks(graph.scan, source, viewpoints, tuple(objects))


def gather_rays(
    graph: NavGraph, seen: Mapping[str, Sighting], rotations: Float[np.ndarray, "36 3 3"] | None = None
) -> Bearings:
    """Bearings of one object, by its sightings, from every viewpoint that has any.

    `rotations` are the views' camera-to-world rotations; by default those of the released convention.
    """
    rotations = view_rotations() if rotations is None else rotations
    origins, found = [], []
    for viewpoint, sighting in seen.items():
        if len(sighting.views):
            origins.append(graph.position_m[graph.index(viewpoint)])
            found.append(bearing(sighting, rotations))
    return Bearings(
        np.array(origins, float).reshape(-1, 3),
        np.array([way for way, _ in found], float).reshape(-1, 3),
        np.array([sigma for _, sigma in found], float),
    )


def _landmark(graph: NavGraph, name: str, seen: Mapping[str, Sighting], absent: Sequence[str]) -> Landmark:
    def cameras(viewpoints: Sequence[str]) -> Float[np.ndarray, "n 3"]:
        return graph.position_m[[graph.index(viewpoint) for viewpoint in viewpoints]].reshape(-1, 3)

    rotations = view_rotations()
    placed = place(gather_rays(graph, seen, rotations), cameras(list(seen)), cameras(absent))
    x, y, z = (float(value) for value in placed.position_m)
    label = normalise_label(next(iter(seen.values())).name)
    size = _size(graph, seen, placed.position_m, rotations)
    return Landmark(
        name, label, (x, y, z), placed.uncertainty_m, size, placed.method, placed.residual_m, tuple(sorted(seen))
    )


def _size(
    graph: NavGraph,
    seen: Mapping[str, Sighting],
    position_m: Float[np.ndarray, " 3"],
    rotations: Float[np.ndarray, "36 3 3"],
) -> tuple[float, float] | None:
    """Apparent width and height: the median over whole boxes, else the largest part seen; None without boxes."""
    whole, cut = [], []
    for viewpoint, sighting in seen.items():
        offset = position_m - graph.position_m[graph.index(viewpoint)]
        depth = np.maximum(rotations[sighting.views, :, 2] @ offset, 0.0)
        extent = sighting.boxes[:, 2:] * (depth / CAMERA.focal_px)[:, None]
        chosen = is_whole(sighting.boxes)
        whole.append(extent[chosen])
        cut.append(extent[~chosen])
    best, parts = np.concatenate(whole), np.concatenate(cut)
    if not len(best) and not len(parts):
        return None
    width, height = np.median(best, axis=0) if len(best) else parts.max(0)
    return float(width), float(height)


def summarise(scenes: Sequence[SceneLandmarks]) -> dict[str, Any]:
    """Counts and residuals over buildings, as plain JSON values."""
    objects = [item for scene in scenes for item in scene.objects]
    residual = np.array([item.residual_m for item in objects if item.residual_m is not None])
    entries = sum(len(item.seen_from) for item in objects)
    methods = Counter(item.method for item in objects)
    return {
        "buildings": len(scenes),
        "viewpoints": sum(len(scene.viewpoints) for scene in scenes),
        "viewpoints_without_region": sum(region is None for scene in scenes for region in scene.viewpoints.values()),
        "objects": len(objects),
        "labels": len({item.label for item in objects}),
        "sightings": entries,
        "objects_seen_from_two_or_more": len(residual),
        "residual_m": _quantiles(residual),
        "methods": {
            name: {
                "objects": methods[name],
                "uncertainty_m": _quantiles(np.array([item.uncertainty_m for item in objects if item.method == name])),
            }
            for name in METHODS
            if methods[name]
        },
    }


def _quantiles(values: np.ndarray) -> dict[str, float] | None:
    if not len(values):
        return None
    return {"median": round(float(np.median(values)), 4), "p90": round(float(np.percentile(values, 90)), 4)}


def _digest(graph_file: Path, region_file: Path, listings: Mapping[str, bytes]) -> str:
    digest = hashlib.sha256(read_bytes(graph_file) + b"\0" + read_bytes(region_file))
    for viewpoint in sorted(listings):
        digest.update(f"\0{viewpoint}\0".encode() + listings[viewpoint])
    return "sha256:" + digest.hexdigest()


def _is_current(target: Path, source: str) -> bool:
    if not target.is_file():
        return False
    try:
        return read_landmarks(target).source == source
    except DataError:
        return False  # damaged or of another version: it is made again

"""How well objects are placed, measured: on made-up objects by the tests, on REVERIE's own by this file's command.

`python sim/tests/landmarks/rays.py DATA` prints what docs/landmark-files.md quotes; DATA has `connectivity/`,
`regions/` and `reverie/BBox.tar.gz`, which are not ours to ship.
"""

from __future__ import annotations

import math
import sys
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import Mapping

import numpy as np

from ghosts_sim.geometry import camera_to_world
from ghosts_sim.graph import NavGraph, load_graph
from ghosts_sim.landmarks.build import gather_rays
from ghosts_sim.landmarks.place import near, on_ray
from ghosts_sim.landmarks.regions import read_regions
from ghosts_sim.landmarks.reverie import Sighting, parse_listing, read_listings
from ghosts_sim.landmarks.triangulate import triangulate

Objects = Mapping[str, Mapping[str, Sighting]]
"""Sightings by object, then viewpoint."""
SCANS = ("17DRP5sb8fy", "pRbA3pwrgk9")


def rotations(mirrored: bool = False, turned_rad: float = 0.0) -> np.ndarray:
    """View rotations of another convention."""
    view = np.arange(36)
    heading = view % 12 * math.pi / 6 * (-1.0 if mirrored else 1.0) + turned_rad
    return camera_to_world(np.zeros(3), heading, (view // 12 - 1) * math.pi / 6)[:, :3, :3]


WRONG = {
    "mirrored": rotations(mirrored=True),
    "turned by 30°": rotations(turned_rad=math.pi / 6),
    "turned by 90°": rotations(turned_rad=math.pi / 2),
    "turned by 180°": rotations(turned_rad=math.pi),
}


def residuals(graph: NavGraph, objects: Objects, table: np.ndarray | None = None) -> list[float]:
    """Root mean square distance (m) of the rays of each object from where they meet."""
    found = []
    for seen in objects.values():
        rays = gather_rays(graph, seen, table)
        if len(rays.sigma_rad) >= 2:
            found.append(float(np.sqrt((triangulate(rays).residual_m ** 2).mean())))
    return found


@dataclass(frozen=True)
class Hidden:
    """What comes of well triangulated objects when most that is known of them is hidden; one number an object."""

    ray_error_m: list[float]
    """Error of placements by one ray."""
    one_ray: list[float]
    """Their squared error over the variance they claim."""
    no_ray: list[float]
    """The same without any ray."""


def hide(graph: NavGraph, regions: Mapping[str, str], objects: Objects) -> Hidden:
    """Place objects by one ray and by none, and compare with where all rays meet."""
    hidden = Hidden([], [], [])
    for seen in objects.values():
        rays = gather_rays(graph, seen)
        if len(rays.sigma_rad) < 2:
            continue
        met = triangulate(rays)
        if met.residual_m.max() > 0.03 or met.covariance_m2[:2, :2].trace() > 0.02:
            continue
        room = {regions[name] for name in seen}
        peers = [row for row, name in enumerate(graph.ids) if graph.included[row]]
        absent = [row for row in peers if regions[graph.ids[row]] in room and graph.ids[row] not in seen]
        for name, sighting in seen.items():
            if len(sighting.views):
                one = gather_rays(graph, {name: sighting})
                mean, covariance = on_ray(one, graph.position_m[[graph.index(name)]], graph.position_m[absent])
                error = (mean - met.position_m)[:2]
                hidden.ray_error_m.append(float(np.linalg.norm(error)))
                hidden.one_ray.append(error @ error / covariance[:2, :2].trace())
        everyone = graph.position_m[[graph.index(name) for name in seen]]
        mean, covariance = near(everyone, graph.position_m[absent])
        error = (mean - met.position_m)[:2]
        hidden.no_ray.append(error @ error / covariance[:2, :2].trace())
    return hidden


def main(data: Path) -> None:
    """Measure REVERIE's objects in two buildings."""
    listings = read_listings(data / "reverie" / "BBox.tar.gz")
    parts = []
    for scan in SCANS:
        graph = load_graph(data / "connectivity" / f"{scan}_connectivity.json")
        read = read_regions(data / "regions" / f"{scan}.panorama_to_region.txt")
        objects: dict[str, dict[str, Sighting]] = defaultdict(dict)
        for viewpoint, content in listings[scan].items():
            for sighting in parse_listing(content, viewpoint, scan):
                objects[sighting.object_id][viewpoint] = sighting
        right = residuals(graph, objects)
        print(f"{scan}: {len(right)} objects, median residual {np.median(right):.4f} m")
        for name, table in WRONG.items():
            wrong = np.median(residuals(graph, objects, table))
            print(f"  {name}: {wrong:.3f} m, {wrong / np.median(right):.0f} times")
        parts.append(hide(graph, {name: region.region for name, region in read.items()}, objects))
    errors = np.concatenate([part.ray_error_m for part in parts])
    one, none = (np.concatenate([getattr(part, name) for part in parts]).mean() for name in ("one_ray", "no_ray"))
    print(f"one ray: median error {np.median(errors):.3f} m over {len(errors)}")
    print(f"error² / variance: one ray {one:.2f}, no ray {none:.2f}")


if __name__ == "__main__":
    main(Path(sys.argv[1]))

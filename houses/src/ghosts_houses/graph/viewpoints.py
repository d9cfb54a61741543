"""Viewpoints of a house and the navigation graph over them, in the connectivity format of the original simulator.

Spacing follows R2R's graphs (mean edge 2.25 m, mean degree 4.1; `ghosts world --stats`). `visible` is a free line of
sight between the two cameras, `unobstructed` that and a straight walk for a 0.4 m wide body.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Bool, Float
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import connected_components, dijkstra

from ghosts_houses.graph.obstacles import Obstacles, walkable_floor, walkable_stair
from ghosts_houses.graph.sight import sees
from ghosts_houses.graph.sites import Lattices, Site, bridge_sites, first_sites
from ghosts_houses.house import POSE_ROTATION, House
from ghosts_houses.solids import Solids
from ghosts_sim.errors import DataError

EDGE_MAX_M = 4.8
"""Longest edge; in R2R 95 % are below 4.3 m."""
CROWDED_M = 0.75
"""Viewpoints closer than this are thinned out where nothing depends on them."""
_DETOUR = 1.012
"""An edge goes when the way over a third viewpoint is at most this much longer: R2R's graphs step from one panorama
to the next. With this limit, degree and edge length are near R2R's."""


@dataclass(frozen=True)
class Viewpoint:
    """A place from which a panorama is taken."""

    name: str
    """32 hexadecimal characters, from the house's name and the index."""
    x_m: float
    y_m: float
    z_m: float
    """Camera centre."""
    height_m: float
    """Camera above the ground."""
    room: int
    """The room it stands in (on stairs: the lower or the upper one, whichever floor is nearer)."""
    opening: int = -1
    """The door or passage it stands in."""
    stair: int = -1
    """The stair it stands on."""

    @property
    def xy_m(self) -> tuple[float, float]:
        """Place on the plan."""
        return self.x_m, self.y_m

    @property
    def position_m(self) -> tuple[float, float, float]:
        """Camera centre."""
        return self.x_m, self.y_m, self.z_m


@dataclass(frozen=True)
class HouseGraph:
    """Viewpoints, lines of sight and edges."""

    viewpoints: tuple[Viewpoint, ...]
    visible: Bool[np.ndarray, "n n"]
    unobstructed: Bool[np.ndarray, "n n"]

    @property
    def positions_m(self) -> Float[np.ndarray, "n 3"]:
        """Camera centres."""
        return np.array([point.position_m for point in self.viewpoints], float).reshape(-1, 3)

    def edge_lengths_m(self) -> Float[np.ndarray, "n n"]:
        """Straight 3D length of every edge, infinity where there is none."""
        positions = self.positions_m
        length = np.linalg.norm(positions[:, None] - positions[None], axis=-1)
        return np.where(self.unobstructed, length, np.inf)


def make_graph(house: House) -> HouseGraph:
    """Place viewpoints in a house and join them; the same house gives the same graph.

    Raises:
        DataError: a room cannot be reached on foot, or has no free place to stand.
    """
    rng = np.random.default_rng([house.seed, 0x6772_6170])
    solids, obstacles = Solids.of(house.primitives), Obstacles.of(house)
    sites = first_sites(house, obstacles, solids, rng)
    sight, walk = np.zeros((2, 0, 0), bool)
    lattices: Lattices = {}
    for _ in range(24):
        sight, walk = _measure(house, sites, solids, obstacles, sight, walk)
        count, component = connected_components(csr_matrix(walk), directed=False)
        if count == 1:
            break
        more = bridge_sites(house, obstacles, solids, sites, component, lattices)
        if more and not _repeats(more, sites):
            sites = sites + more
            continue
        # No bridge to the nearest pocket: leave out pockets whose rooms have other sites, and try the next.
        keep = _beside_pockets(sites, component)
        if keep.all():
            break
        sites = [site for site, kept in zip(sites, keep) if kept]
        sight, walk, component = sight[np.ix_(keep, keep)], walk[np.ix_(keep, keep)], component[keep]
    # What is left over stands in a pocket between furniture that nobody can walk into.
    keep = component == np.bincount(component).argmax()
    sites = [site for site, kept in zip(sites, keep) if kept]
    lost = {room.index for room in house.rooms} - {site.room for site in sites}
    if lost:
        names = ", ".join(f"the {house.rooms[index].kind} (room {index})" for index in sorted(lost))
        raise DataError(
            f"house {house.name!r} (seed {house.seed}): no way on foot to {names}", hint="choose another --seed"
        )
    sites, sight, walk = _thin(sites, sight[np.ix_(keep, keep)], walk[np.ix_(keep, keep)])
    return _finish(house, sites, sight, walk)


def _repeats(more: list[Site], sites: list[Site]) -> bool:
    """Whether the new sites are where others stand already."""
    places = np.array([(site.x_m, site.y_m, site.ground_z_m) for site in sites])
    return all(np.linalg.norm(places - (s.x_m, s.y_m, s.ground_z_m), axis=1).min() < 0.05 for s in more)


def _beside_pockets(sites: list[Site], component: np.ndarray) -> np.ndarray:
    """Which sites stay when components that bring no room of their own are left out."""
    main = np.bincount(component).argmax()
    reached = {site.room for site, number in zip(sites, component) if number == main}
    lonely = {int(number) for site, number in zip(sites, component) if site.room not in reached}
    return np.array([number == main or int(number) in lonely for number in component])


def _thin(sites: list[Site], sight: np.ndarray, walk: np.ndarray) -> tuple[list[Site], np.ndarray, np.ndarray]:
    """Take away sites that crowd another, the latest first, where the graph and every room can do without."""
    places = np.array([(site.x_m, site.y_m, site.ground_z_m) for site in sites])
    keep = np.ones(len(sites), bool)
    for index in range(len(sites) - 1, -1, -1):
        others = keep.copy()
        others[index] = False
        near = np.linalg.norm(places[others] - places[index], axis=1).min(initial=np.inf) < CROWDED_M
        needed = sites[index].room not in {site.room for site, kept in zip(sites, others) if kept}
        if not near or needed or sites[index].stair >= 0:
            continue
        if connected_components(csr_matrix(walk[np.ix_(others, others)]), directed=False)[0] == 1:
            keep = others
    return [site for site, kept in zip(sites, keep) if kept], sight[np.ix_(keep, keep)], walk[np.ix_(keep, keep)]


def _measure(
    house: House, sites: list[Site], solids: Solids, obstacles: Obstacles, sight: np.ndarray, walk: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Lines of sight and straight walks between all sites, given those between the first ones."""
    known, count = len(sight), len(sites)
    eyes = np.array([(site.x_m, site.y_m, site.ground_z_m + site.height_m) for site in sites])
    first, second = np.triu_indices(count, 1)
    first, second = first[second >= known], second[second >= known]
    clear = sees(solids, eyes[first], eyes[second])
    straight = clear & (np.linalg.norm(eyes[first] - eyes[second], axis=1) <= EDGE_MAX_M)
    _keep_walkable(house, sites, obstacles, first, second, straight)
    grown = np.zeros((2, count, count), bool)
    grown[0, :known, :known], grown[1, :known, :known] = sight, walk
    for matrix, values in zip(grown, (clear, straight)):
        matrix[first, second] = values
        matrix[second, first] = values
    return grown[0], grown[1]


def _finish(house: House, sites: list[Site], sight: np.ndarray, walk: np.ndarray) -> HouseGraph:
    viewpoints = tuple(
        Viewpoint(
            hashlib.md5(f"{house.name}/{index}".encode(), usedforsecurity=False).hexdigest(),
            site.x_m,
            site.y_m,
            round(site.ground_z_m + site.height_m, 5),
            site.height_m,
            site.room,
            site.opening,
            site.stair,
        )
        for index, site in enumerate(sites)
    )
    return HouseGraph(viewpoints, sight, _prune(walk, np.array([point.position_m for point in viewpoints])))


def _keep_walkable(
    house: House, sites: list[Site], obstacles: Obstacles, first: np.ndarray, second: np.ndarray, walk: np.ndarray
) -> None:
    """Clear the entries of `walk` (over pairs of sites) that a body cannot walk."""
    xy = np.array([(site.x_m, site.y_m) for site in sites])
    ground = np.array([site.ground_z_m for site in sites])
    stair = np.array([site.stair for site in sites])
    level = (stair[first] < 0) & (stair[second] < 0)
    walk &= ~level | (np.abs(ground[first] - ground[second]) < 0.3)
    for z in sorted({site.ground_z_m for site in sites if site.stair < 0}):
        pairs = np.flatnonzero(walk & level & (ground[first] == z))
        walk[pairs] = walkable_floor(obstacles, xy[first[pairs]], xy[second[pairs]], float(z))
    for pair in np.flatnonzero(walk & ~level):
        a, b = first[pair], second[pair]
        used = {int(stair[a]), int(stair[b])} - {-1}
        walk[pair] = len(used) == 1 and walkable_stair(
            obstacles, house.stairs[used.pop()], (*xy[a], ground[a]), (*xy[b], ground[b])
        )


def _prune(edges: np.ndarray, positions: np.ndarray) -> np.ndarray:
    """Drop edges that pass close to a third viewpoint, longest first, keeping the graph as connected as it was."""
    length = np.linalg.norm(positions[:, None] - positions[None], axis=-1)
    first, second = np.nonzero(np.triu(edges))
    kept = edges.copy()
    for index in np.argsort(-length[first, second], kind="stable"):
        a, b = first[index], second[index]
        over = np.where(kept[a] & kept[b], length[a] + length[b], np.inf).min()
        if over < _DETOUR * length[a, b]:
            kept[a, b] = kept[b, a] = False
    return kept


def distances_m(graph: HouseGraph) -> tuple[Float[np.ndarray, "n n"], np.ndarray]:
    """Shortest walking distances over the edges, and for every start the predecessor of every viewpoint."""
    lengths = np.where(np.isfinite(graph.edge_lengths_m()), graph.edge_lengths_m(), 0.0)
    distance, before = dijkstra(csr_matrix(lengths), directed=False, return_predecessors=True)
    return distance, before


def connectivity(graph: HouseGraph) -> list[dict[str, Any]]:
    """The graph as the records of `<scan>_connectivity.json`."""
    records = []
    for index, point in enumerate(graph.viewpoints):
        pose = np.eye(4)
        pose[:3, :3], pose[:3, 3] = POSE_ROTATION, point.position_m
        records.append(
            {
                "image_id": point.name,
                "pose": pose.ravel().tolist(),
                "included": True,
                "visible": graph.visible[index].tolist(),
                "unobstructed": graph.unobstructed[index].tolist(),
                "height": point.height_m,
            }
        )
    return records

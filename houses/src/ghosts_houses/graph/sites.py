"""Choosing where viewpoints stand: stairs, one in every room, doorways, an even filling, and bridges where needed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import dijkstra

from ghosts_houses.graph.obstacles import (
    BODY_RADIUS_M,
    Obstacles,
    lattice_room_m,
    stair_coordinates,
    stair_ground_m,
    stair_length_m,
    standing_room_m,
    walkable_floor,
)
from ghosts_houses.graph.sight import sees
from ghosts_houses.house import House, Room
from ghosts_houses.solids import Solids
from ghosts_sim.errors import DataError

CAMERA_M = 1.5
CLEARANCE_M = 0.25
"""Least distance of a viewpoint from anything it could touch."""
_WANTED_CLEARANCE_M = 0.32
"""The same inside rooms, where there is more choice."""
_SPACING_M, _SPACING_ELSEWHERE_M = 1.55, 0.9
"""Least distance between viewpoints of one room, and of two."""
_DOORWAY_SHARE = 0.45
"""Share of the doors with a viewpoint in them."""
_LATTICE_M, _FINE_LATTICE_M = 0.15, 0.04
"""Spacing of the points that may become viewpoints or be walked over."""
_FLIGHT_STEP_M = 2.1
"""Distance between viewpoints on a flight of stairs."""


@dataclass(frozen=True)
class Site:
    """A place to stand, before it becomes a viewpoint."""

    x_m: float
    y_m: float
    ground_z_m: float
    height_m: float
    room: int
    opening: int = -1
    stair: int = -1


def first_sites(house: House, obstacles: Obstacles, solids: Solids, rng: np.random.Generator) -> list[Site]:
    """Stairs, an anchor in every room, some doorways, then an even filling of the free floor."""
    sites = _stair_sites(house, obstacles, solids, rng)
    pools = []
    for room in house.rooms:
        pool = _free_points(house, obstacles, solids, room.index)
        pools.append(pool)
        if not any(site.room == room.index and site.stair < 0 for site in sites):
            sites.append(_anchor(house, pool, room.index, rng))
    for index, opening in enumerate(house.openings):
        if opening.inner and rng.random() < _DOORWAY_SHARE:
            site = _doorway(house, obstacles, solids, index, rng)
            if site is not None and _alone(site, sites):
                sites.append(site)
    for room, pool in zip(house.rooms, pools):
        sites += _fill(room, pool, sites, rng)
    return sites


def _fill(room: Room, pool: np.ndarray, others: list[Site], rng: np.random.Generator) -> list[Site]:
    """Spread sites over a room's free points, keeping their distance from each other and from the others."""
    # Roomy places first: people take panoramas in the open rather than in corners.
    order = np.argsort(-np.minimum(pool[:, 2], 0.7) + rng.uniform(0.0, 0.5, len(pool)), kind="stable")
    points = pool[order]
    allowed = points[:, 2] >= _WANTED_CLEARANCE_M
    for other in others:
        if abs(other.ground_z_m - room.floor_z_m) < 1.5:
            same = other.room == room.index or other.opening >= 0 or other.stair >= 0
            gap = (_SPACING_M if same else _SPACING_ELSEWHERE_M) * (0.7 if other.stair >= 0 else 1.0)
            allowed &= np.hypot(points[:, 0] - other.x_m, points[:, 1] - other.y_m) >= gap
    sites = []
    while allowed.any():
        point = points[int(allowed.argmax()), :2]
        sites.append(_site(point, room.floor_z_m, room.index, rng))
        allowed &= np.hypot(*(points[:, :2] - point).T) >= _SPACING_M
    return sites


@dataclass(frozen=True)
class Lattice:
    """Points of a storey's floor, and the steps between neighbours that a body can take."""

    free: np.ndarray
    """Numbers of the points with room for a body, `f`."""
    points: np.ndarray
    """`n 2`"""
    steps: csr_matrix
    """Cost from point to point, `n n`."""

    @staticmethod
    def of(house: House, obstacles: Obstacles, z_m: float, lattice_m: float) -> Lattice:
        """The lattice of a storey."""
        rooms = [room for room in house.rooms if room.floor_z_m == z_m]
        xs = np.arange(min(r.x0_m for r in rooms), max(r.x1_m for r in rooms) + 1e-9, lattice_m)
        ys = np.arange(min(r.y0_m for r in rooms), max(r.y1_m for r in rooms) + 1e-9, lattice_m)
        points = np.stack(np.meshgrid(xs, ys, indexing="ij"), -1)
        clearance = lattice_room_m(obstacles, xs, ys, z_m, CLEARANCE_M + 0.1)
        free, tight = clearance > BODY_RADIUS_M + 0.01, clearance < CLEARANCE_M + 0.02
        number = np.arange(free.size).reshape(free.shape)
        links = []
        for dx, dy in ((1, 0), (0, 1), (1, 1), (1, -1)):
            a = (slice(0, len(xs) - dx), slice(max(0, -dy), len(ys) - max(0, dy)))
            b = (slice(dx, len(xs)), slice(max(0, dy), len(ys) - max(0, -dy)))
            both = free[a] & free[b]
            # One can walk but not stand where it is tight: keep such stretches short.
            cost_here = np.hypot(dx, dy) * np.where(tight[a] | tight[b], 3.0, 1.0)
            links.append((number[a][both], number[b][both], cost_here[both]))
        rows, cols, cost = (np.concatenate(column) for column in zip(*links))
        steps = csr_matrix((cost, (rows, cols)), shape=(free.size, free.size))
        return Lattice(np.flatnonzero(free), points.reshape(-1, 2), steps)

    def nearest(self, site: Site) -> int:
        """The free point nearest to a site."""
        gap = np.hypot(self.points[self.free, 0] - site.x_m, self.points[self.free, 1] - site.y_m)
        return int(self.free[gap.argmin()])


Lattices = dict[tuple[float, float], Lattice]
"""Lattices by floor and spacing, made when first needed."""


def bridge_sites(
    house: House, obstacles: Obstacles, solids: Solids, sites: list[Site], component: np.ndarray, lattices: Lattices
) -> list[Site]:
    """Sites along the shortest way on foot from the first site's component to the nearest other one.

    Args:
        house: the house.
        obstacles: its obstacles.
        solids: its solids.
        sites: all sites so far.
        component: number of the component each belongs to.
        lattices: what earlier calls for this house have made.

    Returns:
        One or more new sites; empty when no storey has such a way.
    """
    rng = np.random.default_rng([house.seed, len(sites)])
    for z in sorted({room.floor_z_m for room in house.rooms}):
        level = [k for k, site in enumerate(sites) if site.ground_z_m == z and site.stair < 0]
        inside = [k for k in level if component[k] == component[level[0]]]
        outside = [k for k in level if component[k] != component[level[0]]]
        if inside and outside:
            groups = [sites[k] for k in inside], [sites[k] for k in outside]
            for lattice_m in (_LATTICE_M, _FINE_LATTICE_M):  # the fine one finds gaps hardly wider than the body
                if (z, lattice_m) not in lattices:
                    lattices[z, lattice_m] = Lattice.of(house, obstacles, z, lattice_m)
                way = _walk_way(lattices[z, lattice_m], *groups)
                if way is not None:
                    return _along(house, obstacles, solids, way, z, rng)
    return []


def opening_at(house: House, x_m: float, y_m: float, floor_z_m: float, reach_m: float = 0.3) -> int:
    """Index of the door or passage a point of the plan stands in, or −1."""
    for index, opening in enumerate(house.openings):
        if not opening.inner or abs(opening.bottom_z_m - floor_z_m) > 0.3:
            continue
        along, across = (x_m - opening.x_m, y_m - opening.y_m)
        if opening.along == "y":
            along, across = across, along
        if abs(along) <= opening.width_m / 2 and abs(across) <= reach_m:
            return index
    return -1


def _site(
    xy_m: np.ndarray, z_m: float, room: int, rng: np.random.Generator, *, opening: int = -1, stair: int = -1
) -> Site:
    x, y = (round(float(value), 4) for value in xy_m)
    height = round(CAMERA_M + float(rng.uniform(-0.06, 0.06)), 4)
    return Site(x, y, z_m, height, room, opening, stair)


def _alone(site: Site, others: list[Site]) -> bool:
    """Whether no other site of the storey lies within 0.9 m."""
    level = [other for other in others if abs(other.ground_z_m - site.ground_z_m) < 1.5]
    return all(np.hypot(other.x_m - site.x_m, other.y_m - site.y_m) >= 0.9 for other in level)


def _camera_free(solids: Solids, x_m: np.ndarray, y_m: np.ndarray, z_m: float) -> np.ndarray:
    """Whether cameras anywhere between 1.3 m and 1.7 m above the floor are outside every solid, 0.12 m around."""
    free = np.ones(len(x_m), bool)
    if not len(x_m):
        return free
    least, most = (np.array([end(x_m), end(y_m), z_m + CAMERA_M]) for end in (np.min, np.max))
    reach = np.stack(solids.reach_m, 1) + np.array([0.2, 0.2, 0.3])
    solids = solids.only(((solids.center + reach >= least) & (solids.center - reach <= most)).all(1))
    for dx, dy in ((0.12, 0.0), (-0.12, 0.0), (0.0, 0.12), (0.0, -0.12)):
        low = np.stack([x_m + dx, y_m + dy, np.full(len(x_m), z_m + CAMERA_M - 0.2)], 1)
        high = low + np.array([0.0, 0.0, 0.4])
        free &= sees(solids, low, high)
    return free


def _free_points(house: House, obstacles: Obstacles, solids: Solids, room_index: int) -> np.ndarray:
    """Points of a room where a walker may stand: rows of x, y, clearance."""
    room = house.rooms[room_index]
    xs = np.arange(room.x0_m + CLEARANCE_M, room.x1_m - CLEARANCE_M + 1e-9, _LATTICE_M)
    ys = np.arange(room.y0_m + CLEARANCE_M, room.y1_m - CLEARANCE_M + 1e-9, _LATTICE_M)
    points = np.stack(np.meshgrid(xs, ys, indexing="ij"), -1).reshape(-1, 2)
    points = points[room.holds(points)]
    clearance = standing_room_m(obstacles, points, room.floor_z_m)
    keep = clearance >= CLEARANCE_M
    keep[keep] = _camera_free(solids, points[keep, 0], points[keep, 1], room.floor_z_m)
    return np.column_stack([points[keep], np.minimum(clearance[keep], 9.0)])


def _anchor(house: House, pool: np.ndarray, room_index: int, rng: np.random.Generator) -> Site:
    """A roomy place near the middle of a room."""
    room = house.rooms[room_index]
    if not len(pool):
        raise DataError(
            f"house {house.name!r} (seed {house.seed}): no free place to stand in the {room.kind} (room {room_index})",
            hint="choose another --seed",
        )
    away = np.hypot(pool[:, 0] - room.center_m[0], pool[:, 1] - room.center_m[1])
    score = 2.0 * np.minimum(pool[:, 2], 0.8) - 0.5 * away + rng.uniform(0.0, 0.5, len(pool))
    return _site(pool[int(score.argmax()), :2], room.floor_z_m, room_index, rng)


def _doorway(house: House, obstacles: Obstacles, solids: Solids, index: int, rng: np.random.Generator) -> Site | None:
    """A site in the middle of a door or passage, when a body fits there."""
    opening = house.openings[index]
    room = house.rooms[opening.rooms[0]]
    point = np.array([[opening.x_m, opening.y_m]])
    if standing_room_m(obstacles, point, room.floor_z_m)[0] < CLEARANCE_M:
        return None
    if not _camera_free(solids, point[:, 0], point[:, 1], room.floor_z_m)[0]:
        return None
    return _site(point[0], room.floor_z_m, opening.rooms[int(rng.integers(2))], rng, opening=index)


def _stair_sites(house: House, obstacles: Obstacles, solids: Solids, rng: np.random.Generator) -> list[Site]:
    """For every flight: its foot, one or two places on it, its head."""
    sites = []
    for index, stair in enumerate(house.stairs):
        length = stair_length_m(stair)
        foot, head = np.array(stair.foot_m[:2]), np.array(stair.head_m[:2])
        axis = (head - foot) / length
        inner = max(1, round(float(np.hypot(length, stair.head_m[2] - stair.foot_m[2])) / _FLIGHT_STEP_M) - 1)
        for room, end, out in ((stair.rooms[0], foot, -axis), (stair.rooms[1], head, axis)):
            landing = _landing(house, obstacles, solids, room, end, out)
            if landing is not None:
                sites.append(_site(landing, house.rooms[room].floor_z_m, room, rng))
        for k in range(inner):
            along = length * (k + 1) / (inner + 1)
            ground = float(stair_ground_m(stair, np.array([along]))[0])
            room = stair.rooms[0] if along < length / 2 else stair.rooms[1]
            sites.append(_site(foot + axis * along, round(ground, 5), room, rng, stair=index))
    return sites


def _landing(
    house: House, obstacles: Obstacles, solids: Solids, room: int, end: np.ndarray, out: np.ndarray
) -> np.ndarray | None:
    """The free point nearest to half a metre before a flight's end, straight in line where possible."""
    pool = _free_points(house, obstacles, solids, room)
    if not len(pool):
        return None
    delta = pool[:, :2] - end
    before, aside = delta @ out, np.abs(delta @ np.array([-out[1], out[0]]))
    cost = np.where(before > 0.1, np.abs(before - 0.5) + 1.5 * aside, np.inf)
    best = int(cost.argmin())
    return pool[best, :2] if cost[best] < 1.5 else None


def _walk_way(lattice: Lattice, inside: list[Site], outside: list[Site]) -> np.ndarray | None:
    """Points of the shortest way on a lattice from any inside site to the nearest outside one."""
    if not len(lattice.free):
        return None
    flat = lattice.points
    start, goal = (np.array([lattice.nearest(site) for site in group]) for group in (inside, outside))
    distance, before, _ = dijkstra(
        lattice.steps, directed=False, indices=start, return_predecessors=True, min_only=True
    )
    best = int(goal[distance[goal].argmin()])
    if not np.isfinite(distance[best]):
        return None
    way = [best]
    while before[way[-1]] >= 0:
        way.append(int(before[way[-1]]))
    # The lattice's ends are near the two sites, not on them; straight walks are judged from the sites themselves.
    ends = [
        min(group, key=lambda site: float(np.hypot(*(flat[k] - (site.x_m, site.y_m)))))
        for group, k in ((inside, way[-1]), (outside, way[0]))
    ]
    first, last = ((site.x_m, site.y_m) for site in ends)
    return np.vstack([first, flat[way[::-1]], last])


def _along(
    house: House, obstacles: Obstacles, solids: Solids, way: np.ndarray, z_m: float, rng: np.random.Generator
) -> list[Site]:
    """Stand at the bends of a way, so that each stretch is a straight walk of at most about 3 m."""
    way = way.round(4)  # as sites are: what is judged is where one will stand
    fits = (standing_room_m(obstacles, way, z_m) >= CLEARANCE_M) & _camera_free(solids, way[:, 0], way[:, 1], z_m)
    sites: list[Site] = []
    at = 0
    while at < len(way) - 1:
        ahead = np.arange(at + 1, len(way))
        here = np.repeat(way[at : at + 1], len(ahead), 0)
        eyes = np.array([0.0, 0.0, z_m + CAMERA_M])
        good = walkable_floor(obstacles, here, way[ahead], z_m) & (np.linalg.norm(way[ahead] - here, axis=1) < 3.0)
        good &= sees(solids, np.pad(here, ((0, 0), (0, 1))) + eyes, np.pad(way[ahead], ((0, 0), (0, 1))) + eyes)
        last = ahead[good][-1] if good.any() else at + 1
        if last == len(way) - 1:
            break
        usable = ahead[good & fits[ahead]]
        at = int(usable[-1]) if len(usable) else int(last)
        if fits[at]:
            sites.append(_make_on_floor(house, way[at], z_m, rng))
    if not sites and fits.any():  # a way without a bend that sight or length still forbids: stand in its middle
        middle = np.flatnonzero(fits)[int(fits.sum()) // 2]
        sites.append(_make_on_floor(house, way[middle], z_m, rng))
    return sites


def _make_on_floor(house: House, xy_m: np.ndarray, z_m: float, rng: np.random.Generator) -> Site:
    x, y = xy_m.tolist()
    opening = opening_at(house, x, y, z_m)
    room = int(house.rooms_at(np.array([[x, y, z_m + 0.5]]))[0])
    return _site(xy_m, z_m, room if room >= 0 else house.openings[opening].rooms[0], rng, opening=opening)


def beside_stair(house: House, xy_m: tuple[float, float], floor_z_m: float) -> tuple[int, str]:
    """The stair whose end a point is near, and which end ("bottom", "top"); (−1, "") when there is none."""
    for index, stair in enumerate(house.stairs):
        along = float(stair_coordinates(stair, np.array([xy_m]))[0, 0])
        for end, name, outside in (
            (stair.foot_m, "bottom", along <= 0.2),
            (stair.head_m, "top", along >= stair_length_m(stair) - 0.2),
        ):
            if outside and abs(end[2] - floor_z_m) < 0.3 and np.hypot(xy_m[0] - end[0], xy_m[1] - end[1]) <= 1.6:
                return index, name
    return -1, ""

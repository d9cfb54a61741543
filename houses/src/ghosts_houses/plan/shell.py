"""The shell of a house: floors, ceilings, walls with their openings, frames, skirting boards, steps and railings."""

from __future__ import annotations

import math
from itertools import pairwise

from ghosts_houses.house import Opening, Primitive, Room, Stair, Wall
from ghosts_houses.plan.rooms import SLAB_M, WALL_M, Color, Finish

RISER_M = 0.1875
TREAD_M = 0.26
STAIR_WIDTH_M = 1.0
_SET_BACK_M = 0.25
"""A flight above another ends this much earlier, so that a body that leaves one for a floor cannot reach the other."""
_FLIGHT_M = 0.3
"""Thickness of a flight above another one; the lowest is solid down to the floor."""
_HOLE_LEAD_M = 0.65
"""The hole above a flight begins this far from its foot; before it, headroom is 2 m."""
_WHITE: Color = (0.86, 0.85, 0.83)
_CEILING: Color = (0.88, 0.875, 0.86)
VIEWS = ("meadow", "mountains", "sea", "town")
"""What windows show: materials that look the same from everywhere, by the direction of sight."""
Range = tuple[float, float]


def span_box(x: Range, y: Range, z: Range, material: str, color: Color, label: str) -> Primitive:
    """An axis-aligned box from ranges."""
    center = ((x[0] + x[1]) / 2, (y[0] + y[1]) / 2, (z[0] + z[1]) / 2)
    half = ((x[1] - x[0]) / 2, (y[1] - y[0]) / 2, (z[1] - z[0]) / 2)
    return Primitive("box", center, half, 0.0, material, color, label)


def make_stairs(halls: list[Room], against: str, flip: bool) -> tuple[Stair, ...]:
    """Straight flights above each other along the east or west wall of stair halls, in the middle of its length.

    Args:
        halls: stair halls of one rectangle, from the lowest storey up.
        against: "E" or "W", the wall the flights touch.
        flip: climb towards −y instead of +y.
    """
    ground, up = halls[0], -1.0 if flip else 1.0
    x = ground.x1_m - STAIR_WIDTH_M / 2 if against == "E" else ground.x0_m + STAIR_WIDTH_M / 2
    flights = []
    for number, (lower, upper) in enumerate(pairwise(halls)):
        run = (_risers(upper.floor_z_m - lower.floor_z_m) - 1) * TREAD_M
        if number == 0:
            head = (ground.y0_m + ground.y1_m + up * (run + _SET_BACK_M * (len(halls) - 2))) / 2
        else:
            head -= up * _SET_BACK_M
        ends = (round(x, 3), round(head - up * run, 3), lower.floor_z_m), (round(x, 3), round(head, 3), upper.floor_z_m)
        flights.append(Stair((lower.index, upper.index), *ends, STAIR_WIDTH_M))
    return tuple(flights)


def _risers(climb_m: float) -> int:
    return round(climb_m / RISER_M)


def stair_steps(stair: Stair) -> tuple[int, float]:
    """How many steps a flight climbs, and the height of each."""
    climb = stair.head_m[2] - stair.foot_m[2]
    return _risers(climb), climb / _risers(climb)


def stair_hole(stair: Stair) -> tuple[Range, Range]:
    """Plan ranges (x, y) of the hole in the ceiling and floor above a flight."""
    x = (stair.foot_m[0] - stair.width_m / 2, stair.foot_m[0] + stair.width_m / 2)
    up = 1.0 if stair.head_m[1] > stair.foot_m[1] else -1.0
    ends = sorted((stair.foot_m[1] + up * _HOLE_LEAD_M, stair.head_m[1]))
    return x, (ends[0], ends[1])


def build_shell(
    rooms: tuple[Room, ...], openings: tuple[Opening, ...], stairs: tuple[Stair, ...], finishes: list[Finish], view: str
) -> tuple[Primitive, ...]:
    """All fixed solids of a house.

    Args:
        rooms: the rooms.
        openings: holes in their walls.
        stairs: flights.
        finishes: surfaces, one per room.
        view: material of what the windows show.
    """
    parts: list[Primitive] = []
    # Above a lowered ceiling the slab is as much thicker.
    highest = {storey: max(r.ceiling_z_m for r in rooms if r.storey == storey) for storey in {r.storey for r in rooms}}
    for room, finish in zip(rooms, finishes):
        holes = [stair_hole(stair) for stair in stairs if room.index == stair.rooms[1]]
        parts += _slab(
            room, holes, (room.floor_z_m - SLAB_M, room.floor_z_m), finish.floor, finish.floor_color, "floor"
        )
        holes = [stair_hole(stair) for stair in stairs if room.index == stair.rooms[0]]
        top = highest[room.storey] + SLAB_M
        parts += _slab(room, holes, (room.ceiling_z_m, top), "plaster", _CEILING, "ceiling")
        parts += _walls(room, openings, finish, top)
    trim = {room.index: finish.trim_color for room, finish in zip(rooms, finishes)}
    for opening in openings:
        color = trim[opening.rooms[0]]
        if opening.kind == "window":
            parts += _window(opening, rooms[opening.rooms[0]], view)
        elif not _open(opening, rooms[opening.rooms[0]]):
            parts += _frame(opening, color)
    for stair in stairs:
        below = any(other.rooms[1] == stair.rooms[0] for other in stairs)
        above = any(other.rooms[0] == stair.rooms[1] for other in stairs)
        parts += _steps(stair, finishes[stair.rooms[0]], hangs=below)
        parts += _railings(stair, rooms[stair.rooms[1]], ends=not above)
    return tuple(parts)


def _slab(
    room: Room, holes: list[tuple[Range, Range]], z: Range, material: str, color: Color, label: str
) -> list[Primitive]:
    """A floor or ceiling as far as the middle of the walls, as strips around the holes.

    A hole that touches a wall leaves no strip there: within the wall, its edge would show in the wall's face.
    """
    half = WALL_M / 2
    if not holes:
        rects = room.rects(half)
        return [span_box((x0, x1), (y0, y1), z, material, color, label) for x0, y0, x1, y1 in rects]
    x0, x1, y0, y1 = room.x0_m - half, room.x1_m + half, room.y0_m - half, room.y1_m + half
    (hx, hy) = holes[0]
    pieces = [((x0, x1), (y0, hy[0])), ((x0, x1), (hy[1], y1)), ((x0, hx[0]), hy), ((hx[1], x1), hy)]
    return [
        span_box(px, py, z, material, color, label)
        for px, py in pieces
        if min(px[1] - px[0], py[1] - py[0]) > half + 1e-6
    ]


def _open(opening: Opening, room: Room) -> bool:
    """Whether an opening reaches the ceiling: two rooms in one, without a frame between."""
    return opening.top_z_m > room.ceiling_z_m - 0.1


def _walls(room: Room, openings: tuple[Opening, ...], finish: Finish, top_m: float) -> list[Primitive]:
    """Half-thick walls on all sides, cut by the openings, with skirting boards."""
    half = WALL_M / 2
    # Walls close the slab between storeys too, so that nothing shows beside a stair hole.
    z = (room.floor_z_m - SLAB_M, top_m)
    parts: list[Primitive] = []
    for wall in room.walls:
        along, face, outer = wall.along, wall.level_m, wall.level_m - half * sum(wall.inward)
        run = _to_corners(room, wall, half)
        cuts = []
        for opening in openings:
            middle, level = (opening.x_m, opening.y_m) if along == "x" else (opening.y_m, opening.x_m)
            if opening.along == along and room.index in opening.rooms and abs(level - outer) < 0.02:
                reach = opening.width_m / 2
                cuts.append((middle - reach, middle + reach, opening.bottom_z_m, opening.top_z_m))
        thick = (min(face, outer), max(face, outer))
        for u, v in _around(run, z, sorted(cuts)):
            parts.append(_along(along, u, thick, v, finish.wall, finish.wall_color, "wall"))
        parts += _skirting(room, wall, sorted(cuts), finish)
    return parts


def _to_corners(room: Room, wall: Wall, thick_m: float) -> Range:
    """A wall's stretch with its corners, from the face outward; of an L's inner corner one wall takes all.

    Boards before the face have a negative thickness: they end at the next wall, and meet round the inner corner.
    """
    low, high = wall.low_m - max(thick_m, 0.0), wall.high_m + max(thick_m, 0.0)
    if not wall.name.endswith("2"):
        return low, high
    shift = max(thick_m, 0.0) if wall.along == "x" else min(thick_m, 0.0)
    first = room.x0_m if wall.along == "x" else room.y0_m
    return (low, wall.high_m - shift) if wall.low_m == first else (wall.low_m + shift, high)


def _along(along: str, u: Range, across: Range, z: Range, material: str, color: Color, label: str) -> Primitive:
    x, y = (u, across) if along == "x" else (across, u)
    return span_box(x, y, z, material, color, label)


def _around(run: Range, z: Range, cuts: list[tuple[float, float, float, float]]) -> list[tuple[Range, Range]]:
    """Rectangles (along, up) that fill a wall except its cuts."""
    pieces: list[tuple[Range, Range]] = []
    start = run[0]
    for a, b, bottom, top in cuts:
        pieces.append(((start, a), z))
        if bottom > z[0] + 1e-6:
            pieces.append(((a, b), (z[0], bottom)))
        if top < z[1] - 1e-6:
            pieces.append(((a, b), (top, z[1])))
        start = b
    pieces.append(((start, run[1]), z))
    return [(u, v) for u, v in pieces if u[1] - u[0] > 1e-6]


def _skirting(room: Room, wall: Wall, cuts: list[tuple[float, float, float, float]], finish: Finish) -> list[Primitive]:
    """A board along the foot of a wall, broken at doors, and a slim moulding under the ceiling."""
    along, face, inward, floor = wall.along, wall.level_m, sum(wall.inward), room.floor_z_m
    parts = []
    if finish.wall != "wall tile":
        depth = (min(face, face + inward * 0.016), max(face, face + inward * 0.016))
        doors = [(a - 0.07, b + 0.07, floor, floor + 1.0) for a, b, bottom, _ in cuts if bottom < floor + 0.2]
        for u, v in _around(_to_corners(room, wall, -0.016), (floor, floor + 0.1), doors):
            if v[0] == floor and v[1] == floor + 0.1:
                parts.append(_along(along, u, depth, v, "gloss", finish.trim_color, "wall"))
    depth = (min(face, face + inward * 0.035), max(face, face + inward * 0.035))
    top = (room.ceiling_z_m - 0.05, room.ceiling_z_m)
    if room.kind != "stair hall":
        wide = [(a, b, *top) for a, b, _, high in cuts if high > top[0]]
        run = _to_corners(room, wall, -0.035)
        parts += [_along(along, u, depth, top, "gloss", _WHITE, "ceiling") for u, _ in _around(run, top, wide)]
    return parts


def _frame(opening: Opening, color: Color) -> list[Primitive]:
    """Jambs and head around a door or passage, a little proud of the wall."""
    middle, level = (opening.x_m, opening.y_m) if opening.along == "x" else (opening.y_m, opening.x_m)
    reach, proud = opening.width_m / 2, WALL_M / 2 + 0.018
    across = (level - proud, level + proud)
    z = (opening.bottom_z_m, opening.top_z_m)
    parts = []
    for side in (-1.0, 1.0):
        edge = sorted((middle + side * (reach - 0.02), middle + side * (reach + 0.06)))
        parts.append(_along(opening.along, (edge[0], edge[1]), across, (z[0], z[1] + 0.06), "gloss", color, "door"))
    head = (z[1] - 0.02, z[1] + 0.06)
    parts.append(
        _along(opening.along, (middle - reach - 0.06, middle + reach + 0.06), across, head, "gloss", color, "door")
    )
    if not opening.inner:  # a threshold: the floor ends in the middle of the wall
        sill = (z[0] - SLAB_M, z[0] + 0.004)
        parts.append(_along(opening.along, (middle - reach, middle + reach), across, sill, "gloss", color, "door"))
    return parts


def _window(opening: Opening, room: Room, view: str) -> list[Primitive]:
    """A pane that shows the view, a frame with a cross bar, and a sill inside; down to the floor, a glass door."""
    middle, level = (opening.x_m, opening.y_m) if opening.along == "x" else (opening.y_m, opening.x_m)
    center = room.center_m[1] if opening.along == "x" else room.center_m[0]
    inward = 1.0 if center > level else -1.0
    reach = opening.width_m / 2
    z = (opening.bottom_z_m, opening.top_z_m)
    u = (middle - reach, middle + reach)

    def strip(us: Range, zs: Range, near: float, far: float, material: str = "gloss") -> Primitive:
        across = sorted((level + inward * near, level + inward * far))
        return _along(opening.along, us, (across[0], across[1]), zs, material, _WHITE, "window")

    parts = [strip(u, z, -0.03, 0.0, view)]
    for edge in (u[0], u[1] - 0.05):
        parts.append(strip((edge, edge + 0.05), z, -0.03, 0.04))
    for edge in (z[0], z[1] - 0.05):
        parts.append(strip(u, (edge, edge + 0.05), -0.03, 0.04))
    bars = 1 if opening.width_m < 1.5 else 2
    for k in range(bars):
        at = u[0] + opening.width_m * (k + 1) / (bars + 1)
        parts.append(strip((at - 0.02, at + 0.02), z, -0.03, 0.025))
    parts.append(strip(u, (z[0] + (z[1] - z[0]) * 0.66, z[0] + (z[1] - z[0]) * 0.66 + 0.035), -0.03, 0.025))
    if z[0] > room.floor_z_m + 0.2:
        parts.append(strip((u[0] - 0.05, u[1] + 0.05), (z[0] - 0.03, z[0]), 0.0, WALL_M / 2 + 0.08))
    else:
        handle = u[0] + opening.width_m / (bars + 1) - 0.06
        parts.append(strip((handle - 0.012, handle + 0.012), (z[0] + 0.95, z[0] + 1.15), 0.025, 0.06, "metal"))
    return parts


def _steps(stair: Stair, finish: Finish, *, hangs: bool) -> list[Primitive]:
    """Steps with wooden treads on painted risers: solid, or hanging where there is a flight below."""
    up = 1.0 if stair.head_m[1] > stair.foot_m[1] else -1.0
    count, rise = stair_steps(stair)
    x = (stair.foot_m[0] - stair.width_m / 2, stair.foot_m[0] + stair.width_m / 2)
    wood: Color = finish.floor_color if finish.floor in ("planks", "parquet") else (0.36, 0.22, 0.12)
    parts = []
    for k in range(count - 1):
        y = sorted((stair.foot_m[1] + up * k * TREAD_M, stair.foot_m[1] + up * (k + 1) * TREAD_M))
        nose = sorted((stair.foot_m[1] + up * (k * TREAD_M - 0.025), stair.foot_m[1] + up * (k + 1) * TREAD_M))
        top = stair.foot_m[2] + (k + 1) * rise
        bottom = max(stair.foot_m[2], top - 0.035 - _FLIGHT_M) if hangs else stair.foot_m[2]
        parts.append(span_box(x, (y[0], y[1]), (bottom, top - 0.035), "gloss", _WHITE, "stairs"))
        parts.append(
            span_box((x[0] - 0.015, x[1] + 0.015), (nose[0], nose[1]), (top - 0.035, top), "wood", wood, "stairs")
        )
    return parts


def _railings(stair: Stair, upper: Room, *, ends: bool) -> list[Primitive]:
    """Balusters along the open side of the flight and around the hole above it, unless the next flight `ends` it."""
    up = 1.0 if stair.head_m[1] > stair.foot_m[1] else -1.0
    count, rise = stair_steps(stair)
    open_side = 1.0 if upper.x1_m - stair.foot_m[0] > stair.foot_m[0] - upper.x0_m else -1.0
    wood: Color = (0.25, 0.14, 0.07)
    parts = []
    x = stair.foot_m[0] + open_side * (stair.width_m / 2 - 0.05)
    for k in range(count - 1):
        y, foot = stair.foot_m[1] + up * (k + 0.5) * TREAD_M, stair.foot_m[2] + (k + 1) * rise
        parts.append(_post((x, y, foot), 0.014, 0.44))
    middle = (x, (stair.foot_m[1] + stair.head_m[1]) / 2, stair.foot_m[2] + count * rise / 2 + 0.9)
    half = ((count - 1) * TREAD_M / 2, 0.03, 0.035)
    parts.append(Primitive("box", middle, half, up * math.pi / 2, "wood", wood, "railing", rise / TREAD_M))
    _, hole = stair_hole(stair)
    floor = upper.floor_z_m
    edge = stair.foot_m[0] + open_side * (stair.width_m / 2 + 0.048)
    parts.append(span_box((edge - 0.03, edge + 0.03), hole, (floor + 0.92, floor + 0.97), "wood", wood, "railing"))
    posts = int((hole[1] - hole[0]) / 0.16)
    for k in range(posts + 1):
        y = hole[0] + (hole[1] - hole[0]) * k / posts
        parts.append(_post((edge, y, floor), 0.013, 0.46))
    if not ends:
        return parts
    # The end above the foot is open too; the flight arrives at the other one.
    y = hole[0] - 0.04 if up > 0 else hole[1] + 0.04
    wall_x = stair.foot_m[0] - open_side * stair.width_m / 2
    span = (min(wall_x, edge), max(wall_x, edge))
    parts.append(span_box(span, (y - 0.03, y + 0.03), (floor + 0.92, floor + 0.97), "wood", wood, "railing"))
    for k in range(7):
        post = wall_x + (edge - wall_x) * k / 6
        parts.append(_post((post, y, floor), 0.013, 0.46))
    return parts


def _post(foot_m: tuple[float, float, float], radius_m: float, half_m: float) -> Primitive:
    """A baluster that stands on a step or floor."""
    x, y, z = foot_m
    half = (radius_m, radius_m, half_m)
    return Primitive("cylinder", (x, y, z + half_m), half, 0.0, "metal", (0.1, 0.1, 0.1), "railing")

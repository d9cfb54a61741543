"""A building seen from above, as plain values: storeys, navigation graph, and what is known of its rooms and things.

Three kinds of worlds give three kinds of plans: a procedural house its floor plan, a landmark root its rooms and
objects, anything else its graph alone. Where there are images, the viewer can lay a map painted from the observations
under any of them (`view.paint`).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from jaxtyping import Float, Int
from scipy.sparse import csr_array
from scipy.sparse.csgraph import dijkstra

from ghosts_houses.draw.style import WALL, room_tint
from ghosts_houses.house import House, Opening, Primitive, Room, Stair, Thing
from ghosts_houses.world import load_house
from ghosts_sim.dataroot import DataRoot
from ghosts_sim.errors import DataError, GhostsError
from ghosts_sim.files import is_finite
from ghosts_sim.graph import NavGraph
from ghosts_sim.landmarks.format import UNPLACED, Landmark, SceneLandmarks, read_landmarks
from ghosts_sim.landmarks.regions import ROOM_NAMES

_WALL_M = 0.16
_STOREY_M = 2.0
_HIDDEN = ("curtains", "ceiling lamp", "pendant lamp", "chandelier", "range hood", "window")
_ROOM_M = 1.1
"""A room of a landmark root is drawn this far around its viewpoints, since its walls are not known."""
Shape = dict[str, Any]
"""`s` storey, `p` corners in metres, `f` fill, `k` kind; optional `t` text at its middle, `a` its area in m²."""


def make_floor_plan(root: DataRoot, scan: str) -> dict[str, Any]:
    """All that can be drawn of a building, as plain JSON values."""
    graph = root.graph(scan)
    if (root.path / "world.json").is_file():
        try:
            return house_floor_plan(load_house(root.path, scan), graph, root.has_images)
        except GhostsError:
            pass  # made by another version: its pictures and graph are still good
    elif (root.path / "landmarks" / f"{scan}.json").is_file():
        known = read_landmarks(root.path / "landmarks" / f"{scan}.json")
        regions = {name: ROOM_NAMES[item.room] for name, item in known.viewpoints.items() if item is not None}
        rooms = [regions.get(name, "") for name in graph.ids]
        return _scene("landmarks", graph, *_landmark_shapes(known, graph), rooms=rooms, images=root.has_images)
    return _scene("graph", graph, images=root.has_images)


def floor_plan_from_json(value: Any, names: Sequence[str]) -> dict[str, Any]:
    """A building's plan out of a file that anybody may have written.

    Raises:
        DataError: it is no plan, or lacks one of the viewpoints named.
    """
    try:
        points, storeys = value["viewpoints"], range(len(value["storeys"]))
        items = [*points, *value["shapes"], *value["marks"]]
        corners = [spot for shape in value["shapes"] for spot in (*shape["p"], shape.get("at", (0, 0)))]
        numbers = [
            *value["storeys"],
            *(item[axis] for item in points for axis in "xyz"),
            *(item[axis] for item in value["marks"] for axis in "xyn"),
            *(x for spot in corners for x in spot),
            *(shape.get("a", 0) for shape in value["shapes"]),
        ]
        texts = [
            *(point[name] for point in points for name in ("id", "r")),
            *(shape[name] for shape in value["shapes"] for name in "kf"),
            *(item.get("t", "") for item in items),
        ]
        rows = [row for edge in value["edges"] for row in edge]
        sound = (
            all(map(is_finite, numbers))
            and all(isinstance(text, str) for text in [value["scan"], value["kind"], *texts])
            and all(type(item["s"]) is int and item["s"] in storeys for item in items)
            and all(type(row) is int and 0 <= row < len(points) for row in rows)
            and all(len(pair) == 2 for pair in (*corners, *value["edges"]))
            and all(type(point["ok"]) is bool for point in points)
        )
    except (LookupError, TypeError, AttributeError, ValueError):
        sound = False
    if not sound:
        raise DataError("no plan of a building", field="scene", hint="name the root it was recorded in with --data")
    missing = next((name for name in names if name not in {point["id"] for point in points}), None)
    if missing is not None:
        raise DataError("the building's plan lacks this viewpoint", field="scene", value=missing)
    return {**value, "images": False}


def house_floor_plan(house: House, graph: NavGraph, images: bool = False) -> dict[str, Any]:
    """The scene of a house, which needs no data root; `images` says whether there are panoramas of it."""
    rooms = [_room_at(house, *place) for place in graph.position_m.tolist()]
    return _scene("house", graph, _house_shapes(house, storey_levels(graph)), rooms=rooms, images=images)


def _room_at(house: House, x_m: float, y_m: float, z_m: float) -> str:
    """The room a viewpoint is in, the doorway, or the stairs."""
    level = [room for room in house.rooms if 0.0 < z_m - room.floor_z_m < _STOREY_M]
    for beyond_m in (0.0, _WALL_M):
        near = [
            room.kind
            for room in level
            if max(room.x0_m - x_m, x_m - room.x1_m) <= beyond_m and max(room.y0_m - y_m, y_m - room.y1_m) <= beyond_m
        ]
        if near:
            return f"doorway between {near[0]} and {near[1]}" if len(near) > 1 else near[0]
    return "stairs"


def _scene(
    kind: str,
    graph: NavGraph,
    shapes: Sequence[Shape] = (),
    marks: Sequence[dict[str, Any]] = (),
    *,
    rooms: Sequence[str] = (),
    images: bool,
) -> dict[str, Any]:
    levels = storey_levels(graph)
    rows, others = np.nonzero(np.triu(graph.adjacent))
    return {
        "scan": graph.scan,
        "kind": kind,
        "images": images,
        "storeys": [round(float(level), 3) for level in levels],
        "viewpoints": [
            {"id": name, **{axis: round(value, 3) for axis, value in zip("xyz", xyz)}, "s": level, "ok": ok, "r": room}
            for name, xyz, level, ok, room in zip(
                graph.ids,
                graph.position_m.tolist(),
                _storeys(graph).tolist(),
                graph.included.tolist(),
                rooms or [""] * len(graph.ids),
            )
        ],
        "edges": [[int(a), int(b)] for a, b in zip(rows, others)],
        "shapes": list(shapes),
        "marks": list(marks),
    }


def _storeys(graph: NavGraph) -> Int[np.ndarray, " n"]:
    """The storey whose floor is nearest to the ground under each viewpoint."""
    return np.abs(graph.feet_m[:, 2][:, None] - storey_levels(graph)).argmin(1)


def places_of(scene: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Viewpoints by name."""
    return {point["id"]: point for point in scene["viewpoints"]}


def route(scene: dict[str, Any], names: Sequence[str]) -> list[str]:
    """The stops of a walk with the viewpoints between them: an agent walks past visited ones without looking."""
    points = scene["viewpoints"]
    places = {point["id"]: row for row, point in enumerate(points)}
    xyz = np.array([(point["x"], point["y"], point["z"]) for point in points])
    ends = np.array(scene["edges"], np.int64).reshape(-1, 2)
    lengths = np.linalg.norm(xyz[ends[:, 0]] - xyz[ends[:, 1]], axis=1)
    edges = csr_array((lengths, (ends[:, 0], ends[:, 1])), shape=(len(points), len(points)))
    walked = list(names[:1])
    for here, there in pairwise(names):
        _, before = dijkstra(edges, directed=False, indices=places[here], return_predecessors=True)
        way = [places[there]]
        while way[-1] != places[here] and before[way[-1]] >= 0:
            way.append(int(before[way[-1]]))
        walked += [points[row]["id"] for row in way[-2::-1]] if len(way) > 1 else [there]
    return walked


def storey_levels(graph: NavGraph) -> Float[np.ndarray, " n"]:
    """Heights of the floors, lowest first: where viewpoints gather, at least 2 m apart (stairs lie in between)."""
    floor = np.sort(graph.feet_m[:, 2][graph.included])
    if not len(floor):
        return np.zeros(1)
    near = (np.abs(floor[:, None] - floor) < 0.4).sum(1)
    levels: list[float] = []
    for index in np.argsort(-near, kind="stable"):
        lonely = levels and near[index] < max(2, 0.06 * len(floor))
        if not lonely and all(abs(floor[index] - level) > _STOREY_M for level in levels):
            levels.append(float(np.median(floor[np.abs(floor - floor[index]) < 0.4])))
    return np.sort(np.array(levels))


def _house_shapes(house: House, levels: np.ndarray) -> list[Shape]:
    storey = [int(np.abs(levels - room.floor_z_m).argmin()) for room in house.rooms]
    around = [_short(room.corners(_WALL_M / 2)) for room in house.rooms]
    shapes: list[Shape] = [{"s": s, "k": "wall", "f": WALL, "p": corners} for s, corners in zip(storey, around)]
    shapes += [_room(room, storey[room.index]) for room in house.rooms]
    shapes += [_opening(item, storey[item.rooms[0]]) for item in house.openings]
    for stair in house.stairs:
        shapes += [_stair(stair, level) for level in {storey[room] for room in stair.rooms}]
    for thing in sorted(house.things, key=lambda item: (item.blocks, item.center_m[2] - item.half_m[2])):
        if thing.kind not in _HIDDEN:
            shapes += _thing(thing, storey[thing.room])
    return shapes


def _short(points: Any) -> list[list[float]]:
    return [[round(float(x), 3), round(float(y), 3)] for x, y in points]


def _room(room: Room, storey: int) -> Shape:
    area = round(room.area_m2, 2)
    return {"s": storey, "k": "room", "f": room_tint(room.kind), "p": _short(room.corners()), "t": room.kind, "a": area}


def _opening(opening: Opening, storey: int) -> Shape:
    size = opening.width_m, _WALL_M + 0.04
    half = np.array(size if opening.along == "x" else size[::-1]) / 2
    outside = min(opening.rooms) < 0
    fill = "#bfe0f2" if opening.kind == "window" else "#c9a26b" if outside else "#f4f1ea"
    corners = (opening.x_m, opening.y_m) + half * [(-1, -1), (1, -1), (1, 1), (-1, 1)]
    return {"s": storey, "k": opening.kind, "f": fill, "p": _short(corners)}


def _stair(stair: Stair, storey: int) -> Shape:
    foot, head = np.array(stair.foot_m[:2]), np.array(stair.head_m[:2])
    axis = (head - foot) / max(float(np.linalg.norm(head - foot)), 1e-6)
    side = np.array([-axis[1], axis[0]]) * stair.width_m / 2
    corners = _short([foot - side, foot + side, head + side, head - side])
    area = float(np.linalg.norm(head - foot)) * stair.width_m
    return {"s": storey, "k": "stair", "f": "#e3d9c6", "p": corners, "t": "stairs", "a": round(area, 2)}


def _thing(thing: Thing, storey: int) -> list[Shape]:
    """A thing by its parts, low ones first, in a light version of their colours; its name goes with the last."""
    shapes: list[Shape] = []
    for part in sorted(thing.parts, key=lambda item: item.center_m[2] + item.half_m[2]):
        # Linear colour to the screen's, then half-way to white: what is drawn on top stays readable on dark furniture.
        colour = 0.5 * np.clip(np.array(part.color), 0.0, 1.0) ** (1 / 2.2) + 0.5
        fill = "#" + "".join(f"{round(255 * float(value)):02x}" for value in colour)
        shapes.append({"s": storey, "k": "thing", "f": fill, "p": _outline(part)})
    area = 4.0 * thing.half_m[0] * thing.half_m[1]
    if shapes and area >= 0.2 and thing.kind != "door":
        shapes[-1] |= {"t": thing.kind, "a": round(area, 2), "at": _short([thing.center_m[:2]])[0]}
    return shapes


def _outline(solid: Primitive) -> list[list[float]]:
    cos, sin = math.cos(solid.yaw_rad), math.sin(solid.yaw_rad)
    if solid.shape == "box":
        local = np.array([(1, 1), (1, -1), (-1, -1), (-1, 1)], float)
    else:
        local = _circle(14)
    local = local * np.array(solid.half_m[:2])
    turned = np.stack([local[:, 0] * cos - local[:, 1] * sin, local[:, 0] * sin + local[:, 1] * cos], 1)
    return _short(turned + np.array(solid.center_m[:2]))


def _circle(corners: int) -> Float[np.ndarray, "n 2"]:
    angle = np.arange(corners) * (2 * math.pi / corners)
    return np.stack([np.cos(angle), np.sin(angle)], 1)


def placed(scene: SceneLandmarks) -> list[Landmark]:
    """Objects whose place is known: the marks of a scene, in their order."""
    return [item for item in scene.objects if item.method != UNPLACED]


def _landmark_shapes(scene: SceneLandmarks, graph: NavGraph) -> tuple[list[Shape], list[dict[str, Any]]]:
    """Rooms as discs around their viewpoints that run into one another, and objects as marks."""
    levels, storey = storey_levels(graph), _storeys(graph)
    shapes: list[Shape] = []
    named: dict[tuple[int, str], list[int]] = {}
    for row, name in enumerate(graph.ids):
        region = scene.viewpoints.get(name)
        if region is None or not graph.included[row]:
            continue
        kind = ROOM_NAMES[region.room]
        disc = graph.position_m[row, :2] + _ROOM_M * _circle(18)
        shapes.append({"s": int(storey[row]), "k": "region", "f": room_tint(kind), "p": _short(disc)})
        named.setdefault((int(storey[row]), f"{region.region} {kind}"), []).append(row)
    for (level, name), rows in named.items():
        # The name goes to the viewpoint in the middle: a mean of an L-shaped room lies outside it.
        xy = graph.position_m[rows, :2]
        middle = xy[np.linalg.norm(xy - xy.mean(0), axis=1).argmin()]
        kind = " ".join(name.split(" ")[1:3]) if name.count(" ") > 1 else name.split(" ", 1)[1]
        shapes.append(
            {"s": level, "k": "name", "f": "none", "p": [], "t": kind, "a": 4.0 * len(rows), "at": _short([middle])[0]}
        )
    counts = Counter(item.label for item in scene.objects)
    marks = [
        {
            "s": int(np.abs(item.position_m[2] - 0.9 - levels).argmin()),
            "x": round(item.position_m[0], 2),
            "y": round(item.position_m[1], 2),
            "t": item.label,
            "n": counts[item.label],
        }
        for item in placed(scene)
    ]
    return shapes, marks

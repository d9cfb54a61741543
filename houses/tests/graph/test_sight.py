"""Lines of sight: where they enter each shape, and what they show of a house."""

from __future__ import annotations

import numpy as np
import pytest

import made
from ghosts_houses.graph.sight import entry, sees, things_seen
from ghosts_houses.graph.viewpoints import HouseGraph
from ghosts_houses.house import House, Primitive
from ghosts_houses.render.raycast import intersect, upload
from ghosts_houses.solids import Solids


def one_solid(shape: str, half: tuple[float, float, float], yaw: float = 0.0) -> Solids:
    part = Primitive(shape, (0.0, 0.0, 0.0), half, yaw, "", (0.0, 0.0, 0.0), "wall")  # type: ignore[arg-type]
    return Solids.of([part])


@pytest.mark.parametrize(
    ("shape", "half", "yaw", "origin", "target", "expected"),
    [
        ("box", (1, 1, 1), 0.0, (-3, 0, 0), (1, 0, 0), 0.5),
        ("box", (1, 1, 1), 0.0, (-3, 1.01, 0), (3, 1.01, 0), np.inf),
        ("box", (2, 1, 1), np.pi / 2, (-3, 0, 0), (1, 0, 0), 0.5),
        ("box", (1, 1, 1), 0.0, (0.5, 0, 0), (3, 0, 0), 0.0),
        ("cylinder", (1, 1, 0.5), 0.0, (-3, 0, 0), (1, 0, 0), 0.5),
        ("cylinder", (1, 1, 0.5), 0.0, (0, 0, 2.5), (0, 0, 0.0), 0.8),
        ("cylinder", (1, 1, 0.5), 0.0, (-3, 0.9, 0), (3, 0.9, 0), (3 - np.sqrt(1 - 0.81)) / 6),
        ("sphere", (1, 1, 1), 0.0, (-3, 0, 0), (1, 0, 0), 0.5),
        ("sphere", (2, 1, 1), 0.0, (-4, 0, 0), (0, 0, 0), 0.5),
        ("sphere", (1, 1, 1), 0.0, (-3, 0.8, 0.7), (3, 0.8, 0.7), np.inf),
    ],
)
def test_entry_into_each_shape(
    shape: str, half: tuple, yaw: float, origin: tuple, target: tuple, expected: float
) -> None:
    solids = one_solid(shape, tuple(map(float, half)), yaw)
    ends = np.array([origin], float), np.array([target], float)
    assert entry(solids, *ends)[0, 0] == pytest.approx(expected)
    assert sees(solids, *ends)[0] == np.isinf(expected)


def test_pictures_and_lines_of_sight_agree() -> None:
    """The nearest solid of 1000 random rays in a furnished house, in single and in double precision."""
    house = made.house(3)
    solids = Solids.of(house.primitives)
    rng = np.random.default_rng(0)
    room = house.rooms[0]
    eye = np.array([*room.center_m, room.floor_z_m + 1.5])
    ends = eye + 30.0 * rng.normal(size=(1000, 3))
    lines = np.repeat(eye[None], len(ends), 0)
    length = np.linalg.norm(ends - eye, axis=1)
    exact = entry(solids, lines, ends).min(1) * length
    origin, ray = (value.T.astype(np.float32) for value in (lines, ends - lines))
    drawn, single = np.full(len(ends), np.inf), upload(solids)
    for number in range(len(solids.form)):
        drawn = np.minimum(drawn, intersect(single, np.full(len(ends), number), origin, ray))
    drawn = drawn * length
    assert (np.abs(drawn - exact) < 1e-3).mean() > 0.998  # the others graze an edge


def test_sight_is_blocked_by_walls_and_furniture(handmade: House, handmade_graph: HouseGraph) -> None:
    graph = handmade_graph
    seen = things_seen(handmade, graph.positions_m)
    sofa = next(k for k, thing in enumerate(handmade.things) if thing.kind == "sofa")
    for k, point in enumerate(graph.viewpoints):
        if handmade.rooms[point.room].kind == "living room" and point.opening < 0:
            assert seen[k, sofa]
        if handmade.rooms[point.room].storey == 1:
            assert not seen[k, sofa]

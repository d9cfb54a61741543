"""What is left of the faces of solids: all that can be seen, once."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from ghosts_houses.house import House, Primitive, Room
from ghosts_houses.mesh.atlas import Lookup, pack
from ghosts_houses.mesh.bake import surface_points
from ghosts_houses.mesh.faces import SLOTS, SUNK_M, Faces, subtract, visible_faces
from ghosts_houses.mesh.triangles import triangulate
from made import house

ROOM = Room(0, "hallway", 0, -5.0, -5.0, 5.0, 5.0, 0.0, 3.0)


def part(shape: str, center: tuple, half: tuple, yaw: float = 0.0, label: str = "table") -> Primitive:
    center, half = tuple(map(float, center)), tuple(map(float, half))
    return Primitive(shape, center, half, yaw, "matte", (0.5, 0.5, 0.5), label)  # type: ignore[arg-type]


def faces_of(*parts: Primitive) -> Faces:
    return visible_faces(House("made", 0, (ROOM,), (), (), (), parts))


def area(faces: Faces, face: int) -> float:
    return sum((u1 - u0) * (v1 - v0) for u0, v0, u1, v1 in faces.pieces.get(face, ()))


def test_a_box_on_another_hides_what_touches() -> None:
    faces = faces_of(part("box", (0, 0, 0.5), (1, 1, 0.5)), part("box", (0.5, 0, 1.5), (0.5, 0.5, 0.5)))
    assert area(faces, 5) == pytest.approx(4.0 - 1.0)  # the top of the lower one, without what stands on it
    assert SLOTS + 4 not in faces.pieces  # the bottom of the upper one
    assert area(faces, 1) == pytest.approx(2.0)


def test_of_two_faces_in_one_plane_the_first_stays() -> None:
    first, second = part("box", (0, 0, 1), (1, 1, 1)), part("box", (0.5, 0, 1), (1, 0.5, 1))
    faces = faces_of(first, second)
    assert area(faces, 5) == pytest.approx(4.0)
    assert area(faces, SLOTS + 5) == pytest.approx(0.5 * 1.0)  # what reaches beyond the first
    # Walls go first, as in the ray caster.
    faces = faces_of(first, part("box", (0.5, 0, 1), (1, 0.5, 1), label="wall"))
    assert area(faces, 5) == pytest.approx(4.0 - 1.5)
    assert area(faces, SLOTS + 5) == pytest.approx(2.0)


@pytest.mark.parametrize("quarter", [0, 1, 2, 3])
def test_turned_boxes_are_cut_against_each_other(quarter: int) -> None:
    yaw = 0.3
    c, s = math.cos(yaw), math.sin(yaw)
    on_top = part("box", (0.5 * c, 0.5 * s, 1.5), (0.5, 0.25, 0.5), yaw + quarter * math.pi / 2)
    faces = faces_of(part("box", (0, 0, 0.5), (1, 1, 0.5), yaw), on_top)
    assert area(faces, 5) == pytest.approx(4.0 - 0.5)
    assert SLOTS + 4 not in faces.pieces
    hidden, _ = surface_points(faces.solids, np.array([SLOTS + 4]), np.zeros((1, 2)))
    for u0, v0, u1, v1 in faces.pieces[5]:
        middle, _ = surface_points(faces.solids, np.array([5]), np.array([[(u0 + u1) / 2, (v0 + v1) / 2]]))
        assert np.linalg.norm(middle - hidden) > 0.25  # nothing of the top is left below the box on it


def test_a_lid_in_the_plane_of_another_is_sunk_and_one_on_the_floor_goes() -> None:
    floor = part("box", (0, 0, -0.1), (3, 3, 0.1), label="floor")
    plate, half_out = part("box", (0, 0, 0.5), (1, 1, 0.5)), part("cylinder", (1, 0, 0.5), (0.2, 0.2, 0.5))
    faces = faces_of(floor, plate, half_out, part("cylinder", (0, 0, 0.5), (0.2, 0.2, 0.5)))
    lid = 2 * SLOTS + 5
    assert faces.lids.tolist() == [lid, lid + SLOTS]
    assert faces.sunk == {lid: pytest.approx(SUNK_M), lid + SLOTS: pytest.approx(SUNK_M)}
    mesh = triangulate(faces, pack(faces, 0.1))
    level = mesh.vertex_m[mesh.triangle[mesh.face == lid]][..., 2]
    np.testing.assert_allclose(level, 1.0 - SUNK_M, atol=1e-6)
    # Nothing is left of the cylinder inside the plate.
    assert sorted(set((mesh.face // SLOTS).tolist())) == [0, 1, 2]


def test_faces_that_look_outdoors_go() -> None:
    wall = part("box", (5.04, 0, 1.5), (0.04, 5, 1.5), label="wall")
    assert sorted(face % SLOTS for face in faces_of(wall).pieces) == [0, 2, 3, 4, 5]


def test_rectangles_of_a_difference_do_not_overlap_and_cover_the_rest() -> None:
    rng = np.random.default_rng(3)
    for _ in range(50):
        corner = rng.uniform(-0.5, 1.0, (4, 2))
        covers = [(x, y, x + w, y + h) for (x, y), (w, h) in zip(corner, rng.uniform(0.1, 0.8, (4, 2)))]
        pieces = subtract((0.0, 0.0, 1.0, 1.0), covers)
        point = rng.uniform(0.0, 1.0, (300, 2))

        def within(box: tuple, point: np.ndarray = point) -> np.ndarray:
            return (point >= box[:2]).all(1) & (point < box[2:]).all(1)

        covered = np.any([within(cover) for cover in covers], axis=0)
        times = np.sum([within(piece) for piece in pieces], axis=0) if pieces else np.zeros(len(point))
        np.testing.assert_array_equal(times, np.where(covered, 0, 1))


def test_no_two_pieces_of_a_house_share_a_plane_and_a_place() -> None:
    faces = visible_faces(house(9))
    rows = [
        (face, piece)
        for face, pieces in faces.pieces.items()
        if not faces.solids.form[face // SLOTS]
        for piece in pieces
    ]
    face, span = np.array([row[0] for row in rows]), np.array([row[1] for row in rows])
    one, normal = surface_points(faces.solids, face, span[:, :2])
    other, _ = surface_points(faces.solids, face, span[:, 2:])
    low, high = np.minimum(one, other), np.maximum(one, other)
    overlaps = 0
    for axis in range(3):
        along = np.flatnonzero(np.abs(normal).argmax(1) == axis)
        along = along[np.argsort(low[along, axis])]
        level = low[along, axis]
        for k, first, last in zip(along, np.searchsorted(level, level - 1e-4), np.searchsorted(level, level + 1e-4)):
            near = along[first:last]
            twin = (np.abs(normal[near] - normal[k]) < 1e-6).all(1)
            shared = np.delete(np.minimum(high[near], high[k]) - np.maximum(low[near], low[k]), axis, 1)
            overlaps += int((twin & (shared > 2e-4).all(1)).sum()) - 1
    assert len(face) > 2000
    assert overlaps == 0


def test_triangles_face_outwards_and_their_texture_is_where_the_lookup_says() -> None:
    faces = faces_of(
        part("box", (0, 0, 0.5), (1, 0.5, 0.5), 0.4),
        part("box", (2.5, 0, 0.5), (0.2, 0.5, 0.5), math.pi / 2),
        replace(part("box", (-3, -2, 1), (1, 0.03, 0.04), 2.0), slope=0.7),
        part("cylinder", (-2, 1, 1), (0.3, 0.2, 0.5)),
        part("sphere", (0, 3, 1), (0.4, 0.3, 0.2)),
    )
    atlas = pack(faces, 0.05)
    mesh = triangulate(faces, atlas)
    corner = mesh.vertex_m[mesh.triangle].astype(float)
    outward = np.cross(corner[:, 1] - corner[:, 0], corner[:, 2] - corner[:, 0])
    middle = corner.mean(1)
    assert ((outward * (middle - faces.solids.center[mesh.face // SLOTS])).sum(1) > 0).all()
    places = Lookup.of(faces.solids, atlas).places(mesh.face.astype(int), middle.astype(np.float32))
    drawn = mesh.uv[mesh.triangle].mean(1) * (atlas.width, atlas.height) - 0.5
    flat = (faces.solids.form[mesh.face // SLOTS] < 2) | (mesh.face % SLOTS >= 4)
    np.testing.assert_allclose(places[flat], drawn[flat], atol=1e-3)
    # The middle of a facet of a round solid is not quite on it.
    np.testing.assert_allclose(places[~flat], drawn[~flat], atol=0.6)


def test_points_of_a_sloping_rail_lie_on_its_faces_and_its_normals_stand_on_them() -> None:
    rail = replace(part("box", (0, 0, 1), (1, 0.03, 0.04), math.pi / 2), slope=0.75)
    faces = faces_of(rail)
    assert sorted(faces.pieces) == list(range(SLOTS))
    ends, normal = surface_points(faces.solids, np.array([5, 5]), np.array([[-0.8, 0.0], [0.8, 0.0]]))
    np.testing.assert_allclose(ends, [(0.0, -0.8, 0.44), (0.0, 0.8, 1.64)], atol=1e-9)
    np.testing.assert_allclose(normal, [(0.0, -0.6, 0.8)] * 2, atol=1e-9)
    assert np.allclose(np.stack(faces.solids.reach_m, 1), [(0.03, 1.0, 0.79)])
    lookup = Lookup.of(faces.solids, pack(faces, 0.05))
    assert lookup.slots(np.array([0, 0]), ends.astype(np.float32)).tolist() == [5, 5]


def test_rectangles_of_the_atlas_lie_apart() -> None:
    atlas = pack(visible_faces(house(9)), 0.1)
    used = np.zeros((atlas.height, atlas.width), int)
    for (x, y), (wide, tall) in zip(atlas.corner, atlas.texels):
        used[y - 1 : y + tall + 1, x - 1 : x + wide + 1] += 1
    assert used.max() == 1

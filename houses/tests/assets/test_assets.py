"""Houses in other programs' formats, read back by those programs where they are installed."""

from __future__ import annotations

import json
import struct
import xml.etree.ElementTree as ET
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from checks import unchecked
from ghosts_houses.assets.glb import glb_bytes, y_up
from ghosts_houses.assets.mjcf import mjcf
from ghosts_houses.assets.usd import write_usd
from ghosts_houses.cli import world as world_command
from ghosts_houses.house import House
from ghosts_houses.make import make_house
from ghosts_houses.mesh.atlas import pack
from ghosts_houses.mesh.bake import Baked
from ghosts_houses.mesh.faces import visible_faces
from ghosts_houses.plan.slots import HouseSize
from ghosts_sim.errors import ConfigError, UnknownNameError
from made import house, small_world


@pytest.fixture(scope="module")
def baked(handmade: House) -> Baked:
    """With a grey atlas: its light has tests of its own."""
    faces = visible_faces(handmade)
    atlas = pack(faces, 0.2)
    return Baked(handmade, faces, atlas, np.full((atlas.height, atlas.width, 3), 128, np.uint8))


def test_glb_holds_the_mesh_in_gltf_s_frame(baked: Baked) -> None:
    data = glb_bytes(baked)
    magic, version, size = struct.unpack("<4sII", data[:12])
    assert (magic, version, size) == (b"glTF", 2, len(data))
    length = struct.unpack("<I", data[12:16])[0]
    document = json.loads(data[20 : 20 + length])
    assert {"floor", "wall", "sofa"} <= {node["name"] for node in document["nodes"]}
    counts = [document["accessors"][m["primitives"][0]["indices"]]["count"] for m in document["meshes"]]
    assert sum(counts) == 3 * len(baked.mesh.triangle)
    low, high = document["accessors"][0]["min"], document["accessors"][0]["max"]
    points = y_up(baked.mesh.vertex_m)
    np.testing.assert_allclose([low, high], [points.min(0), points.max(0)], atol=1e-6)


def test_glb_opens_in_trimesh(baked: Baked, tmp_path: Path) -> None:
    trimesh = pytest.importorskip("trimesh")
    path = tmp_path / "house.glb"
    path.write_bytes(glb_bytes(baked))
    scene = trimesh.load(path)
    assert sum(len(item.faces) for item in scene.geometry.values()) == len(baked.mesh.triangle)
    np.testing.assert_allclose(scene.bounds, [y_up(baked.mesh.vertex_m).min(0), y_up(baked.mesh.vertex_m).max(0)])
    floor = scene.geometry["floor"]
    assert floor.visual.material.baseColorTexture.size == (baked.atlas.width, baked.atlas.height)


def test_mjcf_has_one_geom_per_solid(handmade: House) -> None:
    geoms = list(ET.fromstring(mjcf(handmade)).iter("geom"))
    assert len(geoms) == len(handmade.primitives)
    first, part = geoms[0], handmade.primitives[0]
    np.testing.assert_allclose([float(v) for v in first.get("size", "").split()], part.half_m, rtol=1e-5)
    np.testing.assert_allclose([float(v) for v in first.get("pos", "").split()], part.center_m, rtol=1e-5, atol=1e-9)
    rug = next(geom for geom in geoms if geom.get("name", "").endswith("rug"))
    assert (rug.get("contype"), first.get("contype")) == ("0", None)


def test_a_ball_comes_to_rest_on_the_floor_in_mujoco() -> None:
    mujoco = pytest.importorskip("mujoco")
    made = house(0)
    x, y = made.rooms[0].center_m
    ball = f'<body name="ball" pos="{x} {y} 2.2"><freejoint/><geom size="0.1" density="500"/></body></worldbody>'
    model = mujoco.MjModel.from_xml_string(mjcf(made).replace("</worldbody>", ball))
    assert model.ngeom == len(made.primitives) + 1
    data = mujoco.MjData(model)
    for _ in range(600):
        mujoco.mj_step(model, data)
    height = float(data.body("ball").xpos[2])
    assert np.isfinite(data.qpos).all()
    assert 0.05 < height < 2.0  # on the floor or on furniture, not below


def test_a_handrail_slopes_in_mujoco_too() -> None:
    mujoco = pytest.importorskip("mujoco")
    made = replace(house(4), things=())
    rails = [k for k, part in enumerate(made.primitives) if part.slope]
    assert len(rails) == len(made.stairs) == 1
    model = mujoco.MjModel.from_xml_string(mjcf(made))
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    part, geom = made.primitives[rails[0]], model.geom(f"{rails[0]} railing")
    start = int(model.mesh_vertadr[geom.dataid[0]])
    corner = model.mesh_vert[start : start + int(model.mesh_vertnum[geom.dataid[0]])]
    corner = corner @ data.geom_xmat[geom.id].reshape(3, 3).T + data.geom_xpos[geom.id]
    long, wide, high = part.half_m
    assert np.ptp(corner, 0) == pytest.approx([2 * wide, 2 * long, 2 * (high + part.slope * long)], abs=1e-4)
    assert (corner.max(0) + corner.min(0)) / 2 == pytest.approx(part.center_m, abs=1e-4)
    upper = corner[corner[:, 2] > part.center_m[2], 1].mean() - part.center_m[1]
    stair = made.stairs[0]
    assert upper * (stair.head_m[1] - stair.foot_m[1]) > 0  # it climbs with the flight


def test_usd_opens_again(baked: Baked, tmp_path: Path) -> None:
    pxr = pytest.importorskip("pxr", reason="USD needs ghosts[usd]")
    from pxr import Usd, UsdGeom

    assert pxr is not None
    path = tmp_path / "house.usda"
    write_usd(baked, path)
    stage = Usd.Stage.Open(str(path))
    mesh = UsdGeom.Mesh(stage.GetPrimAtPath("/handmade/house"))
    assert len(mesh.GetPointsAttr().Get()) == len(baked.mesh.vertex_m)
    assert UsdGeom.GetStageUpAxis(stage) == "Z"
    assert path.with_suffix(".jpg").is_file()


def test_the_command_writes_a_house(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "house.xml"
    with unchecked():
        world_command.main(["--export", "mjcf", "--seed", "14", "--out", str(path)])
    assert len(list(ET.parse(path).iter("geom"))) == len(house(14).primitives)
    assert f"{path}: house {house(14).name}" in capsys.readouterr().out


def test_the_command_writes_a_house_of_the_size_asked_for(tmp_path: Path) -> None:
    path, size = tmp_path / "house.xml", HouseSize((1, 1), (5, 6))
    with unchecked():
        world_command.main(
            ["--export", "mjcf", "--seed", "7", "--storeys", "1", "1", "--rooms", "5", "6", "--out", str(path)]
        )
        expected = make_house(7, size)
    assert len(list(ET.parse(path).iter("geom"))) == len(expected.primitives)
    assert len(expected.rooms) in size.rooms


def test_where_vlnce_looks_for_scenes_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    root = small_world()
    file = root / "world.json"
    monkeypatch.setattr("ghosts_houses.task.vlnce.write_vlnce", lambda *_: (file, file))
    world_command.main(["--export", "vlnce", "--of", str(root), "--out", str(tmp_path / "episodes")])
    told = capsys.readouterr().out
    assert "SCENES/ghosts/SCAN/SCAN.glb" in told
    assert f"ghosts world --export glb --of {root} --out SCENES/ghosts" in told


def test_what_cannot_be_exported_is_told(tmp_path: Path) -> None:
    with pytest.raises(UnknownNameError, match="unknown format 'obj'; choose one of glb, mjcf, usd, vlnce"):
        world_command.main(["--export", "obj"])
    with pytest.raises(ConfigError, match="name --of ROOT and --out DIR"):
        world_command.main(["--export", "vlnce"])
    with pytest.raises(ConfigError, match="say where to write the houses: --out DIR"):
        world_command.main(["--export", "glb", "--of", str(tmp_path)])
    with pytest.raises(ConfigError, match=r"--texel must lie in 0.005..1, got 2"):
        world_command.main(["--export", "glb", "--texel", "2"])

"""Houses, their pictures and their meshes need no torch."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

PROGRAM = """
import sys
from pathlib import Path

class NoTorch:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "torch":
            raise ModuleNotFoundError("torch must not be needed", name="torch")

sys.meta_path.insert(0, NoTorch())
from ghosts_houses.cli import world
from ghosts_houses.mesh.renderers import make_renderer
from ghosts_houses.world import load_house
from ghosts_sim.types import Intrinsics, Pose

root, small = Path(sys.argv[1]), ["--storeys", "1", "1", "--rooms", "5", "6", "--area", "0", "80"]
world.main(["--out", str(root), "--houses", "1", "--paths", "2", "--faces", "32", "--workers", "1", *small])
house = load_house(root, next((root / "houses").iterdir()).stem)
x, y = house.rooms[0].center_m
for name in ("exact", "baked"):
    renderer = make_renderer(name, house, texel_m=0.5, folder=root / "baked")
    picture = renderer.render([Pose(x, y, house.rooms[0].floor_z_m + 1.5, 0.0)], Intrinsics(32, 32, 1.0))
    assert picture.rgb.std() > 1.0 and picture.depth_m.min() > 0.0
"""


def test_a_world_with_pictures_is_made_where_torch_cannot_be_imported(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-c", PROGRAM, str(tmp_path)], check=True, capture_output=True)
    assert len(list(tmp_path.glob("scans/*/matterport_skybox_images/*_skybox_small.jpg"))) > 5

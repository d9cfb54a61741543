"""Makes this folder from the full recordings: `python tests/golden/compact.py RECORDINGS`. No test runs it.

What is left out is what no test compares: every other pixel or more of the large pictures, what the simulator gave for
depth before its buffer had 16 bits, and the depth of the large skybox where no recorded view looks.
"""

from __future__ import annotations

import json
import shutil
import sys
import zipfile
from pathlib import Path

import cv2
import numpy as np

from ghosts_sim.graph import load_graph
from ghosts_sim.types import Intrinsics

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "sim" / "tests"))
from exact_views import texels  # noqa: E402

LARGE_PX = 64 * 64
"""Pictures of more pixels are thinned."""
SIDE_PX = 110
"""Of a thinned picture, about."""


def copy_model(source: Path, target: Path) -> None:
    """Inputs, weights and outputs of the model's pieces, as they are."""
    target.mkdir(parents=True, exist_ok=True)
    for file in sorted(source.iterdir()):
        shutil.copyfile(file, target / file.name)


def pack_navigation(source: Path, target: Path) -> None:
    """Sessions and the graphs they walk on: text that repeats itself."""
    files = [*sorted(source.glob("nav_*.json")), *sorted((source / "connectivity").iterdir())]
    with zipfile.ZipFile(target / "navigation.zip", "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for file in files:
            # A fixed date: the same recordings give the same file.
            name = zipfile.ZipInfo(file.relative_to(source).as_posix(), (2000, 1, 1, 0, 0, 0))
            archive.writestr(name, file.read_bytes(), zipfile.ZIP_DEFLATED, 9)


def thin_pictures(source: Path, target: Path) -> None:
    """Recorded views, of the large ones every `stride`-th row and column, and the skyboxes they look at."""
    cases = json.loads((source / "render_cases.json").read_text())["cases"]
    for case in cases:
        pixels = case["width"] * case["height"]
        case["stride"] = 1 if pixels <= LARGE_PX else -(-case["width"] // SIDE_PX)
        with np.load(source / case["file"]) as answer:
            kept = {name: answer[name][:: case["stride"], :: case["stride"]] for name in ("rgb", "depth")}
        np.savez_compressed(target / case["file"], **kept)
    (target / "render_cases.json").write_text(json.dumps({"cases": cases}, indent=1) + "\n")
    for skybox in sorted((source / "scans").glob("*/matterport_skybox_images/*")):
        copy = target / skybox.relative_to(source)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(skybox, copy)
        if skybox.name.endswith("_depth_small.png"):
            depth = cv2.imread(str(skybox), cv2.IMREAD_UNCHANGED)
            if depth.size > 6 * LARGE_PX:
                viewpoint = skybox.name.split("_")[0]
                here = [case for case in cases if case["viewpoint"] == viewpoint]
                seen = looked_at(source, here, depth.shape[0])
                cv2.imwrite(str(copy), np.where(seen, depth, 0), [cv2.IMWRITE_PNG_COMPRESSION, 9])


def looked_at(source: Path, cases: list[dict], face_px: int) -> np.ndarray:
    """Which texels of a strip the kept pixels of some views look at, their neighbours included."""
    seen = np.zeros((face_px, 6 * face_px), np.uint8)
    for case in cases:
        graph = load_graph(source / "connectivity" / f"{case['scan']}_connectivity.json")
        camera = Intrinsics(case["width"], case["height"], case["vfov"])
        rotation = graph.rotation[graph.index(case["viewpoint"])]
        column, row = texels(camera, rotation, case["heading"], case["elevation"], face_px)
        every = np.s_[:: case["stride"], :: case["stride"]]
        seen[np.rint(row[every]).astype(int), np.rint(column[every]).astype(int)] = 1
    return cv2.dilate(seen, np.ones((3, 3), np.uint8)).astype(bool)


def main(source: Path) -> None:
    """Write everything."""
    target = HERE / "simulator"
    target.mkdir(exist_ok=True)
    copy_model(source / "model", HERE / "model")
    pack_navigation(source / "simulator", target)
    thin_pictures(source / "simulator", target)
    total = sum(file.stat().st_size for file in HERE.rglob("*") if file.is_file())
    print(f"{HERE}: {total / 1e6:.2f} MB")


if __name__ == "__main__":
    main(Path(sys.argv[1]))

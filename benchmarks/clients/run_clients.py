"""Run other people's programs on the drop-in for MatterSim, and say which work and what had to be changed.

    python benchmarks/clients/run_clients.py --r2r CHECKOUT --duet CHECKOUT --envdrop CHECKOUT …
    python benchmarks/clients/run_clients.py … --against BUILD --against-v1 BUILD    # and compare with the originals

Each program is imported from a checkout that is given by path and left as it is, in a process of its own, with the
module `MatterSim` of ghosts-sim. It walks through real graphs (those of the recorded answers) or made-up corridors
with pictures. With builds of the original simulator the same is done on those, and what was seen is compared.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import math
import os
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import Any

import programs

import ghosts_sim

HERE = Path(__file__).resolve().parent
REPOSITORY = HERE.parents[1]
OURS = Path(ghosts_sim.__file__).parents[1]
"""Where ghosts-sim has its module `MatterSim`."""
HARD_CODED = {
    "ZMojNkEp431": "2f4d90acd4024c269fb0efe49a8ac540",
    "1LXtFkjw3qL": "0b22fa63d0f54a529c525afbf2e8bb25",
    "2t7WUuJeko7": "1e6b606b44df4a6086c0f97e826d4d15",
}
"""Scans and viewpoints that programs name in their code."""


def make_workspace(folder: Path) -> None:
    """Write what programs look for where they are started: connectivity, data/v1/scans, tasks/R2R/data."""
    import numpy as np

    sys.path.insert(0, str(REPOSITORY / "sim" / "tests"))
    from makers import connectivity_records, viewpoint_id, walked_episodes, write_skybox

    with zipfile.ZipFile(REPOSITORY / "testing" / "golden" / "simulator" / "navigation.zip") as recorded:
        recorded.extractall(folder / "recorded")
    (folder / "recorded" / "connectivity").rename(folder / "connectivity")
    graphs, random = folder / "connectivity", np.random.default_rng(0)
    scans = (graphs / "scans.txt").read_text(encoding="utf-8").split()
    episodes = []
    for scan in scans:
        records = json.loads((graphs / f"{scan}_connectivity.json").read_text(encoding="utf-8"))
        episodes += walked_episodes(scan, records, 6, random, first_id=len(episodes))
    for scan, viewpoint in HARD_CODED.items():
        records = connectivity_records(4)
        records[0]["image_id"] = viewpoint
        (graphs / f"{scan}_connectivity.json").write_text(json.dumps(records), encoding="utf-8")
        for name in (viewpoint, *(viewpoint_id(row) for row in range(1, 4))):
            strips = folder / "data" / "v1" / "scans" / scan / "matterport_skybox_images"
            colour, _ = write_skybox(strips, name, 1, face_px=64)
            import cv2

            for face in range(6):
                cv2.imwrite(str(strips / f"{name}_skybox{face}_sami.jpg"), colour[:, 64 * face : 64 * (face + 1)])
    (graphs / "scans.txt").write_text("\n".join([*scans, *HARD_CODED]), encoding="utf-8")
    for data in ("data", "tasks/R2R/data", "tasks/R2R-pano/data"):  # programs look in different places
        (folder / data).mkdir(parents=True, exist_ok=True)
        for split in ("train", "val_seen", "val_unseen"):
            (folder / data / f"R2R_{split}.json").write_text(json.dumps(episodes), encoding="utf-8")


def run(name: str, checkout: Path, module: Path, workspace: Path) -> tuple[Any, str]:
    """Run a program on the `MatterSim` of a folder; returns what it saw, or None and what went wrong."""
    searched = [str(module), str(HERE), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = {**os.environ, "EGL_PLATFORM": "surfaceless", "PYTHONPATH": os.pathsep.join(searched)}
    (workspace / "src").unlink(missing_ok=True)
    (workspace / "src").symlink_to(checkout.absolute() / "src")  # the older original reads its shaders there
    words = [sys.executable, str(Path(__file__).resolve()), "--child", name, str(checkout.absolute()), str(module)]
    done = subprocess.run(words, cwd=workspace, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        last = done.stderr.strip().splitlines()[-1:]
        return None, last[0] if last else f"ended with status {done.returncode}"
    return json.loads(done.stdout), ""


def child(name: str, checkout: Path, module: Path) -> None:
    """Run one program here and print what it saw."""
    import MatterSim

    if Path(MatterSim.__file__).parent != module:
        raise ImportError(f"no module MatterSim for this Python in {module}")
    program = programs.PROGRAMS[name]
    for change in program.changes:
        change.apply()
    with contextlib.redirect_stdout(io.StringIO()):
        seen = program.drive(checkout)
    print(json.dumps(programs.plain(seen)))


def differing(ours: Any, theirs: Any) -> float:
    """Largest difference of two numbers; infinite where something else differs."""
    if isinstance(ours, (float, int)) and isinstance(theirs, (float, int)):
        return abs(ours - theirs)
    if isinstance(ours, dict) and isinstance(theirs, dict) and ours.keys() == theirs.keys():
        return max((differing(ours[key], theirs[key]) for key in ours), default=0.0)
    if isinstance(ours, list) and isinstance(theirs, list) and len(ours) == len(theirs):
        return max(map(differing, ours, theirs), default=0.0)
    return 0.0 if ours == theirs else math.inf


def main() -> None:
    """Run all programs whose checkouts are given, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, program in programs.PROGRAMS.items():
        parser.add_argument(f"--{name}", type=Path, metavar="CHECKOUT", help=f"{program.title}: {program.repository}")
    parser.add_argument("--against", type=Path, metavar="BUILD", help="folder of a build of the original (newer)")
    parser.add_argument("--against-v1", type=Path, metavar="BUILD", help="folder of a build of its tag v0.1")
    parser.add_argument("--child", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        child(options.child[0], *map(Path, options.child[1:]))
        return
    print("| program | interface | works | as on the original | changes |\n| --- | --- | --- | --- | --- |")
    failed = False
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        make_workspace(folder / "workspace")
        for key, program in programs.PROGRAMS.items():
            checkout = getattr(options, key.replace("-", "_"))
            if checkout is None:
                continue
            seen, problem = run(key, checkout, OURS, folder / "workspace")
            build = options.against if program.version == 2 else options.against_v1
            same = ""
            if build is not None and seen is not None:
                theirs, trouble = run(key, checkout, build.absolute(), folder / "workspace")
                off = differing(seen, theirs)
                same = trouble or ("yes" if off <= program.tolerance else f"no: off by {off:.2g}")
            works = "yes" if seen is not None else f"no: {problem}"
            changes = "; ".join(change.said for change in program.changes) or "none"
            print(f"| {program.title} | {program.version} | {works} | {same} | {changes} |", flush=True)
            failed |= seen is None or same.startswith("no")
    sys.exit(int(failed))


if __name__ == "__main__":
    main()

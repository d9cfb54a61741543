"""One simulator at work, in a process of its own: `python mattersim_worker.py FOLDER ROOT WORK`.

FOLDER holds the module `MatterSim`: a build of the original, or that of ghosts-sim. Nothing else of ours is
imported here, so that both are timed by the same lines. It says `ready`, then answers each number of seconds on its
input with the rate it worked at.
"""

from __future__ import annotations

import json
import math
import random
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

TURNS, STAY = 12, 36  # views around, and views at a viewpoint: down, level and up, as programs sweep them


def simulator(root: Path, batch: int = 1, **settings: Any) -> Any:
    """A simulator on a made-up data root."""
    import MatterSim

    sim = MatterSim.Simulator()
    sim.setDatasetPath(str(root / "scans"))
    sim.setNavGraphPath(str(root / "connectivity"))
    sim.setCameraResolution(640, 480)
    sim.setCameraVFOV(math.radians(60))
    sim.setBatchSize(batch)
    for name, value in settings.items():
        getattr(sim, f"set{name}")(value)
    sim.initialize()
    return sim


def viewpoints(root: Path, scan: str) -> list[str]:
    """Identifiers of a building."""
    records = json.loads((root / "connectivity" / f"{scan}_connectivity.json").read_text(encoding="utf-8"))
    return [record["image_id"] for record in records]


def frames(
    root: Path, *, count: int = 24, batch: int = 1, stay: int = STAY, jump: bool = False, **settings: Any
) -> Callable[[int], int]:
    """Views of so many panoramas, all seen before; returns what makes the next and says how many it made.

    The viewpoint changes after `stay` views, in turn or (`jump`) at random.
    """
    sim = simulator(root, batch, RestrictedNavigation=False, **settings)
    names, chance = viewpoints(root, "bench")[:count], random.Random(0)

    def once(step: int) -> int:
        if step % stay == 0:
            at = [names[(step // stay * batch + k) % len(names)] for k in range(batch)]
            at = [chance.choice(names) for _ in at] if jump else at
            sim.newEpisode(["bench"] * batch, at, [0.1 * step] * batch, [-0.5] * batch)
        else:
            sim.makeAction([0] * batch, [0.37] * batch, [0.5 * (step % TURNS == 0)] * batch)
        for state in sim.getState():
            np.asarray(state.rgb), np.asarray(state.depth)
        return batch

    for row in range(0, len(names), batch):
        once(row // batch * stay)
    return once


def turns(root: Path, *, read: bool, move: bool = False, **settings: Any) -> Callable[[int], int]:
    """Actions without rendering, alone or with a question where one may go."""
    sim = simulator(root, RenderingEnabled=False, **settings)
    scans = (root / "connectivity" / "scans.txt").read_text(encoding="utf-8").split()
    names = viewpoints(root, scans[0])

    def once(step: int) -> int:
        sim.newEpisode([scans[step % len(scans)]], [names[7 * step % len(names)]], [0.0], [0.0])
        for _ in range(100):
            index = len(sim.getState()[0].navigableLocations) - 1 if read else 0
            sim.makeAction([index if move else 0], [0.3], [0.0])
        return 100

    for step in range(2 * len(scans)):  # whoever reads a building when it is first visited has done so
        once(step)
    return once


def preload(root: Path, **settings: Any) -> Callable[[int], int]:
    """A simulator that reads a whole building before its first view; this one is done once."""
    kept = []

    def once(step: int) -> int:
        kept.append(simulator(root, PreloadingEnabled=True, **settings))
        kept[0].newEpisode(["bench"], viewpoints(root, "bench")[:1], [0.0], [0.0])
        return 1

    return once


def start(root: Path, *, count: int) -> Callable[[int], int]:
    """Simulators that start in a building each; this one is done once."""
    scans = (root / "connectivity" / "scans.txt").read_text(encoding="utf-8").split()
    name, kept = viewpoints(root, scans[0])[0], []

    def once(step: int) -> int:
        for number in range(count):
            sim = simulator(root, RenderingEnabled=False)
            sim.newEpisode([scans[number % len(scans)]], [name], [0.0], [0.0])
            kept.append(sim)
        return count

    return once


WORK: dict[str, Callable[[Path], Callable[[int], int]]] = {
    "discretised": lambda root: frames(root, DepthEnabled=True, DiscretizedViewingAngles=True),
    "free": lambda root: frames(root, DepthEnabled=True),
    "batch": lambda root: frames(root, batch=16, DepthEnabled=True),
    "colour": lambda root: frames(root),
    "discretised colour": lambda root: frames(root, DiscretizedViewingAngles=True),
    "small cache": lambda root: frames(root, count=16, batch=16, stay=10**9, DepthEnabled=True, CacheSize=8),
    "jumps": lambda root: frames(root, count=1000, stay=1, jump=True, DepthEnabled=True, CacheSize=50),
    "colour jumps": lambda root: frames(root, count=1000, stay=1, jump=True, CacheSize=50),
    "cached": lambda root: frames(root, count=1000, DepthEnabled=True, CacheSize=1000),
    "preloaded": lambda root: frames(root, count=1000, DepthEnabled=True, PreloadingEnabled=True),
    "turn": lambda root: turns(root, read=False),
    "reach": lambda root: turns(root, read=True),
    "discretised reach": lambda root: turns(root, read=True, DiscretizedViewingAngles=True),
    "walk": lambda root: turns(root, read=True, move=True, RestrictedNavigation=False),
    "start": lambda root: start(root, count=64),
    "preload": lambda root: preload(root),
    "preload depth": lambda root: preload(root, DepthEnabled=True),
}


def resident_mb() -> float:
    """Memory of this process; 0 where the system does not tell."""
    status = Path("/proc/self/status")
    rows = status.read_text(encoding="utf-8").splitlines() if status.exists() else []
    return next((int(row.split()[1]) / 1024 for row in rows if row.startswith("VmRSS")), 0.0)


def main(folder: str, root: str, work: str) -> None:
    """Work when told to."""
    sys.path.insert(0, folder)
    import MatterSim  # noqa: F401 (its libraries are not part of what is measured)

    before = resident_mb()
    once = WORK[work](Path(root))
    print("ready", flush=True)
    step = 0
    for line in sys.stdin:
        begun, busy, done = time.perf_counter(), time.process_time(), 0
        while True:
            done += once(step)
            step += 1
            seconds = time.perf_counter() - begun
            if seconds >= float(line):
                break
        busy = time.process_time() - busy
        answer = {
            "rate": done / seconds,
            "cpu_rate": done / busy,
            "seconds": seconds,
            "more_mb": resident_mb() - before,
        }
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])

"""The same episode for Rerun (https://rerun.io): belief, map, paths and words on two time lines."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from ghosts.errors import MissingExtraError
from ghosts.files import atomic_path
from ghosts.view.canvas import choice_label, walk_colour
from ghosts.view.record import EpisodeRecord, corner_m
from ghosts.view.scene import route
from ghosts.view.style import CANDIDATE, DEMONSTRATOR, EDGE, GOAL, PREDICTED, heat_rgba


def require_rerun() -> Any:
    """The Rerun SDK.

    Raises:
        MissingExtraError: it is not installed.
    """
    try:
        import rerun
    except ImportError:
        raise MissingExtraError("rerun-sdk", "rerun", "--rerun") from None
    return rerun


def write_rerun(path: Path, record: EpisodeRecord, scene: dict[str, Any], rerun: Any = None) -> None:
    """Write a recording (.rrd), whole or not at all.

    Args:
        path: the file.
        record: the episode.
        scene: its building.
        rerun: the SDK, or what stands in for it; imported by default.
    """
    rerun = rerun or require_rerun()
    stream = rerun.RecordingStream("ghosts")
    with atomic_path(path) as temporary:
        stream.save(str(temporary))
        _log(rerun, stream, record, scene)
        stream.flush()
        stream.disconnect()


def _log(rerun: Any, stream: Any, record: EpisodeRecord, scene: dict[str, Any]) -> None:
    # In Rerun's 2D views y points down: without the sign, north would be at the bottom.
    points = [(point["x"], -point["y"]) for point in scene["viewpoints"]]
    places = {point["id"]: place for point, place in zip(scene["viewpoints"], points)}
    lines = [[points[a], points[b]] for a, b in scene["edges"]]
    stream.log("instruction", rerun.TextDocument(record.text), static=True)
    stream.log("map/graph", rerun.LineStrips2D(lines, colors=_rgb(EDGE), radii=0.02, draw_order=10.0), static=True)
    if record.path:
        path = [places[name] for name in record.path]
        stream.log(
            "map/demonstrator",
            rerun.LineStrips2D([path], colors=_rgb(DEMONSTRATOR), radii=0.05, draw_order=12.0),
            static=True,
        )
        stream.log("map/goal", rerun.Points2D([path[-1]], colors=_rgb(GOAL), radii=0.3), static=True)
    corner, cell = np.array(corner_m(record.grid, record.origin_xy_m)), record.grid.cell_m
    for step, frame in enumerate(record.frames):
        stream.set_time("agent_step", sequence=step)
        walk = [places[name] for name in route(scene, record.walk[: step + 1])]
        stream.log(
            "map/agent", rerun.LineStrips2D([walk], colors=_rgb(walk_colour(record)), radii=0.1, draw_order=11.0)
        )
        goal = frame.goal_xy_m[0], -frame.goal_xy_m[1]
        stream.log("map/predicted", rerun.Points2D([goal], colors=_rgb(PREDICTED), radii=0.2))
        known = frame.choice.candidates
        labels = [choice_label(frame.choice, name) for name in known]
        radii = [0.1 + 0.25 * min(1.0, max(0.0, value)) ** 0.5 for value in known.values()]
        spots = rerun.Points2D([places[name] for name in known], colors=_rgb(CANDIDATE), radii=radii, labels=labels)
        stream.log("map/candidates", spots)
        if frame.error_m is not None:
            stream.log("error_m", rerun.Scalars(frame.error_m))
        for t, belief in enumerate(frame.beliefs):
            stream.set_time("filter_step", sequence=step * len(frame.beliefs) + t)
            mass = belief.sum(0)
            rows, cols = np.nonzero(mass > 0.01 * mass.max())
            rgba = heat_rgba(mass, max(0.02, float(mass.max())))[rows, cols]
            # Discs are opaque: thin mass is pale instead of transparent.
            colours = (255 * (1.0 - rgba[:, 3:] * (1.0 - rgba[:, :3]))).astype(np.uint8)
            centres = (corner + (np.stack([cols, rows], 1) + 0.5) * cell) * [1.0, -1.0]
            # Rerun's boxes are outlines; discs are filled.
            stream.log("map/belief", rerun.Points2D(centres, colors=colours, radii=cell / 2, draw_order=5.0))


def _rgb(colour: str) -> list[int]:
    return [int(colour[k : k + 2], 16) for k in (1, 3, 5)]

"""For Rerun (https://rerun.io): an episode with belief, map, paths and words on two time lines; a robot's estimates."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float

from ghosts.agent.estimate import GoalEstimate
from ghosts.view.canvas import choice_label, walk_colour
from ghosts.view.record import EpisodeRecord, corner_m
from ghosts_houses.draw.floor_plan import route
from ghosts_houses.draw.style import AGENT, CANDIDATE, DEMONSTRATOR, EDGE, GOAL, PREDICTED, heat_rgba, rgb
from ghosts_sim.errors import MissingExtraError
from ghosts_sim.files import atomic_path

if TYPE_CHECKING:
    from ghosts.recordings.track import Tracked


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
    """Write a recording (.rrd), whole or not at all; what stands in for the SDK may be given."""
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
    stream.log("map/graph", rerun.LineStrips2D(lines, colors=rgb(EDGE), radii=0.02, draw_order=10.0), static=True)
    if record.path:
        path = [places[name] for name in record.path]
        stream.log(
            "map/demonstrator",
            rerun.LineStrips2D([path], colors=rgb(DEMONSTRATOR), radii=0.05, draw_order=12.0),
            static=True,
        )
        stream.log("map/goal", rerun.Points2D([path[-1]], colors=rgb(GOAL), radii=0.3), static=True)
    corner, cell = np.array(corner_m(record.grid, record.origin_xy_m)), record.grid.cell_m
    for step, frame in enumerate(record.frames):
        stream.set_time("agent_step", sequence=step)
        walk = [places[name] for name in route(scene, record.walk[: step + 1])]
        stream.log("map/agent", rerun.LineStrips2D([walk], colors=rgb(walk_colour(record)), radii=0.1, draw_order=11.0))
        goal = frame.goal_xy_m[0], -frame.goal_xy_m[1]
        stream.log("map/predicted", rerun.Points2D([goal], colors=rgb(PREDICTED), radii=0.2))
        known = frame.choice.candidates
        labels = [choice_label(frame.choice, name) for name in known]
        radii = [0.1 + 0.25 * min(1.0, max(0.0, value)) ** 0.5 for value in known.values()]
        spots = rerun.Points2D([places[name] for name in known], colors=rgb(CANDIDATE), radii=radii, labels=labels)
        stream.log("map/candidates", spots)
        if frame.error_m is not None:
            stream.log("error_m", rerun.Scalars(frame.error_m))
        for t, belief in enumerate(frame.beliefs):
            stream.set_time("filter_step", sequence=step * len(frame.beliefs) + t)
            stream.log("map/belief", _discs(rerun, belief.sum(0), corner + cell / 2, cell))


def _discs(rerun: Any, mass: Float[np.ndarray, "y x"], first_m: Float[np.ndarray, " 2"], cell_m: float) -> Any:
    """A belief as discs, one per cell that holds some of it; `first_m` is the centre of the first cell."""
    rows, cols = np.nonzero(mass > 0.01 * mass.max())
    rgba = heat_rgba(mass, max(0.02, float(mass.max())))[rows, cols]
    # Discs are opaque: thin mass is pale instead of transparent.
    colours = (255 * (1.0 - rgba[:, 3:] * (1.0 - rgba[:, :3]))).astype(np.uint8)
    centres = (first_m + np.stack([cols, rows], 1) * cell_m) * [1.0, -1.0]
    # Rerun's boxes are outlines; discs are filled.
    return rerun.Points2D(centres, colors=colours, radii=cell_m / 2, draw_order=5.0)


def log_goal(estimate: GoalEstimate, step: int, rerun: Any = None) -> None:
    """Send a robot's estimate to Rerun while it drives; start that with `rerun.init("robot", spawn=True)`.

    Args:
        estimate: of `GoalTracker.goal`.
        step: on the time line `robot_step`.
        rerun: the SDK, a recording stream, or what stands in for them; imported by default.

    Raises:
        MissingExtraError: Rerun is not installed.
    """
    rerun = rerun or require_rerun()
    rerun.set_time("robot_step", sequence=step)
    cell = float(estimate.x_m[1] - estimate.x_m[0])
    rerun.log("map/belief", _discs(rerun, estimate.mass, np.array([estimate.x_m[0], estimate.y_m[0]]), cell))
    trajectory = (estimate.trajectory_xy_m * [1.0, -1.0]).tolist()
    rerun.log("map/trajectory", rerun.LineStrips2D([trajectory], colors=rgb(AGENT), radii=0.05, draw_order=11.0))
    goal = estimate.position_m[0], -estimate.position_m[1]
    rerun.log("map/predicted", rerun.Points2D([goal], colors=rgb(PREDICTED), radii=0.2))
    rerun.log("confidence", rerun.Scalars(estimate.confidence))
    rerun.log("notes", rerun.TextDocument("\n".join(estimate.notes) or "all understood"))


@contextmanager
def robot_log(path: Path, instruction: str, rerun: Any = None) -> Iterator[Callable[[Tracked], None]]:
    """Write a robot's images, way and estimates into a recording (.rrd), whole or not at all.

    Yields:
        What adds them, one after the other.
    """
    rerun = rerun or require_rerun()
    with atomic_path(path) as temporary:
        rerun.init("ghosts")
        rerun.save(str(temporary))
        rerun.log("instruction", rerun.TextDocument(instruction), static=True)

        def add(tracked: Tracked) -> None:
            log_goal(tracked.estimate, tracked.frame.time_ns // 1_000_000, rerun)
            rerun.log("camera", rerun.Image(tracked.frame.rgb).compress(jpeg_quality=80))
            way = [[(pose.x_m, -pose.y_m) for pose in tracked.walked]]
            rerun.log("map/robot", rerun.LineStrips2D(way, colors=rgb(CANDIDATE), radii=0.03, draw_order=12.0))

        yield add
        rerun.disconnect()

"""Track an instruction through a robot's recording: `ghosts track RECORDING --instruction "…"`.

A recording is an MCAP file, a rosbag2 folder, a .bag of ROS 1, or a folder of TUM or 7-Scenes. ROS is not needed.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro

from ghosts_sim.cli._options import parse
from ghosts_sim.cli._out import check_out_file
from ghosts_sim.cli._progress import shown_progress
from ghosts_sim.errors import ConfigError
from ghosts_sim.values import require

if TYPE_CHECKING:
    from ghosts.recordings.track import Tracked


@dataclass(frozen=True)
class Options:
    recording: Annotated[Path, tyro.conf.Positional]
    """The recording."""
    instruction: str
    """What the robot was told where the recording begins."""
    run: Path = Path("landmarks-agent")
    """Folder of a run, a checkpoint, or shipped weights."""
    backbone: Path | None = None
    """Backbone of a run on images."""
    perception: bool = False
    """Let BLIP and DETR say what the images show (needs ghosts[perception]); else the recording's detections do."""
    captioner: str | None = None
    """Another captioner for --perception, by name or folder."""
    detector: str | None = None
    """Another detector for --perception, by name or folder."""
    hz: float = 2.0
    """At most so many images per second."""
    mcap: Path | None = None
    """Write beliefs, goals and the way as an MCAP file."""
    rerun: Path | None = None
    """Write a recording for Rerun, .rrd (needs ghosts[rerun])."""
    film: Path | None = None
    """Write a film, .mp4 or .gif (needs ghosts[viz])."""
    colour: str = ""
    """Topic of the images, where the one that is found is wrong."""
    depth: str = ""
    """Topic of the depth images, registered to the colours."""
    info: str = ""
    """Topic of the calibration."""
    detections: str = ""
    """Topic of detections (vision_msgs)."""
    k: str = ""
    """Calibration, where there is none: "fx fy cx cy" in pixels."""

    def __post_init__(self) -> None:
        require(0.01 <= self.hz <= 1000.0, "--hz must lie in 0.01..1000", self.hz)
        named = self.captioner is not None or self.detector is not None
        require(self.perception or not named, "--captioner and --detector belong to --perception", "neither")

    @property
    def focal(self) -> tuple[float, ...]:
        """The numbers of --k."""
        try:
            numbers = tuple(float(word) for word in self.k.split())
        except ValueError:
            numbers = ()
        if self.k and len(numbers) != 4:
            raise ConfigError(f'--k takes four numbers, such as --k "615 615 320 240", got {self.k!r}')
        return numbers


def main(arguments: list[str]) -> None:
    """Run `ghosts track`."""
    options = parse(Options, "track", arguments, __doc__)
    outputs = ((options.mcap, "messages", (".mcap",)), (options.rerun, "a recording for Rerun", (".rrd",)))
    for path, what, kinds in (*outputs, (options.film, "a film", (".mp4", ".gif"))):
        if path is not None:
            check_out_file(path, what, kinds)
    from ghosts.recordings.frame import Choice
    from ghosts.recordings.open import open_recording

    topics = (options.colour, options.depth, options.info, options.detections)
    recording = open_recording(options.recording, Choice(options.hz, *topics, options.focal))
    print("".join(f"found {line}\n" for line in recording.found), end="")
    print("".join(f"missing {line}\n" for line in recording.missing), end="", flush=True)
    from ghosts.recordings.track import film_picture, track
    from ghosts.run.tracker import load_tracker
    from ghosts.view.film import check_film, write_pictures

    if options.film is not None:
        check_film(options.film)

    perception = None
    if options.perception:
        from ghosts.run.perception import CAPTIONER, DETECTOR, load_perception

        perception = load_perception(options.captioner or CAPTIONER, options.detector or DETECTOR)
    tracker = load_tracker(options.run, options.backbone, perception=perception)
    last, count, since = None, 0, time.monotonic()

    def shown() -> Iterator[Tracked]:
        nonlocal last, count
        with ExitStack() as stack:
            adders = _adders(options, stack)
            report = stack.enter_context(shown_progress("tracking"))
            for last in track(tracker, options.instruction, recording.frames()):
                count += 1
                for add in adders:
                    add(last)
                report(count, max(count, round(recording.seconds * options.hz)))
                yield last

    if options.film is not None:
        write_pictures(options.film, ((film_picture(item, options.instruction), 1) for item in shown()))
    for _ in shown() if options.film is None else ():
        pass
    assert last is not None, "a recording without frames is refused"
    spent, goal = time.monotonic() - since, last.estimate
    print(f"{count} images of {recording.seconds:.0f} s in {spent:.0f} s")
    x_m, y_m = goal.position_m
    print(f"goal at ({x_m:.1f}, {y_m:.1f}) m, {goal.confidence:.0%} within 3 m, sure: {'yes' if goal.sure else 'no'}")
    print("".join(f"note: {note}\n" for note in goal.notes), end="")


def _adders(options: Options, stack: ExitStack) -> list[Callable[[Tracked], None]]:
    """What writes each belief, besides the film."""
    found: list[Callable[[Tracked], None]] = []
    if options.mcap is not None:
        from ghosts.recordings.written import open_writer

        bag = stack.enter_context(open_writer(options.mcap))
        found.append(lambda item: bag.estimate(item.estimate, item.frame.time_ns, item.walked))
    if options.rerun is not None:
        from ghosts.view.rerun_log import robot_log

        found.append(stack.enter_context(robot_log(options.rerun, options.instruction)))
    return found

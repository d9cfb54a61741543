"""Whatever recording a path names."""

from __future__ import annotations

from pathlib import Path

from ghosts.recordings.bags import SUFFIXES, open_bag
from ghosts.recordings.folders import FORMATS
from ghosts.recordings.frame import Choice, Recording
from ghosts_sim.errors import DataError


def open_recording(path: Path, choice: Choice) -> Recording:
    """A recording.

    Args:
        path: an MCAP file, a rosbag2 folder, a .bag of ROS 1, or a folder of TUM or 7-Scenes.
        choice: what of it is read.

    Raises:
        DataError: there is no such recording, or it lacks something.
    """
    if path.is_dir():
        for sign, reader in FORMATS:
            if any(path.glob(sign)):
                return reader(path, choice)
    if not path.exists():
        raise DataError("no such recording", file=path)
    if not (path.suffix in SUFFIXES or (path / "metadata.yaml").is_file()):
        hint = (
            "give an MCAP file, a rosbag2 folder (metadata.yaml), TUM (groundtruth.txt) or 7-Scenes (frame-….pose.txt)"
        )
        raise DataError("no known recording", file=path, hint=hint)
    return open_bag(path, choice)

"""Which reading of the camera file fits the images: where depth images overlap, cameras must agree.

The release says that `cy` is measured from the bottom; the original simulator's script measures it from the top. The
wrong one shifts every image by twice the distance of its optical centre from the middle, and neighbours then disagree
about floors and edges. This can be measured on any data.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import get_args

import numpy as np

from ghosts_sim.errors import GhostsError
from ghosts_sim.matterport.conf import Origin
from ghosts_sim.matterport.panorama import read_depth
from ghosts_sim.matterport.raw import PARAMETERS, RawRelease
from ghosts_sim.matterport.warp import warp_depth

DEFAULT: Origin = "bottom-left"
"""What the release's own description says."""
SAMPLE = 4
_FACE_PX = 256
_CLEARLY = 1.15  # factor between the two misfits from which on the smaller counts


@dataclass(frozen=True)
class OriginCheck:
    """How well both readings fit."""

    misfit: dict[Origin, float]
    """Mean relative difference between overlapping cameras (`Warped.misfit`); empty when nothing could be read."""
    panoramas: int
    """How many were looked at."""

    @property
    def fits(self) -> Origin | None:
        """The reading that clearly fits better; None when both fit alike."""
        if not self.misfit:
            return None
        better, worse = sorted(get_args(Origin), key=lambda origin: self.misfit[origin])
        return better if self.misfit[worse] > _CLEARLY * self.misfit[better] else None

    @property
    def summary(self) -> str:
        """One line for the user."""
        if not self.misfit:
            return f"camera file: could not be checked, cy taken from the {DEFAULT.split('-')[0]}"
        bottom, top = (f"{100 * self.misfit[origin]:.2f} %" for origin in ("bottom-left", "top-left"))
        found = f"{bottom} with cy from the bottom, by {top} with cy from the top ({self.panoramas} panoramas)"
        verdict = f"it is {self.fits}" if self.fits else f"which does not tell them apart, {DEFAULT} is taken"
        return f"camera file: overlapping cameras differ by {found}: {verdict}"


def check_origin(release: RawRelease, scans: list[str]) -> OriginCheck:
    """Warp a few panoramas, evenly taken from the scans, with either reading; those that lack files or are damaged are
    passed over."""
    units = [
        (scan, viewpoint)
        for scan in scans
        if f"{scan}.conf" in release.names(scan, PARAMETERS)
        for viewpoint in release.viewpoints(scan)
        if not release.missing(scan, viewpoint, False)
    ]
    found: dict[Origin, list[float]] = {origin: [] for origin in get_args(Origin)}
    for scan, viewpoint in units[:: max(1, -(-len(units) // SAMPLE))]:
        try:
            depth = read_depth(release, scan, viewpoint)
            for origin, misfits in found.items():
                rig = release.cameras(scan, origin)[viewpoint]
                centre = np.mean([camera.position_m for camera in rig.values()], 0)
                misfits.append(warp_depth(rig, depth, _FACE_PX, centre).misfit)
        except (GhostsError, KeyError):
            continue
    count = min(len(misfits) for misfits in found.values())
    return OriginCheck({origin: float(np.mean(misfits)) for origin, misfits in found.items()} if count else {}, count)

"""Distances along the optical axis alone, in file units: the package draws them together with colour."""

from __future__ import annotations

import numpy as np

from ghosts_sim.camera import FacesInView, sample_rgbd
from ghosts_sim.store import Panorama


def sample_depth(panorama: Panorama, view: FacesInView) -> np.ndarray:
    """The depth image of a view (that is ready)."""
    out = np.empty((view.intrinsics.height, view.intrinsics.width), np.uint16)
    sample_rgbd(panorama, view, None, out)
    return out

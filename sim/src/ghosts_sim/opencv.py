"""OpenCV draws views where the compiled kernel of `native` is missing, in two to three times the time."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

import numpy as np

from ghosts_sim.camera import BAND_PX
from ghosts_sim.errors import MissingExtraError

try:
    import cv2
except ImportError:
    raise MissingExtraError("OpenCV", "ghosts-sim[opencv]", "drawing views without the compiled kernel") from None

if TYPE_CHECKING:
    from ghosts_sim.camera import FacesInView
    from ghosts_sim.store import Panorama

warnings.warn(
    "ghosts-sim has no compiled kernel here (it needs a C compiler at installation, and AVX2 or a 64-bit ARM): OpenCV "
    "draws, at a third to a half of its speed"
    + (", rounding to 1/32 texel" if int(cv2.__version__.split(".")[0]) < 5 else ""),
    stacklevel=2,
)


def draw(
    panorama: Panorama,
    view: FacesInView,
    rows: range,
    *,
    rgb: np.ndarray | None = None,
    bgr: bool = False,
    depth: np.ndarray | None = None,
    factor: np.ndarray | None = None,
) -> None:
    """Draw some rows of a view (that is ready); as `native.Native.draw`."""
    width = view.intrinsics.width
    height = max(1, BAND_PX // width)
    for top in range(rows.start, rows.stop, height):
        band = range(top, min(top + height, rows.stop))
        within = slice(band.start - rows.start, band.stop - rows.start)
        if rgb is not None:
            seen = np.empty((len(band), width, panorama.faces_rgb.shape[-1]), np.uint8)
            _warp(panorama.faces_rgb, view, band, seen, cv2.INTER_LINEAR)
            rgb[within] = seen[..., 2::-1] if bgr else seen[..., :3]
        if depth is not None:
            assert panorama.faces_depth is not None, "the panorama was loaded without depth"
            _warp(panorama.faces_depth, view, band, depth[within], cv2.INTER_NEAREST)
            if factor is not None:  # rounds as `numpy.rint` does
                cv2.multiply(depth[within], factor[within], dst=depth[within], dtype=cv2.CV_16U)


def _warp(faces: np.ndarray, view: FacesInView, band: range, out: np.ndarray, interpolation: int) -> None:
    """Warp each visible face into its part of a band of rows."""
    flags = interpolation | cv2.WARP_INVERSE_MAP
    for part in view.parts:
        top, stop = max(part.rows.start, band.start), min(part.rows.stop, band.stop)
        if top >= stop:
            continue
        below = top - part.rows.start
        box, warp = out[top - band.start : stop - band.start, part.columns], part.texel_from_pixel
        if below:
            warp = warp.copy()
            warp[:, 2] += below * warp[:, 1]
        # Pixels outside of a face's border are never shown, and filling them is 3 × faster than repeating edges.
        target = box if part.inside is None else None
        drawn = cv2.warpPerspective(faces[part.face], warp, box.shape[1::-1], dst=target, flags=flags)
        if part.inside is not None:
            cv2.copyTo(drawn, part.inside[below : below + stop - top], box)

"""The compiled kernel that draws views (`native.c`), where installing the package built it. OpenCV draws elsewhere.

It takes a third to a half of OpenCV's time. Both are within one level of the original simulator's colours.
"""

from __future__ import annotations

import ctypes
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from ghosts_sim.camera import FacesInView
    from ghosts_sim.store import Panorama

LIBRARY = Path(__file__).with_name("_native.so")
VERSION = 3
"""Of the kernel's functions; a library of another one is left from an older installation."""


class Native:
    """The kernel of a shared library built of `native.c`.

    Raises:
        OSError: it cannot be loaded, or it is not for this version or processor.
    """

    def __init__(self, library: Path) -> None:
        loaded = ctypes.CDLL(str(library))
        if loaded.ghosts_native_version() != VERSION or not loaded.ghosts_native_supported():
            raise OSError(f"{library}: not for this version of ghosts, or this processor")
        pointer, number = ctypes.c_void_p, ctypes.c_int
        inputs = (pointer, pointer, number, ctypes.c_char_p, number, number, number, number)
        self._draw = loaded.ghosts_draw
        self._draw.restype, self._draw.argtypes = None, (*inputs, pointer, number, pointer, pointer)

    def draw(
        self,
        panorama: Panorama,
        view: FacesInView,
        rows: range,
        *,
        rgb: np.ndarray | None = None,
        bgr: bool = False,
        depth: np.ndarray | None = None,
        factor: np.ndarray | None = None,
    ) -> None:
        """Draw some rows of a view into arrays of these rows.

        Args:
            panorama: what is around the camera.
            view: where its faces are.
            rows: which of its rows.
            rgb: uint8, written to.
            bgr: in this order instead of RGB.
            depth: uint16, written to: distances in file units, times `factor` (float32) where given.
            factor: see `depth`.
        """
        width, faces_depth = view.intrinsics.width, panorama.faces_depth
        assert depth is None or faces_depth is not None, "the panorama was loaded without depth"
        # The kernel goes by addresses: what it is given must lie as it expects.
        faces_rgb = panorama.faces_rgb
        assert faces_rgb.flags.c_contiguous
        assert faces_rgb.shape[-1] == 3
        side = (faces_rgb if rgb is not None else faces_depth).shape[1]  # type: ignore[union-attr]
        assert depth is None or (faces_depth.flags.c_contiguous and faces_depth.shape[1] == side)  # type: ignore[union-attr]
        for array in (rgb, depth, factor):
            assert array is None or (array.flags.c_contiguous and array.size % (len(rows) * width) == 0)
        self._draw(
            _address(faces_rgb),
            None if depth is None else _address(faces_depth),
            side,
            view.packed,
            len(view.parts),
            rows.start,
            rows.stop,
            width,
            _address(rgb),
            bgr,
            _address(depth),
            _address(factor),
        )


def _address(array: np.ndarray | None) -> int | None:
    return None if array is None else array.ctypes.data


@lru_cache(maxsize=1)
def native() -> Native | None:
    """The kernel; None where there is none for this installation or processor."""
    try:
        return Native(LIBRARY)
    except (OSError, AttributeError):
        return None

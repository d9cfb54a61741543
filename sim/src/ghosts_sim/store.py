"""Panoramas on disk, and the part of them that is kept in memory, bounded in bytes."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Generic, NamedTuple, TypeVar

import numpy as np

from ghosts_sim.errors import ConfigError, DataError
from ghosts_sim.images import DEPTH_UNITS_PER_M, FACES, read_skybox_depth, read_skybox_into, write_image
from ghosts_sim.native import native

if TYPE_CHECKING:
    from jaxtyping import Float32, UInt8, UInt16

DEFAULT_CACHE_BYTES = 1 << 30
FACE_BORDER_PX = 1
Value = TypeVar("Value")


class ByteCache(Generic[Value]):
    """Least-recently-used cache bounded in bytes; safe to share between threads.

    A value larger than the bound is handed through without being kept.

    Args:
        limit_bytes: the bound.
        size_of: bytes of a value.
        least: so many values are kept even beyond the bound.
    """

    def __init__(self, limit_bytes: int, size_of: Callable[[Value], int], least: int = 0) -> None:
        if limit_bytes < 0:
            raise ConfigError(f"a cache's bound must not be negative, got {limit_bytes} bytes")
        self.limit_bytes = limit_bytes
        self._size_of, self._least = size_of, least
        self._values: OrderedDict[Hashable, Value] = OrderedDict()
        self.used_bytes = 0
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._values)

    def __contains__(self, key: Hashable) -> bool:
        return key in self._values

    def get(self, key: Hashable, make: Callable[[], Value]) -> Value:
        """The cached value, or a fresh one. Two threads that miss at once may both make it; one of them is kept."""
        with self._lock:
            if key in self._values:
                self._values.move_to_end(key)
                return self._values[key]
        value = make()
        size = self._size_of(value)
        with self._lock:
            if key not in self._values and (size <= self.limit_bytes or self._least):
                while self.used_bytes + size > self.limit_bytes and len(self._values) >= max(self._least, 1):
                    _, old = self._values.popitem(last=False)
                    self.used_bytes -= self._size_of(old)
                self._values[key] = value
                self.used_bytes += size
        return value


@dataclass(frozen=True, eq=False)
class Panorama:
    """Six cube faces: 0 = up, 1–4 around, 5 = down. Each repeats its outermost texels as a border."""

    faces_rgb: UInt8[np.ndarray, "6 p p c"]
    """Colour, with some bytes behind it, which the kernel reads together with the last texel. Where there is no kernel,
    a fourth channel: OpenCV samples four 2.7 times as fast as three."""
    faces_depth: UInt16[np.ndarray, "6 q q"] | None
    """Euclidean distance from the camera centre, 0.25 mm per unit, 0 = no reading; None without depth."""

    @classmethod
    def from_rgb(cls, rgb: UInt8[np.ndarray, "f w 3"], depth: UInt16[np.ndarray, "g v"] | None) -> Panorama:
        """From a colour strip and a depth strip: the six faces side by side, without borders."""
        faces = _empty_faces(len(rgb))
        _inside(faces)[...] = rgb.reshape(len(rgb), FACES, -1, 3)
        return cls.from_faces(faces, depth)

    @classmethod
    def from_faces(cls, faces: UInt8[np.ndarray, "6 p p c"], depth: UInt16[np.ndarray, "g v"] | None) -> Panorama:
        """From colour faces whose border is not yet filled, and a depth strip."""
        _fill_border(faces)
        if depth is None:
            return cls(faces, None)
        faces_depth = _empty(len(depth), np.uint16)
        faces_depth[:, 1:-1, 1:-1] = depth.reshape(len(depth), FACES, -1).swapaxes(0, 1)
        _fill_border(faces_depth)
        return cls(faces, faces_depth)

    @property
    def rgb(self) -> UInt8[np.ndarray, "f w 3"]:
        """A copy of the colour strip."""
        return _strip(self.faces_rgb[..., :3])

    @property
    def depth(self) -> UInt16[np.ndarray, "f w"] | None:
        """A copy of the depth strip."""
        return _strip(self.faces_depth) if self.faces_depth is not None else None

    @property
    def face_px(self) -> int:
        """Side of a face in pixels, without its border."""
        return self.faces_rgb.shape[1] - 2 * FACE_BORDER_PX

    @property
    def depth_px(self) -> int:
        """The same of depth, which may differ."""
        assert self.faces_depth is not None, "the panorama was loaded without depth"
        return self.faces_depth.shape[1] - 2 * FACE_BORDER_PX

    @property
    def nbytes(self) -> int:
        """Bytes in memory."""
        return self.faces_rgb.nbytes + (self.faces_depth.nbytes if self.faces_depth is not None else 0)


def _empty(side: int, kind: type, *channels: int) -> np.ndarray:
    """Room for six faces with their borders (of `FACE_BORDER_PX`), and 8 more values behind them."""
    shape = (FACES, side + 2, side + 2, *channels)
    size = int(np.prod(shape))
    return np.empty(size + 8, kind)[:size].reshape(shape)


def _empty_faces(side: int) -> UInt8[np.ndarray, "6 p p c"]:
    """Room for colour faces."""
    return _empty(side, np.uint8, 3 if native() is not None else 4)


def _inside(faces: UInt8[np.ndarray, "6 p p c"]) -> UInt8[np.ndarray, "f 6 f 3"]:
    """A strip of colour faces without their borders, to be written to."""
    return faces[:, 1:-1, 1:-1, :3].swapaxes(0, 1)


def _fill_border(faces: np.ndarray) -> None:
    """Repeat the outermost texels."""
    faces[:, 1:-1, 0], faces[:, 1:-1, -1] = faces[:, 1:-1, 1], faces[:, 1:-1, -2]
    faces[:, 0], faces[:, -1] = faces[:, 1], faces[:, -2]


def _strip(faces: np.ndarray) -> np.ndarray:
    """Faces side by side, without their borders. Read-only: it is a copy, and writing to it would change nothing."""
    inner = slice(FACE_BORDER_PX, -FACE_BORDER_PX)
    strip = np.concatenate(faces[:, inner, inner], axis=1)
    strip.setflags(write=False)
    return strip


class SkyboxPaths(NamedTuple):
    """The files of a panorama, in `<scans>/<scan>/matterport_skybox_images/`."""

    colour: Path
    """`<viewpoint>_skybox_small.jpg`"""
    depth: Path
    """`<viewpoint>_skybox_depth_small.png`"""
    labels: Path
    """`<viewpoint>_skybox_label_small.png`, of houses only."""


class PanoramaStore:
    """Reads and writes panoramas.

    Args:
        scans: the folder that holds a folder for every scan.
        depth: whether depth is read as well.
        cache_bytes: bound on the panoramas kept decoded.
        one_size: whether colour and depth must have faces of one size.
    """

    def __init__(
        self, scans: Path, *, depth: bool = True, cache_bytes: int = DEFAULT_CACHE_BYTES, one_size: bool = True
    ) -> None:
        self.scans, self.depth, self._one_size = Path(scans), depth, one_size
        self.cache: ByteCache[Panorama] = ByteCache(cache_bytes, lambda panorama: panorama.nbytes)

    def paths(self, scan: str, viewpoint: str) -> SkyboxPaths:
        """The files of a viewpoint."""
        folder = self.scans / scan / "matterport_skybox_images"
        ends = ("small.jpg", "depth_small.png", "label_small.png")
        return SkyboxPaths(*(folder / f"{viewpoint}_skybox_{end}" for end in ends))

    def write(
        self,
        scan: str,
        viewpoint: str,
        rgb: UInt8[np.ndarray, "6 f f 3"],
        depth_m: Float32[np.ndarray, "6 f f"],
        labels: UInt8[np.ndarray, "6 f f"],
    ) -> None:
        """Write the three files of a viewpoint from its faces, each whole or not at all.

        Distances are euclidean, 0 where nothing is seen.
        """
        # Divided, not multiplied: the two round differently, and worlds keep the bytes they had.
        depth = np.clip(np.rint(depth_m / (1.0 / DEPTH_UNITS_PER_M)), 0, 65535).astype(np.uint16)
        for path, faces in zip(self.paths(scan, viewpoint), (rgb, depth, labels)):
            write_image(path, np.concatenate(list(faces), axis=1))

    def load(self, scan: str, viewpoint: str) -> Panorama:
        """The panorama of a viewpoint, from memory or disk.

        Raises:
            DataError: a file is missing or damaged, or colour and depth differ in size.
        """
        return self.cache.get((scan, viewpoint), lambda: self._read(scan, viewpoint))

    def _read(self, scan: str, viewpoint: str) -> Panorama:
        colour, distance, _ = self.paths(scan, viewpoint)
        made: list[np.ndarray] = []

        def room(side: int) -> np.ndarray:
            made.append(_empty_faces(side))
            return _inside(made[0])

        read_skybox_into(room, colour, hint=_hint("colour", scan, viewpoint))
        if not self.depth:
            return Panorama.from_faces(made[0], None)
        depth = read_skybox_depth(distance, hint=_hint("depth", scan, viewpoint))
        side = made[0].shape[1] - 2 * FACE_BORDER_PX
        if self._one_size and len(depth) != side:
            raise DataError(
                f"the depth skybox has faces of {len(depth)} pixels, the colour one of {side}",
                file=distance,
                hint=f"make both again: ghosts prepare --raw RAW --out ROOT --scan {scan} --again",
            )
        return Panorama.from_faces(made[0], depth)


def _hint(kind: str, scan: str, viewpoint: str) -> str:
    command = f"ghosts prepare --raw RAW --out ROOT --scan {scan}"
    return f"no {kind} skybox for viewpoint {viewpoint} of scan {scan}; run: {command} (for houses: ghosts world)"

"""One panorama: from raw images to the simulator's two files."""

from __future__ import annotations

import json
import struct
import zlib
from collections import Counter
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import cv2
import numpy as np

from ghosts_sim.errors import ConfigError, DataError
from ghosts_sim.files import atomic_path
from ghosts_sim.images import PNG_SIGNATURE, check_plane, decode, write_image
from ghosts_sim.limits import open_file
from ghosts_sim.matterport.colour import warp_colour
from ghosts_sim.matterport.conf import CAMERAS, Origin, Rig
from ghosts_sim.matterport.raw import COLOUR, DEPTH, SKYBOX, RawRelease
from ghosts_sim.matterport.warp import warp_depth, world_from_cube
from ghosts_sim.values import require

if TYPE_CHECKING:
    from jaxtyping import UInt8, UInt16

VERSION = 3
"""Of the method: files of another version are made again."""
_KEY = b"ghosts-prepare\0"
_DOWNLOAD = "download it again"
_OFF_CENTRE = 0.2
"""Share of an image by which its optical centre may lie off the middle; real ones are within 0.02."""
_IHDR_END = len(PNG_SIGNATURE) + 25


@dataclass(frozen=True)
class PrepareConfig:
    """How panoramas are made."""

    faces: int = 512
    """Side of a skybox face in pixels."""
    colour: Literal["skybox", "undistorted"] = "skybox"
    """Colour from Matterport's skyboxes, or from the undistorted images, which are better aligned with depth."""
    origin: Origin = "bottom-left"
    """Where the camera file measures `cy` from (see docs/matterport.md)."""
    parallax: bool = True
    """Whether depth is corrected for the distance of the cameras from their middle; the original's is not."""

    def __post_init__(self) -> None:
        require(16 <= self.faces <= 2048, "--faces must lie in 16..2048", self.faces)


@dataclass(frozen=True)
class Prepared:
    """What was found while making a panorama; kept inside its depth file."""

    holes_before: float
    """Share of pixels without reading."""
    holes_after: float
    overlap: float
    """Share of pixels that two or more cameras measured."""
    agreement: float
    """Share of those on which they agree within 2 %; far below 0.9 means wrong cameras."""
    offset_m: float
    """Greatest distance of a camera from the middle of all; taken for 0 without `parallax`."""


def read_depth(release: RawRelease, scan: str, viewpoint: str) -> dict[tuple[int, int], UInt16[np.ndarray, "h w"]]:
    """The 18 depth images.

    Raises:
        DataError: one is missing, damaged, or not 16 bit.
    """
    images = {}
    for which, (data, path) in zip(CAMERAS, release.read_all(scan, DEPTH, viewpoint)):
        image = decode(data, path, "an image", hint=_DOWNLOAD)
        check_plane(image, path, np.dtype(np.uint16), "a 16-bit image", _DOWNLOAD)
        images[which] = image
    return images


def read_colour(release: RawRelease, scan: str, viewpoint: str) -> dict[tuple[int, int], UInt8[np.ndarray, "h w 3"]]:
    """The 18 undistorted colour images, RGB."""
    images = {}
    for which, (data, path) in zip(CAMERAS, release.read_all(scan, COLOUR, viewpoint)):
        images[which] = decode(data, path, "an image", colour=True, hint=_DOWNLOAD)
    return images


def read_skybox(release: RawRelease, scan: str, viewpoint: str, face_px: int) -> UInt8[np.ndarray, "6 f f 3"]:
    """The six skybox faces, RGB, shrunk by area."""
    faces = np.empty((6, face_px, face_px, 3), np.uint8)
    for face, (data, path) in enumerate(release.read_all(scan, SKYBOX, viewpoint)):
        image = decode(data, path, "an image", colour=True, hint=_DOWNLOAD)
        if image.shape[0] != image.shape[1]:
            found = f"{image.shape[1]} × {image.shape[0]} pixels"
            raise DataError(f"a skybox face must be square, found {found}", file=path, hint=_DOWNLOAD)
        method = cv2.INTER_AREA if image.shape[0] >= face_px else cv2.INTER_LINEAR
        faces[face] = image if image.shape[0] == face_px else cv2.resize(image, (face_px,) * 2, interpolation=method)
    return faces


def make_panorama(
    release: RawRelease, scan: str, viewpoint: str, rig: Rig, config: PrepareConfig
) -> tuple[UInt8[np.ndarray, "f w 3"], UInt16[np.ndarray, "f w"], Prepared]:
    """Colour strip, depth strip and what was found on the way.

    Raises:
        DataError: a file is missing or damaged, or the panorama has fewer than 18 cameras.
    """
    from ghosts_sim.matterport.fill import fill_faces  # SciPy: 0.4 s, and who only plans fills nothing

    lacking = [f"{tilt}_{turn}" for tilt, turn in CAMERAS if (tilt, turn) not in rig]
    if lacking:
        raise DataError(
            f"camera parameters of scan {scan} lack images {', '.join(lacking)}",
            record=viewpoint,
            hint="download undistorted_camera_parameters again",
        )
    centres = np.array([camera.position_m for camera in rig.values()])
    centre = centres.mean(0) if config.parallax else None
    images = read_depth(release, scan, viewpoint)
    _check_sizes(rig, {which: image.shape for which, image in images.items()}, viewpoint, "depth")
    if not any(image.any() for image in images.values()):
        raise DataError("no depth reading in any of its images", record=viewpoint, hint=f"{_DOWNLOAD}: {DEPTH}")
    warped = warp_depth(rig, images, config.faces, centre)
    colour = read_skybox(release, scan, viewpoint, config.faces)
    if config.colour == "undistorted":
        pictures = read_colour(release, scan, viewpoint)
        _check_sizes(rig, {which: image.shape for which, image in pictures.items()}, viewpoint, "colour")
        # Filling needs a guide, and cameras apart need filled depth: colour is warped before and after.
        guide = warp_colour(rig, pictures, colour, warped.distance, centre)
        filled = fill_faces(warped.distance, guide)
        colour = warp_colour(rig, pictures, colour, filled, centre) if config.parallax else guide
    else:
        filled = fill_faces(warped.distance, colour)
    # Rounding may not turn a reading into "none", nor a far one into a near one.
    depth = np.where(filled > 0.0, np.clip(np.rint(filled), 1, 65535), 0).astype(np.uint16)
    found = Prepared(
        _share((warped.distance == 0.0).sum(), depth.size),
        _share((depth == 0).sum(), depth.size),
        _share(warped.overlap, depth.size),
        _share(warped.agreeing, max(warped.overlap, 1)),
        round(float(np.linalg.norm(centres - centres.mean(0), axis=1).max()), 4),
    )
    return np.concatenate(list(colour), 1), np.concatenate(list(depth), 1), found


def _check_sizes(rig: Rig, sizes: dict[tuple[int, int], tuple[int, ...]], viewpoint: str, kind: str) -> None:
    """Refuse images that differ in size, or that the camera file does not describe: it says where their optical centre
    is, near the middle.

    Raises:
        DataError: naming the image, its size, and the centre.
    """
    usual = Counter(shape[:2] for shape in sizes.values()).most_common(1)[0][0]
    for (tilt, turn), (height, width, *_) in sizes.items():
        if (height, width) != usual:
            problem = (
                f"the {kind} image {tilt}_{turn} has {width} × {height} pixels, most others {usual[1]} × {usual[0]}"
            )
            raise DataError(problem, record=viewpoint, hint=_DOWNLOAD)
        camera = rig[tilt, turn]
        centred = abs(camera.cx / width - 0.5) <= _OFF_CENTRE and abs(camera.cy / height - 0.5) <= _OFF_CENTRE
        if not centred:
            problem = f"the {kind} image {tilt}_{turn} has {width} × {height} pixels, its camera's centre is at "
            problem += f"({camera.cx:.0f}, {camera.cy:.0f})"
            raise DataError(problem, record=viewpoint, hint="download images and camera parameters again")


def rig_rotation(rig: Rig) -> np.ndarray:
    """The 3 × 3 part of the pose that the simulator needs for these cameras: cube direction = −Rᵀ · world direction."""
    return -world_from_cube(rig)


def write_panorama(
    colour_path: Path, depth_path: Path, rgb: UInt8[np.ndarray, "f w 3"], depth: UInt16[np.ndarray, "f w"], note: str
) -> None:
    """Write both files, depth last: a depth file with the right note says that the panorama is done."""
    write_image(colour_path, rgb)
    done, buffer = cv2.imencode(".png", depth, [cv2.IMWRITE_PNG_COMPRESSION, 1])
    if not done:
        raise DataError(
            "the image could not be written", file=depth_path, hint="free some space, or choose another --out"
        )
    data = buffer.tobytes()
    body = b"tEXt" + _KEY + note.encode("latin-1")
    chunk = struct.pack(">I", len(body) - 4) + body + struct.pack(">I", zlib.crc32(body))
    with atomic_path(depth_path) as temporary:
        temporary.write_bytes(data[:_IHDR_END] + chunk + data[_IHDR_END:])


def make_note(config: PrepareConfig, found: Prepared) -> str:
    """What a depth file says about itself."""
    return json.dumps({"version": VERSION, "config": asdict(config), "found": asdict(found)}, sort_keys=True)


def read_note(depth_path: Path, config: PrepareConfig) -> Prepared | None:
    """What a depth file says about itself; None when it was not made by this method with these settings."""
    try:
        note = _parse_note(_head(depth_path))
        if (note["version"], note["config"]) != (VERSION, asdict(config)):
            return None
        return Prepared(**note["found"])
    except (OSError, ValueError, KeyError, TypeError):
        return None


def read_settings(depth_path: Path) -> PrepareConfig | None:
    """Settings a depth file was made with; of one without a note (another program's) its size; None: unreadable."""
    try:
        head = _head(depth_path)
        try:
            return PrepareConfig(**_parse_note(head)["config"])
        except (ValueError, KeyError, TypeError):
            (height,) = struct.unpack_from(">I", head, len(PNG_SIGNATURE) + 12)
            return PrepareConfig(height)
    except (OSError, ValueError, struct.error, ConfigError):
        return None


def _head(depth_path: Path) -> bytes:
    """First bytes of a PNG file."""
    with open_file(depth_path) as file:
        head = file.read(_IHDR_END + 4096)
    if not head.startswith(PNG_SIGNATURE):
        raise ValueError("not a PNG file")
    return head


def _parse_note(head: bytes) -> Any:
    start = head.find(b"tEXt" + _KEY, _IHDR_END, _IHDR_END + 64)
    if start < 4:
        raise ValueError("no note")
    (length,) = struct.unpack_from(">I", head, start - 4)
    return json.loads(head[start + 4 + len(_KEY) : start + 4 + length])


def _share(part: Any, whole: int) -> float:
    return round(float(part) / whole, 6)

"""Reads image files; a truncated or damaged picture is an error, never grey pixels."""

from __future__ import annotations

import io
import struct
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ghosts_sim.errors import DataError
from ghosts_sim.files import atomic_path, read_bytes
from ghosts_sim.limits import PIXEL, check_bytes

if TYPE_CHECKING:
    from jaxtyping import UInt8, UInt16

_AGAIN = "remove it and run the same ghosts world or ghosts prepare again (or download it again)"
FACES = 6
DEPTH_UNITS_PER_M = 4000.0
"""Depth images count quarters of a millimetre."""
PNG_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_DEEP = ("I;16", "I;16B", "I")
"""Pillow's names for 16 bits per pixel, by version."""
_ROWS_AT_ONCE = 64
"""Of a picture that are copied at once: they stay in a core's cache."""
_END, _PASS = b"\xff\xd9", b"\xff\xda"
_MOST_PASSES = 32
_FILLED = 128
"""What the decoder makes of missing blocks."""
_FRAMES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
"""Markers of a JPEG that are followed by its size."""


def read_skybox_rgb(path: Path, *, hint: str | None = None) -> UInt8[np.ndarray, "f w 3"]:
    """Read six colour faces side by side (a JPEG or PNG), as RGB.

    Raises:
        DataError: the file is missing, empty, truncated, damaged, or not six square faces wide.
    """
    image = decode(read_bytes(path, hint=hint), path, "a colour image", colour=True)
    _check_strip(path, *image.shape[:2])
    return image


def read_skybox_into(room: Callable[[int], np.ndarray], path: Path, *, hint: str | None = None) -> None:
    """As `read_skybox_rgb`, into what `room` makes of a face's side: rows × faces × columns × RGB."""

    def make(height: int, width: int) -> np.ndarray:
        _check_strip(path, height, width)
        return room(height)

    decode(read_bytes(path, hint=hint), path, "a colour image", colour=True, room=make)


def read_skybox_faces(paths: Sequence[Path]) -> UInt8[np.ndarray, "f w 3"]:
    """Read six colour faces from a file each, as they are in the Matterport3D release; side by side, RGB.

    Raises:
        DataError: as `read_skybox_rgb`, or the faces differ in size.
    """
    images = [decode(read_bytes(path), path, "a colour image", colour=True) for path in paths]
    size = images[0].shape[0]
    for path, image in zip(paths, images):
        if image.shape[:2] != (size, size):
            found = f"found {image.shape[1]} × {image.shape[0]} pixels"
            raise DataError(f"expected a square face of {size} pixels, {found}", file=path, hint=_AGAIN)
    return np.concatenate(images, axis=1)


def read_skybox_depth(path: Path, *, hint: str | None = None) -> UInt16[np.ndarray, "f w"]:
    """Read six 16-bit faces of euclidean distance side by side (`DEPTH_UNITS_PER_M`, 0 = no reading).

    Raises:
        DataError: as `read_skybox_rgb`, or the image is not 16 bit with one channel.
    """
    return _read_plane(path, hint, np.dtype(np.uint16), "a depth image", "a 16-bit image")


def read_skybox_labels(path: Path, *, hint: str | None = None) -> UInt8[np.ndarray, "f w"]:
    """Read six 8-bit faces of semantic labels side by side.

    Raises:
        DataError: as `read_skybox_rgb`, or the image is not 8 bit with one channel.
    """
    return _read_plane(path, hint, np.dtype(np.uint8), "a label image", "an 8-bit image")


def _read_plane(path: Path, hint: str | None, kind: np.dtype, what: str, form: str) -> np.ndarray:
    """Read six faces with one channel of the given type."""
    image = decode(read_bytes(path, hint=hint), path, what)
    check_plane(image, path, kind, form, _AGAIN)
    _check_strip(path, *image.shape[:2])
    return image


def check_plane(image: np.ndarray, path: Path, kind: np.dtype, form: str, hint: str) -> None:
    """Refuse an image that does not have one channel of the given type (`form`, in words)."""
    if image.dtype != kind or image.ndim != 2:
        channels = 1 if image.ndim == 2 else image.shape[2]
        found = f"{8 * image.dtype.itemsize} bits and {channels} channel{'s' if channels > 1 else ''}"
        raise DataError(f"expected {form} with one channel, found {found}", file=path, hint=hint)


def write_image(path: Path, image: np.ndarray) -> None:
    """Write an RGB, 16-bit or label image atomically; the suffix chooses the format."""
    import cv2  # here: only worlds and prepared scans are written, and their files keep the bytes that OpenCV gave them

    with atomic_path(path) as temporary:
        if image.ndim == 3:
            image = cv2.cvtColor(image, cv2.COLOR_RGB2BGR)
        # Level 2 takes a third of zlib's default time on 16-bit depth, for 13 % more bytes.
        options = [cv2.IMWRITE_JPEG_QUALITY, 92]
        if path.suffix.lower() == ".png":
            options = [cv2.IMWRITE_PNG_COMPRESSION, 2]
        if not cv2.imwrite(str(temporary), image, options):
            raise DataError(
                "the image could not be written", file=path, hint="free some space, or choose another --out"
            )


def decode(
    data: bytes,
    path: Path,
    what: str,
    *,
    colour: bool = False,
    hint: str = _AGAIN,
    room: Callable[[int, int], np.ndarray] | None = None,
) -> np.ndarray:
    """Pixels of a picture file. Decoded colours are bit for bit those of OpenCV, as both use libjpeg-turbo.

    Args:
        data: the file.
        path: its name, for messages.
        what: it should be, for messages.
        colour: as RGB, whatever the file holds.
        hint: what to do about a damaged file.
        room: makes the array that colours are written to, of a height and a width. It may come in parts side by side:
            rows × parts × columns × RGB.

    Raises:
        DataError: it is empty, truncated or damaged, or Pillow cannot decode it.
    """
    from PIL import Image  # here: who only navigates decodes nothing

    if not data:
        raise DataError("the file is empty", file=path, hint=hint)
    passes = check_whole(path, data, hint)
    try:
        pixels = _pixels(data, colour, room or (lambda height, width: np.empty((height, width, 3), np.uint8)))
        whole = data.startswith(PNG_SIGNATURE) or not _ends_early(data, passes, pixels, colour)
    except (OSError, SyntaxError, ValueError, Image.DecompressionBombError):
        raise DataError(f"cannot be decoded as {what}", file=path, hint=hint) from None
    if not whole:
        raise DataError("truncated JPEG (its data end before the picture does)", file=path, hint=hint)
    return pixels


def _pixels(data: bytes, colour: bool, room: Callable[[int, int], np.ndarray]) -> np.ndarray:
    from PIL import Image

    image: Image.Image = Image.open(io.BytesIO(data), formats=("JPEG", "PNG"))
    if image.mode in _DEEP and not colour:
        return np.array(image, np.uint16)
    if image.mode == "L" and not colour:
        return np.array(image)
    if image.mode != "RGB":
        image = image.convert("RGB")
    pixels = room(image.height, image.width)
    for top in range(0, image.height, _ROWS_AT_ONCE):
        rows = pixels[top : top + _ROWS_AT_ONCE]
        part = image.crop((0, top, image.width, top + len(rows)))
        rows[...] = np.frombuffer(part.tobytes(), np.uint8).reshape(rows.shape)
    return pixels


def _ends_early(data: bytes, passes: int, pixels: np.ndarray, colour: bool) -> bool:
    """Whether a JPEG's data end before its picture does. The decoder fills the rest with grey and says nothing.

    Where that may be (the last block is grey, or the picture comes in passes), it is decoded again with more data
    before its end mark. Of a whole picture they are not read.
    """
    last = pixels[-8:, -8:] if pixels.ndim < 4 else pixels[-8:, -1, -8:]
    if passes == 1 and (last != _FILLED).any():
        return False
    end = data.rindex(_END)
    longer = _pixels(data[:end] + bytes(range(255)) + data[end:], colour, lambda *_: np.empty_like(pixels))
    return not np.array_equal(longer, pixels)


def check_whole(path: Path, data: bytes, hint: str = _AGAIN) -> int:
    """Refuse a picture that is not all there, or too large to believe; returns in how many passes a JPEG comes.

    Decoders fill what is missing of some truncated files with grey and say nothing, and a few bytes can claim any size.
    """
    passes = 0
    if data.startswith(b"\xff\xd8"):
        passes = data.count(_PASS)
        if _END not in data[-64:]:
            raise DataError("truncated JPEG (its end is missing)", file=path, hint=hint)
        if passes > _MOST_PASSES:  # a small file could ask for minutes
            problem = f"a JPEG in {passes} passes, where ten are usual"
            raise DataError(problem, file=path, hint="save it again as an ordinary JPEG")
    elif data.startswith(PNG_SIGNATURE):
        _check_png(path, data, hint)
    else:
        raise DataError(
            f"neither a JPEG nor a PNG (it starts with the bytes {data[:8].hex(' ')})", file=path, hint=hint
        )
    size = picture_size(data)
    if size is None:
        raise DataError("no picture's size in it", file=path, hint=hint)
    width, height = size
    check_bytes(PIXEL * width * height, path, f"its {width} × {height} pixels")
    return passes


def picture_size(data: bytes) -> tuple[int, int] | None:
    """Width and height that a JPEG or PNG claims; None where it claims none."""
    if data.startswith(PNG_SIGNATURE):
        return struct.unpack_from(">II", data, len(PNG_SIGNATURE) + 8) if data[12:16] == b"IHDR" else None
    at = 2
    while at + 9 <= len(data) and data[at] == 0xFF:
        marker = data[at + 1]
        if marker in _FRAMES:
            height, width = struct.unpack_from(">HH", data, at + 5)
            return width, height
        if marker == 0xFF:  # filling
            at += 1
        elif marker == 0xD8 or 0xD0 <= marker <= 0xD7 or marker == 0x01:  # nothing follows
            at += 2
        else:
            at += 2 + int(struct.unpack_from(">H", data, at + 2)[0])
    return None


def _check_png(path: Path, data: bytes, hint: str) -> None:
    offset = len(PNG_SIGNATURE)
    while offset + 12 <= len(data):
        length, kind = struct.unpack_from(">I4s", data, offset)
        end = offset + 12 + length
        if end > len(data):
            break
        (checksum,) = struct.unpack_from(">I", data, end - 4)
        if zlib.crc32(memoryview(data)[offset + 4 : end - 4]) != checksum:
            raise DataError(f"damaged PNG (the checksum of its part at byte {offset} differs)", file=path, hint=hint)
        if kind == b"IEND":
            return
        offset = end
    raise DataError("truncated PNG (its end is missing)", file=path, hint=hint)


def _check_strip(path: Path, height: int, width: int) -> None:
    if width != FACES * height:
        raise DataError(
            f"expected six square faces side by side, found {width} × {height} pixels", file=path, hint=_AGAIN
        )

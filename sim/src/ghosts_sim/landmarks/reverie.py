"""REVERIE's object listings: `BBox/<scan>_<viewpoint>.json`, from the folder or straight from the released archive."""

from __future__ import annotations

import bz2
import gzip
import lzma
import tarfile
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from io import BufferedIOBase, BufferedReader
from pathlib import Path, PurePosixPath
from typing import IO, TYPE_CHECKING, Any, cast
from zlib import error as ZlibError

import numpy as np

from ghosts_sim.errors import DataError
from ghosts_sim.files import is_name, listed, parse_json, read_bytes
from ghosts_sim.limits import check_bytes, open_file

if TYPE_CHECKING:
    from jaxtyping import Float, Int64

VIEWS = 36
WIDTH, HEIGHT = 640, 480
MAX_FILE_BYTES = 16 * 2**20  # the largest listing of the training buildings is 40 KB; anything far above is no listing


@dataclass(frozen=True, eq=False)
class Sighting:
    """One object as listed at one viewpoint."""

    object_id: str
    """Identifier within the building."""
    name: str
    """As annotated, `#` for a space."""
    views: Int64[np.ndarray, " k"]
    """Which of the 36 views show it: heading step + 12 × {down, level, up}. Empty: near, direction unknown."""
    boxes: Float[np.ndarray, "k 4"]
    """Left, top, width, height in pixels of each of those views."""


def read_listings(source: Path) -> dict[str, dict[str, bytes]]:
    """Collect the listing files of every building, unparsed.

    Args:
        source: the `BBox/` folder, or the `.tar.gz` that holds it. An archive is read in place: nothing is extracted,
            links and anything but plain files are passed over.

    Returns:
        Content of `<scan>_<viewpoint>.json` by scan, then viewpoint.

    Raises:
        DataError: there is no such file, it is no archive, or it holds no listing.
    """
    listings: dict[str, dict[str, bytes]] = defaultdict(dict)
    if source.is_dir():
        total = 0
        for file in listed(source, "*_*.json"):
            if not file.is_symlink():
                content = read_bytes(file)
                total += len(content)
                check_bytes(total, source, "what its files hold")
                _add(listings, source, file.name, content)
    elif source.is_file():
        for name, content in _members(source):
            _add(listings, source, name, content)
    else:
        raise DataError("no such file or folder", file=source, hint="pass REVERIE's BBox folder or BBox.tar.gz")
    if not listings:
        raise DataError("holds no <scan>_<viewpoint>.json", file=source, hint="pass REVERIE's BBox folder or archive")
    return dict(listings)


def _members(source: Path) -> Iterator[tuple[str, bytes]]:
    """Names and contents of an archive's listings."""
    try:
        with open_file(source) as file, _unpacked(file) as content:
            counted = _Counted(content, source)
            with tarfile.open(fileobj=cast(IO[bytes], counted), mode="r|") as archive:
                for member in archive:
                    name = PurePosixPath(member.name).name
                    if not member.isreg() or not name.endswith(".json") or "_" not in name:
                        continue
                    if member.size > MAX_FILE_BYTES:
                        problem = f"{member.size} bytes are too many for a listing"
                        raise DataError(problem, file=source, record=member.name, hint="download BBox.tar.gz again")
                    handle = archive.extractfile(member)
                    if handle is not None:
                        yield name, handle.read()
            # A tar file ends before its compressed file does, and the checksum is at the very end.
            while counted.read(1 << 16):
                pass
    except (tarfile.TarError, EOFError, OSError, ZlibError, lzma.LZMAError, ValueError, OverflowError):
        raise DataError(
            "not a whole tar archive", file=source, hint="pass REVERIE's BBox folder, or download BBox.tar.gz again"
        ) from None


def _unpacked(file: BufferedReader) -> BufferedIOBase:
    """What a compressed file holds, told by its first bytes; another file as it is."""
    start = file.read(6)
    file.seek(0)
    if start.startswith(b"\x1f\x8b"):
        return gzip.open(file)
    if start.startswith(b"BZh"):
        return bz2.open(file)
    return lzma.open(file) if start == b"\xfd7zXZ\0" else file


class _Counted:
    """A file that is not read beyond what is believed, whatever it claims to hold."""

    def __init__(self, file: BufferedIOBase, source: Path) -> None:
        self._file, self._source, self._total = file, source, 0

    def read(self, size: int) -> bytes:
        """The next bytes."""
        content = self._file.read(size)
        self._total += len(content)
        check_bytes(self._total, self._source, "what it holds")
        return content


def _add(listings: dict[str, dict[str, bytes]], source: Path, name: str, content: bytes) -> None:
    scan, _, viewpoint = name.replace(".json", "").rpartition("_")
    if not is_name(scan) or not is_name(viewpoint):
        raise DataError("expected a name like <scan>_<viewpoint>.json", file=source, record=name, hint="remove it")
    if viewpoint in listings[scan]:
        raise DataError("in the archive twice", file=source, record=name, hint="pass REVERIE's own BBox.tar.gz")
    listings[scan][viewpoint] = content


def parse_listing(content: bytes, viewpoint: str, source: Path | str) -> list[Sighting]:
    """Check one listing file (`source`, for messages) of a viewpoint and return its objects, in file order.

    Raises:
        DataError: naming file, object, field and value.
    """
    value = parse_json(content, source)
    if not isinstance(value, dict) or list(value) != [viewpoint] or not isinstance(value[viewpoint], dict):
        found = list(value) if isinstance(value, dict) else value
        raise DataError(f"expected one entry, viewpoint {viewpoint}, with its objects", file=source, value=found)
    return [_parse_object(name, record, source) for name, record in value[viewpoint].items()]


def _parse_object(object_id: str, value: Any, source: Path | str) -> Sighting:
    wrong = partial(DataError, file=source, record=object_id)
    if not isinstance(value, dict):
        raise wrong("expected an object", value=value)
    name, views, boxes = (value.get(field) for field in ("name", "visible_pos", "bbox2d"))
    if not isinstance(name, str) or not name.strip():
        raise wrong("expected a text", field="name", value=name)
    if not isinstance(views, list) or any(type(view) is not int or not 0 <= view < VIEWS for view in views):
        raise wrong(f"expected view numbers from 0 to {VIEWS - 1}", field="visible_pos", value=views)
    if not isinstance(boxes, list) or len(boxes) != len(views):
        problem = f"expected {len(views)} boxes, one for each of visible_pos"
        raise wrong(problem, field="bbox2d", value=boxes)
    for box in boxes:
        if not isinstance(box, list) or len(box) != 4 or any(type(edge) not in (int, float) for edge in box):
            raise wrong("expected [x, y, w, h]", field="bbox2d", value=box)
        left, top, width, height = box
        # Written so that NaN fails as well.
        inside = left >= 0 and top >= 0 and left + width <= WIDTH and top + height <= HEIGHT
        if not (inside and width > 0 and height > 0):
            raise wrong(f"not a box within {WIDTH} × {HEIGHT} pixels", field="bbox2d", value=box)
    return Sighting(object_id, name, np.array(views, np.int64), np.array(boxes, float).reshape(-1, 4))

"""Files of the raw release, in folders or inside zip files as downloaded; nothing is ever unpacked to disk.

Known are `<scan>/<kind>/<file>` under any folder given, and the same inside zip files (`<scan>/<kind>.zip` is how the
release comes). A name inside a zip is only ever compared, never used as a path, so it cannot reach outside.
"""

from __future__ import annotations

import os
import re
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Optional, Tuple

from ghosts_sim.errors import DataError, UnknownNameError
from ghosts_sim.limits import open_file, read_file, read_member
from ghosts_sim.matterport.conf import CAMERAS, Origin, Rig, parse_conf

SKYBOX, DEPTH, COLOUR, PARAMETERS = (
    "matterport_skybox_images",
    "undistorted_depth_images",
    "undistorted_color_images",
    "undistorted_camera_parameters",
)
KINDS = (SKYBOX, DEPTH, COLOUR, PARAMETERS)
_SCAN = re.compile(r"[0-9A-Za-z][0-9A-Za-z_-]*")
_FILE = {
    SKYBOX: re.compile(r"[0-9A-Za-z]+_skybox[0-5]_sami\.jpg"),
    DEPTH: re.compile(r"[0-9A-Za-z]+_d[0-2]_[0-5]\.png"),
    COLOUR: re.compile(r"[0-9A-Za-z]+_i[0-2]_[0-5]\.jpg"),
    PARAMETERS: re.compile(r"[0-9A-Za-z_-]+\.conf"),
}
_ENDS = {
    SKYBOX: tuple(f"skybox{face}_sami.jpg" for face in range(6)),
    DEPTH: tuple(f"d{tilt}_{turn}.png" for tilt, turn in CAMERAS),
    COLOUR: tuple(f"i{tilt}_{turn}.jpg" for tilt, turn in CAMERAS),
}
"""What follows the viewpoint in the names of a panorama's files."""
_LARGEST = 1 << 28
"""Bytes of the largest file believed (real images have 2 MB, camera parameters 1 MB)."""
_DEPTH_OF_FOLDERS = 5  # v1/scans/<scan>/<kind>/<file>

Place = Tuple[Path, Optional[str]]
"""A file, or a zip file and the name inside it."""


class RawRelease:
    """An index of what folders or zip files hold. Opening it reads folder listings and zip directories, no images.

    Raises:
        DataError: a source is missing or no zip file, or nothing of the release is in them.

    Attributes:
        damaged: zip files in the folders that cannot be opened, and what is wrong; what they hold counts as missing.
    """

    def __init__(self, sources: Sequence[Path]) -> None:
        self.sources = tuple(Path(source) for source in sources)
        self.damaged: dict[Path, str] = {}
        self._files: dict[tuple[str, str], dict[str, Place]] = {}
        for source in self.sources:
            self._add(source)
        if not self._files and self.damaged:
            _open_zip(next(iter(self.damaged)))  # says what is wrong
        if not self._files:
            raise DataError(
                f"no Matterport3D scans here (looked for <scan>/{SKYBOX}/ and the like, or zip files of them)",
                file=self.sources[0] if self.sources else None,
                hint="give --raw the folder that holds the scans, or the downloaded zip files",
            )

    @property
    def scans(self) -> list[str]:
        """Scan identifiers."""
        return sorted({scan for scan, _ in self._files})

    def names(self, scan: str, kind: str) -> list[str]:
        """File names of one kind."""
        return sorted(self._files.get((scan, kind), {}))

    def viewpoints(self, scan: str) -> list[str]:
        """Panoramas of a scan: those with a skybox or depth image.

        Raises:
            UnknownNameError: no such scan.
        """
        if scan not in self.scans:
            raise UnknownNameError("scan", scan, self.scans, str(self.sources[0]))
        return sorted({name.partition("_")[0] for kind in (SKYBOX, DEPTH) for name in self.names(scan, kind)})

    def missing(self, scan: str, viewpoint: str, colour: bool) -> list[str]:
        """Files that a panorama lacks, as `<kind>/<file>`."""
        kinds = (SKYBOX, DEPTH, COLOUR) if colour else (SKYBOX, DEPTH)
        wanted = [(kind, f"{viewpoint}_{end}") for kind in kinds for end in _ENDS[kind]]
        return [f"{kind}/{name}" for kind, name in wanted if name not in self._files.get((scan, kind), {})]

    def read(self, scan: str, kind: str, name: str) -> tuple[bytes, Path]:
        """Content of a file, and what to call it in messages.

        Raises:
            DataError: the file is missing or cannot be read.
        """
        place = self._files.get((scan, kind), {}).get(name)
        if place is None:
            hint = f'download it with "-o . --type {kind} --id {scan}" of the release\'s own script'
            raise DataError("not in the raw data", file=Path(scan) / kind / name, hint=hint)
        path, inside = place
        try:
            return (read_file(path), path) if inside is None else (_read_zip(path, inside), path / inside)
        except OSError as error:
            raise DataError(f"cannot be read ({error.strerror})", file=path) from None

    def read_all(self, scan: str, kind: str, viewpoint: str) -> Iterator[tuple[bytes, Path]]:
        """The same of a panorama's six skybox faces, or of one image per camera."""
        return (self.read(scan, kind, f"{viewpoint}_{end}") for end in _ENDS[kind])

    def cameras(self, scan: str, origin: Origin = "bottom-left") -> dict[str, Rig]:
        """Cameras of all panoramas of a scan.

        Raises:
            DataError: the parameters are missing or malformed.
        """
        data, path = self.read(scan, PARAMETERS, f"{scan}.conf")
        try:
            return parse_conf(data.decode("ascii"), path, origin)
        except UnicodeDecodeError as error:
            raise DataError(f"not plain text (byte {error.start})", file=path, hint="download it again") from None

    def _add(self, source: Path) -> None:
        if source.is_dir():
            for path in _walk(source, _DEPTH_OF_FOLDERS):
                if path.suffix == ".zip":
                    try:
                        self._add_zip(path)
                    except DataError as error:
                        self.damaged[path] = str(error)
                else:
                    self._note(path.absolute().parts, (path, None))  # "." has no name of its own
        elif source.is_file():
            self._add_zip(source)
        else:
            hint = "give --raw the folder that holds the scans, or the downloaded zip files"
            raise DataError("no such folder or zip file", file=source, hint=hint)

    def _add_zip(self, path: Path) -> None:
        for inside in _open_zip(path).namelist():
            # In <scan>/<kind>.zip the names may start at the scan, at the kind, or at the file.
            parts = (path.absolute().parent.name, path.stem, *inside.split("/"))
            named = parts[-2] in KINDS and len(parts) >= 5
            self._note(parts if named else (path.absolute().parent.name, path.stem, parts[-1]), (path, inside))

    def _note(self, parts: Sequence[str], place: Place) -> None:
        if len(parts) < 3:
            return
        scan, kind, name = parts[-3:]
        if kind in _FILE and _SCAN.fullmatch(scan) and _FILE[kind].fullmatch(name):
            self._files.setdefault((scan, kind), {}).setdefault(name, place)


def _walk(folder: Path, levels: int) -> Iterator[Path]:
    """Files of the kinds' folders, and zip files, below a folder."""
    entries: Iterable[os.DirEntry[str]] = sorted(os.scandir(folder), key=lambda entry: entry.name)
    wanted = folder.name in KINDS
    for entry in entries:
        if entry.is_dir():
            if levels > 1:
                yield from _walk(Path(entry.path), levels - 1)
        elif wanted or entry.name.endswith(".zip"):
            yield Path(entry.path)


@lru_cache(maxsize=8)
def _open_zip(path: Path) -> zipfile.ZipFile:
    try:
        open_file(path).close()  # refuses a pipe, which would be waited for
        return zipfile.ZipFile(path)
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError, OverflowError):
        raise DataError("not a zip file, or not a whole one", file=path, hint="download it again") from None


def _read_zip(path: Path, inside: str) -> bytes:
    archive = _open_zip(path)
    if archive.getinfo(inside).file_size > _LARGEST:
        raise DataError(
            "a file of the release is never this large", file=path, record=inside, hint="download the zip file again"
        )
    try:
        return read_member(archive, inside, path)
    except (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, ValueError, LookupError):
        hint = "download the zip file again"
        raise DataError("damaged inside the zip file", file=path, record=inside, hint=hint) from None

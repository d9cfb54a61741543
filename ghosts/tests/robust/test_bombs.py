"""Small files that ask for gigabytes, and nests without a bottom, refused unread."""

from __future__ import annotations

import gzip
import io
import pickletools
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from ghosts.mapping.torch_archive import read_torch_archive
from ghosts_sim.errors import DataError
from ghosts_sim.images import PNG_SIGNATURE, read_skybox_depth, read_skybox_rgb
from ghosts_sim.landmarks.reverie import read_listings

LIMIT = 1 << 25
"""Of memory for a file, here: larger ones would take longer."""


def zipped(path: Path, files: dict[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return path


def described(size: tuple[int, ...], stride: tuple[int, ...], count: int, names: int = 1) -> bytes:
    """A state dict of tensors that all show one storage of zeros, in pickle's language."""

    def number(value: int) -> bytes:
        return b"J" + struct.pack("<i", value)

    def text(value: str) -> bytes:
        return b"X" + struct.pack("<I", len(value)) + value.encode()

    content = b"\x80\x02}"
    for name in range(names):
        content += text(f"w{name}") + b"ctorch._utils\n_rebuild_tensor_v2\n(" + b"("
        content += text("storage") + b"ctorch\nFloatStorage\n" + text("0") + text("cpu") + number(count) + b"tQ"
        content += number(0) + b"(" + b"".join(map(number, size)) + b"t(" + b"".join(map(number, stride)) + b"t"
        content += b"\x89N" + b"tRs"
    pickletools.dis(content + b".", io.StringIO())  # it is well formed
    return content + b"."


def stride_zero(path: Path) -> Path:
    return zipped(path, {"archive/data.pkl": described((40_000, 40_000), (0, 0), 1), "archive/data/0": bytes(4)})


def many_views(path: Path) -> Path:
    pickle = described((1 << 20,), (1,), 1 << 20, names=400)
    return zipped(path, {"archive/data.pkl": pickle, "archive/data/0": bytes(1 << 22)})


def deflated(path: Path) -> Path:
    return zipped(path, {"archive/data.pkl": described((1,), (1,), 1), "archive/data/0": bytes(LIMIT + 4)})


def nested(path: Path) -> Path:
    """300 000 tuples in each other, as a key, which Python hashes by recursion in C."""
    return zipped(path, {"archive/data.pkl": b"\x80\x02})" + b"\x85" * 300_000 + b"K\x01s."})


def dictionaries(path: Path) -> Path:
    return zipped(path, {"archive/data.pkl": b"\x80\x02" + b"}" * (1 << 20)})


BOMBS: dict[str, tuple[Callable[[Path], Path], str]] = {
    "stride 0": (stride_zero, "what its tensors show would take 6.4 GB"),
    "400 views": (many_views, "what its tensors show would take 1.7 GB"),
    "deflated storage": (deflated, "what its tensors are kept in would take 33.6 MB"),
    "nested": (nested, "tuples in tuples, more than 16 deep"),
    "dictionaries": (dictionaries, "would take 104.9 MB"),
}


@pytest.mark.parametrize("kind", BOMBS)
def test_torch_files(tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    make, words = BOMBS[kind]
    monkeypatch.setenv("GHOSTS_MAX_BYTES", str(LIMIT))
    with pytest.raises(DataError, match=words):
        read_torch_archive(make(tmp_path / "x.pth"))


def test_views_that_share_are_read_all_the_same(tmp_path: Path) -> None:
    zipped(
        tmp_path / "x.pth",
        {"archive/data.pkl": described((3, 5), (0, 1), 5, names=3), "archive/data/0": struct.pack("<5f", *range(5))},
    )
    found = read_torch_archive(tmp_path / "x.pth")
    assert set(found) == {"w0", "w1", "w2"}
    assert all(torch.equal(value, torch.arange(5.0).expand(3, 5)) for value in found.values())
    zipped(tmp_path / "x.pth", {"archive/data.pkl": b"\x80\x02})K\x01s.", "archive/data/0": b""})
    with pytest.raises(DataError, match="a dictionary whose keys are no names"):
        read_torch_archive(tmp_path / "x.pth")


def png(width: int, height: int, bits: int, kind: int) -> bytes:
    """A PNG that claims a size; of its pixels there are a few zeros."""

    def chunk(name: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))

    header = struct.pack(">IIBBBBB", width, height, bits, kind, 0, 0, 0)
    return PNG_SIGNATURE + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(bytes(1000))) + chunk(b"IEND", b"")


def jpeg(width: int, height: int) -> bytes:
    frame = struct.pack(">BHHB", 8, height, width, 3) + bytes([1, 0x11, 0, 2, 0x11, 1, 3, 0x11, 1])
    return b"\xff\xd8" + b"\xff\xc0" + struct.pack(">H", len(frame) + 2) + frame + b"\xff\xd9"


def test_pictures(tmp_path: Path) -> None:
    large = tmp_path / "large.png"
    large.write_bytes(png(60_000, 10_000, 16, 0))
    with pytest.raises(DataError, match=r"its 60000 × 10000 pixels would take 9\.6 GB"):
        read_skybox_depth(large)
    large.write_bytes(jpeg(60_000, 10_000))
    with pytest.raises(DataError, match=r"its 60000 × 10000 pixels would take 9\.6 GB"):
        read_skybox_rgb(large)
    large.write_bytes(jpeg(600, 100))
    with pytest.raises(DataError, match="cannot be decoded"):
        read_skybox_rgb(large)
    large.write_bytes(b"\xff\xd8\xff\xe0\x00\x04ab\xff\xd9")
    with pytest.raises(DataError, match="no picture's size"):
        read_skybox_rgb(large)


def test_archives_of_listings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files that are too large alone are refused by their size; here many small ones are too large together."""
    path = tmp_path / "BBox.tar.gz"
    with tarfile.open(path, "w:gz") as archive:
        for number in range(30):
            member = tarfile.TarInfo(f"BBox/s_v{number}.json")
            member.size = 1 << 18
            archive.addfile(member, io.BytesIO(bytes(1 << 18)))
    assert path.stat().st_size < 100_000
    monkeypatch.setenv("GHOSTS_MAX_BYTES", str(5 << 20))
    with pytest.raises(DataError, match=r"would take 5\.3 MB"):
        read_listings(path)
    # What is passed over is unpacked as well, and counted.
    with tarfile.open(path, "w:gz") as archive:
        member = tarfile.TarInfo("BBox/notes.txt")
        member.size = 30 << 18
        archive.addfile(member, io.BytesIO(bytes(30 << 18)))
    with pytest.raises(DataError, match="would take"):
        read_listings(path)


def test_gzip_is_read_to_its_end(tmp_path: Path) -> None:
    """The checksum is at the end, behind the tar file's own end."""
    path = tmp_path / "BBox.tar.gz"
    listing = b'{"v": {}}'
    with tarfile.open(path, "w:gz") as archive:
        member = tarfile.TarInfo("BBox/s_v.json")
        member.size = len(listing)
        archive.addfile(member, io.BytesIO(listing))
    assert read_listings(path) == {"s": {"v": listing}}
    whole = gzip.decompress(path.read_bytes())
    content = bytearray(path.read_bytes())
    content[-8] ^= 1
    path.write_bytes(bytes(content))
    with pytest.raises(DataError, match="not a whole tar archive"):
        read_listings(path)
    (tmp_path / "plain.tar").write_bytes(whole)
    assert read_listings(tmp_path / "plain.tar") == {"s": {"v": listing}}

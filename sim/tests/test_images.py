"""Pictures that are damaged, truncated or of the wrong kind are errors, never grey pixels."""

from __future__ import annotations

from pathlib import Path

import cv2
import numpy as np
import pytest

from ghosts_sim.errors import DataError
from ghosts_sim.images import decode, read_skybox_depth, read_skybox_rgb, write_image
from ghosts_sim.store import ByteCache, PanoramaStore
from makers import FACE_PX, write_skybox


@pytest.fixture
def pair(tmp_path: Path) -> tuple[Path, Path]:
    write_skybox(tmp_path, "v", 0)
    return tmp_path / "v_skybox_small.jpg", tmp_path / "v_skybox_depth_small.png"


def test_good_files(pair: tuple[Path, Path]) -> None:
    rgb, depth = read_skybox_rgb(pair[0]), read_skybox_depth(pair[1])
    assert rgb.shape == (FACE_PX, 6 * FACE_PX, 3)
    np.testing.assert_array_equal(rgb[..., ::-1], cv2.imread(str(pair[0])))
    np.testing.assert_array_equal(depth, cv2.imread(str(pair[1]), cv2.IMREAD_UNCHANGED))


@pytest.mark.parametrize("keep", [0.99, 0.9, 0.5, 0.1])
def test_truncated_files(pair: tuple[Path, Path], keep: float) -> None:
    for path, read in ((pair[0], read_skybox_rgb), (pair[1], read_skybox_depth)):
        data = path.read_bytes()
        path.write_bytes(data[: int(len(data) * keep)])
        with pytest.raises(DataError, match="truncated") as caught:
            read(path)
        assert str(path) in str(caught.value)


@pytest.mark.parametrize("passes", [1, 10])
@pytest.mark.parametrize("keep", [0.95, 0.5, 0.05, 0.0])
def test_jpegs_whose_data_end_early(tmp_path: Path, keep: float, passes: int) -> None:
    """With an end mark, so that libjpeg alone says nothing and fills them with grey; grey pictures are whole."""
    path, noise = tmp_path / "x.jpg", np.random.default_rng(5).integers(0, 256, (64, 384, 3), np.uint8)
    options = [cv2.IMWRITE_JPEG_PROGRESSIVE, int(passes > 1)]
    for picture in (np.full_like(noise, 128), noise):
        data = cv2.imencode(".jpg", picture, options)[1].tobytes()
        assert data.count(b"\xff\xda") == passes
        assert decode(data, path, "a picture").shape == picture.shape
    begin = data.index(b"\xff\xda") + 14
    with pytest.raises(DataError, match="truncated JPEG"):
        decode(data[: begin + int((len(data) - begin) * keep)] + b"\xff\xd9", path, "a picture")


def test_a_jpeg_in_hundreds_of_passes(tmp_path: Path) -> None:
    """Each takes the time of a whole picture."""
    data = cv2.imencode(".jpg", np.zeros((64, 384, 3), np.uint8), [cv2.IMWRITE_JPEG_PROGRESSIVE, 1])[1].tobytes()
    data = data[:-2] + 400 * data[data.rindex(b"\xff\xda") : -2] + data[-2:]
    with pytest.raises(DataError, match="in 410 passes"):
        decode(data, tmp_path / "x.jpg", "a picture")


def test_a_flipped_bit_in_depth_is_found(pair: tuple[Path, Path]) -> None:
    data = bytearray(pair[1].read_bytes())
    data[len(data) // 2] ^= 4
    pair[1].write_bytes(bytes(data))
    with pytest.raises(DataError, match="damaged PNG"):
        read_skybox_depth(pair[1])


def test_missing_empty_and_foreign_files(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"no such file.*; do this"):
        read_skybox_rgb(tmp_path / "none.jpg", hint="do this")
    path = tmp_path / "x.jpg"
    path.write_bytes(b"")
    with pytest.raises(DataError, match="empty"):
        read_skybox_rgb(path)
    path.write_bytes(b"GIF89a nothing")
    with pytest.raises(DataError, match="neither a JPEG nor a PNG"):
        read_skybox_rgb(path)
    path.write_bytes(b"\xff\xd8 rubbish \xff\xd9")
    with pytest.raises(DataError, match="no picture's size in it"):
        read_skybox_rgb(path)


def test_wrong_shapes_and_kinds(tmp_path: Path) -> None:
    path = tmp_path / "x.png"
    cv2.imwrite(str(path), np.zeros((8, 40, 3), np.uint8))
    with pytest.raises(DataError, match=r"six square faces.*40 × 8"):
        read_skybox_rgb(path)
    cv2.imwrite(str(path), np.zeros((8, 48), np.uint8))
    with pytest.raises(
        DataError, match="expected a 16-bit image with one channel, found 8 bits and 1 channel; remove it"
    ):
        read_skybox_depth(path)


def test_writer_round_trip(tmp_path: Path) -> None:
    depth = np.arange(8 * 48, dtype=np.uint16).reshape(8, 48)
    write_image(tmp_path / "d.png", depth)
    np.testing.assert_array_equal(read_skybox_depth(tmp_path / "d.png"), depth)
    colour = np.zeros((8, 48, 3), np.uint8)
    colour[..., 0] = 200  # red
    write_image(tmp_path / "c.png", colour)
    np.testing.assert_array_equal(read_skybox_rgb(tmp_path / "c.png"), colour)


def test_store_says_which_viewpoint_and_checks_sizes(tmp_path: Path) -> None:
    folder = tmp_path / "scan" / "matterport_skybox_images"
    write_skybox(folder, "v", 0)
    store = PanoramaStore(tmp_path)
    assert store.load("scan", "v").face_px == FACE_PX
    with pytest.raises(
        DataError,
        match="no colour skybox for viewpoint w of scan scan; run: ghosts prepare --raw RAW --out ROOT --scan scan",
    ):
        store.load("scan", "w")
    cv2.imwrite(str(folder / "v_skybox_depth_small.png"), np.ones((8, 48), np.uint16))
    with pytest.raises(DataError, match="depth skybox has faces of 8 pixels, the colour one of 32"):
        PanoramaStore(tmp_path).load("scan", "v")
    assert PanoramaStore(tmp_path, depth=False).load("scan", "v").depth is None


def test_cache_stays_within_its_bound_over_a_thousand_panoramas(tmp_path: Path) -> None:
    folder = tmp_path / "scan" / "matterport_skybox_images"
    for number in range(20):
        write_skybox(folder, f"v{number}", number)
    one = PanoramaStore(tmp_path).load("scan", "v0").nbytes
    store = PanoramaStore(tmp_path, cache_bytes=int(7.5 * one))
    for number in range(1000):
        store.load("scan", f"v{(number * 7) % 20}")
        assert store.cache.used_bytes <= store.cache.limit_bytes
    assert len(store.cache) == 7


def test_cache_keeps_what_was_used_last() -> None:
    cache: ByteCache[str] = ByteCache(3, len)
    made: list[str] = []

    def get(word: str) -> str:
        return cache.get(word, lambda: made.append(word) or word)  # type: ignore[func-returns-value]

    get("aa"), get("b"), get("aa"), get("c")
    assert made == ["aa", "b", "c"]
    get("aa")
    assert made == ["aa", "b", "c"]
    get("b")
    assert made[-1] == "b"
    assert get("too long") == "too long"
    assert cache.used_bytes <= 3

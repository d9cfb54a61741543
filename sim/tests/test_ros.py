from __future__ import annotations

import io
from types import SimpleNamespace

import numpy as np
import pytest
from PIL import Image

from ghosts_sim.errors import DataError
from ghosts_sim.ros import Frames, colours, depth_m, is_depth


def message(encoding: str, pixels: np.ndarray, pad: int = 0) -> SimpleNamespace:
    """An Image whose rows are longer than their pixels."""
    rows = np.ascontiguousarray(pixels).view(np.uint8).reshape(len(pixels), -1)
    data = np.pad(rows, ((0, 0), (0, pad)))
    size = {"height": len(pixels), "width": pixels.shape[1], "step": data.shape[1], "is_bigendian": 0}
    return SimpleNamespace(encoding=encoding, data=data.tobytes(), **size)


@pytest.mark.parametrize("encoding", ["rgb8", "bgr8", "rgba8", "bgra8"])
def test_colours_of_every_encoding(encoding: str) -> None:
    order = [encoding.index(name) for name in "rgb"]
    pixels = np.full((2, 3, len(encoding) - 1), 255, np.uint8)
    pixels[..., order] = (10, 20, 30)
    found = colours(message(encoding, pixels, pad=5))
    assert found.shape == (2, 3, 3)
    assert found[1, 2].tolist() == [10, 20, 30]
    assert not is_depth(message(encoding, pixels))


def test_depth_in_millimetres_and_metres_raw_and_compressed() -> None:
    millimetres = np.array([[0, 1500, 65535]], np.uint16)
    metres = np.array([[np.nan, 1.5, -1.0]], np.float32)
    file = io.BytesIO()
    Image.fromarray(millimetres).save(file, "png")
    compressed = SimpleNamespace(format="16UC1; compressedDepth png", data=bytes(12) + file.getvalue())
    for given in (message("16UC1", millimetres), message("32FC1", metres), compressed):
        assert is_depth(given)
        np.testing.assert_allclose(depth_m(given), [[0.0, 1.5, 0.0]], atol=1e-6)
    with pytest.raises(DataError, match="not a depth image"):
        depth_m(message("mono8", millimetres.view(np.uint8)))
    short = message("rgb8", np.zeros((2, 3, 3), np.uint8))
    short.data = short.data[:-1]
    with pytest.raises(DataError, match="needs 9 bytes per row"):
        colours(short)


def place(x: float, yaw: float = 0.0) -> SimpleNamespace:
    turned = SimpleNamespace(x=0.0, y=0.0, z=np.sin(yaw / 2), w=np.cos(yaw / 2))
    return SimpleNamespace(translation=SimpleNamespace(x=x, y=0.0, z=0.0), rotation=turned)


def test_a_moving_frame_is_where_it_was_between_two_messages() -> None:
    frames = Frames()
    frames.add("base", "camera", 0, place(0.5), fixed=True)
    for second in range(20):
        frames.add("map", "base", second * 10**9, place(2.0 * second, 0.1 * second))
    pose = frames.pose("/camera", 18_500_000_000)
    assert pose is not None
    assert pose.x_m == pytest.approx(37.0 + 0.5 * np.cos(1.85), abs=1e-3)
    assert pose.heading_rad == pytest.approx((np.pi / 2 - 1.85) % (2 * np.pi), abs=1e-3)
    assert frames.newest_ns("camera") == 19 * 10**9
    assert [frames.matrix("camera", second * 10**9) is None for second in (5, 15, 25)] == [True, False, True]
    frames.add("camera", "map", 0, place(0.0), fixed=True)  # a ring
    assert frames.matrix("camera", 18 * 10**9) is None

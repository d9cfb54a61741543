"""The compiled kernel, built of this source, and what other tests share; here so that these tests run alone."""

from __future__ import annotations

import pytest

from ghosts_sim.native import Native
from native_build import built_kernel
from roots import _private_cache, golden, navigation, root  # noqa: F401


@pytest.fixture(scope="session")
def exact_opencv() -> None:
    """OpenCV 4 rounds positions to 1/32 texel."""
    cv2 = pytest.importorskip("cv2")
    if int(cv2.__version__.split(".")[0]) < 5:
        pytest.skip("OpenCV 5 draws with float precision")


@pytest.fixture(scope="session")
def kernel(tmp_path_factory: pytest.TempPathFactory) -> Native:
    found = built_kernel(tmp_path_factory.mktemp("native"))
    if found is None:
        pytest.skip("needs a C compiler and a processor with AVX2")
    return found

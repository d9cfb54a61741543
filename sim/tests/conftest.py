"""The compiled kernel, built of this source."""

from __future__ import annotations

import pytest

from ghosts_sim.native import Native
from native_build import built_kernel


@pytest.fixture(scope="session")
def kernel(tmp_path_factory: pytest.TempPathFactory) -> Native:
    found = built_kernel(tmp_path_factory.mktemp("native"))
    if found is None:
        pytest.skip("needs a C compiler and a processor with AVX2")
    return found

from __future__ import annotations

import numpy as np

from ghosts.mapping.cells import ragged_rows


def test_ragged_rows() -> None:
    owner, rows = ragged_rows(np.array([0, 2, 2, 5]), np.array([2, 0, 1, 2]))
    assert owner.tolist() == [0, 0, 0, 1, 1, 3, 3, 3]
    assert rows.tolist() == [2, 3, 4, 0, 1, 2, 3, 4]

from __future__ import annotations

import math

import torch

from ghosts.language.positions import positional_encoding


def test_sines_in_even_and_cosines_in_odd_columns() -> None:
    found = positional_encoding(3, 4)
    rows = [[math.sin(t), math.cos(t), math.sin(t / 100.0), math.cos(t / 100.0)] for t in range(3)]
    torch.testing.assert_close(found, torch.tensor(rows))

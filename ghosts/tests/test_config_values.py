from __future__ import annotations

from ghosts.config import differences


def test_differences() -> None:
    assert differences({"a": (1, 2), "b": {"c": 1.0}}, {"a": [1, 2], "b": {"c": 1.0}}) == []
    old, new = {"train": {"batch": 32, "seed": 0}, "name": "x"}, {"train": {"batch": 64, "seed": 0, "ema": 0.5}}
    assert differences(old, new) == ["train.batch 32 → 64", "train.ema null → 0.5", 'name "x" → null']

from __future__ import annotations

import torch

from ghosts_benchmarks.measure import measure, peak_memory

CPU = torch.device("cpu")


def test_peak_memory_counts_what_is_held_at_once() -> None:
    def twice() -> None:
        first = torch.zeros(256, 1024)  # 1 MiB
        second = first + 1.0  # held together: 2 MiB
        del first
        third = second * 2.0  # again 2 MiB, not 3
        del second, third

    assert 2 * 2**20 <= peak_memory(twice, CPU) < 2.5 * 2**20


def test_measure_runs_the_work_as_often_as_it_says() -> None:
    runs = []
    result = measure(lambda: runs.append(1), CPU, repeats=4, warm_up=2)
    assert len(runs) == 2 + 4 + 1  # one more for the memory
    assert result.repeats == 4
    assert 0.0 <= result.fastest_s <= result.seconds

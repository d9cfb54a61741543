"""Time and peak memory of a piece of work, on the CPU or a GPU."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch.profiler import ProfilerActivity, profile


@dataclass(frozen=True)
class Measurement:
    """What one piece of work costs."""

    seconds: float
    """Median over the repeats."""
    fastest_s: float
    """The fastest repeat: nearest to an idle machine when others use it too."""
    peak_bytes: int
    """Most memory held by tensors during the work, beyond what was held before it."""
    repeats: int


def measure(
    work: Callable[[], object],
    device: torch.device,
    *,
    repeats: int,
    warm_up: int = 1,
    clock: Callable[[], float] = time.perf_counter,
) -> Measurement:
    """Measure work that can be repeated.

    Args:
        work: does the same each time and returns when its kernels are queued.
        device: where it runs; a GPU is waited for.
        repeats: timed runs.
        warm_up: runs before that (allocator, autotuning).
        clock: in seconds; `time.process_time` leaves out what other programs take.
    """
    for _ in range(warm_up):
        work()
    times = []
    for _ in range(repeats):
        _wait(device)
        start = clock()
        work()
        _wait(device)
        times.append(clock() - start)
    return Measurement(statistics.median(times), min(times), peak_memory(work, device), repeats)


def peak_memory(work: Callable[[], object], device: torch.device) -> int:
    """Bytes of tensors held at the worst moment of one run, beyond those held before it."""
    if device.type == "cuda":
        torch.cuda.reset_peak_memory_stats(device)
        before = torch.cuda.memory_allocated(device)
        work()
        _wait(device)
        return torch.cuda.max_memory_allocated(device) - before
    # The process's own figure never shrinks and counts what the C library keeps; the allocator's events are exact.
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as profiler:
        work()
    results = profiler.profiler.kineto_results if profiler.profiler is not None else None
    held = peak = 0
    for event in results.events() if results is not None else ():
        if event.name() == "[memory]":
            held += event.nbytes()
            peak = max(peak, held)
    return peak


def _wait(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize(device)

"""What the C library does with the memory of tensors that are gone."""

from __future__ import annotations

import ctypes
import os
import resource
import subprocess
import sys

import pytest
import torch

from ghosts import devices

needs_glibc = pytest.mark.skipif(not hasattr(ctypes.CDLL(None), "mallopt"), reason="needs Linux's usual C library")
_MEGABYTES = 64


def new_pages() -> int:
    """Pages that the system fills with zeros while ten tensors of 64 MB come and go."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(10):
        torch.ones(_MEGABYTES << 18)
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before


def keep_and_count() -> None:
    """Print the pages before and after."""
    before = new_pages()
    devices.keep_memory()
    new_pages()  # the first is new
    print(before, new_pages(), flush=True)


@needs_glibc
@pytest.mark.parametrize(("set_by_user", "fewer"), [("", True), ("MALLOC_ARENA_MAX", False)])
def test_memory_is_kept_unless_the_user_says_otherwise(
    monkeypatch: pytest.MonkeyPatch, set_by_user: str, fewer: bool
) -> None:
    for name in [name for name in os.environ if name.startswith(("MALLOC_", "GLIBC_TUNABLES"))]:
        monkeypatch.delenv(name)
    if set_by_user:
        monkeypatch.setenv(set_by_user, "2")
    # A new interpreter: a fork has memory that other tests have kept.
    done = subprocess.run([sys.executable, __file__], check=True, capture_output=True, text=True)
    before, after = map(int, done.stdout.split())
    assert before > 100
    assert (after < before / 10) == fewer


def test_other_c_libraries_are_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ctypes, "CDLL", lambda name: object())
    devices.keep_memory()


if __name__ == "__main__":
    keep_and_count()

"""In which precision networks run: one answer for training, evaluation and measuring.

Half precision (bfloat16) is for GPUs. On a CPU networks run in float32 unless half precision is asked for by name, and
then only once a child process has shown that it works: some processors lack it, and some sandboxes end a process that
tries.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from functools import cache
from typing import Literal

import torch

from ghosts import processor
from ghosts.config import Precision
from ghosts_sim.errors import UnknownNameError

Chosen = Literal["32-true", "bf16-mixed"]
"""Lightning's names."""

# One of each kind of layer that the models have, forwards and backwards, compared with float32.
_TRIAL = """
import contextlib
with contextlib.suppress(ImportError):
    import resource
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
import torch
from torch import nn
torch.set_num_threads(1)
torch.manual_seed(0)
maps, words = torch.randn(2, 16, 12, 12, requires_grad=True), torch.randn(2, 7, 16, requires_grad=True)
down, up = nn.Conv2d(16, 32, 3, padding=1), nn.ConvTranspose2d(32, 16, 3, padding=1)
read, line = nn.LSTM(16, 16, batch_first=True), nn.Linear(16, 16)
def outputs():
    return up(down(maps)).float(), line(read(words)[0]).float()
exact = outputs()
with torch.autocast("cpu", torch.bfloat16):
    rough = outputs()
sum(value.square().sum() for value in rough).backward()
values = zip(exact + (maps.detach(), words.detach()), rough + (maps.grad, words.grad))
assert all(bool(b.isfinite().all()) for _, b in values)
assert all(float((a - b).abs().max()) < 0.1 * float(a.abs().max()) for a, b in zip(exact, rough))
"""
_TRIAL_S = 300.0


def choose_precision(asked: Precision, device: torch.device) -> Chosen:
    """The precision of networks on a device.

    Where half precision is asked for by name on a CPU that cannot do it, one line on stderr says that float32 is used.

    Args:
        asked: "auto" is half precision on a GPU and float32 on a CPU.
        device: where the networks run.

    Raises:
        UnknownNameError: no such precision.
    """
    if asked not in ("auto", "32-true", "bf16-mixed"):
        raise UnknownNameError("precision", asked, ["auto", "32-true", "bf16-mixed"])
    if asked == "32-true" or (asked == "auto" and device.type == "cpu"):
        return "32-true"
    if device.type != "cpu":
        return "bf16-mixed"
    problem = half_problem()
    if problem is not None:
        _say(f"half precision does not work on this processor ({problem}); the networks run in float32")
        return "32-true"
    if processor.amx_forbidden:
        _say("this system does not let programs use the processor's AMX registers; half precision does without them")
    return "bf16-mixed"


def network_type(asked: Precision, device: torch.device) -> torch.dtype:
    """The type of the networks' activations on a device; see `choose_precision`."""
    return torch.bfloat16 if choose_precision(asked, device) == "bf16-mixed" else torch.float32


def networks_in(asked: Precision, device: torch.device) -> torch.autocast:
    """A context in which networks run in a precision; see `choose_precision`."""
    dtype = network_type(asked, device)
    return torch.autocast(device.type, dtype, enabled=dtype != torch.float32)


@cache
def half_problem() -> str | None:
    """What keeps this process from half precision on its CPU, in a few words; None where nothing does.

    Tried in a child, because the worst answer is the end of the process; 2 s, once per process.
    """
    if processor.amx_forbidden and processor.too_late:
        return "torch was imported before ghosts, and may have chosen AMX, which this system forbids"
    try:
        done = subprocess.run([sys.executable, "-P", "-c", _TRIAL], capture_output=True, timeout=_TRIAL_S, check=False)
    except (OSError, ValueError, subprocess.TimeoutExpired) as error:
        return f"it could not be tried: {type(error).__name__}"
    if done.returncode < 0:
        return f"a trial of it ended in {signal.Signals(-done.returncode).name}"
    if done.returncode > 0:  # an exception, or a wrong result
        return "torch failed in a trial of it"
    return None


@cache
def _say(line: str) -> None:
    """One line, once, by the first of several processes."""
    if os.environ.get("RANK", os.environ.get("LOCAL_RANK", "0")) == "0":
        print(f"ghosts: {line}", file=sys.stderr, flush=True)

"""What every training command begins with: data, the examples that choose the best checkpoint, and the processes."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ghosts.config import require
from ghosts.errors import ConfigError
from ghosts.presets import GoalExperiment

if TYPE_CHECKING:
    from lightning.fabric import Fabric

    from ghosts.learn.data import GoalData
    from ghosts.learn.examples import Example
    from ghosts.learn.precision import Chosen


@dataclass(frozen=True, kw_only=True)
class TrainOptions:
    """Options of every training command."""

    data: Path = Path("data")
    """Data root."""
    select: str = "dev_unseen"
    """Split on which the best checkpoint is chosen."""
    select_examples: int = 640
    """How many of its instructions are used for that."""
    device: str = "auto"
    """cpu, cuda or auto."""
    devices: int = 1
    """Processes on this machine; under torchrun (several machines) its own numbers count."""
    threads: int = 2
    """Threads that prepare batches."""
    tensorboard: bool = False
    """Also log for TensorBoard, in `<out>/tensorboard`."""

    def __post_init__(self) -> None:
        require(self.select_examples >= 1, "--select-examples must be at least 1", self.select_examples)
        require(self.devices >= 1, "--devices must be at least 1", self.devices)
        require(self.threads >= 0, "--threads must not be negative", self.threads)


class Launched(NamedTuple):
    """Ready to train."""

    data: GoalData
    chosen: Sequence[Example]
    """Of the split that chooses the best checkpoint."""
    fabric: Fabric
    precision: Chosen
    """Of the networks."""


def placement(devices: int, environment: Mapping[str, str]) -> tuple[int, int]:
    """Processes on each machine, and machines: torchrun's where it started this process, else `devices` on this one.

    Example:
        >>> placement(1, {"LOCAL_WORLD_SIZE": "4", "WORLD_SIZE": "8"})
        (4, 2)
    """
    if "LOCAL_WORLD_SIZE" not in environment:
        return devices, 1
    here = int(environment["LOCAL_WORLD_SIZE"])
    return here, int(environment["WORLD_SIZE"]) // here


def make_fabric(device: str, devices: int, strategy: str = "ddp", **settings: Any) -> Fabric:
    """Fabric over all processes, not yet launched.

    Args:
        device: cpu, cuda or auto.
        devices: processes on this machine, where torchrun did not start them.
        strategy: of several processes.
        settings: others of Fabric's.

    Raises:
        ConfigError: no such device here, or no process.
    """
    from lightning.fabric import Fabric

    from ghosts.learn.devices import choose_device

    choose_device(device)  # Lightning's own refusal is a traceback
    require(devices >= 1, "--devices must be at least 1", devices)
    here, machines = placement(devices, os.environ)
    several = here * machines > 1
    return Fabric(
        accelerator=device,
        devices=here,
        num_nodes=machines,
        strategy=strategy if several else "auto",
        **settings,
    )


def launch(options: TrainOptions, experiment: GoalExperiment) -> Launched:
    """Read the data and start the processes."""
    # Imported here: torch and Lightning take seconds, and `--help` should not wait for them.
    from ghosts.evaluate.goal import evenly
    from ghosts.learn.data import DEV_UNSEEN, examples_of, load_goal_data
    from ghosts.learn.devices import choose_device
    from ghosts.learn.precision import choose_precision
    from ghosts.world.dataroot import DataRoot

    data = load_goal_data(DataRoot(options.data), experiment)
    if options.select == DEV_UNSEEN and DEV_UNSEEN not in data.splits:
        raise ConfigError(
            f"{options.data}: too few training buildings to hold one out as {DEV_UNSEEN}; name the split that chooses "
            f"the best checkpoint, such as --select {next(iter(sorted(data.splits)), 'train')}"
        )
    chosen = evenly(examples_of(data, options.select), options.select_examples)
    # Each task leaves a part of the model alone (goal prediction the policy, LingUNet the decoder, the upper bound the
    # filter), which plain data parallelism refuses.
    strategy = "ddp_find_unused_parameters_true"
    precision = choose_precision(experiment.train.precision, choose_device(options.device))
    fabric = make_fabric(options.device, options.devices, strategy, precision=precision)
    fabric.launch()
    return Launched(data, chosen, fabric, precision)

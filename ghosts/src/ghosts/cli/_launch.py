"""What commands that train or evaluate begin with: the processes, the data, and what chooses the best checkpoint."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ghosts.config import Experiment, Precision, require
from ghosts.config.values import CommandOptions, Count, Whole
from ghosts_sim.errors import ConfigError, DataError

if TYPE_CHECKING:
    from lightning_fabric import Fabric

    from ghosts.data.dataset import Dataset
    from ghosts.data.examples import Selection


@dataclass(frozen=True, kw_only=True)
class TrainOptions(CommandOptions):
    """Options of every training command."""

    data: Path = Path("data")
    """Data root to train on."""
    select: str = "dev_unseen"
    """Split on which the best checkpoint is chosen."""
    select_examples: Count = 640
    """Number of instructions of that split that are scored."""
    device: str = "auto"
    """cpu, cuda or auto."""
    devices: Count = 1
    """Processes on this machine. Under torchrun (several machines), torchrun sets their number."""
    threads: Whole = 2
    """Threads that prepare batches."""
    spoken: Path | None = None
    """File of a speaker's instructions (from `ghosts speak --paths`), for --train.spoken."""
    tensorboard: bool = False
    """Also log for TensorBoard, in `<out>/tensorboard`."""


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


def launch(device: str, devices: int = 1, precision: Precision = "32-true") -> Fabric:
    """Start all processes: `devices` on this machine, or those of torchrun.

    Raises:
        ConfigError: no such device here, or no process.
    """
    # Imported here: torch and Lightning take seconds, and `--help` should not wait for them.
    from lightning_fabric import Fabric

    from ghosts.devices import choose_device, keep_memory
    from ghosts.precision import choose_precision

    place = choose_device(device)  # Lightning's own refusal of a device is a traceback
    chosen = choose_precision(precision, place)
    if place.type == "cpu":
        keep_memory()
    require(devices >= 1, "--devices must be at least 1", devices)
    here, machines = placement(devices, os.environ)
    # Each task leaves a part of the model alone (goal prediction the policy, LingUNet the decoder, the upper bound the
    # filter), which plain data parallelism refuses.
    strategy = "ddp_find_unused_parameters_true" if here * machines > 1 else "auto"
    fabric = Fabric(accelerator=device, devices=here, num_nodes=machines, strategy=strategy, precision=chosen)
    fabric.launch()
    return fabric


def open_training(options: TrainOptions, experiment: Experiment) -> tuple[Dataset, Selection]:
    """Read the data, and take the examples that choose the best checkpoint.

    Raises:
        DataError: there is nothing to train on.
        ConfigError: there is nothing to choose the best checkpoint by.
    """
    from ghosts.data.dataset import open_dataset
    from ghosts.data.examples import DEV_UNSEEN, TRAIN, Selection, evenly
    from ghosts.data.reading import reading_of
    from ghosts_houses.index import MORE_HOUSES
    from ghosts_sim.dataroot import DataRoot

    data = open_dataset(DataRoot(options.data), reading_of(experiment, training=True), spoken=options.spoken)
    if not data.splits[TRAIN] and data.stream is None:
        file = options.data / "r2r" / "R2R_train.json"
        raise DataError("no paths to train on", file=file, hint=f"name another --data, such as that of: {MORE_HOUSES}")
    if options.select == DEV_UNSEEN and DEV_UNSEEN not in data.splits:
        others = sorted(set(data.splits) - {TRAIN}) or [TRAIN]
        raise ConfigError(
            f"{options.data}: too few training buildings to hold one out as {DEV_UNSEEN}; name the split that chooses "
            f"the best checkpoint, such as --select {others[0]}"
        )
    return data, Selection(options.select, evenly(data.examples(options.select), options.select_examples))

"""What every training command begins with: data, the examples that choose the best checkpoint, and the processes."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ghosts.presets import GoalExperiment

if TYPE_CHECKING:
    import torch
    from lightning.fabric import Fabric

    from ghosts.learn.data import GoalData
    from ghosts.learn.examples import Example


class Launched(NamedTuple):
    """Ready to train."""

    data: GoalData
    chosen: Sequence[Example]
    """Of the split that chooses the best checkpoint."""
    fabric: Fabric
    half: torch.dtype
    """Precision of the networks."""


def launch(
    experiment: GoalExperiment, root: Path, select: str, select_examples: int, accelerator: str, devices: int
) -> Launched:
    """Read the data and start the processes; the arguments are the commands' options of the same names."""
    # Imported here: torch and Lightning take seconds, and `--help` should not wait for them.
    import torch
    from lightning.fabric import Fabric

    from ghosts.evaluate.goal import evenly
    from ghosts.learn.data import examples_of, load_goal_data
    from ghosts.world.dataroot import DataRoot

    data = load_goal_data(DataRoot(root), experiment)
    chosen = evenly(examples_of(data, select), select_examples)
    # Each task leaves a part of the model alone (goal prediction the policy, LingUNet the decoder, the upper bound the
    # filter), which plain data parallelism refuses.
    several = devices > 1 or int(os.environ.get("WORLD_SIZE", "1")) > 1
    fabric = Fabric(
        accelerator=accelerator,
        devices=devices,
        strategy="ddp_find_unused_parameters_true" if several else "auto",
        precision=experiment.train.precision,
    )
    fabric.launch()
    half = torch.bfloat16 if experiment.train.precision == "bf16-mixed" else torch.float32
    return Launched(data, chosen, fabric, half)

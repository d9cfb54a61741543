"""Where processes run: on this machine, or wherever torchrun started them."""

from __future__ import annotations

import pytest
from lightning_fabric import Fabric
from lightning_fabric.utilities.rank_zero import rank_zero_only

from ghosts import devices
from ghosts.cli._launch import launch, placement
from ghosts_sim.errors import ConfigError


def test_without_torchrun_the_option_counts() -> None:
    assert placement(3, {}) == (3, 1)
    # What Fabric itself sets in the processes it starts for --devices 3.
    assert placement(3, {"WORLD_SIZE": "3", "LOCAL_RANK": "1", "NODE_RANK": "0"}) == (3, 1)


def test_under_torchrun_its_numbers_count() -> None:
    assert placement(1, {"LOCAL_WORLD_SIZE": "2", "WORLD_SIZE": "2"}) == (2, 1)
    assert placement(1, {"LOCAL_WORLD_SIZE": "4", "WORLD_SIZE": "8"}) == (4, 2)


def test_fabric_knows_all_processes_of_all_machines(monkeypatch: pytest.MonkeyPatch) -> None:
    torchrun = {
        "LOCAL_WORLD_SIZE": "2",
        "WORLD_SIZE": "4",
        "RANK": "3",
        "LOCAL_RANK": "1",
        "GROUP_RANK": "1",
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": "29400",
        "TORCHELASTIC_RUN_ID": "test",
    }
    for name, value in torchrun.items():
        monkeypatch.setenv(name, value)
    # Fabric notes its rank in a global, by which later tests of this process would be silent.
    monkeypatch.setattr(rank_zero_only, "rank", 0, raising=False)
    monkeypatch.setattr(Fabric, "launch", lambda self: None)  # the other three are not there
    fabric = launch("cpu", devices=1)
    assert (fabric.world_size, fabric.global_rank, fabric.local_rank, fabric.node_rank) == (4, 3, 1, 1)


def test_memory_is_kept_for_the_next_tensors_of_a_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    monkeypatch.setattr(devices, "keep_memory", lambda: asked.append(True))
    launch("cpu")
    assert asked


@pytest.mark.parametrize(
    ("device", "devices", "said"),
    [("tpu", 1, "device must be cpu, cuda or auto, got 'tpu'"), ("cpu", 0, "--devices must be at least 1, got 0")],
)
def test_wrong_devices_are_refused_in_words(device: str, devices: int, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        launch(device, devices)

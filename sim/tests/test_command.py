"""The command `ghosts`: found by entry points, and clear about what is missing."""

from __future__ import annotations

from importlib.metadata import EntryPoint

import pytest

from ghosts_sim import cli
from ghosts_sim.cli import commands, main


@pytest.fixture
def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """An installation of the simulator alone."""
    found = [EntryPoint(name, f"ghosts_sim.cli.{name}", cli.GROUP) for name in ("prepare", "landmarks")]
    monkeypatch.setattr(cli, "entry_points", lambda: {cli.GROUP: found})


@pytest.mark.usefixtures("alone")
@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("world", "the command 'world' belongs to ghosts-houses, which is not installed; run: pip install"),
        ("train", "the command 'train' belongs to ghosts, which is not installed; run: pip install"),
        ("prepar", "unknown command 'prepar'; did you mean 'prepare'?"),
    ],
)
def test_a_missing_command_says_what_brings_it(word: str, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        main([word])
    assert capsys.readouterr().err.startswith(f"ghosts: {said}")


@pytest.mark.usefixtures("alone")
def test_help_lists_what_is_installed(capsys: pytest.CaptureFixture[str]) -> None:
    assert list(commands()) == ["landmarks", "prepare"]
    main([])
    assert "landmarks  Place the objects" in capsys.readouterr().out


def test_what_the_simulator_knows_of_others_is_true() -> None:
    """Of all that is installed here, it knows which distribution brings which command."""
    pytest.importorskip("ghosts", reason="needs all distributions")
    named = {name for names in cli.ELSEWHERE.values() for name in names}
    own = {name for name, module in cli.modules().items() if module.startswith("ghosts_sim.")}
    assert named | own | {"bench"} == set(cli.modules())

"""The command `ghosts`: found by entry points, and clear about what is missing."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import EntryPoint
from types import SimpleNamespace

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


@pytest.mark.parametrize("name", ["prepare", "landmarks"])
@pytest.mark.usefixtures("alone")
def test_only_commands_that_go_on_say_so(
    name: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def stopped(arguments: list[str]) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(cli.importlib, "import_module", lambda module: SimpleNamespace(main=stopped))
    with pytest.raises(SystemExit, match="130"):
        main([name])
    goes_on = "; the same command goes on where it stopped" if name == "prepare" else ""
    assert capsys.readouterr().err == f"ghosts {name}: interrupted{goes_on}\n"


def test_a_reader_that_leaves_is_no_error() -> None:
    """As in `ghosts --help | head -3`."""
    program = "import sys; from ghosts_sim.cli import main; sys.stdin.read(); main(['--help'])"
    ends = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen([sys.executable, "-c", program], **ends) as process:  # type: ignore[call-overload]
        process.stdout.close()  # before anything is printed
        process.stdin.close()
        assert process.stderr.read() == b""
    assert process.returncode == 128 + 13


@pytest.mark.usefixtures("alone")
def test_completion(capsys: pytest.CaptureFixture[str]) -> None:
    main(["completion", "zsh"])
    script = capsys.readouterr().out
    assert "bashcompinit" in script
    assert 'words="landmarks prepare"' in script
    main(["completion", "prepare"])
    assert "--raw" in capsys.readouterr().out.split()
    with pytest.raises(SystemExit):
        main(["completion", "fish"])

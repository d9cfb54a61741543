"""What a newcomer reads after a mistake: one line without a traceback that names what is wrong and what to do next."""

from __future__ import annotations

from pathlib import Path

import pytest

from ghosts_sim.cli import main
from makers import make_root

MISTAKES = [
    (["wrold"], 2, ["unknown command 'wrold'", "did you mean 'world'?"]),
    (["train", "gaol"], 1, ["did you mean 'goal'?"]),
    (
        ["train", "--preset", "tiny"],
        1,
        ["name what to train, goal or vln or speaker, first: ghosts train goal --preset tiny"],
    ),
    (["train", "--preset=tiny-speaker"], 1, ["first: ghosts train speaker --preset=tiny-speaker"]),
    (["train", "speaker", "--preset", "tiny"], 1, ["'tiny' is a preset of ghosts train goal; for speaking"]),
    (["train", "goal", "--preset", "tiny-speaker"], 1, ["'tiny-speaker' is a preset of ghosts train speaker"]),
    (["train", "--preset=tiny-agent"], 1, ["first: ghosts train vln --preset=tiny-agent"]),
    (["train", "goal", "--preset", "houses-agent"], 1, ["'houses-agent' is a preset of ghosts train vln; for goal"]),
    (["train", "vln", "--preset", "tiny"], 1, ["'tiny' is a preset of ghosts train goal; for nav", "tiny-agent"]),
    (["train", "vln", "--out", "{empty}", "--data", "{root}"], 1, ["name one with --warm-start RUN"]),
    (["train", "vln", "--warm-start", "{missing}", "--data", "{root}"], 1, ["{missing}: no such run"]),
    (["eval", "vlm"], 1, ["did you mean 'vln'?"]),
    (["train", "goal", "--preset", "papr"], 1, ["unknown preset 'papr'", "did you mean 'paper'?"]),
    (["eval", "goal", "--preset", "hand-codd", "--data", "{root}"], 1, ["did you mean 'hand-coded'?"]),
    (["eval", "goal"], 1, ["--run RUN"]),
    (["eval", "vln", "--examples", "-1"], 1, ["--examples must not be negative, got -1"]),
    (["world"], 1, ["--out DIR"]),
    (["world", "--houses", "0", "--out", "x"], 1, ["houses must lie in 1..", "got 0"]),
    (["world", "--huoses", "3"], 2, ["--huoses", "--houses"]),
    (["train", "goal", "--train.batc", "3"], 2, ["--train.batc", "--train.batch"]),
    (["doctor", "--data", "{missing}"], 1, ["{missing}: no such folder", "ghosts world --out"]),
    (["doctor", "--data", "{empty}"], 1, ["an empty folder", "ghosts world --out", "ghosts prepare --raw"]),
    (["view"], 1, ["no data root to show", "ghosts demo", "--data ROOT"]),
    (["prepare", "--raw", "{missing}", "--out", "{empty}"], 1, ["{missing}", "--raw the folder"]),
    (["weights", "--file", "{missing}"], 1, ["{missing}: no such file", "download https://"]),
    (["eval", "goal", "--run", "{missing}", "--data", "{root}"], 1, ["{missing}: no such run", "ghosts train goal"]),
    (["submit", "--check", "{missing}", "--data", "{root}"], 1, ["{missing}", "ghosts submit --run RUN"]),
    (
        ["eval", "goal", "--preset", "hand-coded", "--data", "{empty}"],
        1,
        ["no connectivity/", "ghosts doctor --data {empty}"],
    ),
]


@pytest.mark.parametrize(("words", "status", "said"), MISTAKES, ids=[" ".join(words) for words, _, _ in MISTAKES])
def test_mistakes_are_answered(
    words: list[str], status: int, said: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "empty").mkdir()
    make_root(tmp_path / "root", images=False)
    places = {name: str(tmp_path / name) for name in ("missing", "empty", "root")}
    with pytest.raises(SystemExit) as caught:
        main([word.format(**places) for word in words])
    output = capsys.readouterr()
    text = " ".join((output.err + output.out).split())
    assert caught.value.code == status, text
    assert "Traceback" not in text
    for part in said:
        assert part.format(**places) in text.replace("│ ", ""), text


def test_a_system_error_is_a_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def full(arguments: list[str]) -> None:
        raise OSError(28, "No space left on device", "/somewhere/log.jsonl")

    monkeypatch.setattr("ghosts_houses.cli.world.main", full)
    with pytest.raises(SystemExit) as caught:
        main(["world"])
    assert caught.value.code == 1
    assert capsys.readouterr().err == "ghosts world: /somewhere/log.jsonl: No space left on device\n"

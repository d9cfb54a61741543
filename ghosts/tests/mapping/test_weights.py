"""ResNet-34's weights: fetched with a checksum, and torch files read as data, so that nothing in them is ever run."""

from __future__ import annotations

import hashlib
import io
import urllib.error
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import pytest
import torch
from safetensors.torch import save_file
from torch import nn

from ghosts.mapping.backbone import ResNetBackbone
from ghosts.mapping.resnet_weights import URL, check_file, default_path, expected_digest, fetch, install_weights
from ghosts.mapping.torch_archive import read_torch_archive
from ghosts_sim.cli import main
from ghosts_sim.errors import ConfigError, DataError
from ghosts_sim.files import cache_dir


@pytest.fixture(scope="module")
def official(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, ResNetBackbone]:
    """A file as torchvision writes it, with a head, named by its checksum; random weights."""
    torch.manual_seed(0)
    backbone = ResNetBackbone()
    weights = {**backbone.resnet.state_dict(), "fc.weight": torch.zeros(10, 512), "fc.bias": torch.zeros(10)}
    path = tmp_path_factory.mktemp("official") / "resnet34.pth"
    torch.save(weights, path)
    named = path.with_name(f"resnet34-{hashlib.sha256(path.read_bytes()).hexdigest()[:8]}.pth")
    return path.rename(named), backbone


def serving(path: Path) -> tuple[str, object, list[str]]:
    """An address and something that opens it."""
    asked: list[str] = []

    @contextmanager
    def opener(url: str) -> Iterator[IO[bytes]]:
        asked.append(url)
        yield io.BytesIO(path.read_bytes())

    return f"https://example.org/models/{path.name}", opener, asked


def same(out: Path, backbone: ResNetBackbone) -> bool:
    mine, theirs = ResNetBackbone.load_imagenet(out).resnet.state_dict(), backbone.resnet.state_dict()
    return all(torch.equal(mine[name], theirs[name]) for name in theirs)


def test_from_a_file(official: tuple[Path, ResNetBackbone], tmp_path: Path) -> None:
    out = install_weights(tmp_path / "w.safetensors", official[0])
    assert same(out, official[1])
    assert official[0].is_file()


def test_fetched_once(official: tuple[Path, ResNetBackbone], tmp_path: Path) -> None:
    url, opener, asked = serving(official[0])
    out = tmp_path / "w.safetensors"
    for _ in range(2):
        install_weights(out, url=url, opener=opener)
    assert asked == [url]
    assert same(out, official[1])
    assert [path.name for path in tmp_path.iterdir()] == ["w.safetensors"]


def test_a_wrong_download_is_refused_and_not_kept(official: tuple[Path, ResNetBackbone], tmp_path: Path) -> None:
    _, opener, _ = serving(official[0])
    with pytest.raises(DataError, match=r"SHA-256 starts with [0-9a-f]{8}, not 00000000"):
        install_weights(tmp_path / "w.safetensors", url="https://example.org/x-00000000.pth", opener=opener)
    assert list(tmp_path.iterdir()) == []


def test_without_a_connection_the_message_says_what_to_do(tmp_path: Path) -> None:
    def offline(url: str) -> IO[bytes]:
        raise urllib.error.URLError("Name or service not known")

    with pytest.raises(DataError, match=r"cannot be reached \(Name or service not known\); download .* with --file"):
        install_weights(tmp_path / "w.safetensors", opener=offline)
    assert list(tmp_path.iterdir()) == []


def test_a_damaged_file_is_named(official: tuple[Path, ResNetBackbone], tmp_path: Path) -> None:
    copy = tmp_path / official[0].name
    data = bytearray(official[0].read_bytes())
    data[len(data) // 2] ^= 1
    copy.write_bytes(data)
    with pytest.raises(DataError, match="damaged: its SHA-256 starts with"):
        check_file(copy)
    with pytest.raises(DataError, match="no such file"):
        check_file(tmp_path / "none.pth")


def test_other_weights_are_refused(tmp_path: Path) -> None:
    save_file({"a": torch.zeros(2)}, tmp_path / "other.safetensors")
    with pytest.raises(DataError, match="not the weights of a ResNet-34"):
        install_weights(tmp_path / "w.safetensors", tmp_path / "other.safetensors")
    assert not (tmp_path / "w.safetensors").exists()


def test_addresses(tmp_path: Path) -> None:
    assert expected_digest(URL) == "b627a593"
    assert default_path().is_relative_to(cache_dir())
    with pytest.raises(ConfigError, match="carries no checksum"):
        fetch("https://example.org/resnet34.pth", tmp_path / "x")
    with pytest.raises(ConfigError, match="only https"):
        fetch("http://example.org/resnet34-b627a593.pth", tmp_path / "x")
    with pytest.raises(ConfigError, match="end --out in"):
        install_weights(tmp_path / "w.pth")


def test_command(official: tuple[Path, ResNetBackbone], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "w.safetensors"
    main(["weights", "--file", str(official[0]), "--out", str(out)])
    text = capsys.readouterr().out
    assert f"ghosts tiles --data ROOT --backbone {out}" in text
    assert "not verified" not in text
    main(["weights", "--file", str(out), "--out", str(tmp_path / "again.safetensors")])
    assert f"{out}: not verified, since its name carries no checksum" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        main(["weights", "--file", str(tmp_path / "none.pth"), "--out", str(tmp_path / "v.safetensors")])
    assert "none.pth: no such file" in capsys.readouterr().err


class Trap:
    """An object whose unpickling would touch a file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple:
        return (Path.touch, (self.path,))


@pytest.mark.parametrize("as_zip", [True, False])
def test_equal_tensors(tmp_path: Path, as_zip: bool) -> None:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4))
    saved = OrderedDict(model.state_dict(), turned=torch.arange(6.0).reshape(2, 3).T, half=torch.ones(2).half())
    saved["parameter"] = nn.Parameter(torch.full((2,), 7.0))
    saved["none"] = torch.zeros(0, 3)
    torch.save(saved, tmp_path / "x.pth", _use_new_zipfile_serialization=as_zip)
    loaded = read_torch_archive(tmp_path / "x.pth")
    assert loaded.keys() == saved.keys()
    for name, value in saved.items():
        assert loaded[name].dtype == value.dtype
        assert torch.equal(loaded[name], value.detach())


@pytest.mark.parametrize("as_zip", [True, False])
def test_code_is_refused_and_not_run(tmp_path: Path, as_zip: bool) -> None:
    target = tmp_path / "ran"
    torch.save({"a": Trap(target)}, tmp_path / "x.pth", _use_new_zipfile_serialization=as_zip)
    with pytest.raises(DataError, match=r"cannot be read without unpickling: it holds .*safetensors"):
        read_torch_archive(tmp_path / "x.pth")
    assert not target.exists()


def test_damaged_files_are_named(tmp_path: Path) -> None:
    path = tmp_path / "x.pth"
    torch.save({"a": torch.ones(100)}, path, _use_new_zipfile_serialization=False)
    whole = path.read_bytes()
    for broken in (b"", b"not a torch file", whole[:60], whole[:-9], b"\x80\x02K\x01." + whole):
        path.write_bytes(broken)
        with pytest.raises(DataError, match=r"x\.pth"):
            read_torch_archive(path)

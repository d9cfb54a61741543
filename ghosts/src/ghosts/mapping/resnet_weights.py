"""Official ImageNet weights of ResNet-34: from a file, or fetched once by those who are online.

The release's file name ends in the first digits of its SHA-256, which is how it is checked. Nothing is unpickled (see
`torch_archive`); the weights are kept as safetensors.
"""

from __future__ import annotations

import hashlib
import re
import urllib.error
import urllib.request
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import IO
from urllib.parse import urlsplit

from safetensors.torch import save

from ghosts.mapping.backbone import ResNetBackbone
from ghosts_sim.errors import ConfigError, DataError
from ghosts_sim.files import atomic_path, cache_dir, sha256_file

URL = "https://download.pytorch.org/models/resnet34-b627a593.pth"
"""Torchvision's ResNet-34 (ImageNet, version 1)."""
NAME = "resnet34-imagenet.safetensors"
_DIGEST = re.compile(r"-([0-9a-f]{8,64})\.pth$")
_TIMEOUT_S = 30.0
Opener = Callable[[str], AbstractContextManager[IO[bytes]]]


def default_path() -> Path:
    """Where weights are kept: `weights/` in the cache folder."""
    return cache_dir() / "weights" / NAME


def expected_digest(name: str) -> str | None:
    """First digits of the SHA-256 that a file name carries; None where it carries none."""
    found = _DIGEST.search(name)
    return found.group(1) if found else None


def fetch(url: str, target: Path, opener: Opener | None = None) -> None:
    """Download a file whose name carries its checksum, whole or not at all.

    Args:
        url: https address.
        target: where it goes.
        opener: opens an address; the standard library's by default.

    Raises:
        ConfigError: not an https address, or no checksum in its name.
        DataError: it cannot be reached, or the checksum differs.
    """
    digest = expected_digest(urlsplit(url).path)
    if digest is None:
        raise ConfigError(f"{url}: the file name carries no checksum (expected NAME-<sha256 digits>.pth)")
    if urlsplit(url).scheme != "https":
        raise ConfigError(f"{url}: only https addresses are fetched")
    hint = f"download {url} elsewhere and give it with --file"
    hasher = hashlib.sha256()
    with atomic_path(target) as temporary:
        try:
            with (opener or _open)(url) as source, open(temporary, "wb") as out:
                while block := source.read(1 << 20):
                    hasher.update(block)
                    out.write(block)
        except (urllib.error.URLError, TimeoutError, ConnectionError) as error:
            reason = getattr(error, "reason", error)
            raise DataError(f"{url} cannot be reached ({reason})", hint=hint) from None
        if not hasher.hexdigest().startswith(digest):
            problem = f"the download's SHA-256 starts with {hasher.hexdigest()[: len(digest)]}, not {digest}"
            raise DataError(problem, file=target, hint="try again, or " + hint)


def _open(url: str) -> AbstractContextManager[IO[bytes]]:
    return urllib.request.urlopen(url, timeout=_TIMEOUT_S)


def check_file(path: Path) -> bool:
    """Compare a file with the checksum in its name, where it carries one.

    Returns:
        Whether it does.

    Raises:
        DataError: it is missing, or not what its name says.
    """
    if not path.is_file():
        raise DataError("no such file", file=path, hint=f"download {URL}")
    expected = expected_digest(path.name)
    if expected is None:
        return False
    digest = sha256_file(path)
    if not digest.startswith(expected):
        problem = f"damaged: its SHA-256 starts with {digest[: len(expected)]}"
        raise DataError(problem, file=path, hint=f"download it again from {URL}")
    return True


def install_weights(out: Path, file: Path | None = None, url: str = URL, opener: Opener | None = None) -> Path:
    """Write ResNet-34's weights to a file for `ghosts tiles --backbone`; does nothing when the file is there.

    Args:
        out: safetensors file to write.
        file: torchvision's `.pth` file (or the same tensors as safetensors); fetched when None.
        url: where from.
        opener: see `fetch`.

    Returns:
        `out`.

    Raises:
        DataError: neither a file nor a connection, or the weights are not ResNet-34's.
    """
    if out.suffix != ".safetensors":
        raise ConfigError(f"weights are written as safetensors; end --out in .safetensors, got {out}")
    if out.is_file() and file is None:
        ResNetBackbone.load_imagenet(out)
        return out
    source = file
    if source is None:
        source = out.parent / Path(urlsplit(url).path).name
        if not source.is_file():
            fetch(url, source, opener)
    check_file(source)
    backbone = ResNetBackbone.load_imagenet(source)
    with atomic_path(out) as temporary:
        temporary.write_bytes(save(backbone.resnet.state_dict()))
    if file is None:
        source.unlink()
    return out

"""Look into models in the browser: `ghosts view --data ROOT --run RUN [--run RUN …]` serves a page on this machine."""

from __future__ import annotations

import secrets
import socket
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from ghosts.config.values import CommandOptions, within
from ghosts_sim.cli._options import parse
from ghosts_sim.errors import ConfigError, MissingExtraError

if TYPE_CHECKING:
    from ghosts.view.library import Library

DEMO = Path("runs/demo/world-299")
"""What `ghosts demo` makes."""
EVERYWHERE = {"0.0.0.0": "127.0.0.1", "::": "::1"}
"""Hosts that mean all addresses of this machine, and how it calls itself."""


@dataclass(frozen=True)
class Options(CommandOptions):
    data: tuple[Path, ...] = ()
    """Data root; repeat for more. By default the world of `ghosts demo`, with the shipped agent."""
    run: tuple[Path, ...] = ()
    """Folder of a run, a checkpoint, or shipped weights; repeat to compare models."""
    watch: tuple[Path, ...] = ()
    """Folder of a run that is still training: draw its log and show every new checkpoint; repeat for more."""
    baseline: bool = True
    """Also offer the hand-coded baseline, on the first model's map (--no-baseline leaves it out)."""
    host: str = "127.0.0.1"
    """Address to listen on. By default only this machine can connect."""
    token: bool = True
    """Ask for the token in the printed address, a new one at every start (--no-token lets every user and page in)."""
    allow_host: tuple[str, ...] = ()
    """Name by which browsers may also reach the page, such as the name of this machine; repeat for more."""
    port: Annotated[int, within(1, 65535)] = 8471
    """Port to listen on."""
    open: bool = False
    """Open the page in a browser."""


def main(arguments: list[str]) -> None:
    """Run `ghosts view`."""
    options = parse(Options, "view", arguments, __doc__)
    try:
        import fastapi  # noqa: F401
        import uvicorn  # noqa: F401
    except ImportError as error:
        raise MissingExtraError(error.name or "fastapi", "web", "ghosts view") from None
    # Imported here: torch takes seconds, and `--help` should not wait for it.
    from ghosts.view.library import Library, require_models

    data, run = options.data, options.run
    if not data and DEMO.is_dir():
        data, run = (DEMO,), run or (Path("houses-agent"),) if not options.watch else run
    elif not data:
        raise ConfigError(f"no data root to show, and no {DEMO}; make that one with: ghosts demo; or name --data ROOT")
    require_models([*run, *options.watch])
    library = Library(data, run, baseline=options.baseline, watch=options.watch)
    # Before the models are read, which takes a while; who comes meanwhile waits for the page.
    with listen(options.host, options.port) as door:
        _serve(library, options, door)


def listen(host: str, port: int) -> socket.socket:
    """A socket that listens there.

    Raises:
        ConfigError: it cannot; the message says why.
    """
    try:
        return socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET)
    except (OSError, TypeError, ValueError) as error:  # the latter two: a name that cannot be a host's
        why = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        where = f"port {port} of {host} cannot be used ({why.split(' (while')[0]})"
        raise ConfigError(f"{where}; choose another with --port or --host, or stop what holds it") from None


def _serve(library: Library, options: Options, door: socket.socket) -> None:
    from ghosts.view.connections import serve
    from ghosts.view.server import make_app

    print("reading models and worlds …", flush=True)
    if not library.pairs():
        raise ConfigError(f"none of these models can read any of these worlds:{library.why_not()}")
    if library.why_not():
        print(f"left out:{library.why_not()}")
    print("".join(f"{line}\n" for line in library.twins()), end="")
    everywhere = options.host in EVERYWHERE
    host = EVERYWHERE.get(options.host, options.host)
    token = secrets.token_urlsafe(24) if options.token else ""
    address = f"http://{f'[{host}]' if ':' in host else host}:{options.port}/" + (f"?token={token}" if token else "")
    also = "; from elsewhere by this machine's address, by a name after --allow-host NAME" if everywhere else ""
    print(f"open {address} in a browser{also} (stop with Ctrl-C)", flush=True)
    if options.open:
        import webbrowser

        webbrowser.open(address)
    hosts = frozenset(name.lower() for name in (options.host, *options.allow_host))
    app = make_app(library, hosts, token)
    with suppress(KeyboardInterrupt):  # uvicorn stops first, then passes it on
        serve(app, door, options.host, options.port)

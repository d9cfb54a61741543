"""Look into models in the browser: `ghosts view --data ROOT --run RUN [--run RUN …]` serves a page on this machine."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import tyro

from ghosts.errors import ConfigError, MissingExtraError


@dataclass(frozen=True)
class Options:
    """Look into models in the browser: pick or type an instruction, step, look around, open the filter."""

    data: tyro.conf.UseAppendAction[tuple[Path, ...]] = ()
    """Data root; repeat for more."""
    run: tyro.conf.UseAppendAction[tuple[Path, ...]] = ()
    """Folder of a run, or a checkpoint; repeat to compare models."""
    baseline: bool = True
    """Offer the hand-coded baseline as well, on the first model's map (--no-baseline: leave it out)."""
    host: str = "127.0.0.1"
    """Address to listen on. Anything but this machine's own lets others in: there is no password."""
    port: int = 8471
    """Port to listen on."""
    open: bool = False
    """Open the page in a browser."""

    def __post_init__(self) -> None:
        if not 1 <= self.port <= 65535:
            raise ConfigError(f"--port must lie in 1..65535, got {self.port}")


def main(arguments: list[str]) -> None:
    """Run `ghosts view`."""
    options = tyro.cli(Options, args=arguments, prog="ghosts view", description=__doc__)
    try:
        import fastapi  # noqa: F401
        import uvicorn
    except ImportError as error:
        raise MissingExtraError(error.name or "fastapi", "web", "ghosts view") from None
    # Imported here: torch takes seconds, and `--help` should not wait for it.
    from ghosts.view.library import Library
    from ghosts.view.server import make_app

    library = Library(options.data, options.run, baseline=options.baseline)
    print("reading models and worlds …", flush=True)
    if not library.pairs():
        raise ConfigError(f"none of these models can read any of these worlds:{library.why_not()}")
    if library.why_not():
        print(f"left out:{library.why_not()}")
    name = f"[{options.host}]" if ":" in options.host else options.host
    address = f"http://{name}:{options.port}/"
    print(f"open {address} in a browser (stop with Ctrl-C)", flush=True)
    if options.open:
        import webbrowser

        webbrowser.open(address)
    app = make_app(library, frozenset({options.host}))
    try:
        uvicorn.run(app, host=options.host, port=options.port, log_level="warning", access_log=False)
    except SystemExit:  # uvicorn's way to say that it cannot listen there
        where = f"port {options.port} of {options.host}"
        raise ConfigError(f"{where} cannot be used; choose another with --port, or stop what holds it") from None

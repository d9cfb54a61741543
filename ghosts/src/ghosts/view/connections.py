"""Connections of the viewer's server: how many, how long a request may take, freed memory, and how the server ends."""

from __future__ import annotations

import asyncio
import ctypes
import os
import socket
import sys
import threading
from contextlib import suppress
from types import FrameType
from typing import Any

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from ghosts.view.guard import ASK_S, refusal

MOST_CONNECTIONS = 128
"""Connections at a time. A browser opens six; later ones are closed, and browsers try again."""
CLOSE_S = 2.0
"""Seconds after Ctrl-C in which answers may still be finished; a film takes a minute."""
TIDY_S = 1
"""Seconds between two times that freed memory goes back to the system."""


class Visitor(H11Protocol):
    """A connection that is closed when there are too many, or when its request does not come."""

    _waiting: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """A browser has connected."""
        super().connection_made(transport)
        if len(self.connections) > MOST_CONNECTIONS:
            transport.abort()
            return
        self._wait()

    def on_response_complete(self) -> None:
        """An answer is sent; the next request has as much time as the first one."""
        self._wait()
        super().on_response_complete()

    def _wait(self) -> None:
        if self._waiting is not None:
            self._waiting.cancel()
        self._waiting = self.loop.call_later(ASK_S, self._hang_up)

    def _hang_up(self) -> None:
        # A cycle is a request whose headers are there; its body is waited for by the guard.
        asked = self.cycle is not None and not self.cycle.response_complete
        if not asked and not self.transport.is_closing():
            self.transport.abort()

    def send_400_response(self, msg: str) -> None:
        """What is no HTTP is refused as everything else is, with the same headers."""
        body, headers = refusal(msg)
        lines = b"".join(b"%s: %s\r\n" % header for header in (*headers, (b"connection", b"close")))
        self.transport.write(b"HTTP/1.1 400 Bad Request\r\n" + lines + b"\r\n" + body)
        self.transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        """The browser has gone."""
        if self._waiting is not None:
            self._waiting.cancel()
        super().connection_lost(exc)


class Server(uvicorn.Server):
    """A server that ends soon after Ctrl-C, whatever its threads are doing."""

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Handle Ctrl-C or SIGTERM."""
        if self.should_exit:
            _leave()  # asked twice
        # Threads cannot be stopped, and Python would wait for them. Requests that wait could be, but uvicorn prints a
        # traceback for each of them.
        timer = threading.Timer(CLOSE_S, _leave)
        timer.daemon = True
        timer.start()
        super().handle_exit(sig, frame)


def _leave() -> None:
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, RuntimeError):  # nobody reads it, or a signal came while something was printed
            stream.flush()
    os._exit(0)


async def give_back() -> None:
    """Return to the system what the C library keeps of freed memory, where it is glibc.

    With 61 buildings that was 340 MB after they were read, and 70 MB after every walk. It takes 10 ms.
    """
    with suppress(OSError, TypeError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)


def serve(app: Any, door: socket.socket, host: str, port: int) -> None:
    """Answer at a socket that listens until Ctrl-C; host and port are for messages."""
    config = uvicorn.Config(
        app,
        host=host,
        port=port,
        http=Visitor,
        loop="asyncio",  # uvloop, where it is installed, calls a connection without a running loop
        log_level="warning",
        access_log=False,
        callback_notify=give_back,
        timeout_notify=TIDY_S,
    )
    Server(config).run(sockets=[door])

"""Serves the page of one run: in the process of ``s2g watch``, or in a process of its own beside ``s2g run --live``.

The server listens on loopback only, in a thread.
"""

from __future__ import annotations

import socket
import threading

import uvicorn

from stream2gym.errors import BadInput, Mistake
from stream2gym.record.folder import RunFolder
from stream2gym.web.app import PageServer, make_app
from stream2gym.web.request_guard import new_token
from stream2gym.web.run_watch import RunWatch

LOOPBACK = "127.0.0.1"
# How long pages have to take the last frame.
LAST_FRAME_S = 2.0


class ServedPage:
    """Handle of the server of a page. It runs in a thread of its own until it is closed."""

    def __init__(self, folder: RunFolder, *, read_only: bool = False, port: int = 0) -> None:
        self.watch = RunWatch(folder, self._tell_new)
        self._page = PageServer(self.watch, read_only=read_only)
        self.token = new_token()
        self._socket = listen(port)
        self.port = int(self._socket.getsockname()[1])
        config = uvicorn.Config(
            make_app(self._page, self.token),
            log_config=None,
            access_log=False,
            lifespan="on",
            server_header=False,
            timeout_graceful_shutdown=2,
            timeout_keep_alive=30,
            limit_concurrency=200,
        )
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(
            target=self._server.run, kwargs={"sockets": [self._socket]}, name="s2g-page", daemon=True
        )
        self._thread.start()

    @property
    def link(self) -> str:
        """The link of the page. What follows ``#`` never leaves the browser."""
        return f"http://{LOOPBACK}:{self.port}/#token={self.token}"

    def close(self) -> None:
        """Let every page take one more frame, then end."""
        self.watch.stop_following()
        self._page.close_streams()
        self._server.should_exit = True
        self._thread.join(LAST_FRAME_S + 3)
        self._socket.close()
        self.watch.close()

    def _tell_new(self) -> None:
        page = getattr(self, "_page", None)
        if page is not None:
            page.tell_new()


def listen(port: int) -> socket.socket:
    """A socket on loopback; BadInput if the port is taken."""
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((LOOPBACK, port))
        listening.listen(64)
    except OSError as error:
        listening.close()
        raise BadInput(Mistake("--port", f"{port} cannot be used: {error.strerror}", "leave it out")) from None
    return listening

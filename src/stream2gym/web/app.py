"""The page's server: a Starlette application over one run.

``/`` and ``/static/`` are the page itself, the same for every run. All that tells of a run is below ``/api/`` and at
``/metrics``, and needs the token as a bearer. ``/api/stream`` sends frames as server-sent events: a snapshot, and the
events and time lines that are new for this page.
"""

from __future__ import annotations

import asyncio
import json
import math
import mimetypes
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from stream2gym.errors import BadInput, S2gError
from stream2gym.figures.time_charts import make_chart_heads
from stream2gym.web.hand_faults import send_fault_request
from stream2gym.web.log_ends import list_logs, read_log_end
from stream2gym.web.page_colours import make_colour_sheet
from stream2gym.web.plain_json import encode
from stream2gym.web.prometheus_text import prometheus_text
from stream2gym.web.request_guard import HEADERS, check_request
from stream2gym.web.run_watch import RunWatch

STATIC = Path(__file__).with_name("static")
MOST_STREAMS = 32
MOST_BODY = 64 << 10
MOST_EVENTS = 5000
# A frame comes at least this often, so that a page notices that its server has gone.
HEARTBEAT_S = 10.0


class Guard:
    """Refuses requests before anything looks at them, and adds the headers of every answer."""

    def __init__(self, app: ASGIApp, token: str) -> None:
        self._app = app
        self._token = token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request = Request(scope)
        path = scope["path"]
        needs_token = path.startswith("/api/") or path == "/metrics"
        refusal = check_request(scope["method"], request.headers, self._token, needs_token=needs_token)

        async def send_with_headers(message: Any) -> None:
            if message["type"] == "http.response.start":
                own = [(name.encode(), value.encode()) for name, value in HEADERS.items()]
                message["headers"] = [*message.get("headers", ()), *own]
            await send(message)

        if refusal is not None:
            await JSONResponse({"error": refusal.reason}, refusal.status)(scope, receive, send_with_headers)
            return
        await self._app(scope, receive, send_with_headers)


class PageServer:
    """Answers the requests of pages about one run."""

    def __init__(self, watch: RunWatch, *, read_only: bool) -> None:
        self._watch = watch
        self._read_only = read_only
        self._streams = 0
        self._loop: asyncio.AbstractEventLoop | None = None
        self._new = asyncio.Event()
        self._closing = False
        # The files of the page, read once: nothing that a request says becomes a path.
        self._files = {file.name: file.read_bytes() for file in STATIC.iterdir() if file.is_file()}
        self._files["colours.css"] = make_colour_sheet().encode()
        heads = json.dumps(make_chart_heads())
        self._files["chart_heads.js"] = f"export const HEADS = {heads};\n".encode()

    def routes(self) -> list[Route]:
        return [
            Route("/", self.index),
            Route("/static/{name}", self.static),
            Route("/api/run", self.run),
            Route("/api/snapshot", self.snapshot),
            Route("/api/timelines", self.timelines),
            Route("/api/events", self.events),
            Route("/api/series", self.series),
            Route("/api/logs", self.logs),
            Route("/api/log", self.log),
            Route("/api/stream", self.stream),
            Route("/api/faults", self.faults, methods=["POST"]),
            Route("/metrics", self.metrics),
        ]

    @asynccontextmanager
    async def lifespan(self, _app: Starlette) -> AsyncIterator[None]:
        self._loop = asyncio.get_running_loop()
        yield
        self._closing = True
        self._new.set()

    def tell_new(self) -> None:
        """Wake the streams; any thread may call this."""
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._wake)

    def close_streams(self) -> None:
        """Let every stream end after one more frame."""
        self._closing = True
        self.tell_new()

    def _wake(self) -> None:
        self._new.set()
        self._new = asyncio.Event()

    # ---- the page itself

    async def index(self, _request: Request) -> Response:
        return self._file("index.html")

    async def static(self, request: Request) -> Response:
        return self._file(request.path_params["name"])

    def _file(self, name: str) -> Response:
        data = self._files.get(name)
        if data is None:
            return PlainTextResponse("not found", 404)
        kind = "text/javascript" if name.endswith(".js") else mimetypes.guess_type(name)[0]
        return Response(data, media_type=kind or "application/octet-stream")

    # ---- what is known of the run

    def run(self, request: Request) -> Response:
        picture = self._watch.picture(_number(request, "t"))
        picture["read_only"] = self._read_only
        picture["times"] = self._watch.times()
        return _json(picture)

    def snapshot(self, request: Request) -> Response:
        return _json(self._watch.snapshot(_number(request, "t")))

    def timelines(self, request: Request) -> Response:
        return _json(self._watch.timelines(max(0, int(_number(request, "first") or 0))))

    def events(self, request: Request) -> Response:
        first = max(0, int(_number(request, "first") or 0))
        return _json(self._watch.events(first, MOST_EVENTS))

    def series(self, request: Request) -> Response:
        return _json(self._watch.series_of(set(request.query_params.getlist("object")[:50])))

    def logs(self, _request: Request) -> Response:
        return _json(list_logs(self._watch.folder))

    def log(self, request: Request) -> Response:
        lines = read_log_end(self._watch.folder, request.query_params.get("name", ""))
        return _json({"error": "no such log"}, 404) if lines is None else _json(lines)

    def metrics(self, _request: Request) -> Response:
        run = str(self._watch.folder.path.resolve().name)
        text = prometheus_text(run, self._watch.state, self._watch.snapshot(), self._watch.elections)
        return PlainTextResponse(text, media_type="text/plain; version=0.0.4")

    # ---- what a page can do

    async def faults(self, request: Request) -> Response:
        if self._read_only:
            return _json({"mistakes": [{"where": "page", "what": "was started with --read-only"}]}, 403)
        data = b""
        async for part in request.stream():
            data += part
            if len(data) > MOST_BODY:
                return _json({"mistakes": [{"where": "request", "what": "is too long"}]}, 413)
        try:
            answer = await run_in_threadpool(send_fault_request, self._watch.folder.path, json.loads(data))
        except BadInput as error:
            return _json({"mistakes": [mistake.as_json() for mistake in error.mistakes]}, 400)
        except ValueError:
            return _json({"mistakes": [{"where": "request", "what": "is no JSON"}]}, 400)
        except (S2gError, OSError) as error:
            return _json({"mistakes": [{"where": "run", "what": str(error)}]}, 502)
        return _json({"ok": answer})

    # ---- frames

    async def stream(self, request: Request) -> Response:
        if self._streams >= MOST_STREAMS:
            return _json({"error": f"{MOST_STREAMS} pages are open already"}, 503)
        event = int(_number(request, "event") or 0)
        bucket = int(_number(request, "bucket") or 0)
        return StreamingResponse(self._frames(event, bucket), media_type="text/event-stream")

    async def _frames(self, event: int, bucket: int) -> AsyncIterator[bytes]:
        """Frames for one page. The next one is made when the page has taken the one before."""
        self._streams += 1
        try:
            while True:
                waiting = self._new
                is_last = self._closing or not self._watch.is_live
                facts = {"last": is_last, "closing": self._closing}
                frame, event, bucket = await run_in_threadpool(self._watch.frame, event, bucket, **facts)
                yield b"data: " + frame + b"\n\n"
                if is_last:
                    return
                try:
                    await asyncio.wait_for(waiting.wait(), HEARTBEAT_S)
                except TimeoutError:
                    continue
        finally:
            self._streams -= 1


def make_app(server: PageServer, token: str) -> ASGIApp:
    """The application, behind its guard."""
    return Guard(Starlette(routes=server.routes(), lifespan=server.lifespan), token)


def _number(request: Request, name: str) -> float | None:
    """A number of the query; None if it is missing or no number."""
    try:
        number = float(request.query_params[name])
    except (KeyError, ValueError):
        return None
    return number if math.isfinite(number) and abs(number) < 1e9 else None


def _json(value: Any, status: int = 200) -> Response:
    return Response(encode(value), status, media_type="application/json")

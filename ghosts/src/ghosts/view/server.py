"""The viewer's server: a small JSON interface on localhost and the pages that use it.

It reads what it was started with and nothing else: names are looked up in lists, never joined to paths. Every error is
JSON, `{"error": "…"}`, with a 4xx status.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from anyio import CapacityLimiter, to_thread
from fastapi import FastAPI, Query, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response
from starlette.exceptions import HTTPException

from ghosts import __version__
from ghosts.view.ends import TRIES
from ghosts.view.film import film_pictures, write_pictures
from ghosts.view.guard import Guard
from ghosts.view.house3d import Houses3D
from ghosts.view.inspector import Inspector
from ghosts.view.library import Library
from ghosts.view.packed_arrays import pack
from ghosts.view.panorama import data_address, png
from ghosts.view.query import EpisodeQuery
from ghosts.view.record_json import frame_to_json, header_to_json, to_json
from ghosts.view.report import static_text
from ghosts.view.requests import Ask, AskCell, AskEnds, AskEpisodes, AskFilm, AskFrame, Pick, Read
from ghosts_sim.errors import ConfigError, DataError, GhostsError, MissingExtraError, UnknownNameError

MOST_THREADS = 4
MOST_FILMS = 8
"""Films that are drawn or wait for it."""
MEDIA = {".html": "text/html", ".css": "text/css", ".js": "text/javascript"}
LINE = ("confidence", "entropy_nats", "error_m", "left_m")
"""What a page draws over the steps of a walk."""
NameQuery = Annotated[str, Query(min_length=1, max_length=80)]


def make_app(
    library: Library, hosts: frozenset[str] = frozenset(), token: str = "", houses: Houses3D | None = None
) -> FastAPI:
    """The application.

    Args:
        library: what is shown.
        hosts: names besides localhost under which it may be called.
        token: what every request must show; nothing when empty.
        houses: what shows them in three dimensions; the library's own by default.
    """
    app = FastAPI(
        title="ghosts view", version=__version__, docs_url=None, redoc_url=None, openapi_url=None, lifespan=_few_threads
    )
    app.add_middleware(Guard, hosts=hosts, token=token)
    _pages(app)
    _lists(app, library)
    _queries(app, library)
    _houses(app, library, houses or Houses3D(library))
    add_errors(app)
    return app


@asynccontextmanager
async def _few_threads(app: FastAPI) -> AsyncIterator[None]:
    """Answers are made by a few threads: forty, as Starlette has them, are no faster and take memory each."""
    to_thread.current_default_thread_limiter().total_tokens = MOST_THREADS
    yield


def _pages(app: FastAPI) -> None:
    page = static_text("index.html")
    # What the page names is what there is to serve.
    texts = {name: static_text(name) for name in ("index.html", *re.findall(r'"/static/([\w.]+)"', page))}

    @app.get("/")
    def index() -> Response:
        return Response(page, media_type=MEDIA[".html"])

    @app.get("/static/{name}")
    def static(name: str) -> Response:
        if name not in texts:
            raise UnknownNameError("page", name[:80], [])
        return Response(texts[name], media_type=MEDIA[Path(name).suffix])

    @app.get("/favicon.ico")
    def icon() -> Response:
        return Response(status_code=204)


def _lists(app: FastAPI, library: Library) -> None:
    @app.get("/api/library")
    def everything() -> dict[str, Any]:
        worlds: dict[str, Any] = {}
        for world, model in library.pairs():
            inspector = library.inspector(world, model)
            entry = worlds.setdefault(
                world,
                {
                    "id": world,
                    "models": [],
                    "scans": inspector.data.scans,
                    "splits": library.splits(inspector),
                    "describes": library.can_describe(world),
                },
            )
            about = {
                "id": model,
                "filter": inspector.has_filter,
                "acts": inspector.acts,
                "same_as": library.same_as(model),
            }
            entry["models"].append(about)
        return {"version": __version__, "worlds": list(worlds.values())}

    @app.get("/api/training")
    def training() -> dict[str, Any]:
        return library.training()

    @app.get("/api/episodes")
    def episodes(asked: Annotated[AskEpisodes, Query()]) -> dict[str, Any]:
        inspector = library.inspector(asked.world, asked.model)
        _known_split(library, inspector, asked.split)
        found = library.episodes(inspector, asked.split, asked.scan, asked.find)
        ends, by_end = library.ends(inspector, asked.split, asked.scan), asked.sort in ("best", "worst")
        if asked.ended or by_end:
            ends.wait(lambda: False)
            found = [item for item in found if ends.left_m.get(item.instr_id) is not None]
            found = [item for item in found if not asked.ended or ends.arrived(item) == (asked.ended == "arrived")]
        if by_end:
            found.sort(key=lambda item: ends.left_m[item.instr_id] or 0.0, reverse=asked.sort == "worst")
        elif asked.sort != "listed":
            found.sort(key=lambda item: len(item.text.split()), reverse=asked.sort == "longest")
        listed = [
            {
                "split": asked.split,
                "instr_id": item.instr_id,
                "scan": item.scan,
                "text": item.text,
                "left_m": ends.left_m.get(item.instr_id),
            }
            for item in found[asked.offset : asked.offset + asked.limit]
        ]
        return {"total": len(found), "episodes": listed}

    @app.get("/api/ends")
    def how_walks_end(asked: Annotated[AskEnds, Query()]) -> dict[str, Any]:
        inspector = library.inspector(asked.world, asked.model)
        _known_split(library, inspector, asked.split)
        ends = library.ends(inspector, asked.split, asked.scan)
        ends.start()
        if asked.wait:
            ends.wait(lambda: bool(ends.first) or len(ends.left_m) >= TRIES)
        told = ends.told()
        return told | {"examples": [{**item, "split": asked.split} for item in told["examples"]]}

    @app.get("/api/scene")
    def scene(world: NameQuery, scan: NameQuery) -> dict[str, Any]:
        _known_scan(library, world, scan)
        return library.scene(world, scan)

    @app.get("/api/painting")
    def painting(world: NameQuery, scan: NameQuery, storey: Annotated[int, Query(ge=0, le=50)] = 0) -> dict[str, Any]:
        _known_scan(library, world, scan)
        storeys = range(len(library.scene(world, scan)["storeys"]))
        if storey not in storeys:
            raise UnknownNameError("storey", str(storey), map(str, storeys))
        painted = library.painting(world, scan, storey)
        return {"extent_m": painted.extent_m, "image": data_address("png", png(painted.rgba))}

    @app.get("/api/panorama")
    def panorama(world: NameQuery, scan: NameQuery, viewpoint: NameQuery) -> Response:
        _known_scan(library, world, scan)
        library.root(world).graph(scan).index(viewpoint)
        data = library.panorama(world, scan, viewpoint)
        return Response(data, media_type="image/jpeg", headers={"Cache-Control": "max-age=3600"})


def _queries(app: FastAPI, library: Library) -> None:
    # Whole walks take a second. They have a thread of their own, so that whoever steps through one does not wait.
    walks = CapacityLimiter(1)

    def picked(body: Pick) -> dict[str, Any]:
        inspector = library.inspector(body.world, body.model)
        _known_split(library, inspector, body.split)
        return header_to_json(inspector.header(library.query(inspector, body.split, body.instr_id, fixed=body.fixed)))

    def walked(body: Ask) -> dict[str, Any]:
        inspector, query = _query(library, body)
        return header_to_json(inspector.header(inspector.walked(query)))

    @app.post("/api/pick")
    async def pick(body: Pick) -> dict[str, Any]:
        return await to_thread.run_sync(picked, body, limiter=walks)

    @app.post("/api/ask")
    def ask(body: Ask) -> dict[str, Any]:
        inspector, query = _query(library, body)
        return header_to_json(inspector.header(query))

    @app.post("/api/read")
    def read(body: Read) -> dict[str, Any]:
        found = library.inspector(body.world, body.model).data.vocabulary.read(body.text)
        return {"notes": found.notes(), "doubts": found.doubts}

    @app.post("/api/line")
    async def line(body: Ask) -> list[dict[str, float | None]]:
        return await to_thread.run_sync(lined, body, limiter=walks)

    def lined(body: Ask) -> list[dict[str, float | None]]:
        inspector, query = _query(library, body)
        frames = (inspector.frame(query, step) for step in range(len(query.walk)))
        return [{name: getattr(frame, name) for name in LINE} for frame in frames]

    @app.post("/api/describe")
    async def describe(body: Ask) -> dict[str, str]:
        return await to_thread.run_sync(described, body, limiter=walks)

    def described(body: Ask) -> dict[str, str]:
        return {"text": library.describe(body.world, _query(library, body)[1])}

    @app.post("/api/walk")
    async def walk(body: Ask) -> dict[str, Any]:
        return await to_thread.run_sync(walked, body, limiter=walks)

    @app.post("/api/frame")
    def frame(body: AskFrame) -> dict[str, Any]:
        inspector, query = _query(library, body)
        return frame_to_json(inspector.frame(query, body.step))

    @app.post("/api/cell")
    def cell(body: AskCell) -> dict[str, Any]:
        inspector, query = _query(library, body)
        view = inspector.cell(query, body.step, body.filter_step, (body.x_m, body.y_m))
        numbers = {
            name: np.round(getattr(view, name), 7).tolist()
            for name in ("before", "prediction", "likelihood", "posterior")
        }
        return {"row": view.row, "col": view.col, "xy_m": view.xy_m, "kernel": pack(view.kernel), **numbers}

    @app.post("/api/record")
    def record(body: Ask) -> dict[str, Any]:
        inspector, query = _query(library, body)
        return to_json(replace(inspector.record(query), scene=library.scene(body.world, body.scan)))

    drawn: dict[str, tuple[int, int]] = {}

    @app.get("/api/film/{job}")
    def drawn_by_now(job: str) -> dict[str, int]:
        done, total = drawn.get(job, (0, 0))
        return {"done": done, "total": total}

    films, waiting = CapacityLimiter(1), set[str]()

    @app.post("/api/film")
    async def film(request: Request, body: AskFilm) -> Response:
        # A film of 40 stops takes half a minute and a thread: one at a time, and one of each visitor.
        visitor = request.client.host if request.client else ""
        if visitor in waiting:
            raise HTTPException(429, "a film is being drawn for you; ask again when it is there")
        if len(waiting) >= MOST_FILMS:
            raise HTTPException(429, f"{MOST_FILMS} films are being drawn for others; ask again in a minute")
        waiting.add(visitor)
        try:
            return await to_thread.run_sync(filmed, body, limiter=films)
        finally:
            waiting.discard(visitor)

    def filmed(body: AskFilm) -> Response:
        inspector, query = _query(library, body)
        records = [inspector.record(query)]
        if body.beside:
            records.append(library.inspector(body.world, body.beside).record(query))
        with tempfile.TemporaryDirectory() as folder:
            target = Path(folder) / f"episode.{body.kind}"
            scene = library.scene(body.world, body.scan)
            pictures = film_pictures(
                records,
                scene,
                ahead=lambda step: library.ahead(records[0], body.world, step),
                report=lambda done, total: drawn.update({body.job: (done, total)}),
            )
            try:
                write_pictures(target, pictures)
            finally:
                drawn.pop(body.job, None)
            data = target.read_bytes()
        return Response(data, media_type="video/mp4" if body.kind == "mp4" else "image/gif")


def _houses(app: FastAPI, library: Library, houses: Houses3D) -> None:
    kept = {"Cache-Control": "max-age=3600"}

    @app.get("/static/vendor/three.module.min.js")
    def three() -> Response:
        return Response(static_text("vendor/three.module.min.js"), media_type=MEDIA[".js"], headers=kept)

    @app.get("/api/house")
    def house(world: NameQuery, scan: NameQuery) -> Response:
        _known_scan(library, world, scan)
        return Response(houses.file(world, scan), media_type="model/gltf-binary", headers=kept)

    @app.post("/api/drive")
    def drive(body: Ask) -> dict[str, Any]:
        _, query = _query(library, body)
        return houses.drive(body.world, body.model, query)


def _known_split(library: Library, inspector: Inspector, split: str) -> None:
    if split not in library.splits(inspector):
        raise UnknownNameError("split", split, library.splits(inspector))


def _known_scan(library: Library, world: str, scan: str) -> None:
    scans = library.root(world).scans
    if scan not in scans:
        raise UnknownNameError("building", scan, scans)


def _query(library: Library, body: Ask) -> tuple[Inspector, EpisodeQuery]:
    inspector = library.inspector(body.world, body.model)
    if body.scan not in inspector.data.scans:
        raise UnknownNameError("building", body.scan, inspector.data.scans)
    graph = inspector.root.graph(body.scan)
    walk, path = (tuple(graph.index(name) for name in names) for names in (body.walk, body.path))
    off = [row for row in (*walk, *path) if not graph.included[row]]
    if off:
        raise ConfigError(f"nobody can stand at viewpoint {graph.ids[off[0]]}; choose another")
    return inspector, EpisodeQuery(body.scan, body.text, body.heading_rad, walk, path, body.instr_id, body.walked_by)


def add_errors(app: FastAPI) -> None:
    """Answer every error as JSON."""

    def answer(status: int, text: str) -> JSONResponse:
        return JSONResponse({"error": text}, status_code=status)

    @app.exception_handler(GhostsError)
    def ours(request: Request, error: GhostsError) -> JSONResponse:
        if isinstance(error, UnknownNameError):
            return answer(404, str(error))
        if isinstance(error, MissingExtraError):
            return answer(501, str(error))
        # A data error names files on this machine; the page is told what is wrong, the terminal where.
        return answer(400, error.problem if isinstance(error, DataError) else str(error))

    @app.exception_handler(RequestValidationError)
    def malformed(request: Request, error: RequestValidationError) -> JSONResponse:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"] if part not in ("body", "query"))
        return answer(422, f"{where}: {first['msg']}" if where else str(first["msg"]))

    @app.exception_handler(HTTPException)
    def missing(request: Request, error: HTTPException) -> JSONResponse:
        return answer(error.status_code, str(error.detail))

    @app.exception_handler(Exception)
    def broken(request: Request, error: Exception) -> JSONResponse:
        return answer(500, "the server failed at this; its terminal says why")

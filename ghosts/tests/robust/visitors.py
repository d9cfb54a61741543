"""The viewer under many visitors, by hand: memory, time per frame and processor time per frame, round by round.

Memory is what the system counts as the process's own and shared pages, now and at its peak.

`make script RUN="ghosts/tests/robust/visitors.py --data ROOT --run landmarks-agent"`. Each visitor picks an episode and
steps through it, as fast as the answers come. The load of the machine is told beside the figures: times on a busy one
mean little, processor time does.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

WAIT_S = 300


async def ask(port: int, path: str, body: dict[str, Any] | None = None) -> Any:
    """One request on a connection of its own; None where the viewer was busy and hung up."""
    try:
        reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=1 << 26)
        data = b"" if body is None else json.dumps(body).encode()
        kind = "GET" if body is None else "POST"
        head = f"{kind} {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\n"
        head += f"Content-Type: application/json\r\nContent-Length: {len(data)}\r\n\r\n"
        writer.write(head.encode() + data)
        answer = await asyncio.wait_for(reader.read(), WAIT_S)
        writer.close()
    except (TimeoutError, OSError):
        return None
    status, _, rest = answer.partition(b"\r\n")
    if b" 200 " not in status + b" ":
        return None
    return json.loads(rest.partition(b"\r\n\r\n")[2])


async def visit(port: int, where: dict[str, str], names: list[str], until: float, seed: int) -> list[float]:
    """One visitor: how long each frame took; of those that were not answered, infinitely."""
    chance, times = random.Random(seed), []
    while time.monotonic() < until:
        picked = await ask(port, "/api/pick", {**where, "instr_id": chance.choice(names)})
        if picked is None:
            times.append(float("inf"))
            continue
        same = {name: picked[name] for name in ("scan", "text", "walk", "path", "instr_id", "walked_by")}
        body = {"world": where["world"], "model": where["model"], "heading_rad": picked["start_heading_rad"], **same}
        for step in range(len(picked["walk"])):
            if time.monotonic() > until:
                break
            since = time.monotonic()
            frame = await ask(port, "/api/frame", {**body, "step": step})
            times.append(time.monotonic() - since if frame is not None else float("inf"))
    return times


def spent_s(process: int) -> float:
    """Processor time of a process."""
    numbers = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(numbers[11]) + int(numbers[12])) / os.sysconf("SC_CLK_TCK")


def memory(process: int) -> str:
    """Memory of a process, now and at its peak."""
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    kib = {name: int(value.split()[0]) for name, _, value in (line.partition(":") for line in lines) if "kB" in value}
    return f"{kib['VmRSS'] * 1024 / 1e6:.0f} MB, {kib['VmHWM'] * 1024 / 1e6:.0f} MB at the peak"


async def rounds(viewer: subprocess.Popen[bytes], options: argparse.Namespace) -> None:
    """All of them, one line per round; the viewer is stopped while visitors wait."""
    process = viewer.pid
    while (library := await ask(options.port, "/api/library")) is None:
        await asyncio.sleep(0.5)
    first = library["worlds"][0]
    world, model, split = first["id"], first["models"][0]["id"], options.split
    listed = await ask(options.port, f"/api/episodes?world={world}&model={model}&split={split}&limit=200")
    names = [item["instr_id"] for item in listed["episodes"]]
    where = {"world": world, "model": model, "split": split}
    print(f"before: {memory(process)}; {len(names)} episodes of {split}", flush=True)
    for number in range(options.rounds):
        until, before = time.monotonic() + options.seconds, spent_s(process)
        visits = (visit(options.port, where, names, until, 1000 * number + k) for k in range(options.clients))
        times = sorted(taken for some in await asyncio.gather(*visits) for taken in some)
        answered = [taken for taken in times if taken < float("inf")]
        if not answered:
            print(f"round {number + 1}: no frame answered, {memory(process)}", flush=True)
            continue
        print(
            f"round {number + 1}: {len(answered)} frames, {len(times) - len(answered)} not answered, "
            f"median {statistics.median(times):.2f} s, worst {max(answered):.1f} s, "
            f"{1000 * (spent_s(process) - before) / len(answered):.0f} ms of processor time per frame, "
            f"{memory(process)}, load {os.getloadavg()[0]:.1f}",
            flush=True,
        )
    picks = [{**where, "instr_id": random.Random(k).choice(names)} for k in range(options.clients)]
    waiting = asyncio.gather(*(ask(options.port, "/api/pick", body) for body in picks))
    await asyncio.sleep(0.5)
    since = time.monotonic()
    viewer.terminate()
    answers = await waiting
    await asyncio.to_thread(viewer.wait, 30)
    print(f"stopped after {time.monotonic() - since:.1f} s, {answers.count(None)} visitors waiting", flush=True)


def main() -> None:
    """Start the viewer, send the visitors, stop it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", required=True)
    parser.add_argument("--run", required=True)
    parser.add_argument("--split", default="val_seen")
    parser.add_argument("--clients", type=int, default=50)
    parser.add_argument("--seconds", type=float, default=44.0)
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--port", type=int, default=18472)
    options = parser.parse_args()
    code = "import sys; from ghosts_sim.cli import main; main(sys.argv[1:])"
    words = [
        "view",
        "--data",
        options.data,
        "--run",
        options.run,
        "--no-baseline",
        "--no-token",
        "--port",
        str(options.port),
    ]
    viewer = subprocess.Popen([sys.executable, "-c", code, *words], stdout=subprocess.DEVNULL)
    try:
        asyncio.run(rounds(viewer, options))
    finally:
        viewer.kill()
        viewer.wait(30)


if __name__ == "__main__":
    main()

"""Mutated files through the command line: no traceback, no signal, no hang, no gigabytes; and what is accepted is told.

For an hour, by hand: `make script RUN="ghosts/tests/robust/fuzz.py --minutes 60 --seed 7"`. The suite runs a bounded
part (`test_inputs.py`). Everything follows from the seed; a file that went wrong is kept, with its command line.

Commands run in forks of this process, which has everything imported: some ten files per second on a core of its own.
What is refused in words is found out in one fork for several files; everything else is tried again, each in its own.
"""

from __future__ import annotations

import argparse
import gc
import hashlib
import importlib
import io
import json
import os
import pkgutil
import re
import resource
import shutil
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

import numpy as np
import torch

sys.path.insert(0, str(Path(__file__).parent))
from formats import Format, cases
from fuzz_files import PAIRS, Pair, make_work
from mutations import double_fields, spoil_tensors

import ghosts
from ghosts_sim.cli import main

LONGEST_S, LONGEST_WAIT_S, MOST_BYTES = 30, 120, 2 << 30
"""Of the processor's time, and of time on a busy machine."""
TIMES = re.compile(
    r"^.*━.*$|[ ]*\d+\.?\d* (s|a second|per second|episodes/s|GB free)\b|0:00:\d\d"
    r"|\"(episodes_per_s|waiting)\": [\d.e-]+|[ ]+\d+\.\d[ ]+\d+$",
    re.MULTILINE,
)
"""What differs from run to run; the last is a table's column of episodes per second."""
GOOD = ("refused", "mended", "same")
SCREENED = 12
"""Pairs whose files one process tries first."""
TRACEBACK = 70
"""The exit status of a command that ended in an exception."""


@dataclass
class Tally:
    """What came of the files of a pair."""

    counts: Counter[str] = field(default_factory=Counter)
    most_bytes: int = 0
    told: list[str] = field(default_factory=list)


class Fuzzer:
    """Mutates files in a work folder and runs commands on them.

    Args:
        folder: empty; files that went wrong stay in it, under `wrong`.
        seed: of all mutations.
        pairs: files and commands that will be tried.
    """

    def __init__(self, folder: Path, seed: int, pairs: Sequence[Pair] = PAIRS) -> None:
        self.work, self.out, self.wrong, self.seed = folder / "work", folder / "out", folder / "wrong", seed
        self.learnt = folder / "modules"
        os.environ["GHOSTS_CACHE"] = str(self.work / "cache")
        for module in pkgutil.walk_packages(ghosts.__path__, "ghosts."):
            if not module.name.endswith("._native"):  # a library that is no module
                importlib.import_module(module.name)
        self.work.mkdir()
        # In a process of its own: whatever is kept of the sound files there cannot stand in for a spoilt one.
        status, output, _ = self.fork(lambda: make_work(self.work, any(pair.slow for pair in pairs)))
        assert status == 0, output
        self.tallies: dict[str, Tally] = defaultdict(Tally)
        self.paths = {pair: sorted(self.work.glob(pair.file))[0] for pair in pairs}
        self._sound: dict[Pair, tuple[str, str]] = {}
        self._tried: set[tuple[Pair, bytes]] = set()

    def mutations(self, pair: Pair, turn: int) -> Iterator[tuple[str, bytes | None]]:
        """Seeded damage, in a seeded order; None is a pipe in the file's place."""
        content = self.paths[pair].read_bytes()
        random = np.random.default_rng([self.seed, turn, *f"{pair.file} {pair.words}".encode()])
        less = 12 if len(content) > 1 << 20 else 1  # all are held in memory
        shape = Format(
            pair.name, Path, lambda path: None, pair.text, pair.lines, pair.json, bytes=12 // less, fields=40 // less
        )
        found: list[tuple[str, bytes | None]] = list(cases(shape, content, random))
        if not pair.copied:
            found.append(("a pipe in its place", None))
        if pair.json is not None:
            take, put = pair.json
            found += [(what, put(content, text)) for what, text in double_fields(take(content), random, 4)]
        if pair.tensors:
            found += spoil_tensors(content, random, 40 // less)
        for number in random.permutation(len(found)):
            what, spoilt = found[number]
            key = pair, hashlib.sha256(spoilt or b"a pipe").digest()
            if spoilt != content and key not in self._tried:
                self._tried.add(key)
                yield what, spoilt

    def round(self, pairs: Sequence[Pair], turn: int, most: int, until: float) -> int:
        """Some files of every pair; returns how many were tried."""
        tried = 0
        for first in range(0, len(pairs), SCREENED):
            if time.monotonic() > until:
                break
            files = [
                (pair, what, content)
                for pair in pairs[first : first + SCREENED]
                for what, content in islice(self.mutations(pair, turn), max(1, most // 12) if pair.slow else most)
            ]
            refused = self.screen([(pair, content) for pair, _, content in files])
            for (pair, what, content), done in zip(files, refused, strict=True):
                if done:
                    self.tallies[pair.name].counts["refused"] += 1
                else:
                    self.attempt(pair, what, content)
            tried += len(files)
        return tried

    def screen(self, files: Sequence[tuple[Pair, bytes | None]]) -> list[bool]:
        """Which files are refused in words that name them: one process tries them all, which saves half the time.

        The others, and those behind one that ends the process, are left to `attempt`.
        """
        noted = self.out.parent / "refused"
        noted.write_text("")
        sound = {pair: self.paths[pair].read_bytes() for pair, _ in files}
        _, _, most_bytes = self.fork(lambda: self._screen(files, sound, noted))
        for pair, content in sound.items():
            self._put(pair, content)
            tally = self.tallies[pair.name]
            tally.most_bytes = max(tally.most_bytes, most_bytes)
        refused = set(noted.read_text().split()) if most_bytes < MOST_BYTES else set()
        return [str(number) in refused for number in range(len(files))]

    def _screen(self, files: Sequence[tuple[Pair, bytes | None]], sound: dict[Pair, bytes], noted: Path) -> None:
        caches = [
            value
            for name, module in sys.modules.items()
            if name.startswith("ghosts.")
            for value in vars(module).values()
            if hasattr(value, "cache_clear")
        ]
        for number, (pair, content) in enumerate(files):
            signal.alarm(LONGEST_WAIT_S)
            spent, most = int(time.process_time()), resource.getrlimit(resource.RLIMIT_CPU)[1]
            resource.setrlimit(resource.RLIMIT_CPU, (min(spent + LONGEST_S, most), most))  # not all may raise `most`
            for cache in caches:
                cache.cache_clear()
            self._put(pair, content)
            words = self._place(pair)
            said, sys.stderr = sys.stderr, io.StringIO()
            try:
                main(words)
                status: object = 0
            except SystemExit as end:
                status = end.code
            except BaseException:
                status = TRACEBACK
            text, sys.stderr = sys.stderr.getvalue(), said
            self._put(pair, sound[pair])
            named = self.paths[pair].name in text or pair.words.startswith("doctor")
            if status == 1 and named and "Traceback" not in text:
                with open(noted, "a", encoding="utf-8") as file:
                    file.write(f"{number}\n")

    def _put(self, pair: Pair, content: bytes | None) -> None:
        """Another file in the place of a pair's; None is a pipe."""
        path = self.paths[pair]
        path.unlink(missing_ok=True)
        if content is None:
            os.mkfifo(path)
        else:
            path.write_bytes(content)

    def sound(self, pair: Pair) -> tuple[str, str]:
        """What the command answers to the sound file."""
        if pair not in self._sound:
            status, output, _ = self.run(pair, learn=True)
            assert status == int(pair.refused), f"{pair.words}: {output}"
            self._sound[pair] = self.answer(output)
            for name in self.learnt.read_text().split():
                # What the command imported late, the next one finds here.
                with suppress(Exception):
                    importlib.import_module(name)
            gc.freeze()
        return self._sound[pair]

    def attempt(self, pair: Pair, what: str, content: bytes | None) -> None:
        """One file."""
        path = self.paths[pair]
        sound = path.read_bytes()
        self._put(pair, content)
        status, output, most_bytes = self.run(pair)
        answer = self.answer(output)
        self._put(pair, sound)
        tally = self.tallies[pair.name]
        tally.most_bytes = max(tally.most_bytes, most_bytes)
        kind = self.judge(status, output, most_bytes) or self.compare(answer, self.sound(pair))
        tally.counts[kind] += 1
        if kind not in GOOD:
            tally.told.append(f"{kind}: {what}")
            print(f"{kind}: {pair.name}: {what}", file=sys.stderr, flush=True)
            folder = self.wrong if kind != "other" else self.wrong.with_name("other")
            folder.mkdir(exist_ok=True)
            name = f"{sum(item.counts.total() for item in self.tallies.values())}-{path.name}"
            (folder / name).write_bytes(content or b"")
            (folder / f"{name}.txt").write_text(f"{what}\nghosts {pair.words}\n{output}", errors="replace")

    def judge(self, status: int, output: str, most_bytes: int) -> str:
        """In a word, what came of it; nothing where the file was accepted."""
        if status < 0:
            return "hang" if -status in (signal.SIGALRM, signal.SIGXCPU) else f"signal {-status}"
        if status == TRACEBACK or "Traceback (most recent call last)" in output:
            return "traceback"
        if most_bytes > MOST_BYTES:
            return "memory"
        # 2: the command line itself is wrong, so that nothing was tried
        return {0: "", 2: "unknown words"}.get(status, "refused")

    def compare(self, answer: tuple[str, str], sound: tuple[str, str]) -> str:
        """In a word, what was accepted: something that was mended says so, and ends with the same files."""
        if answer == sound:
            return "same"
        return "mended" if sound[1] and answer[1] == sound[1] else "other"

    def answer(self, output: str) -> tuple[str, str]:
        """Digests of what a command said and wrote, without what differs from run to run."""
        said, digest = hashlib.sha256(TIMES.sub("", output).encode()).hexdigest(), hashlib.sha256()
        wrote = False
        for file in sorted(self.out.rglob("*")):
            if file.is_file():
                content = file.read_bytes()
                if file.suffix == ".jsonl":
                    content = TIMES.sub("", content.decode(errors="replace")).encode()
                digest.update(str(file.relative_to(self.out)).encode() + content)
                wrote = True
        return said, digest.hexdigest() if wrote else ""

    def run(self, pair: Pair, learn: bool = False) -> tuple[int, str, int]:
        """Exit status (negative: a signal), what was printed, and the most memory it had."""
        words = self._place(pair)
        return self.fork(lambda: self._learning(words) if learn else main(words))

    def _place(self, pair: Pair) -> list[str]:
        """Everything as before the command; returns its words."""
        shutil.rmtree(self.out, ignore_errors=True)
        self.out.mkdir()
        if pair.copied:
            shutil.copytree(self.work / pair.copied, self.out / pair.copied)
        return [word.format(work=self.work, out=self.out) for word in pair.words.split()]

    def _learning(self, words: list[str]) -> None:
        known = set(sys.modules)
        try:
            main(words)
        finally:
            self.learnt.write_text("\n".join(name for name in sys.modules if name not in known))

    def fork(self, do: Callable[[], object]) -> tuple[int, str, int]:
        """The same of anything, in a process of its own."""
        printed = self.out.parent / "printed"
        child = os.fork()
        if child == 0:
            _child(do, printed)
        _, status, usage = os.wait4(child, 0)
        code = -os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)
        return code, printed.read_text(errors="replace"), usage.ru_maxrss << 10


def _child(do: Callable[[], object], printed: Path) -> None:
    """The forked process; never returns."""
    status = TRACEBACK
    try:
        signal.alarm(LONGEST_WAIT_S)
        spent = int(time.process_time())
        resource.setrlimit(resource.RLIMIT_CPU, (spent + LONGEST_S, spent + 2 * LONGEST_S))
        descriptor = os.open(printed, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        for number in (1, 2):
            os.dup2(descriptor, number)
        sys.stdout, sys.stderr = (
            io.TextIOWrapper(io.FileIO(number, "w", closefd=False), encoding="utf-8") for number in (1, 2)
        )
        warnings.simplefilter("ignore")
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        try:
            do()
            status = 0
        except SystemExit as end:
            status = end.code if isinstance(end.code, int) else int(end.code is not None)
        except BaseException:
            traceback.print_exc()
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError):
                stream.flush()
    finally:
        os._exit(status)


def table(tallies: dict[str, Tally]) -> str:
    """Results for people."""
    kinds = [*GOOD, "other"]
    kinds += sorted({kind for tally in tallies.values() for kind in tally.counts} - set(kinds))
    lines = [
        "| file and command | files | " + " | ".join(kinds) + " | most memory |",
        "| --- |" + " ---: |" * (len(kinds) + 2),
    ]
    for name, tally in tallies.items():
        numbers = " | ".join(str(tally.counts[kind]) for kind in kinds)
        lines.append(f"| {name} | {tally.counts.total()} | {numbers} | {tally.most_bytes / 1e9:.2f} GB |")
    return "\n".join(lines)


def fuzz(arguments: list[str]) -> int:
    """Run by hand or by the suite; returns how many files went wrong."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=1e6, help="for how long")
    parser.add_argument("--files", type=int, default=10**9, help="how many, at most")
    parser.add_argument("--each", type=int, default=10, help="of a pair, before the next one")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--quick", action="store_true", help="fast pairs alone, without trying the sound files first")
    parser.add_argument("--keep", type=Path, help="folder for what went wrong or was answered otherwise")
    parser.add_argument("--json", action="store_true", help="print the results as JSON")
    options = parser.parse_args(arguments)
    torch.set_num_threads(1)
    folder = options.keep or Path(tempfile.mkdtemp(prefix="ghosts-fuzz-"))
    folder.mkdir(parents=True, exist_ok=True)
    pairs = [pair for pair in PAIRS if not (options.quick and pair.slow)]
    fuzzer = Fuzzer(folder, options.seed, pairs)
    for pair in () if options.quick else pairs:
        fuzzer.sound(pair)
    until, tried, turn = time.monotonic() + 60.0 * options.minutes, 0, 0
    while tried < options.files and time.monotonic() < until:
        tried += fuzzer.round(pairs, turn, min(options.each, options.files), until)
        turn += 1
        print(f"{tried} files", file=sys.stderr, flush=True)
    good = {*GOOD, "other"}
    bad = sum(count for tally in fuzzer.tallies.values() for kind, count in tally.counts.items() if kind not in good)
    if options.json:
        rows = {
            name: {**tally.counts, "bytes": tally.most_bytes, "told": tally.told}
            for name, tally in fuzzer.tallies.items()
        }
        print(json.dumps(rows))
    else:
        print(table(fuzzer.tallies))
        for name, tally in fuzzer.tallies.items():
            for line in tally.told:
                print(f"{name}: {line}")
    if bad or options.keep:
        print(f"{bad} files went wrong: {fuzzer.wrong}", file=sys.stderr)
    else:
        shutil.rmtree(folder, ignore_errors=True)
    return bad


if __name__ == "__main__":
    raise SystemExit(min(fuzz(sys.argv[1:]), 99))

#!/usr/bin/env python3
"""Measures credd against its peers in one run and prints one table.

Every load meets every server in turn, several times; the table gives medians and their ratio,
build/bench.json every sample. Needs the release binaries, a C compiler and, for the rows that
name them, redis-server, ssh-agent, git and valgrind; what is missing is said and left out.
"""

import argparse
import os
import pathlib
import shutil
import sys

import figures
import report
import servers
import workbench

ROOT = pathlib.Path(__file__).resolve().parent.parent
SOURCES = pathlib.Path(__file__).resolve().parent
BUSY = 0.5  # load average a processor above which the times are doubtful


def parse_arguments():
    release = ROOT / ".build" / "release"
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    path = {"type": lambda text: pathlib.Path(text).absolute(), "metavar": "PATH"}
    parser.add_argument("--credd", default=release / "credd", **path)
    parser.add_argument("--credctl", default=release / "credctl", **path)
    parser.add_argument("--sandbox", default=release / "credd-sandbox", **path)
    parser.add_argument("--credd-socket", help="measure a server that already runs", **path)
    parser.add_argument("--output", default=ROOT / "build" / "bench.json", **path)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=2, help="of each run of a load")
    parser.add_argument("--warm-up", type=float, default=0.3, help="seconds before each run")
    parser.add_argument("--spawns", type=int, default=100, help="processes a repeat")
    parser.add_argument("--quick", action="store_true", help="prove that it works; judge nothing")
    parser.add_argument(
        "--instructions", action="store_true", help="count instructions too (valgrind, slow)"
    )
    options = parser.parse_args()
    if options.quick:
        options.repeats, options.seconds, options.warm_up, options.spawns = 1, 0.3, 0.05, 5
    if options.repeats < 1 or options.seconds <= 0 or options.warm_up < 0 or options.spawns < 1:
        parser.error("repeats, seconds and spawns must be positive")
    return options


def build_yardsticks(folder):
    """The C programs, as an ordinary user of a C compiler would build them."""
    folder.mkdir(parents=True, exist_ok=True)
    compiler = os.environ.get("CC", "cc")
    if not shutil.which(compiler):
        raise workbench.BenchmarkError(f"missing: {compiler} (Debian: gcc and libc6-dev)")
    programs = {name: (name, []) for name in ("loadgen", "bare_epoll", "client", "spawn", "flood")}
    programs["client-static"] = ("client", ["-static"])
    for program, (source, flags) in programs.items():
        flags = ["-O2", "-Wall", "-Wextra", "-Werror", *flags]
        command = [compiler, *flags, "-o", folder / program, SOURCES / f"{source}.c"]
        workbench.run(command, 60)


class Benchmark:
    """One whole run: what was asked for, what was found, and what must be said with it."""

    def __init__(self, options):
        self.options = options
        self.programs = servers.Programs(
            options.credd, options.credctl, options.sandbox, ROOT / "build" / "bench"
        )
        self.rows, self.notes = [], []

    def say(self, text):
        """Progress, which is not part of the result."""
        print(f"bench: {text}", file=sys.stderr, flush=True)

    def note(self, text):
        """Something the reader of the table must know."""
        self.notes.append(text)
        self.say(text)

    def start_credd(self, bench):
        """Returns credd, the sandbox's URL (None for a server found running), and its size."""
        if self.options.credd_socket:
            credd = servers.running_credd(self.options.credd_socket)
            self.note(f"credd is whatever listens on {credd.socket}")
            return credd, None, {}
        for program in (self.programs.credd, self.programs.sandbox):
            if not program.exists():
                raise workbench.BenchmarkError(f"missing: {program} (swift build -c release)")
        base_url = servers.start_sandbox(bench, self.programs)
        credd = servers.start_credd(bench, self.programs, base_url)
        return credd, base_url, {"idle": workbench.memory(credd.pid)}

    def run(self, bench):
        options, programs = self.options, self.programs
        busy = os.getloadavg()[0] / (os.cpu_count() or 1)
        if busy > BUSY:
            self.note(f"the machine is busy (load {busy:.1f} a processor): distrust the times")
        build_yardsticks(programs.yardsticks)

        credd, base_url, moments = self.start_credd(bench)
        reply_length = len(workbench.ask(credd.socket, servers.REQUEST))
        moments["after an exchange"] = workbench.memory(credd.pid)
        self.say(f"replies of {reply_length} bytes")

        rivals = [credd, servers.start_bare(bench, programs, reply_length)]
        redis = servers.start_redis(bench, reply_length)
        if redis:
            rivals.append(redis)
        else:
            self.note("missing: redis-server (Debian: redis-server); its rows are left out")
        self.rows += figures.under_load(
            programs, rivals, options.repeats, options.seconds, options.warm_up, self.say
        )
        self.rows += figures.whole_processes(
            bench, programs, credd, options.repeats, options.spawns, self.note
        )
        self.rows += figures.beside_a_flood(
            programs, credd, options.repeats, options.seconds, options.warm_up, self.note
        )
        moments["after the load"] = workbench.memory(credd.pid)
        self.rows += figures.size(moments)
        if options.instructions:
            self.count_instructions(bench, base_url, reply_length)

    def count_instructions(self, bench, base_url, reply_length):
        if not shutil.which("valgrind"):
            self.note("missing: valgrind (Debian: valgrind); instructions are not counted")
        elif not base_url:
            self.note("a server that already runs cannot be counted in instructions")
        else:
            self.say("counting instructions")
            self.rows += figures.instructions(bench, self.programs, base_url, reply_length)

    def publish(self):
        settings = {
            name: getattr(self.options, name)
            for name in ("repeats", "seconds", "warm_up", "spawns", "quick")
        }
        judges = not self.options.quick
        contents = report.document(self.rows, self.notes, settings, judges)
        report.write(self.options.output, contents)
        print(report.table(self.rows, judges))
        for note in self.notes:
            print(f"note: {note}")


def main():
    workbench.end_on_sigterm()
    benchmark = Benchmark(parse_arguments())
    try:
        with workbench.Workbench() as bench:
            benchmark.run(bench)
    except (workbench.BenchmarkError, OSError) as error:
        sys.exit(f"bench: {error}")
    benchmark.publish()


if __name__ == "__main__":
    main()

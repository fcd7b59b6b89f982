#!/usr/bin/env python3
"""Measures credd against its peers in one run and prints one table.

credd and its peers take turns, several times. The table gives medians and their ratio;
build/bench.json has every sample. This needs the release binaries, a C compiler with libcurl and,
for the rows that name them, redis-server, ssh-agent, git, openssl and valgrind. If one of these is
missing, a note says so and its rows are left out.
"""

import argparse
import os
import pathlib
import sys

import derived
import endpoint
import figures
import footprint
import hotpath
import load
import many_sessions
import passing_users
import processes
import report
import servers
import signing_in
import starting
import waiting
import workbench
import yardsticks

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUSY = 0.5  # above this load average for each processor, the times are doubtful

# What --quick changes: every group runs, and no goal is judged. It may run beside builds, where a
# sandbox of lower priority would answer too late for credd.
QUICK = {
    "repeats": 1, "seconds": 0.3, "warm_up": 0.05, "spawns": 5, "starts": 2, "waiters": 50,
    "rounds": 1, "sessions": 300, "sign_ins": 10, "idle": 500, "rest": 1, "floods": ["mixed"],
    "niceness": 0,
}  # fmt: skip
GROUPS = {
    "load": "1 to 5",
    "flood": "beside a flood",
    "process": "6",
    "instructions": "7",
    "start": "8",
    "footprint": "9, 12, 13",
    "sessions": "10 and 11",
    "size": "14",
    "wait": "15",
    "users": "16",
    "sign-in": "17",
    "endpoint": "18",
    "derived": "19",
}


def parse_arguments():
    release = ROOT / "build" / "bin"
    parser = argparse.ArgumentParser(
        description=__doc__.splitlines()[0],
        epilog="Groups: " + "; ".join(f"{name} ({what})" for name, what in GROUPS.items()) + ".",
    )
    path = {"type": lambda text: pathlib.Path(text).absolute(), "metavar": "PATH"}
    parser.add_argument("--credd", default=release / "credd", **path)
    parser.add_argument("--credctl", default=release / "credctl", **path)
    parser.add_argument("--sandbox", default=release / "credd-sandbox", **path)
    parser.add_argument(
        "--credd-socket", help="measure a server that already runs, under load only", **path
    )
    parser.add_argument("--output", default=ROOT / "build" / "bench.json", **path)
    parser.add_argument("--only", nargs="+", choices=GROUPS, default=list(GROUPS), metavar="GROUP")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=1.5, help="length of each run of a load")
    parser.add_argument("--warm-up", type=float, default=0.3, help="seconds before each run")
    parser.add_argument("--spawns", type=int, default=100, help="processes in each repeat")
    parser.add_argument("--starts", type=int, default=25, help="daemons to start")
    parser.add_argument("--waiters", type=int, default=1000, help="clients of one session")
    parser.add_argument("--rounds", type=int, default=4, help="rounds of waiting in each repeat")
    parser.add_argument("--sessions", type=int, default=100_000)
    parser.add_argument("--sign-ins", type=int, default=100, help="sign-ins at once")
    parser.add_argument("--idle", type=int, default=20_000, help="idle connections")
    parser.add_argument("--rest", type=float, default=5, help="seconds to leave a daemon alone")
    parser.add_argument("--niceness", type=int, default=10, help="of the sandbox of many users")
    parser.add_argument("--floods", nargs="+", choices=figures.FLOODS, default=figures.FLOODS)
    parser.add_argument("--quick", action="store_true", help="run all groups; judge no goal")
    options = parser.parse_args()
    if options.quick:
        vars(options).update(QUICK)
        # scripts/hot-path counts instructions, and takes longer than all other groups together.
        options.only = [group for group in options.only if group != "instructions"]
    if options.credd_socket:
        options.only = [group for group in options.only if group in ("load", "flood", "process")]
    numbers = [vars(options)[name] for name in QUICK if name not in ("floods", "niceness")]
    if min(numbers) <= 0:
        parser.error("all numbers must be positive")
    return options


class Benchmark:
    """One whole run: its options, its results, and the notes that the table needs."""

    def __init__(self, options):
        self.options = options
        self.programs = servers.Programs(
            options.credd, options.credctl, options.sandbox, ROOT / "build" / "bench"
        )
        self.bench = None  # set while it runs
        self.results, self.notes = {}, []

    def say(self, text):
        """Prints progress, which is not part of the result."""
        print(f"bench: {text}", file=sys.stderr, flush=True)

    def note(self, text):
        """Keeps a note for the reader of the table."""
        self.notes.append(text)
        self.say(text)

    def has(self, *groups):
        return any(group in self.options.only for group in groups)

    def run(self, bench):
        self.bench, options, programs = bench, self.options, self.programs
        busy = os.getloadavg()[0] / (os.cpu_count() or 1)
        if busy > BUSY:
            self.note(f"the machine is busy (load {busy:.1f} a processor): do not trust the times")
        yardsticks.build(programs.yardsticks)
        if options.credd_socket:
            credd = servers.running_credd(options.credd_socket)
            self.note(f"credd is the server that listens on {credd.socket}")
            return self.measure_serving(credd)
        for program in (programs.credd, programs.sandbox):
            if not program.exists():
                raise workbench.BenchmarkError(f"missing: {program} (make release)")
        if self.has("sessions", "users", "sign-in", "derived"):
            many_sessions.own_users(bench.folder, max(options.sessions, options.sign_ins))
        self.measure_all()

    def measure_all(self):
        bench, programs, results = self.bench, self.programs, self.results
        # This daemon is left alone while the others are measured.
        resting = footprint.RestingDaemon(self) if self.has("footprint") else None
        base_url = servers.start_sandbox(bench, programs)
        if self.has("load", "flood", "process"):
            credd = servers.start_credd(bench, programs, base_url)
            self.measure_serving(credd)
            results.update(footprint.after_load(credd.pid))
        if resting:
            resting.settle()
        if self.has("start"):
            self.say("starting")
            results.update(starting.start(self, base_url))
        if self.has("wait"):
            self.say("waiting")
            results.update(waiting.wait(self, base_url))
        if self.has("instructions"):
            self.say("counting instructions")
            reply_length = self.learn_reply(base_url)
            results.update(hotpath.count(self, base_url, reply_length))
        if self.has("sessions"):
            results.update(many_sessions.measure(self))
        if self.has("users"):
            self.say("passing users")
            results.update(passing_users.measure(self))
        if self.has("derived"):
            self.say("derived sessions")
            results.update(derived.measure(self))
        if self.has("sign-in"):
            self.say("signing in")
            results.update(signing_in.measure(self))
        if self.has("endpoint"):
            self.say("the endpoint")
            results.update(endpoint.measure(self, base_url))
        if resting:
            self.say("holding idle connections")
            results.update(resting.finish())
        if self.has("size"):
            results.update(footprint.sizes(programs))

    def learn_reply(self, base_url):
        credd = servers.start_credd(self.bench, self.programs, base_url, "asked-once")
        reply = workbench.ask(credd.socket, servers.REQUEST)
        self.bench.stop_last()
        return len(reply)

    def measure_serving(self, credd):
        """Measures what needs only credd's socket."""
        bench, results = self.bench, self.results
        reply_length = len(workbench.ask(credd.socket, servers.REQUEST))
        self.say(f"replies of {reply_length} bytes")
        if self.has("load"):
            rivals = [credd, servers.start_bare(bench, self.programs, reply_length)]
            redis = servers.start_redis(bench, reply_length)
            if redis:
                rivals.append(redis)
            else:
                self.note("missing: redis-server (Debian: redis-server); its rows are left out")
            results.update(load.under_load(self, rivals))
        if self.has("process"):
            self.say("whole processes")
            results.update(processes.whole_processes(self, credd))
        if self.has("flood"):
            results.update(load.beside_a_flood(self, credd))

    def publish(self):
        settings = {name: getattr(self.options, name) for name in (*QUICK, "quick", "only")}
        judges = not self.options.quick
        rows = figures.rows(self.results)
        report.write(self.options.output, report.document(rows, self.notes, settings, judges))
        print(report.table(rows, judges))
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

"""What is measured, against whom, and the goals. Each figure is one row of the table a peer."""

import contextlib
import dataclasses
import json
import os
import statistics
import subprocess
import time

import servers
import workbench

LOADGEN_GRACE = 60  # seconds beyond its own end, for the first reply and the connections


@dataclasses.dataclass(frozen=True)
class Goal:
    """A bound on credd's value divided by the peer's or, where there is no peer, on the value."""

    bound: float
    is_floor: bool

    def met_by(self, number):
        return number >= self.bound if self.is_floor else number <= self.bound

    def __str__(self):
        return f"{'≥' if self.is_floor else '≤'} {self.bound:g}"


def at_least(bound):
    return Goal(bound, is_floor=True)


def at_most(bound):
    return Goal(bound, is_floor=False)


@dataclasses.dataclass(frozen=True)
class Row:
    """A figure of credd's and one peer's. Samples are one a repeat, in the order of measuring."""

    figure: str
    unit: str
    credd: list
    peer: str = ""
    peer_samples: list = dataclasses.field(default_factory=list)
    goal: Goal | None = None

    @property
    def value(self):
        return statistics.median(self.credd)

    @property
    def peer_value(self):
        return statistics.median(self.peer_samples) if self.peer_samples else None

    @property
    def ratio(self):
        return self.value / self.peer_value if self.peer_value else None

    @property
    def met(self):
        if not self.goal:
            return None
        return self.goal.met_by(self.value if self.ratio is None else self.ratio)


# --- Servers under load --------------------------------------------------------------------------

LOADS = {
    "steady": ["--connections", 50],
    "pipelined": ["--connections", 50, "--pipeline", 16],
    "reconnect": ["--connections", 50, "--mode", "reconnect"],
    "single": ["--connections", 1],
}


@dataclasses.dataclass(frozen=True)
class LoadFigure:
    """A figure taken from one kind of load, and for each peer its goal or None."""

    name: str
    unit: str
    load: str
    path: tuple  # into what loadgen and `measure` report
    peers: dict


RATE = ("requests_per_second",)

LOAD_FIGURES = [
    LoadFigure(
        "cached get, 50 connections", "requests/s", "steady", RATE,
        {"bare C": at_least(0.85), "redis-server": at_least(1.0)},
    ),
    LoadFigure(
        "  its p99", "µs", "steady", ("latency_us", "p99"),
        {"bare C": None, "redis-server": at_most(1.0)},
    ),
    LoadFigure(
        "  the server's processor time each", "µs", "steady", ("server_us",),
        {"bare C": None, "redis-server": None},
    ),
    LoadFigure(
        "the same, pipeline of 16", "requests/s", "pipelined", RATE,
        {"bare C": None, "redis-server": at_least(1.0)},
    ),
    LoadFigure(
        "connect + get + close", "1/s", "reconnect", RATE,
        {"bare C": at_least(0.8), "redis-server": None},
    ),
    LoadFigure(
        "one connection, p50", "µs", "single", ("latency_us", "p50"),
        {"bare C": at_most(1.05), "redis-server": None},
    ),
]


def measure(programs, server, load, seconds, warm_up, *more):
    """One run of loadgen; adds the server's own processor time a request."""
    command = [programs.yardsticks / "loadgen", "--socket", server.socket, *server.request]
    command += [*LOADS[load], "--seconds", seconds, "--warm-up", warm_up, "--json", *more]
    before = workbench.processor_seconds(server.pid)
    result = json.loads(workbench.run(command, seconds + warm_up + LOADGEN_GRACE))
    spent = workbench.processor_seconds(server.pid) - before
    if result["errors"]:
        raise workbench.BenchmarkError(f"{server.name}, {load}: {result['errors']} errors")
    result["server_us"] = spent * 1e6 / (result["requests"] + result["requests_in_warm_up"])
    return result


def under_load(programs, rivals, repeats, seconds, warm_up, say):
    """Every load on every server, taking turns; the order changes with each repeat."""
    results = {}
    for repeat in range(repeats):
        say(f"repeat {repeat + 1} of {repeats}")
        shift = repeat % len(rivals)
        for load in LOADS:
            for server in rivals[shift:] + rivals[:shift]:
                result = measure(programs, server, load, seconds, warm_up)
                results.setdefault((load, server.name), []).append(result)
    names = {server.name for server in rivals}
    for figure in LOAD_FIGURES:
        samples = {
            name: [pick(result, figure.path) for result in results[figure.load, name]]
            for name in names
        }
        for peer, goal in figure.peers.items():
            if peer in names:
                ours, theirs = samples["credd"], samples[peer]
                yield Row(figure.name, figure.unit, ours, peer, theirs, goal)


def pick(result, path):
    for key in path:
        result = result[key]
    return result


# --- A quiet user beside one who floods ----------------------------------------------------------

FLOODS = ["pipelining", "slow-reader", "slow-writer", "half-line", "reconnecting", "mixed"]
FLOOD_GOAL = at_most(3)
FLOOD_USER = 65534  # nobody
FLOOD_SECONDS_TO_BEGIN = 0.3


@contextlib.contextmanager
def flood(programs, server, kind):
    """50 connections of another user that do their worst."""
    command = [programs.yardsticks / "flood", "--socket", server.socket, "--kind", kind]
    command += ["--uid", FLOOD_USER, *server.request]
    process = subprocess.Popen([str(word) for word in command], stderr=subprocess.DEVNULL)
    try:
        time.sleep(FLOOD_SECONDS_TO_BEGIN)
        if process.poll() is not None:
            raise workbench.BenchmarkError(f"flood ended with status {process.returncode}")
        yield
    finally:
        process.kill()
        process.wait()


def beside_a_flood(programs, server, repeats, seconds, warm_up, say):
    """The p99 of one connection's requests, over what it is without the flood just before."""
    if os.geteuid() != 0:
        say("another user's flood takes root; its rows are left out")
        return
    for kind in FLOODS:
        quiet, beside = [], []
        for _ in range(repeats):
            alone = measure(programs, server, "single", seconds, warm_up)
            with flood(programs, server, kind):
                among = measure(programs, server, "single", seconds, warm_up)
            quiet.append(alone["latency_us"]["p99"])
            beside.append(among["latency_us"]["p99"])
        yield Row(f"p99 beside a flood: {kind}", "µs", beside, "quiet", quiet, FLOOD_GOAL)


# --- Whole processes -----------------------------------------------------------------------------

PROCESS_GOALS = {
    "C client": at_most(1.5),
    "C client, static": None,
    "ssh-add -l": at_most(0.35),
    "git credential-cache get": at_most(0.35),
}


def whole_processes(bench, programs, credd, repeats, count, say):
    """`credctl get` and its peers, from spawn to wait, taking turns."""
    client = [servers.REQUEST]
    commands = {
        "credctl": [programs.credctl, "--socket", credd.socket, "get"]
        + ["--profile", servers.PROFILE],
        "C client": [programs.yardsticks / "client", credd.socket, *client],
        "C client, static": [programs.yardsticks / "client-static", credd.socket, *client],
    }
    environment = servers.start_ssh_agent(bench)
    if environment:
        commands["ssh-add -l"] = ["ssh-add", "-l"]
    git_socket = servers.start_git_cache(bench)
    if git_socket:
        get = ["git", "credential-cache", "--socket", git_socket, "get"]
        commands["git credential-cache get"] = get
    for name in PROCESS_GOALS.keys() - commands.keys():
        say(f"missing: {name}; its row is left out")
    if not programs.credctl.exists():
        say(f"missing: {programs.credctl}; the rows of whole processes are left out")
        return
    question = bench.file("question", "protocol=https\nhost=example.com\n\n")
    spawn = [programs.yardsticks / "spawn", "--count", count, "--stdin", question]
    for command in commands.values():
        spawn += ["--", *command]
    samples = {name: [] for name in commands}
    for _ in range(repeats):
        timed = json.loads(workbench.run(spawn, 180, environment))
        for name, result in zip(commands, timed, strict=True):
            samples[name].append(result["wall_us"]["median"])
    name, ours = "credctl get, whole process", samples["credctl"]
    for peer, goal in PROCESS_GOALS.items():
        if peer in samples:
            yield Row(name, "µs", ours, peer, samples[peer], goal)


# --- Size ----------------------------------------------------------------------------------------

MEMORY_GOALS = {
    ("idle", "rss"): at_most(10),
    ("after an exchange", "rss"): at_most(18),
    ("after an exchange", "private"): at_most(4),
    ("idle", "threads"): at_most(1),
    ("after an exchange", "threads"): at_most(1),
}
MEMORY_NAMES = {
    "rss": ("resident memory", "MB"),
    "private": ("private memory", "MB"),
    "threads": ("threads", ""),
}


def size(moments):
    """Rows from `workbench.memory` at several moments, by name."""
    for key, (name, unit) in MEMORY_NAMES.items():
        for moment, figures in moments.items():
            goal = MEMORY_GOALS.get((moment, key))
            yield Row(f"{name}, {moment}", unit, [figures[key]], goal=goal)


# --- Instructions --------------------------------------------------------------------------------

CALLGRIND_COUNTS = (1000, 11000)


def instructions(bench, programs, base_url, reply_length):
    """User-space instructions a cached get, by callgrind.

    Two runs of different length are compared, so that starting and stopping cancel out.
    """

    def counted(kind, count):
        output = bench.folder / f"{kind}-{count}.callgrind"
        under = ["valgrind", "--tool=callgrind", "-q", f"--callgrind-out-file={output}"]
        name = f"{kind}-{count}"
        if kind == "credd":
            server = servers.start_credd(bench, programs, base_url, name, under)
        else:
            server = servers.start_bare(bench, programs, reply_length, name, under)
        result = measure(programs, server, "single", 60, 0, "--count", count)
        bench.stop_last()  # callgrind writes at the end
        lines = output.read_text(errors="replace").splitlines()
        totals = [line for line in lines if line.startswith(("totals:", "summary:"))]
        return result["requests"], int(totals[-1].split()[1])

    def each(kind):
        (few, low), (many, high) = (counted(kind, count) for count in CALLGRIND_COUNTS)
        return (high - low) / (many - few)

    yield Row("user instructions a cached get", "", [each("credd")], "bare C", [each("bare")])

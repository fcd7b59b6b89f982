"""Servers under load: figures 1 to 5, and a quiet user beside a user that floods the server."""

import contextlib
import json
import os
import subprocess
import time

import figures
import workbench

LOADGEN_GRACE = 60  # seconds beyond the run itself, for the first reply and the connections

LOADS = {
    "steady": ["--connections", 50],
    "pipelined": ["--connections", 50, "--pipeline", 16],
    "reconnect": ["--connections", 50, "--mode", "reconnect"],
    "single": ["--connections", 1],
}

# For each figure: its load, and its place in the result of `measure`.
FIGURES = {
    "get": ("steady", ["requests_per_second"]),
    "get, p99": ("steady", ["latency_us", "p99"]),
    "get, processor": ("steady", ["server_us"]),
    "pipeline": ("pipelined", ["requests_per_second"]),
    "reconnect": ("reconnect", ["requests_per_second"]),
    "single": ("single", ["latency_us", "p50"]),
}

FLOOD_USER = 65534  # nobody
FLOOD_SECONDS_TO_BEGIN = 0.3


def measure(programs, server, load, seconds, warm_up, *more):
    """One run of loadgen; an error in a reply is a failure."""
    command = [programs.yardsticks / "loadgen", "--socket", server.socket, *server.request]
    command += ["--server", server.pid, *LOADS[load]]
    command += ["--seconds", seconds, "--warm-up", warm_up, "--json", *more]
    result = json.loads(workbench.run(command, seconds + warm_up + LOADGEN_GRACE))
    if result["errors"]:
        raise workbench.BenchmarkError(f"{server.name}, {load}: {result['errors']} errors")
    return result


def under_load(run, rivals):
    """Runs every load on every server in turns; the order changes with each repeat."""
    options, samples = run.options, {}
    for repeat in range(options.repeats):
        run.say(f"repeat {repeat + 1} of {options.repeats}")
        shift = repeat % len(rivals)
        for load in LOADS:
            for server in rivals[shift:] + rivals[:shift]:
                result = measure(run.programs, server, load, options.seconds, options.warm_up)
                samples.setdefault((load, server.name), []).append(result)
    results = {}
    for key, (load, path) in FIGURES.items():
        of = {
            server.name: [pick(result, path) for result in samples[load, server.name]]
            for server in rivals
        }
        results[key] = figures.Measured(of.pop("credd"), of)
    return results


def pick(result, path):
    for key in path:
        result = result[key]
    return result


@contextlib.contextmanager
def flood(programs, server, kind):
    """Floods the server from 50 connections of another user.

    Server, quiet user and flood compete for processors. The flood runs at the lowest priority, so
    that it gets what the other two leave: the scheduler's choice is not what is measured.
    """
    command = ["nice", "-n", "19", programs.yardsticks / "flood", "--socket", server.socket, "--kind", kind]
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


def beside_a_flood(run, server):
    """The p99 of one connection's requests beside a flood, and just before it without a flood."""
    if os.geteuid() != 0:
        run.note("a flood by another user needs root; its rows are left out")
        return {}
    options, results = run.options, {}
    for kind in options.floods:
        run.say(f"beside a flood: {kind}")
        quiet, beside = [], []
        for _ in range(options.repeats):
            seconds = options.seconds / 2  # 10,000 requests; the slowest 100 are above the p99
            alone = measure(run.programs, server, "single", seconds, options.warm_up)
            with flood(run.programs, server, kind):
                among = measure(run.programs, server, "single", seconds, options.warm_up)
            quiet.append(alone["latency_us"]["p99"])
            beside.append(among["latency_us"]["p99"])
        results[f"flood, {kind}"] = figures.Measured(beside, {"quiet": quiet})
    return results

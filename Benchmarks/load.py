"""Servers under load: figures 1 to 5, and a quiet user beside one who floods."""

import contextlib
import json
import os
import subprocess
import time

import figures
import workbench

LOADGEN_GRACE = 60  # seconds beyond its own end, for the first reply and the connections

LOADS = {
    "steady": ["--connections", 50],
    "pipelined": ["--connections", 50, "--pipeline", 16],
    "reconnect": ["--connections", 50, "--mode", "reconnect"],
    "single": ["--connections", 1],
}

# Each figure's load, and where in what `measure` reports it is.
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
    """One run of loadgen, without errors."""
    command = [programs.yardsticks / "loadgen", "--socket", server.socket, *server.request]
    command += ["--server", server.pid, *LOADS[load]]
    command += ["--seconds", seconds, "--warm-up", warm_up, "--json", *more]
    result = json.loads(workbench.run(command, seconds + warm_up + LOADGEN_GRACE))
    if result["errors"]:
        raise workbench.BenchmarkError(f"{server.name}, {load}: {result['errors']} errors")
    return result


def under_load(run, rivals):
    """Every load on every server, taking turns; the order changes with each repeat."""
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
    """50 connections of another user that do their worst.

    Who gets a processor is the scheduler's business, and all three want one: the flood gets what
    the server and the quiet user leave.
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
    """The p99 of one connection's requests, and what it is without the flood just before."""
    if os.geteuid() != 0:
        run.note("another user's flood takes root; its rows are left out")
        return {}
    options, results = run.options, {}
    for kind in options.floods:
        run.say(f"beside a flood: {kind}")
        quiet, beside = [], []
        for _ in range(options.repeats):
            seconds = options.seconds / 2  # 10,000 requests, of which p99 is the slowest 100
            alone = measure(run.programs, server, "single", seconds, options.warm_up)
            with flood(run.programs, server, kind):
                among = measure(run.programs, server, "single", seconds, options.warm_up)
            quiet.append(alone["latency_us"]["p99"])
            beside.append(among["latency_us"]["p99"])
        results[f"flood, {kind}"] = figures.Measured(beside, {"quiet": quiet})
    return results

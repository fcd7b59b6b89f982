"""Instructions and allocations of a cached get: figure 7, counted by callgrind.

Counts do not vary as times do, so scripts/hot-path checks them for every change.
"""

import json
import re
import shutil
import socket
import time

import figures
import load
import servers
import workbench

# Requests of two runs. Their difference leaves out the cost of starting and stopping.
COUNTS = (1000, 11000)
ALLOCATORS = {
    "malloc", "calloc", "realloc", "memalign", "aligned_alloc", "posix_memalign",
}  # fmt: skip
START_SECONDS = 120  # under valgrind, on a busy machine


def profile(path):
    """Instructions, and calls of an allocator by other functions, in callgrind's output."""
    names, caller, callee = {}, "", ""
    instructions = allocations = 0
    with path.open(errors="replace") as lines:
        for line in lines:
            function = re.match(r"(c?)fn=\((\d+)\)(?: (.*))?", line)
            if function:
                is_callee, number, name = function.groups()
                if name:
                    names[number] = name.split("'")[0]  # malloc'2: a recursive call
                if is_callee:
                    callee = names[number]
                else:
                    caller = names[number]
            elif line.startswith("calls="):
                if callee in ALLOCATORS and caller not in ALLOCATORS:
                    allocations += int(line[len("calls=") :].split()[0])
            elif line.startswith(("totals:", "summary:")):
                instructions = int(line.split()[1])
    return instructions, allocations


def fill_cache(path, asked):
    """Waits for the first credentials: under valgrind, on a busy machine, they take so long that
    calls end with `Timeout` first."""
    deadline = time.monotonic() + START_SECONDS
    while True:
        left = deadline - time.monotonic()
        if left <= 0:
            raise workbench.BenchmarkError(f"no credentials within {START_SECONDS} s: {reply}")
        with socket.socket(socket.AF_UNIX) as client:
            client.settimeout(left)
            client.connect(str(path))
            request = {"op": "get", "profile": asked, "wait": max(1, int(left))}
            client.sendall(json.dumps(request).encode() + b"\n")
            reply = json.loads(client.makefile("rb").readline())
        error = reply.get("Error")
        if not error:
            return
        if error["Kind"] != "temporary":
            raise workbench.BenchmarkError(f"no credentials: {error}")
        time.sleep(error.get("RetryAfter", 1))


def counted(bench, programs, kind, count, start, asked):
    """Runs a server under callgrind from start to end, with `count` requests."""
    output = bench.folder / f"{kind}-{count}.callgrind"
    under = ["valgrind", "--tool=callgrind", "-q", f"--callgrind-out-file={output}"]
    server = start(f"{kind}-{count}", under)
    fill_cache(server.socket, asked)
    result = load.measure(programs, server, "single", 60, 0, "--count", count)
    bench.stop_last()  # callgrind writes its file when the server ends
    return result["requests"], *profile(output)


def each(bench, programs, kind, start, asked=servers.PROFILE):
    """Instructions and allocations of one request."""
    (few, *low), (many, *high) = (
        counted(bench, programs, kind, count, start, asked) for count in COUNTS
    )
    return [(after - before) / (many - few) for before, after in zip(low, high)]


def of_credd(bench, programs, base_url, asked=servers.PROFILE):
    """Allocations are rounded to a tenth: they include rare work of the daemon that no request
    causes, such as writing its status line."""
    instructions, allocations = each(
        bench, programs, f"credd-{asked}",
        lambda name, under: servers.start_credd(bench, programs, base_url, name, under, asked),
        asked,
    )  # fmt: skip
    return instructions, max(round(allocations, 1), 0)


def count(run, base_url, reply_length):
    if not shutil.which("valgrind"):
        run.note("missing: valgrind (Debian: valgrind); instructions are not counted")
        return {}
    bench, programs = run.bench, run.programs
    instructions, allocations = of_credd(bench, programs, base_url)
    derived = of_credd(bench, programs, base_url, servers.DERIVED)
    bare, _ = each(
        bench, programs, "bare",
        lambda name, under: servers.start_bare(bench, programs, reply_length, name, under),
    )  # fmt: skip
    return {
        "instructions": figures.Measured([instructions], {"bare C": [bare]}),
        "allocations": figures.Measured([allocations]),
        "instructions, derived": figures.Measured([derived[0]]),
        "allocations, derived": figures.Measured([derived[1]]),
    }

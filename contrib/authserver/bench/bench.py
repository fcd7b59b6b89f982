#!/usr/bin/env python3
"""Measures token callbacks with Cognito answered at once: the authentication server on SQLite and on
PostgreSQL, beside the callback of docs/backend.md under gunicorn, in the same run.

    bench.py --authserver PROGRAM --python PYTHON [--seconds 10] [--check]

With few connections nothing is written together: 4 show what a callback costs by itself, 32 a fleet.

What counts is tokens for each second of processor time of the server, because all programs share
this machine's processors; PostgreSQL's time counts as the server's. With --check it fails where the
authentication server makes less than five times the sample's.
"""

import argparse
import contextlib
import json
import os
import pathlib
import shutil
import socket
import subprocess
import sys
import tempfile
import time

SAMPLE = "the pages' sample, gunicorn"
HERE = pathlib.Path(__file__).parent
POOL = "us-east-1:11111111-2222-3333-4444-555555555555"
TICK = os.sysconf("SC_CLK_TCK")


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def wait_for(port, process):
    for _ in range(300):
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return
        if process.poll() is not None:
            break
        time.sleep(0.05)
    sys.exit(f"nothing listens on port {port}: {process.args}")


@contextlib.contextmanager
def running(arguments, environment, port, log):
    with open(log, "w") as output:
        process = subprocess.Popen(
            arguments, env=environment, stdout=output, stderr=output, start_new_session=True)
    try:
        wait_for(port, process)
        yield process.pid
    finally:
        process.terminate()
        process.wait()


def processor_seconds(root):
    """Of a process and all that it has started."""
    children = {}
    for stat in pathlib.Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            fields = stat.read_text().rsplit(") ", 1)[1].split()
            children.setdefault(int(fields[1]), []).append(
                (int(stat.parent.name), int(fields[11]) + int(fields[12])))
    with contextlib.suppress(OSError):
        own = pathlib.Path(f"/proc/{root}/stat").read_text().rsplit(") ", 1)[1].split()
        total, queue = int(own[11]) + int(own[12]), [root]
        while queue:
            for pid, ticks in children.get(queue.pop(), []):
                total += ticks
                queue.append(pid)
        return total / TICK
    return 0.0


def load(port, token, pids, seconds, forced, connections):
    environment = {
        **os.environ, "BENCH_POOL": POOL, "BENCH_TOKEN": token,
        "BENCH_FORCED": "yes" if forced else "no"}
    command = [
        "wrk", "--threads", "1", "--connections", str(connections), "--timeout", "10s", "--latency", "--script",
        str(HERE / "callback.lua"), "--duration"]
    url = f"http://127.0.0.1:{port}"
    subprocess.run(command + ["2s", url], env=environment, check=True, capture_output=True)
    before = sum(processor_seconds(pid) for pid in pids)
    output = subprocess.run(
        command + [f"{seconds}s", url], env=environment, check=True, capture_output=True,
        text=True).stdout
    used = sum(processor_seconds(pid) for pid in pids) - before
    words = next(line for line in output.splitlines() if line.startswith("BENCH ")).split()[1:]
    requests, micros, p50, p99, errors = map(int, words)
    if errors:
        sys.exit(f"{errors} of {requests} callbacks failed: see the logs")
    return {
        "per_core": requests / used, "per_second": requests / (micros / 1e6), "p50_ms": p50 / 1000,
        "p99_ms": p99 / 1000}


@contextlib.contextmanager
def postgres(folder):
    bin_folder = max(pathlib.Path("/usr/lib/postgresql").glob("*/bin"))
    data = folder / "pg"
    as_user = []
    data.mkdir()
    if os.getuid() == 0:
        shutil.chown(data, "postgres")
        as_user = ["runuser", "-u", "postgres", "--"]
    run = lambda *words: subprocess.run(
        [*as_user, *map(str, words)], check=True, capture_output=True, cwd="/")
    run(bin_folder / "initdb", "-A", "trust", "-U", "postgres", "-D", data / "d")
    options = f"-c listen_addresses='' -c unix_socket_directories={data}"
    run(bin_folder / "pg_ctl", "-D", data / "d", "-w", "-l", data / "log", "-o", options, "start")
    try:
        pid = int((data / "d" / "postmaster.pid").read_text().split()[0])
        yield pid, f"postgresql://postgres@/postgres?host={data}"
    finally:
        run(bin_folder / "pg_ctl", "-D", data / "d", "-m", "fast", "stop")


@contextlib.contextmanager
def authserver(program, folder, name, database, cognito):
    port = free_port()
    configuration = folder / f"{name}.conf"
    shutil.copy(pathlib.Path(__file__).resolve().parent.parent / "common-passwords", folder)
    configuration.write_text(
        f"[server]\nlisten = 127.0.0.1:{port}\nadmin_listen = none\ndatabase = {database}\n"
        f"quota = 10000/s\n[aws]\ncognito_endpoint = {cognito}\n"
        f"[pool work]\nidentity_pool_id = {POOL}\ndeveloper_provider = login.example.app\n")
    subprocess.run([program, "migrate", "--config", configuration], check=True, capture_output=True)
    admin = subprocess.run(
        [program, "host", "enrol", "web1", "--pool", "work", "--vouches", "*", "--json", "--config",
         configuration], check=True, capture_output=True, text=True)
    environment = {**os.environ, "AWS_ACCESS_KEY_ID": "AKIAX", "AWS_SECRET_ACCESS_KEY": "secret"}
    with running([program, "serve", "--log-level", "error", "--config", configuration], environment,
                 port, folder / f"{name}.log") as pid:
        yield port, json.loads(admin.stdout)["token"], pid


@contextlib.contextmanager
def sample(python, folder, cognito):
    port = free_port()
    environment = {
        **os.environ, "AWS_ACCESS_KEY_ID": "AKIAX", "AWS_SECRET_ACCESS_KEY": "secret",
        "AWS_ENDPOINT_URL": cognito, "HOST_TOKEN": "t", "IDENTITIES": str(folder / "sample.db"),
        "PYTHONDONTWRITEBYTECODE": "1"}
    with running(
        [python, "-m", "gunicorn", "--workers", "2", "--threads", "16", "--bind",
         f"127.0.0.1:{port}", "--chdir", str(HERE), "sample:application"], environment, port,
        folder / "sample.log") as pid:
        yield port, "t", pid


def measure(options, connections):
    results = {}
    with tempfile.TemporaryDirectory(prefix="authserver-bench.") as name:
        folder = pathlib.Path(name)
        folder.chmod(0o755)
        port = free_port()
        cognito = f"http://127.0.0.1:{port}"
        run = lambda port, token, pids, forced: load(
            port, token, pids, options.seconds, forced, connections)
        with running([sys.executable, str(HERE / "cognito.py"), str(port)], None, port,
                     folder / "cognito.log"):
            with sample(options.python, folder, cognito) as (port, token, pid):
                results[SAMPLE] = run(port, token, [pid], True)
            with authserver(options.authserver, folder, "sqlite", folder / "auth.db", cognito) as (
                    port, token, pid):
                results["authserver, SQLite"] = run(port, token, [pid], True)
                results["authserver, SQLite, reused"] = run(port, token, [pid], False)
            with postgres(folder) as (server, url), authserver(
                    options.authserver, folder, "postgres", url, cognito) as (port, token, pid):
                results["authserver, PostgreSQL"] = run(port, token, [pid, server], True)
                results["authserver, PostgreSQL, reused"] = run(port, token, [pid, server], False)
    return results


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--authserver", required=True)
    parser.add_argument("--python", required=True)
    parser.add_argument("--seconds", type=int, default=10)
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    slow = []
    for connections in (4, 32):
        results = measure(options, connections)
        base = results[SAMPLE]["per_core"]
        title = f"{connections} connections"
        print(f"{title:34}{'tokens/s/core':>14}{'times':>7}{'tokens/s':>10}{'p50 ms':>9}{'p99 ms':>9}")
        for name, row in results.items():
            print(f"{name:34}{row['per_core']:14.0f}{row['per_core'] / base:7.1f}"
                  f"{row['per_second']:10.0f}{row['p50_ms']:9.1f}{row['p99_ms']:9.1f}")
        slow += [f"{name} at {connections}" for name, row in results.items()
                 if name != SAMPLE and row["per_core"] < 5 * base]
    if options.check and slow:
        sys.exit(f"less than five times the sample's: {', '.join(slow)}")


main()

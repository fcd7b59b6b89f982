"""The endpoint: figure 18, credd's HTTP beside libmicrohttpd's, and the commands that lead to it."""

import json
import os
import pwd
import socket

import figures
import load
import servers
import workbench

PEER = "libmicrohttpd in C"
CONNECTIONS = 50  # fewer than the endpoint allows one user
LOOK_UPS = 20_000

LOADS = {  # each with loadgen's options and the header that asks for it
    "kept": (["--connections", CONNECTIONS], ""),
    "new": (["--connections", CONNECTIONS, "--mode", "reconnect"], "Connection: close\r\n"),
}

# For each figure: its load, and its place in loadgen's result.
FIGURES = {
    "endpoint": ("kept", ["requests_per_second"]),
    "endpoint, p99": ("kept", ["latency_us", "p99"]),
    "endpoint, processor": ("kept", ["server_us"]),
    "endpoint, new": ("new", ["requests_per_second"]),
    "endpoint, new, p99": ("new", ["latency_us", "p99"]),
    "endpoint, new, processor": ("new", ["server_us"]),
}


class Rival:
    """A server on loopback, and the header that it wants."""

    def __init__(self, name, port, pid, token):
        self.name, self.port, self.pid, self.token = name, port, pid, token

    def request(self, more):
        return (
            f"GET /credentials/{servers.PROFILE} HTTP/1.1\r\nHost: 127.0.0.1:{self.port}\r\n"
            f"Accept: application/json\r\nAuthorization: {self.token}\r\n{more}\r\n"
        )


def measure(run, base_url):
    credd, rival = start_credd(run, base_url)
    rivals = [rival, start_bare(run, rival)]
    results = under_load(run, rivals)
    results["look-up"] = figures.Measured(look_ups(run))
    results.update(commands(run, credd))
    return results


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def start_credd(run, base_url):
    """Starts credd with an endpoint; it serves root there only where root is named."""
    user = pwd.getpwuid(os.geteuid()).pw_name
    text = servers.configuration(base_url, profile=f"allow_users = {user}")
    port = free_port()
    credd = servers.start_configured(
        run.bench, run.programs, text, "endpoint", options=["--endpoint", f"127.0.0.1:{port}"]
    )
    workbench.ask(credd.socket, servers.REQUEST)
    request = json.dumps({"op": "endpoint", "profile": servers.PROFILE})
    token = json.loads(workbench.ask(credd.socket, request))["Token"]
    return credd, Rival("credd", port, credd.pid, token)


def start_bare(run, credd):
    """The yardstick gives the body that credd gives, and gets the same request."""
    bench, path = run.bench, run.bench.folder / "bare-http.port"
    reply = bench.file("bare-http.reply", body(credd))
    process = bench.start("bare-http", [run.programs.yardsticks / "bare_http", path, reply])
    workbench.wait_for("listening", lambda: path.exists() and path.read_text(), process)
    return Rival(PEER, int(path.read_text()), process.pid, credd.token)


def body(rival):
    with socket.create_connection(("127.0.0.1", rival.port), workbench.REPLY_SECONDS) as client:
        client.sendall(rival.request("Connection: close\r\n").encode())
        head, _, text = client.makefile("rb").read().partition(b"\r\n\r\n")
    if not head.startswith(b"HTTP/1.1 200 "):
        raise workbench.BenchmarkError(f"the endpoint answered {head.splitlines()[0]!r}: {text!r}")
    return text.decode()


def under_load(run, rivals):
    """Both servers take turns; the order changes with each repeat."""
    samples = {}
    for repeat in range(run.options.repeats):
        for kind in LOADS:
            for rival in rivals if repeat % 2 == 0 else rivals[::-1]:
                samples.setdefault((kind, rival.name), []).append(once(run, rival, kind))
    results = {}
    for key, (kind, path) in FIGURES.items():
        of = {
            rival.name: [load.pick(result, path) for result in samples[kind, rival.name]]
            for rival in rivals
        }
        results[key] = figures.Measured(of.pop("credd"), of)
    return results


def once(run, rival, kind):
    options, (arguments, header) = run.options, LOADS[kind]
    request = run.bench.file(f"{rival.name}-{kind}.request", rival.request(header))
    command = [run.programs.yardsticks / "loadgen", "--port", rival.port, "--request", request]
    command += ["--server", rival.pid, "--seconds", options.seconds, *arguments]
    command += ["--warm-up", options.warm_up, "--json"]
    seconds = options.seconds + options.warm_up + load.LOADGEN_GRACE
    result = json.loads(workbench.run(command, seconds))
    if result["errors"]:
        raise workbench.BenchmarkError(f"{rival.name}, {kind}: {result['errors']} errors")
    return result


def look_ups(run):
    command = [run.programs.yardsticks / "look_up", LOOK_UPS, CONNECTIONS]
    return [float(workbench.run(command, 60)) for _ in range(run.options.repeats)]


def commands(run, credd):
    """`exec --renew` and `serve` beside `exec`, which gives keys that end."""
    programs = run.programs
    if not programs.credctl.exists():
        run.note(f"missing: {programs.credctl}; the rows of its commands are left out")
        return {}
    credctl = [programs.credctl, "--socket", credd.socket]
    target = [servers.PROFILE, "--", "/bin/true"]
    verbs = {
        "exec": ["exec", *target],
        "renew": ["exec", "--renew", *target],
        "serve": ["serve", *target],
    }
    spawn = [programs.yardsticks / "spawn", "--count", run.options.spawns]
    for words in verbs.values():
        spawn += ["---", *credctl, *words]
    samples = {name: [] for name in verbs}
    for _ in range(run.options.repeats):
        for name, result in zip(verbs, json.loads(workbench.run(spawn, 180)), strict=True):
            samples[name].append(result["wall_us"]["median"])
    peer = {"credctl exec": samples["exec"]}
    return {
        "process, renew": figures.Measured(samples["renew"], peer),
        "process, serve": figures.Measured(samples["serve"], peer),
    }

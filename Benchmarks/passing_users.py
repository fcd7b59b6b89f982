"""Many passing users: figure 16. Needs root, to connect as one Unix user after the other.

One daemon has a session of each of 10,000 users, the other of 100. What a user asks of its own must
cost the same in both.
"""

import json
import pathlib
import socket
import time

import figures
import load
import many_sessions
import servers
import workbench

USERS = 10_000
FEW = 100
OWN_STATUS = '{"op":"status"}'
PAGE = '{"op":"status","all":true,"limit":250}'
# Nobody can sign in to it without a token: a get waits until its wake-up, and is refused.
LOCKED = "locked"
WAITING = b'{"profile":"%s","wait":0.001}\n' % LOCKED.encode()
WAKE_UPS = 1000  # in each repeat
PAGES = 200  # in each repeat
SETTLE_SECONDS = 1


def measure(run):
    """The memory of a session, and what a wake-up and a user's own `status` cost."""
    users = min(USERS, run.options.sessions)
    if many_sessions.lacks_users(run, users, "row 16 is"):
        return {}
    bench, programs = run.bench, run.programs
    base_url = servers.start_sandbox(bench, programs, "passing-sandbox")
    workbench.lower_priority(bench.processes[-1].pid, run.options.niceness)
    configuration = servers.configuration(base_url, **many_sessions.LIMITS)
    configuration += f"\n[profile {LOCKED}]\nidentity_pool_id = {servers.POOL}\n"
    few = servers.start_configured(bench, programs, configuration, "passing-few")
    many = servers.start_configured(bench, programs, configuration, "passing-many")
    growth = {}
    for server, count in ((few, min(FEW, users)), (many, users)):
        workbench.ask(server.socket, servers.REQUEST)
        many_sessions.know_owners(server)
        before = workbench.memory(server.pid)["private"]
        many_sessions.renew(run, server, many_sessions.FIRST_USER, count)
        time.sleep(SETTLE_SECONDS)
        growth[server.socket] = (workbench.memory(server.pid)["private"] - before) * 1e6 / count
    return {
        "passing session": figures.Measured([growth[many.socket]]),
        "own status": own_status(run, few, many, users),
        "wake-up": both(run, few, many, wake_ups),
        "status page": both(run, few, many, pages),
    }


def own_status(run, few, many, users):
    """Each user connects and asks for its own sessions."""
    options = run.options
    samples = {few.socket: [], many.socket: []}
    for _ in range(options.repeats):
        for server, count in ((few, min(FEW, users)), (many, users)):
            asking = servers.Server(server.name, server.socket, server.pid, ["--line", OWN_STATUS])
            result = load.measure(
                run.programs, asking, "reconnect", options.seconds, options.warm_up,
                "--users", many_sessions.FIRST_USER, "--user-count", count,
                "--connections", many_sessions.LOOKUPS_AT_A_TIME,
            )  # fmt: skip
            samples[server.socket].append(result["server_us"])
    return figures.Measured(samples[many.socket], {"100 users": samples[few.socket]})


def both(run, few, many, cost):
    """The processor time of something, in turns."""
    ours, theirs = [], []
    for _ in range(run.options.repeats):
        theirs.append(cost(few))
        ours.append(cost(many))
    return figures.Measured(ours, {"100 users": theirs})


def wake_ups(server):
    """A get that waits for a sign-in until a timer ends the wait, in µs of credd's."""
    return each(server, WAITING, WAKE_UPS, "SignInRequired")


def pages(server):
    """A page of everybody's sessions; with 100 users there is one, of 101."""
    return each(server, PAGE.encode() + b"\n", PAGES, None)


def each(server, line, count, code):
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(str(server.socket))
        replies = client.makefile("rb")
        before = processor_time(server.pid)
        for _ in range(count):
            client.sendall(line)
            reply = json.loads(replies.readline())
            if reply.get("Error", {}).get("Code") != code:
                raise workbench.BenchmarkError(f"{line}: {reply}")
        return (processor_time(server.pid) - before) / count / 1000


def processor_time(pid):
    """In nanoseconds, of the thread that serves."""
    return int(pathlib.Path(f"/proc/{pid}/schedstat").read_text().split()[0])

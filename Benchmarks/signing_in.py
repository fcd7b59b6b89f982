"""Sign-ins at a user pool: figure 17. Needs root, to sign in as many Unix users at once.

The sandbox stands for another machine: it runs at a lower priority. powers.c is what any program has
to compute for a sign-in by SRP.
"""

import gc
import json
import os
import socket
import statistics
import sys
import time

import figures
import many_sessions
import servers
import workbench

POOL = "us-east-1_Sandbox"  # credd-sandbox's default user pool
CLIENT = "1sandboxclient234567890abc"
LOGIN = '{"op":"login","profile":"staff","username":"alice","password":"Sandbox-1"}'
LOGOUT = '{"op":"logout","profile":"staff","revoke":false}'
PING = b'{"op":"ping"}\n'
ANSWER_SECONDS = 60
PAUSE = 0.0005


def measure(run):
    """The processor time of a sign-in, and how long a quiet client waits while many sign in."""
    users = run.options.sign_ins
    if not many_sessions.has_users(many_sessions.FIRST_USER + users):
        run.note("sign-ins need root and a range of uids; rows 17 are left out")
        return {}
    bench, programs, options = run.bench, run.programs, run.options
    base_url = servers.start_sandbox(bench, programs, "pool-sandbox")
    workbench.lower_priority(bench.processes[-1].pid, run.options.niceness)
    credd = servers.start_configured(bench, programs, configuration(base_url), "pool-credd")
    sign_in_all(credd, 2)  # libraries are loaded, connections made
    costs, pauses, powers = [], [], []
    for _ in range(options.repeats):
        powers += json.loads(workbench.run([programs.yardsticks / "powers", 20], 60))
        before = workbench.processor_seconds(credd.pid)
        sign_in_all(credd, users)
        costs.append((workbench.processor_seconds(credd.pid) - before) * 1000 / users)
        pause = longest_answer(credd, lambda: sign_in_all(credd, users))
        quiet = longest_answer(credd, lambda: time.sleep(1))
        pauses.append(max(pause - quiet, 0))
    bench.stop_last()
    bench.stop_last()
    return {
        "sign-in": figures.Measured(costs, {"OpenSSL's powers": [statistics.median(powers)]}),
        "sign-in, pause": figures.Measured(pauses),
    }


def configuration(base_url):
    return f"""\
[backend staff]
type = user-pool
user_pool_id = {POOL}
client_id = {CLIENT}
user_pool_endpoint = {base_url}
rate_limit = 10000/s

[profile staff]
identity_pool_id = {servers.POOL}
backend = staff
cognito_endpoint = {base_url}
"""


def sign_in_all(credd, users):
    """Each as a Unix user of its own, all at the same moment. They sign out afterwards."""
    ready, start = os.pipe()
    children = []
    for number in range(users):
        uid = many_sessions.FIRST_USER + number
        children.append(fork(lambda: sign_in(credd.socket, uid, ready), start))
    os.close(ready)
    time.sleep(0.2)  # until all are connected
    os.close(start)
    failed = sum(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) != 0 for child in children)
    if failed:
        raise workbench.BenchmarkError(f"{failed} of {users} sign-ins failed")


def sign_in(path, uid, ready):
    os.setresgid(uid, uid, uid)
    os.setresuid(uid, uid, uid)
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(ANSWER_SECONDS)
        client.connect(str(path))
        replies = client.makefile("rb")
        os.read(ready, 1)  # its end is the start
        client.sendall(LOGIN.encode() + b"\n")
        reply = json.loads(replies.readline())
        client.sendall(LOGOUT.encode() + b"\n")
        replies.readline()
    if reply.get("State") != "signedIn":
        raise workbench.BenchmarkError(f"uid {uid} got {reply}")


def longest_answer(credd, meanwhile):
    """Milliseconds: the longest answer to a client that asks 2,000 times a second, while something runs.

    credd's loop and this client go before all other processes, or the figure would be of how the
    kernel shares two processors among a hundred. credd's other threads do not."""
    ready, done = os.pipe()
    child = fork(meanwhile, ready)
    os.close(done)
    os.set_blocking(ready, False)
    go_first(credd.pid, os.SCHED_FIFO)
    go_first(0, os.SCHED_FIFO)
    gc.disable()
    longest = 0.0
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(ANSWER_SECONDS)
        client.connect(str(credd.socket))
        while not is_over(ready):
            begin = time.perf_counter()
            client.sendall(PING)
            client.recv(4096)
            longest = max(longest, time.perf_counter() - begin)
            time.sleep(PAUSE)
    gc.enable()
    go_first(0, os.SCHED_OTHER)
    go_first(credd.pid, os.SCHED_OTHER)
    os.close(ready)
    if os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) != 0:
        raise workbench.BenchmarkError("the sign-ins failed")
    return longest * 1000


def fork(body, other_end):
    """A process that closes its copy of a pipe's other end, and ends with 0 if `body` returns."""
    child = os.fork()
    if child == 0:
        try:
            os.close(other_end)
            body()
            os._exit(0)
        except BaseException as error:
            print(f"bench: {error!r}", file=sys.stderr, flush=True)
            os._exit(1)
    return child


def go_first(pid, policy):
    """The scheduling of a process's first thread; those that it starts have the usual one."""
    priority = os.sched_param(1 if policy == os.SCHED_FIFO else 0)
    os.sched_setscheduler(pid, policy | os.SCHED_RESET_ON_FORK, priority)


def is_over(ready):
    try:
        return os.read(ready, 1) == b""
    except BlockingIOError:
        return False

"""Many sessions: figures 10 and 11. Needs root, to connect as one Unix user after the other.

The sandbox stands for other machines, so it runs at a lower priority than credd and the yardstick.
"""

import ctypes
import json
import os
import pathlib
import subprocess
import time

import figures
import load
import servers
import workbench

CLONE_NEWNS = 0x20000
FIRST_USER = 1_000_000
FEW = 10
LOOKUPS_AT_A_TIME = 5  # each by another user, also among ten users
AT_A_TIME = 64  # sessions renewed at once, by credd and by its yardstick
YARDSTICK_SHARE = 5  # the yardstick renews one session for each five of credd's
LONGEST = 600  # seconds for one share of the sessions, at most
SETTLE_SECONDS = 1
# Rates that 2 processors never reach, so that no rate limit slows the renewals.
LIMITS = {
    "daemon": f"""\
max_sessions = 100000
upstream_connections = {AT_A_TIME}
get_credentials_rate_limit = 10000/s""",
    "backend": f"rate_limit = 10000/s\nmax_parallel = {AT_A_TIME}",
    "user": "{uid}",
}
COLD_REQUEST = '{"profile":"%s","wait":60}'


def measure(run):
    """Yardstick and credd renew shares of the sessions in turns; then clients look them up."""
    if lacks_users(run, run.options.sessions, "rows 10 and 11 are"):
        return {}
    bench, programs = run.bench, run.programs
    base_url = servers.start_sandbox(bench, programs, "many-sandbox")
    workbench.lower_priority(bench.processes[-1].pid, run.options.niceness)
    configuration = servers.configuration(base_url, **LIMITS)
    few = servers.start_configured(bench, programs, configuration, "few")
    with workbench.ServiceManager(bench.folder / "notify.sock") as manager:
        many = servers.start_configured(
            bench, programs, configuration, "many", {"NOTIFY_SOCKET": str(manager.path)}
        )
        workbench.ask(many.socket, servers.REQUEST)
        know_owners(many)
        before = workbench.memory(many.pid)["private"]
        # One session belongs to the user that runs this program.
        share = (run.options.sessions - 1) // run.options.repeats
        results = renew_all(run, base_url, many, share)
        users = share * run.options.repeats
        time.sleep(SETTLE_SECONDS)
        growth = workbench.memory(many.pid)["private"] - before
        results["session"] = figures.Measured([growth * 1e6 / users])
        results["session, stored"] = figures.Measured([manager.stored_bytes() / users])
        renew(run, few, FIRST_USER, FEW)
        results["lookup"] = look_up(run, few, many, users)
    return results


def know_owners(server):
    """Lets the daemon read whose uids the users are. Before, uids without a name wait as one user."""
    os.seteuid(FIRST_USER)
    try:
        workbench.ask(server.socket, '{"op":"ping"}')
    finally:
        os.seteuid(0)
    time.sleep(SETTLE_SECONDS)


def lacks_users(run, count, rows):
    """Whether this process cannot become so many users: a note says which rows are left out."""
    if has_users(FIRST_USER + count):
        return False
    run.note(f"many users need root and a range of uids; {rows} left out")
    return True


def has_users(last):
    """Whether this process may become each of these users."""
    if os.geteuid() != 0:
        return False
    ranges = pathlib.Path("/proc/self/uid_map").read_text().splitlines()
    return any(
        int(first) <= FIRST_USER and last <= int(first) + int(count)
        for first, _, count in (line.split() for line in ranges)
    )


def own_users(folder, count):
    """Makes each of `count` users the owner of its own uid, in a mount namespace that all programs of
    this run share from here on. Together, users without a name and an owner have one user's share."""
    if not has_users(FIRST_USER + count):
        return
    table = folder / "subuid"
    table.write_text("".join(f"{FIRST_USER + n}:{FIRST_USER + n}:1\n" for n in range(count)))
    if ctypes.CDLL(None, use_errno=True).unshare(CLONE_NEWNS) != 0:
        raise workbench.BenchmarkError(f"unshare: {os.strerror(ctypes.get_errno())}")
    for words in (["--make-rprivate", "/"], ["--bind", str(table), "/etc/subuid"]):
        subprocess.run(["mount", *words], check=True)


# --- Renewal -------------------------------------------------------------------------------------


def renewal_command(run, server, first, count, profile=servers.PROFILE):
    command = [run.programs.yardsticks / "loadgen", "--socket", server.socket]
    command += ["--line", COLD_REQUEST % profile, "--mode", "reconnect", "--connections", AT_A_TIME]
    command += ["--users", first, "--user-count", count, "--count", count]
    command += ["--warm-up", 0, "--seconds", LONGEST, "--server", server.pid, "--json"]
    return [str(word) for word in command]


def checked(result, count):
    if result["errors"] or result["requests"] != count:
        raise workbench.BenchmarkError(
            f"{result['requests']} of {count} sessions renewed, {result['errors']} errors"
        )
    return result


def renew(run, server, first, count, profile=servers.PROFILE):
    """Lets `count` users ask for the first time."""
    output = workbench.run(renewal_command(run, server, first, count, profile), LONGEST + 60)
    return checked(json.loads(output), count)


def renew_bare(run, base_url, first, count):
    command = [run.programs.yardsticks / "refresher", base_url, servers.POOL, servers.PROVIDER]
    result = json.loads(workbench.run([*command, first, count, AT_A_TIME], LONGEST))
    result["server_us"] = result["cpu_seconds"] * 1e6 / count
    return result


def p99_meanwhile(run, server, first, count):
    """The p99 of another user's cached gets while credd renews `count` sessions."""
    command = renewal_command(run, server, first, count)
    renewal = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        p99 = p99_of_gets(run, server)
        if renewal.poll() is not None:
            run.note("the renewals ended before the gets beside them did")
        output, _ = renewal.communicate(timeout=LONGEST)
    finally:
        renewal.kill()
        renewal.wait()
    if renewal.returncode != 0:
        raise workbench.BenchmarkError(f"loadgen ended with status {renewal.returncode}")
    checked(json.loads(output), count)
    return p99


def p99_of_gets(run, server):
    options = run.options
    result = load.measure(run.programs, server, "single", options.seconds / 2, options.warm_up)
    return result["latency_us"]["p99"]


def renew_all(run, base_url, server, share):
    options = run.options
    some = share // YARDSTICK_SHARE
    first = FIRST_USER
    ours, theirs, quiet, meanwhile = [], [], [], []
    for repeat in range(options.repeats):
        run.say(f"sessions {repeat * share} to {(repeat + 1) * share}")
        theirs.append(renew_bare(run, base_url, first + options.sessions, some))
        ours.append(renew(run, server, first, share - some))
        quiet.append(p99_of_gets(run, server))
        meanwhile.append(p99_meanwhile(run, server, first + share - some, some))
        first += share
    return {
        "renewal": rates(ours, theirs, "requests_per_second"),
        "renewal, processor": rates(ours, theirs, "server_us"),
        "renewal, p99": figures.Measured(meanwhile, {"quiet": quiet}),
    }


def rates(ours, theirs, name):
    return figures.Measured(
        [result[name] for result in ours],
        {"libcurl multi in C": [result[name] for result in theirs]},
    )


# --- Looking one session up ----------------------------------------------------------------------


def look_up(run, few, many, users):
    """Each user connects and asks, in another order than that of the first requests."""
    options = run.options
    samples = {few.socket: [], many.socket: []}
    for _ in range(options.repeats):
        for server, count in ((few, FEW), (many, users)):
            # The warm-up connects as each user once, since credd logs each process only once.
            result = load.measure(
                run.programs, server, "reconnect", options.seconds, options.warm_up,
                "--users", FIRST_USER, "--user-count", count, "--connections", LOOKUPS_AT_A_TIME,
            )  # fmt: skip
            samples[server.socket].append(result["server_us"])
    return figures.Measured(samples[many.socket], {"10 sessions": samples[few.socket]})

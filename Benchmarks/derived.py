"""Derived sessions: figure 19. Needs root, to connect as one Unix user after the other.

1,000 users ask for a profile, and then for three profiles that a policy narrows.
"""

import json
import time

import figures
import many_sessions
import servers
import workbench

USERS = 1000
NAMES = ["narrow-1", "narrow-2", "narrow-3"]
SETTLE_SECONDS = 1


def measure(run):
    """The memory of a derived session, and the processor time of its first get."""
    users = min(USERS, run.options.sessions)
    if many_sessions.lacks_users(run, users, "row 19 is"):
        return {}
    bench, programs = run.bench, run.programs
    base_url = servers.start_sandbox(bench, programs, "derived-sandbox")
    workbench.lower_priority(bench.processes[-1].pid, run.options.niceness)
    limits = dict(many_sessions.LIMITS)
    limits["daemon"] += "\nassume_role_rate_limit = 10000/s"
    # These users have no name, and {user} of the policy would want one.
    policy = servers.POLICY.replace("{user}", "{uid}")
    text = servers.configuration(
        base_url, profile=servers.derived(bench, base_url, NAMES, policy), **limits
    )
    server = servers.start_configured(bench, programs, text, "derived")
    workbench.ask(server.socket, servers.REQUEST)
    many_sessions.know_owners(server)
    first = [first_gets(run, server, servers.PROFILE, users)]
    time.sleep(SETTLE_SECONDS)
    before = workbench.memory(server.pid)["private"]
    derived = [first_gets(run, server, name, users) for name in NAMES]
    time.sleep(SETTLE_SECONDS)
    growth = (workbench.memory(server.pid)["private"] - before) * 1e6 / (users * len(NAMES))
    return {
        "derived session": figures.Measured([growth - credentials(server)]),
        "derived, first": figures.Measured(derived, {"first get of its source": first}),
    }


def first_gets(run, server, profile, users):
    """Processor time of each."""
    return many_sessions.renew(
        run, server, many_sessions.FIRST_USER, users, profile)["server_us"]


def credentials(server):
    """The bytes of one session's credentials."""
    reply = json.loads(workbench.ask(server.socket, servers.request(NAMES[0])))
    return sum(len(reply[key]) for key in ("AccessKeyId", "SecretAccessKey", "SessionToken"))

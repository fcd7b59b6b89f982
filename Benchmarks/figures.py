"""The figures, the peers and the goals: each figure is an entry of FIGURES.

The modules that measure use the keys of FIGURES and return `Measured` samples.
"""

import dataclasses
import statistics


@dataclasses.dataclass(frozen=True)
class Goal:
    """A bound on credd's value, or on its ratio to the peer's."""

    bound: float
    is_floor: bool = False
    is_ratio: bool = False

    def met_by(self, number):
        return number >= self.bound if self.is_floor else number <= self.bound

    def text(self, unit):
        sign, unit = "≥" if self.is_floor else "≤", "×" if self.is_ratio else unit
        return f"{sign} {self.bound:,g} {unit}".strip()


def at_least(bound):
    """At least `bound` times the peer's value."""
    return Goal(bound, is_floor=True, is_ratio=True)


def at_most(bound):
    """At most `bound` times the peer's value."""
    return Goal(bound, is_ratio=True)


def within(bound):
    """At most `bound`, in the figure's unit, independent of any peer."""
    return Goal(bound)


@dataclasses.dataclass(frozen=True)
class Figure:
    """A figure gives one row of the table for each of its peers, or one row if it has no peer."""

    number: int | None  # of the goal; None: measured to explain other figures
    name: str
    unit: str
    goals: dict  # by peer; the key None means no peer; a goal may be None


@dataclasses.dataclass(frozen=True)
class Measured:
    """The samples of one figure, one for each repeat, in the order of measuring."""

    credd: list
    peers: dict = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True)
class Row:
    """A figure of credd's beside one peer's."""

    figure: Figure
    credd: list
    peer: str | None
    peer_samples: list

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
    def goal(self):
        return self.figure.goals[self.peer]

    @property
    def met(self):
        if not self.goal:
            return None
        return self.goal.met_by(self.ratio if self.goal.is_ratio else self.value)


# User-space instructions of one cached get of one connection. scripts/hot-path fails for a change
# that takes more. A change that makes the path shorter lowers this bound.
INSTRUCTIONS = 2900

FLOODS = ["pipelining", "slow-reader", "slow-writer", "half-line", "reconnecting", "mixed"]

FIGURES = {
    "get": Figure(
        1, "cached get, 50 connections", "requests/s",
        {"bare C": at_least(0.85), "redis-server": at_least(1.2)},
    ),
    "get, p99": Figure(
        2, "  its p99", "µs", {"bare C": None, "redis-server": at_most(1)},
    ),
    "get, processor": Figure(
        None, "  the server's processor time each", "µs", {"bare C": None, "redis-server": None},
    ),
    "pipeline": Figure(
        3, "the same, pipeline of 16", "requests/s",
        {"bare C": None, "redis-server": at_least(1)},
    ),
    "reconnect": Figure(
        4, "connect + get + close", "1/s", {"bare C": at_least(0.8), "redis-server": None},
    ),
    "single": Figure(
        5, "one connection, p50", "µs", {"bare C": at_most(1.05), "redis-server": None},
    ),
    "process": Figure(
        6, "credctl get, whole process", "µs",
        {
            "C client": at_most(1.25),
            "C client, static": None,
            "ssh-add -l": at_most(0.35),
            "git credential-cache get": at_most(0.35),
        },
    ),
    "process, env": Figure(
        6, "credctl env, whole process", "µs", {"credctl get": None},
    ),
    "process, ping": Figure(
        6, "credctl ping, whole process", "µs", {"credctl get": None},
    ),
    "instructions": Figure(
        7, "user instructions a cached get", "", {"bare C": within(INSTRUCTIONS)},
    ),
    "allocations": Figure(7, "heap allocations a cached get", "", {None: within(0)}),
    "instructions, derived": Figure(
        7, "user instructions a cached get, derived", "", {None: within(INSTRUCTIONS)},
    ),
    "allocations, derived": Figure(
        7, "heap allocations a cached get, derived", "", {None: within(0)},
    ),
    "ready": Figure(8, "start to READY", "ms", {None: within(10)}),
    "restored": Figure(
        8, "start by its socket to the first answer, restored", "ms", {None: within(20)},
    ),
    "rss, idle": Figure(9, "resident memory, idle", "MB", {None: within(12)}),
    "rss, tls": Figure(9, "resident memory after exchanges over TLS", "MB", {None: within(18)}),
    "private, tls": Figure(9, "private memory after exchanges over TLS", "MB", {None: within(4)}),
    "rss, load": Figure(None, "resident memory after the load", "MB", {None: None}),
    "private, load": Figure(None, "private memory after the load", "MB", {None: None}),
    "threads": Figure(None, "threads after the load", "", {None: within(1)}),
    "session": Figure(
        10, "memory a session, 100,000 sessions", "bytes", {None: within(4000)},
    ),
    "session, stored": Figure(
        None, "  in the descriptor store", "bytes", {None: None},
    ),
    "lookup": Figure(
        10, "processor time of connect + get + close, 100,000 sessions", "µs",
        {"10 sessions": at_most(1.2)},
    ),
    "renewal": Figure(
        11, "sessions renewed, of 100,000", "1/s", {"libcurl multi in C": at_least(0.8)},
    ),
    "renewal, processor": Figure(
        None, "  processor time each", "µs", {"libcurl multi in C": None},
    ),
    "renewal, p99": Figure(
        11, "p99 of cached gets meanwhile", "µs", {"quiet": at_most(2)},
    ),
    "connections": Figure(
        12, "resident memory an idle connection, of 20,000", "bytes", {None: within(1000)},
    ),
    "wake-ups": Figure(13, "wake-ups while idle", "1/minute", {None: within(0)}),
    "size, credd": Figure(14, "credd, stripped", "MB", {None: within(20)}),
    "size, credctl": Figure(14, "credctl, stripped", "MB", {None: within(17)}),
    "waiters, exchanges": Figure(
        15, "upstream exchanges for 1,000 waiters", "", {None: within(1)},
    ),
    "waiters": Figure(
        15, "from the exchange's end to the last answer", "ms",
        {"bare C": within(2)},
    ),
    "waiters, processor": Figure(
        None, "  processor time of these answers", "ms", {"bare C": None},
    ),
    "passing session": Figure(
        16, "memory a session, 10,000 users", "bytes", {None: within(4000)},
    ),
    "own status": Figure(
        16, "processor time of connect + own status + close, 10,000 users", "µs",
        {"100 users": at_most(1.2)},
    ),
    "wake-up": Figure(
        16, "processor time of a wait that a wake-up ends, 10,000 users", "µs",
        {"100 users": at_most(1.2)},
    ),
    "sign-in": Figure(
        17, "processor time of a sign-in by SRP, 100 at once", "ms",
        {"OpenSSL's powers": None},
    ),
    "sign-in, pause": Figure(
        17, "longest answer meanwhile, above that of a quiet daemon", "ms", {None: within(1)},
    ),
    "endpoint": Figure(
        18, "endpoint: get on 50 kept connections", "requests/s",
        {"libmicrohttpd in C": at_least(0.8)},
    ),
    "endpoint, p99": Figure(18, "  its p99", "µs", {"libmicrohttpd in C": None}),
    "endpoint, processor": Figure(
        None, "  the server's processor time each", "µs", {"libmicrohttpd in C": None},
    ),
    "endpoint, new": Figure(
        18, "endpoint: connect + get + close", "1/s", {"libmicrohttpd in C": at_least(0.5)},
    ),
    "endpoint, new, p99": Figure(18, "  its p99", "µs", {"libmicrohttpd in C": None}),
    "endpoint, new, processor": Figure(
        None, "  the server's processor time each", "µs", {"libmicrohttpd in C": None},
    ),
    "look-up": Figure(
        18, "processor time of a look-up of a caller in the kernel", "µs", {None: within(10)},
    ),
    "process, renew": Figure(
        18, "credctl exec --renew, whole process, at credd's endpoint", "µs",
        {"credctl exec": None},
    ),
    "process, serve": Figure(
        18, "credctl serve, whole process, with an endpoint of its own", "µs",
        {"credctl exec": None},
    ),
    "derived session": Figure(
        19, "memory a derived session beside its credentials, 1,000 users", "bytes",
        {None: within(1500)},
    ),
    "derived, first": Figure(
        None, "first get of a derived profile, processor time", "µs",
        {"first get of its source": None},
    ),
    "status page": Figure(
        None, "  of a page of 250 sessions of all users", "µs", {"100 users": None},
    ),
    **{
        f"flood, {kind}": Figure(
            None, f"p99 beside a flood: {kind}", "µs", {"quiet": at_most(3)},
        )
        for kind in FLOODS
    },
}


def rows(results):
    """The rows of the measured figures, in the order of FIGURES."""
    found = []
    for key, figure in FIGURES.items():
        measured = results.get(key)
        for peer in figure.goals if measured else ():
            if peer is None or peer in measured.peers:
                found.append(Row(figure, measured.credd, peer, measured.peers.get(peer, [])))
    return found

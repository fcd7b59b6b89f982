"""Memory, wake-ups and sizes of a daemon without requests: figures 9, 12, 13 and 14."""

import contextlib
import resource
import socket
import time

import figures
import servers
import workbench

EXCHANGES = 20  # over TLS
SETTLE_SECONDS = 7  # after the last exchange; the status line for it follows within 5 s
CERTIFICATE_DAYS = 2
REFRESH = '{"profile":"%s","refresh":true,"wait":30}' % servers.PROFILE


def sizes(programs):
    return {
        f"size, {path.name}": figures.Measured([path.stat().st_size / 1e6])
        for path in (programs.credd, programs.credctl)
        if path.exists()
    }


def certificate(bench):
    """A self-signed certificate for loopback, and its key."""
    certificate, key = bench.folder / "tls.pem", bench.folder / "tls.key"
    workbench.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"]
        + ["-nodes", "-days", CERTIFICATE_DAYS, "-subj", "/CN=credd-bench"]
        + ["-addext", "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", certificate],
        20,
    )
    return certificate, key


class RestingDaemon:
    """A daemon that makes some exchanges over TLS and then gets no request while others do."""

    def __init__(self, run):
        self.run, bench = run, run.bench
        certificate_file, key = certificate(bench)
        tls_url = servers.start_sandbox(
            bench, run.programs, "tls-sandbox",
            ["--tls-certificate", certificate_file, "--tls-key", key],
        )  # fmt: skip
        authority = f"ca_file = {certificate_file}"
        configuration = servers.configuration(tls_url, backend=authority, profile=authority)
        self.credd = servers.start_configured(bench, run.programs, configuration, "resting")
        self.moments = {"idle": workbench.memory(self.credd.pid)}
        for _ in range(EXCHANGES):
            workbench.ask(self.credd.socket, REFRESH)
        self.moments["tls"] = workbench.memory(self.credd.pid)
        self.left_alone_at = time.monotonic() + SETTLE_SECONDS
        self.wake_ups = None

    def settle(self):
        """Waits until the daemon has finished all work for the exchanges."""
        time.sleep(max(self.left_alone_at - time.monotonic(), 0))
        self.since = time.monotonic()
        self.wake_ups = workbench.wake_ups(self.credd.pid)

    def finish(self):
        """Counts its wake-ups while it was left alone, then measures many idle connections."""
        time.sleep(max(self.since + self.run.options.rest - time.monotonic(), 0))
        seconds = time.monotonic() - self.since
        woken = workbench.wake_ups(self.credd.pid) - self.wake_ups
        self.run.say(f"{woken} wake-ups in {seconds:.0f} s")
        memory = self.moments
        return {
            "rss, idle": figures.Measured([memory["idle"]["rss"]]),
            "rss, tls": figures.Measured([memory["tls"]["rss"]]),
            "private, tls": figures.Measured([memory["tls"]["private"]]),
            "wake-ups": figures.Measured([woken / seconds * 60]),
            "connections": figures.Measured([self.each_connection(self.run.options.idle)]),
        }

    def each_connection(self, count):
        """Bytes for each of `count` connections that have asked once and stay open."""
        count = min(count, allow_descriptors(self.credd.pid, count))
        workbench.ask(self.credd.socket, servers.REQUEST)
        before = workbench.memory(self.credd.pid)["rss"]
        with contextlib.ExitStack() as connections:
            for _ in range(count):
                client = connections.enter_context(socket.socket(socket.AF_UNIX))
                client.settimeout(workbench.REPLY_SECONDS)
                client.connect(str(self.credd.socket))
                client.sendall(servers.REQUEST.encode() + b"\n")
                if not client.recv(65536).endswith(b"}\n"):
                    raise workbench.BenchmarkError("a connection was not answered")
            after = workbench.memory(self.credd.pid)["rss"]
        return (after - before) * 1e6 / count


def allow_descriptors(pid, count):
    """Lets this process and another one open `count` more files; returns how many they may open."""
    wanted = count + 200
    for process in (0, pid):
        soft, hard = resource.prlimit(process, resource.RLIMIT_NOFILE)
        if soft >= wanted:
            continue
        try:
            resource.prlimit(process, resource.RLIMIT_NOFILE, (wanted, max(wanted, hard)))
        except (PermissionError, ValueError):
            resource.prlimit(process, resource.RLIMIT_NOFILE, (hard, hard))
            wanted = min(wanted, hard)
    return wanted - 200


def after_load(pid):
    """Memory and threads of a daemon that has answered millions of requests."""
    memory = workbench.memory(pid)
    return {
        "rss, load": figures.Measured([memory["rss"]]),
        "private, load": figures.Measured([memory["private"]]),
        "threads": figures.Measured([memory["threads"]]),
    }

"""Starts the daemons and commands of a benchmark, each with a deadline, and ends them."""

import json
import os
import pathlib
import shutil
import signal
import socket
import struct
import subprocess
import tempfile
import threading
import time

START_SECONDS = 20  # for a daemon to take connections
STOP_SECONDS = 5  # from SIGTERM to SIGKILL
REPLY_SECONDS = 30  # enough for a cold session, which asks upstream first


class BenchmarkError(Exception):
    """The benchmark cannot continue; the text says why."""


class Process:
    """A daemon that the workbench started, and its log."""

    def __init__(self, name, handle, log):
        self.name, self.handle, self.log = name, handle, log
        self.pid = handle.pid

    def check(self):
        """Raises an error with the end of the log if the process has ended."""
        if self.handle.poll() is not None:
            tail = self.log.read_text(errors="replace").strip().splitlines()[-5:]
            words = [f"{self.name} ended with status {self.handle.returncode}", *tail]
            raise BenchmarkError(" | ".join(words))

    def stop(self):
        if self.handle.poll() is None:
            self.handle.terminate()
            try:
                self.handle.wait(STOP_SECONDS)
            except subprocess.TimeoutExpired:
                self.handle.kill()
                self.handle.wait(STOP_SECONDS)


class Workbench:
    """A temporary folder and the processes started in it. The end of the context ends and removes
    them."""

    def __enter__(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="credd-bench-"))
        self.folder.chmod(0o711)  # other users must reach the sockets in it
        self.processes = []
        return self

    def __exit__(self, kind, *_):
        try:
            if kind and issubclass(kind, Exception):
                for process in self.processes:
                    process.check()  # the end of a daemon explains more than the error after it
        finally:
            for process in reversed(self.processes):
                process.stop()
            shutil.rmtree(self.folder, ignore_errors=True)

    def start(self, name, command, environment=None):
        log = self.folder / f"{name}.log"
        with log.open("wb") as output:
            handle = subprocess.Popen(
                [str(word) for word in command],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env={**os.environ, **(environment or {})},
                cwd=self.folder,
            )
        process = Process(name, handle, log)
        self.processes.append(process)
        return process

    def stop_last(self):
        self.processes.pop().stop()

    def file(self, name, text):
        path = self.folder / name
        path.write_text(text)
        path.chmod(0o600)
        return path


def run(command, seconds, environment=None, text="", pass_fds=()):
    """Runs a command to its end and returns its output."""
    command = [str(word) for word in command]
    try:
        result = subprocess.run(
            command,
            input=text,
            capture_output=True,
            text=True,
            timeout=seconds,
            env={**os.environ, **(environment or {})},
            pass_fds=pass_fds,
        )
    except subprocess.TimeoutExpired:
        raise BenchmarkError(f"{command[0]} did not end within {seconds:g} s") from None
    except OSError as error:
        raise BenchmarkError(f"{command[0]}: {error.strerror}") from None
    if result.returncode != 0:
        words = (result.stderr or result.stdout).strip()
        raise BenchmarkError(f"{command[0]} ended with status {result.returncode}: {words}")
    return result.stdout


def wait_for(what, condition, process):
    """Polls until `condition()` is true, the process has ended, or the time has passed."""
    deadline = time.monotonic() + START_SECONDS
    while not condition():
        process.check()
        if time.monotonic() > deadline:
            raise BenchmarkError(f"{process.name}: {what} took over {START_SECONDS} s")
        time.sleep(0.01)


def accepts(path):
    with socket.socket(socket.AF_UNIX) as client:
        try:
            client.connect(str(path))
        except OSError:
            return False
    return True


def ask(path, request):
    """Sends one request line to a socket; returns the reply line. An error reply raises."""
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(REPLY_SECONDS)
        try:
            client.connect(str(path))
            client.sendall(request.encode() + b"\n")
            reply = client.makefile("rb").readline()
        except OSError as error:
            raise BenchmarkError(f"{path}: {error}") from None
    try:
        error = json.loads(reply).get("Error")
    except ValueError:
        raise BenchmarkError(f"{path}: the reply is not a line of JSON") from None
    if error:
        raise BenchmarkError(f"{path}: {error.get('Code')}: {error.get('Message')}")
    return reply


def listener_pid(path):
    """The pid of the process that listens on a socket, as the kernel reports it."""
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(str(path))
        size = struct.calcsize("3i")
        peer = client.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, size)
        return struct.unpack("3i", peer)[0]


def status(pid):
    """The fields of a process's /proc status."""
    lines = pathlib.Path(f"/proc/{pid}/status").read_text().splitlines()
    return dict(line.split(":", 1) for line in lines)


def memory(pid):
    """Resident and private memory in MB (of 10^6 bytes), and the number of threads."""
    fields = status(pid)
    return {
        "rss": int(fields["VmRSS"].split()[0]) * 1024 / 1e6,
        "private": int(fields["RssAnon"].split()[0]) * 1024 / 1e6,
        "threads": int(fields["Threads"]),
    }


def tasks(pid):
    return [int(task.name) for task in pathlib.Path(f"/proc/{pid}/task").iterdir()]


def wake_ups(pid):
    """How often the threads of a process went to sleep, which is how often they were woken."""
    return sum(int(status(task)["voluntary_ctxt_switches"]) for task in tasks(pid))


def processor_seconds(pid):
    """Of all threads, also those that have ended."""
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def lower_priority(pid, niceness):
    for task in tasks(pid):
        os.setpriority(os.PRIO_PROCESS, task, niceness)


class ServiceManager:
    """Receives a daemon's notifications, and keeps the descriptors that it stores."""

    def __init__(self, path):
        self.path, self.stored = path, []

    def __enter__(self):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(str(self.path))
        threading.Thread(target=self.hear, daemon=True).start()
        return self

    def __exit__(self, *_):
        # Nobody reads from now on. Without the path the daemon cannot fill the queue and block.
        self.path.unlink()

    def hear(self):
        while True:
            message, descriptors, _, _ = socket.recv_fds(self.socket, 65536, 4)
            if b"FDSTORE=1" in message.splitlines():
                self.stored += descriptors

    def stored_bytes(self):
        return sum(os.fstat(descriptor).st_blocks * 512 for descriptor in self.stored)


def end_on_sigterm():
    """Makes SIGTERM unwind the stack, so that every workbench cleans up."""

    def leave(number, _):
        raise SystemExit(128 + number)

    signal.signal(signal.SIGTERM, leave)

"""The servers that are compared: credd with its sandbox, redis-server, and the bare C server."""

import dataclasses
import pathlib
import shutil
import socket

import workbench

POOL = "us-east-1:11111111-2222-3333-4444-555555555555"  # credd-sandbox's default pool
PROVIDER = "login.example.app"
PROFILE = "bench"
DERIVED = "derived"
POLICY = """{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":"s3:GetObject",
"Resource":"arn:aws:s3:::reports/{user}/*"}]}"""
SESSION_TOKEN_LENGTH = 800  # gives a reply of about 1 KB, as with AWS's tokens


@dataclasses.dataclass
class Server:
    name: str
    socket: pathlib.Path
    pid: int
    request: list  # loadgen's arguments


@dataclasses.dataclass
class Programs:
    credd: pathlib.Path
    credctl: pathlib.Path
    sandbox: pathlib.Path
    yardsticks: pathlib.Path  # the folder of the C programs


def configuration(
    base_url, cognito_endpoint=None, daemon="", backend="", profile="", user="{user}"
):
    """credd's configuration for one profile and the sandbox; arguments add lines to sections."""
    return f"""\
[daemon]
max_connections = 32768
max_connections_per_user = 32768
{daemon}

[backend sandbox]
type = http
url = {base_url}/token
{backend}

[profile {PROFILE}]
identity_pool_id = {POOL}
developer_provider = {PROVIDER}
backend = sandbox
user_identifier = {user}
cognito_endpoint = {cognito_endpoint or base_url}
{profile}
"""


def request(profile=PROFILE):
    return '{"op":"get","profile":"%s"}' % profile


REQUEST = request()


def derived(bench, base_url, names, policy=POLICY):
    """Settings of PROFILE, and sections of profiles that are derived from it."""
    path = bench.folder / "policy.json"
    path.write_text(policy)
    sections = "".join(
        f"\n[profile {name}]\nsource_profile = {PROFILE}\npolicy_file = {path}\n"
        f"session_description = {name}\n"
        for name in names
    )
    return f"sts_endpoint = {base_url}\n{sections}"


def start_sandbox(bench, programs, name="sandbox", more=()):
    """Returns the sandbox's URL; with options for TLS in `more`, its https URL."""
    ready = bench.folder / f"{name}.ready"
    process = bench.start(
        name,
        [programs.sandbox, "--port", 0, "--ready-file", ready, "--any-user"]
        + ["--session-token-length", SESSION_TOKEN_LENGTH, *more],
    )
    is_ready = lambda: ready.exists() and ready.read_text().endswith("\n")
    workbench.wait_for("getting ready", is_ready, process)
    return ready.read_text().split()[-1].rstrip("/")


def start_credd(bench, programs, base_url, name="credd", under=(), profile=PROFILE):
    """Starts credd, run by the command `under` if there is one. No request has been sent yet."""
    derivation = "" if profile == PROFILE else derived(bench, base_url, [profile])
    text = configuration(base_url, profile=derivation)
    return start_configured(bench, programs, text, name, under=under, profile=profile)


def start_configured(
    bench, programs, text, name, environment=None, under=(), options=(), profile=PROFILE
):
    path = bench.folder / f"{name}.sock"
    command = [*under, programs.credd, "--config", bench.file(f"{name}.conf", text), *options]
    # A state folder of its own, so that the benchmark neither reads nor changes a user's.
    state = bench.folder / f"{name}.state"
    state.mkdir()
    process = bench.start(
        name,
        [*command, "--socket", path],
        {"STATE_DIRECTORY": str(state), **(environment or {})},
    )
    workbench.wait_for("listening", lambda: workbench.accepts(path), process)
    return Server("credd", path, process.pid, ["--line", request(profile)])


def running_credd(path):
    """A server that was already running."""
    if not workbench.accepts(path):
        raise workbench.BenchmarkError(f"{path}: nothing listens there")
    return Server("credd", path, workbench.listener_pid(path), ["--line", REQUEST])


def canned_reply(length):
    """A line of the length and shape of credd's reply, without secrets."""
    head, tail = '{"Version":1,"SessionToken":"', '"}\n'
    return head + "x" * (length - len(head) - len(tail)) + tail


def start_bare(bench, programs, reply_length, name="bare", under=()):
    path = bench.folder / f"{name}.sock"
    reply = bench.file(f"{name}.reply", canned_reply(reply_length))
    process = bench.start(name, [*under, programs.yardsticks / "bare_epoll", path, reply])
    workbench.wait_for("listening", lambda: workbench.accepts(path), process)
    return Server("bare C", path, process.pid, ["--line", REQUEST])


def start_redis(bench, reply_length):
    """redis-server without persistence; it holds one value as long as credd's reply."""
    program = shutil.which("redis-server")
    if not program:
        return None
    path = bench.folder / "redis.sock"
    process = bench.start(
        "redis",
        [program, "--port", 0, "--unixsocket", path, "--save", "", "--appendonly", "no"]
        + ["--daemonize", "no", "--dir", bench.folder],
    )
    workbench.wait_for("listening", lambda: workbench.accepts(path), process)
    store(path, "SET", "credentials", "x" * reply_length)
    return Server("redis-server", path, process.pid, ["--resp", "--line", "GET credentials"])


def store(path, *words):
    """Sends one command to redis, which must answer +OK."""
    request = f"*{len(words)}\r\n" + "".join(f"${len(word)}\r\n{word}\r\n" for word in words)
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(workbench.REPLY_SECONDS)
        client.connect(str(path))
        client.sendall(request.encode())
        reply = client.makefile("rb").readline()
    if reply != b"+OK\r\n":
        raise workbench.BenchmarkError(f"redis-server answered {reply!r} to {words[0]}")


def start_ssh_agent(bench):
    """Starts a temporary ssh-agent that holds one key; returns the environment to reach it."""
    if not all(map(shutil.which, ["ssh-agent", "ssh-add", "ssh-keygen"])):
        return None
    path, key = bench.folder / "agent.sock", bench.folder / "key"
    process = bench.start("ssh-agent", ["ssh-agent", "-D", "-a", path])
    workbench.wait_for("listening", lambda: workbench.accepts(path), process)
    environment = {"SSH_AUTH_SOCK": str(path)}
    workbench.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key], 20)
    workbench.run(["ssh-add", "-q", key], 20, environment)
    return environment


def start_git_cache(bench):
    """Starts git's credential cache with one password in it; returns its socket."""
    if not shutil.which("git"):
        return None
    folder = bench.folder / "git"
    folder.mkdir(mode=0o700)  # git refuses a folder that others can read
    path = folder / "cache.sock"
    process = bench.start("git-cache", ["git", "credential-cache--daemon", path])
    workbench.wait_for("listening", lambda: path.exists(), process)
    entry = "protocol=https\nhost=example.com\nusername=alice\npassword=not-a-secret\n\n"
    workbench.run(["git", "credential-cache", "--socket", path, "store"], 20, text=entry)
    return path

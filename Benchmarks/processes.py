"""Whole processes: figure 6, `credctl get`, `env`, `ping` and their peers from spawn to wait."""

import json

import figures
import servers
import workbench


def whole_processes(run, credd):
    """All commands take turns within each repeat."""
    bench, programs = run.bench, run.programs
    if not programs.credctl.exists():
        run.note(f"missing: {programs.credctl}; the rows of whole processes are left out")
        return {}
    client = [credd.socket, servers.REQUEST]
    credctl = [programs.credctl, "--socket", credd.socket]
    commands = {
        "get": [*credctl, "get", "--profile", servers.PROFILE],
        "env": [*credctl, "env", "--profile", servers.PROFILE],
        "ping": [*credctl, "ping"],
        "C client": [programs.yardsticks / "client", *client],
        "C client, static": [programs.yardsticks / "client-static", *client],
    }
    environment = servers.start_ssh_agent(bench)
    if environment:
        commands["ssh-add -l"] = ["ssh-add", "-l"]
    git_socket = servers.start_git_cache(bench)
    if git_socket:
        get = ["git", "credential-cache", "--socket", git_socket, "get"]
        commands["git credential-cache get"] = get
    for name in figures.FIGURES["process"].goals.keys() - commands.keys():
        run.note(f"missing: {name}; its row is left out")
    question = bench.file("question", "protocol=https\nhost=example.com\n\n")
    spawn = [programs.yardsticks / "spawn", "--count", run.options.spawns, "--stdin", question]
    for command in commands.values():
        spawn += ["--", *command]
    samples = {name: [] for name in commands}
    for _ in range(run.options.repeats):
        timed = json.loads(workbench.run(spawn, 180, environment))
        for name, result in zip(commands, timed, strict=True):
            samples[name].append(result["wall_us"]["median"])
    get, env, ping = (samples.pop(verb) for verb in ("get", "env", "ping"))
    return {
        "process": figures.Measured(get, samples),
        "process, env": figures.Measured(env, {"credctl get": get}),
        "process, ping": figures.Measured(ping, {"credctl get": get}),
    }

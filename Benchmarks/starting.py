"""The time until a daemon serves: figure 8, with service.c as the service manager."""

import json

import figures
import servers
import workbench


def start(run, base_url):
    """Times starts to READY=1 without stored sessions, and starts by socket to a stored answer."""
    bench = run.bench
    config = bench.file("started.conf", servers.configuration(base_url))
    samples = {}
    for key, more in [("ready", []), ("restored", ["--ask", servers.REQUEST])]:
        path = bench.folder / f"{key}.sock"
        state = bench.folder / f"{key}.state"
        state.mkdir()
        command = [run.programs.yardsticks / "service", "--count", run.options.starts]
        command += ["--socket", path, *more, "--"]
        command += [run.programs.credd, "--config", config, "--socket", path]
        output = workbench.run(command, 120, {"STATE_DIRECTORY": str(state)})
        samples[key] = figures.Measured(json.loads(output))
    return samples

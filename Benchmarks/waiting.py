"""Many clients that wait for one cold session: figure 15. many_waiters.c is all of them."""

import json
import socket

import figures
import servers
import workbench

CLEAR = '{"op":"clear","profile":"%s","what":"credentials"}' % servers.PROFILE


def wait(run, base_url):
    """credd's exchanges pass through many_waiters, so it knows when they end."""
    bench = run.bench
    with socket.create_server(("127.0.0.1", 0)) as listener:
        through = f"http://127.0.0.1:{listener.getsockname()[1]}"
        configuration = servers.configuration(base_url, cognito_endpoint=through)
        credd = servers.start_configured(bench, run.programs, configuration, "waited-for")
        command = [run.programs.yardsticks / "many_waiters", "--socket", credd.socket]
        command += [*credd.request, "--clear", CLEAR, "--waiters", run.options.waiters]
        command += ["--rounds", run.options.repeats * run.options.rounds]
        command += ["--listener", listener.fileno(), "--upstream", base_url.rsplit(":", 1)[1]]
        result = json.loads(workbench.run(command, 120, pass_fds=[listener.fileno()]))
    bench.stop_last()
    return {
        "waiters, exchanges": figures.Measured([max(result["exchanges"])]),
        "waiters": figures.Measured(result["clock"], {"bare C": result["bare_clock"]}),
        "waiters, processor": figures.Measured(
            result["processor"], {"bare C": result["bare_processor"]}
        ),
    }

"""The C programs, built as an ordinary user of a C compiler would build them."""

import os
import pathlib
import shutil

import workbench

SOURCES = pathlib.Path(__file__).resolve().parent
FLAGS = ["-O2", "-Wall", "-Wextra", "-Werror"]
PROGRAMS = {  # each with what is linked
    "bare_epoll": [],
    "client": [],
    "client-static": ["-static"],
    "flood": [],
    "herd": [],
    "loadgen": [],
    "refresher": ["-lcurl"],
    "service": [],
    "spawn": [],
}


def build(folder):
    folder.mkdir(parents=True, exist_ok=True)
    compiler = os.environ.get("CC", "cc")
    if not shutil.which(compiler):
        raise workbench.BenchmarkError(f"missing: {compiler} (Debian: gcc and libc6-dev)")
    for program, links in PROGRAMS.items():
        source = SOURCES / f"{program.removesuffix('-static')}.c"
        workbench.run([compiler, *FLAGS, "-o", folder / program, source, *links], 60)

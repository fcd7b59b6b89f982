"""Builds the C programs, with ordinary compiler flags."""

import os
import pathlib
import shutil

import workbench

SOURCES = pathlib.Path(__file__).resolve().parent
CREDD = SOURCES.parent / "Sources" / "CLinux"  # look_up asks credd's own question
FLAGS = ["-O2", "-Wall", "-Wextra", "-Werror", f"-I{CREDD / 'include'}"]
PROGRAMS = {  # each with what it is linked with
    "bare_epoll": [],
    "bare_http": ["-lmicrohttpd"],
    "client": [],
    "client-static": ["-static"],
    "flood": [],
    "loadgen": [],
    "look_up": [CREDD / "attest.c"],
    "many_waiters": [],
    "powers": ["-lcrypto"],
    "refresher": ["-lcurl"],
    "service": [],
    "spawn": [],
}


def build(folder):
    folder.mkdir(parents=True, exist_ok=True)
    compiler = os.environ.get("CC", "cc")
    if not shutil.which(compiler):
        raise workbench.BenchmarkError(f"missing: {compiler} (Debian: gcc and libc6-dev)")
    for name, links in PROGRAMS.items():
        program, source = folder / name, SOURCES / f"{name.removesuffix('-static')}.c"
        linked = [path for path in links if isinstance(path, pathlib.Path)]
        if is_newer(program, source, *linked, SOURCES / "yardstick.h", pathlib.Path(__file__)):
            continue
        workbench.run([compiler, *FLAGS, "-o", program, source, *links], 60)


def is_newer(program, *sources):
    newest = max(source.stat().st_mtime for source in sources)
    return program.exists() and program.stat().st_mtime > newest

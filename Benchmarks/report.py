"""The table for people and the JSON for programs."""

import datetime
import json
import os
import pathlib
import platform

HEADINGS = ("#", "figure", "credd", "peer", "its value", "ratio", "goal", "met")
ALIGNMENT = "><><>>><"


def number(value, unit):
    if value is None:
        return ""
    text = f"{value:,.0f}" if value >= 1000 or value == int(value) else f"{value:.3g}"
    return f"{text} {unit}".strip()


def verdict(row, judges):
    if row.met is None or not judges:
        return "–"
    return "met" if row.met else "NOT MET"


def cells(row, judges):
    figure = row.figure
    return (
        str(figure.number or ""),
        figure.name,
        number(row.value, figure.unit),
        row.peer or "",
        number(row.peer_value, figure.unit),
        f"{row.ratio:.2f}" if row.ratio is not None else "",
        row.goal.text(figure.unit) if row.goal else "",
        verdict(row, judges),
    )


def table(rows, judges):
    lines = [HEADINGS] + [cells(row, judges) for row in rows]
    widths = [max(map(len, column)) for column in zip(*lines)]
    lines.insert(1, tuple("─" * width for width in widths))
    return "\n".join(
        "  ".join(
            f"{cell:{side}{width}}" for cell, side, width in zip(line, ALIGNMENT, widths)
        ).rstrip()
        for line in lines
    )


def processor_model():
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.machine()


def document(rows, notes, settings, judges):
    return {
        "taken": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        "machine": {
            "processor": processor_model(),
            "processors": os.cpu_count(),
            "kernel": platform.release(),
        },
        "settings": settings,
        "notes": notes,
        "rows": [
            {
                "number": row.figure.number,
                "figure": row.figure.name.strip(),
                "unit": row.figure.unit,
                "credd": row.value,
                "samples": row.credd,
                "peer": row.peer,
                "peer_value": row.peer_value,
                "peer_samples": row.peer_samples,
                "ratio": row.ratio,
                "goal": row.goal.text(row.figure.unit) if row.goal else None,
                "met": row.met if judges else None,
            }
            for row in rows
        ],
    }


def write(path, contents):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(contents, indent=2, ensure_ascii=False) + "\n")

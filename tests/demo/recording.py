#!/usr/bin/env python3
"""Records `longshore rollout NAME --watch` during a real canary on this host, as an animated SVG for README.md.

    LONGSHORE_BIN=build/release/bin python3 -B tests/demo/recording.py docs/pictures/rollout.svg

The rollout runs under load on two nodes; its steps decide how long it takes. The picture contains what the command wrote to a
terminal, frame by frame, with the times at which it wrote it. It needs no scripts and no fonts of others, because GitHub shows
SVG files as images. Asciinema's recordings need a player, which GitHub does not show.
"""

import argparse
import fcntl
import html
import os
import pathlib
import pty
import re
import select
import struct
import subprocess
import sys
import termios
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "integration"))

COLUMNS, ROWS = 132, 54
FRAMES_PER_S = 4  # At most; faster changes are not seen.
SECONDS_MAX = 60
END_S = 5  # How long the last frame stays.
CELL_WIDTH, CELL_HEIGHT, MARGIN = 8.4, 18, 16
FOREGROUND, BACKGROUND = "#e6edf3", "#0d1117"
# Of the escape sequences that `longshore` writes. The colours have a contrast of at least 7 with the background.
STYLES = {"1": 'font-weight="bold"', "2": 'fill="#9da7b1"', "31": 'fill="#ff9492"', "32": 'fill="#4ae168"', "33": 'fill="#f0b72f"',
          "36": 'fill="#56d4dd"'}


# The canary.

def record_canary():
    """Returns (time, text) of each piece that the command wrote during a canary."""
    from harness import Installation, wait_for
    from local_test import Load, half_plus
    with Installation() as it:
        it.apply_fleet(nodes=2)
        it.apply_model("half", half_plus(it.dir), 1)
        it.start_controller()
        it.wait_for_stable("half", 1)
        it.wait_for_ready_nodes(2)
        it.wait_for_answers("half", {"instances": [2.0]})
        with Load(it, "half"), Load(it, "half"), Load(it, "half"), Load(it, "half"):
            it.apply_model("half", it.dir / "half", 2, {
                "hold": "8s", "requestsMin": 100, "keepWarm": "10s",
                "analysis": {"errorRate": {"tolerance": 0.02}, "latency": {"tolerance": 0.5}},
                "steps": [{"weight": 10, "proof": "Sampled"}, {"weight": 25, "proof": "Sampled"}, {"weight": 50, "proof": "Required"}]})
            wait_for("the rollout to begin", lambda: it.status("half").get("rollout", {}).get("candidate") == 2)
            return run_in_terminal(it)


def run_in_terminal(it):
    from harness import BIN
    main, terminal = pty.openpty()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
    # With the variable, the view's commands need no --manifests.
    environment = {**os.environ, "TERM": "xterm-256color", "LC_ALL": "C.UTF-8", "LONGSHORE_MANIFESTS": str(it.manifests)}
    environment.pop("NO_COLOR", None)
    watching = subprocess.Popen([BIN / "longshore", "rollout", "half", "--watch"], stdout=terminal, stderr=terminal,
                                stdin=terminal, env=environment)
    os.close(terminal)
    pieces, began = [], time.monotonic()
    while time.monotonic() - began < SECONDS_MAX:
        if select.select([main], [], [], 0.2)[0]:
            try:
                pieces.append((time.monotonic() - began, os.read(main, 65536)))
            except OSError:  # The command has ended.
                break
    os.close(main)
    watching.terminate()
    if watching.wait() != 0:
        raise SystemExit(f"the rollout did not end well: {b''.join(piece for _, piece in pieces)[-3000:].decode()}")
    return pieces


# The picture.

def frames_of(pieces):
    """Returns (time, lines) of each frame: the texts between two moves of the cursor to the first line."""
    frames = []
    for at, frame in split_frames(pieces):
        lines = [line.replace("\x1b[K", "").rstrip("\r") for line in frame.replace("\x1b[J", "").split("\n")]
        if frames and at - frames[-1][0] < 1 / FRAMES_PER_S:
            at = frames.pop()[0]
        frames.append((at, lines))
    first = frames[0][0]
    return [(at - first, lines) for at, lines in frames]


def split_frames(pieces):
    text, times = "", []  # For each character, when it was written.
    for at, piece in pieces:
        decoded = piece.decode(errors="replace")
        text += decoded
        times += [at] * len(decoded)
    starts = [match.start() for match in re.finditer(r"\x1b\[H", text)]
    return [(times[start], text[start + 3:end]) for start, end in zip(starts, starts[1:] + [len(text)])]


def spans_of(line):
    """Returns (column, style, text) of the parts of a line."""
    spans, column, style = [], 0, ""
    for part in re.split(r"(\x1b\[[0-9;]*m)", line):
        if part.startswith("\x1b["):
            style = STYLES.get(part[2:-1], "")
            continue
        for word in re.finditer(r"\S+(?: \S+)*", part):  # Gaps of several blanks need no characters.
            spans.append((column + word.start(), style, word.group()))
        column += len(part)
    return spans


def drawn(line, row):
    y = MARGIN + (row + 1) * CELL_HEIGHT - 4
    return "".join(f'<text x="{MARGIN + column * CELL_WIDTH:.1f}" y="{y}" textLength="{len(text) * CELL_WIDTH:.1f}"'
                   f'{" " + style if style else ""}>{html.escape(text)}</text>' for column, style, text in spans_of(line))


def intervals_of(frames, end):
    """Returns (row, line, from, to): each line is drawn once for the time in which it does not change."""
    intervals = []
    for row in range(ROWS):
        shown, since = "", 0.0
        for at, lines in [*frames, (end, [])]:
            line = lines[row] if row < len(lines) else ""
            if line != shown or at == end:
                if shown.strip() and at > since:
                    intervals.append((row, shown, since, at))
                shown, since = line, at
    return intervals


def animation(begin, end, whole):
    """The key frames of a line that is visible from `begin` to `end`, in percent of the whole."""
    start, stop = 100 * begin / whole, 100 * end / whole
    before = "" if begin == 0 else f"0%{{visibility:hidden}}{start:.3f}%{{visibility:visible}}"
    after = "" if end >= whole else f"{stop:.3f}%,to{{visibility:hidden}}"
    return (before or "0%{visibility:visible}") + after


def svg_of(frames):
    whole = frames[-1][0] + END_S
    classes, groups = {}, {}
    for row, line, begin, end in intervals_of(frames, whole):
        name = classes.setdefault((begin, end), f"t{len(classes)}")
        groups.setdefault(name, []).append(drawn(line, row))
    rules = "".join(f"@keyframes {name}{{{animation(begin, end, whole)}}}.{name}{{animation-name:{name}}}"
                    for (begin, end), name in classes.items())
    width, height = 2 * MARGIN + COLUMNS * CELL_WIDTH, 2 * MARGIN + ROWS * CELL_HEIGHT
    body = "\n".join(f'<g class="{name}">{"".join(texts)}</g>' for name, texts in groups.items())
    return f"""<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height}" role="img">
<title>longshore rollout half --watch during a canary</title>
<style>text{{white-space:pre}}g g{{animation:{whole:.2f}s step-end infinite}}{rules}</style>
<rect width="100%" height="100%" rx="8" fill="{BACKGROUND}" stroke="#3d444d"/>
<g font-family="ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace" font-size="14" fill="{FOREGROUND}">
{body}
</g>
</svg>
"""


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("picture", type=pathlib.Path, help="the file to write")
    options = parser.parse_args()
    picture = svg_of(frames_of(record_canary()))
    options.picture.write_text(picture)
    print(f"{options.picture}: {len(picture.encode()) // 1024} KB", file=sys.stderr)


if __name__ == "__main__":
    main()

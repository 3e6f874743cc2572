"""Compares what `crs convert` prints for the sample captions with what webvtt-py reads from them.

python captions.py ROOT, with the repository's root. node must be in the PATH.
"""

import html
import json
import subprocess
import sys
from pathlib import Path

import webvtt

ROOT = Path(sys.argv[1])
SAMPLES = {"webvtt.vtt": "vtt", "zoom.vtt": "zoom", "teams.vtt": "teams", "call.srt": "srt"}


def segment(caption: webvtt.Caption, dialect: str) -> dict[str, object]:
    text = html.unescape(" ".join(caption.text.split()))
    speaker = caption.voice and html.unescape(caption.voice)
    if dialect == "zoom" and ": " in text:
        speaker, _, text = text.partition(": ")
    return {"speaker": speaker, "start_seconds": caption.start_in_seconds + caption.start_time.milliseconds / 1000, "text": text}


for name, dialect in SAMPLES.items():
    path = ROOT / "services/crs/test/captions" / name
    captions = webvtt.from_srt(path) if dialect == "srt" else webvtt.read(path)
    expected = [segment(caption, dialect) for caption in captions]
    command = ["node", ROOT / "services/crs/src/main.ts", "convert", "--from", dialect, path]
    printed = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
    if printed != expected:
        sys.exit(f"{name}: crs convert prints\n{printed}\nbut webvtt-py reads\n{expected}")
    print(f"{name}: webvtt-py reads the same {len(expected)} cues.")

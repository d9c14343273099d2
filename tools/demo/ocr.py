# Reading text in a picture with the two networks of the rapidocr package: where is text, and what
# does it say. The picture is drawn from the README, or named by the caller.
# SPDX-License-Identifier: Apache-2.0
import os

import numpy
import onnx
from PIL import Image, ImageDraw, ImageFont

from case import CACHE, Case, Failure, extract, fetch, relative

STEP = 32  # sizes of the detector's input are multiples of it
LONGEST = 1280  # larger pictures are made smaller for the detector
LINE_HEIGHT = 48
WIDTHS = (32, 2048)  # of the reader's input


def draw_text(lines):
    """A white picture with the lines on it."""
    font = ImageFont.load_default(size=28)
    picture = Image.new("RGB", (640, 40 + 64 * len(lines)), "white")
    canvas = ImageDraw.Draw(picture)
    for number, text in enumerate(lines):
        canvas.text((32, 32 + 64 * number), text, fill="black", font=font)
    return picture


def readme_lines(root):
    """Some beginnings of sentences of the README."""
    with open(os.path.join(root, "README.md"), encoding="utf-8") as file:
        text = [line.strip("#-* \n").replace("*", "").replace("`", "") for line in file]
    return [line[:36].rpartition(" ")[0] for line in text if len(line) > 36][:5]


def detector_input(picture):
    """[1,3,H,W] in -1..1 and the factor by which the picture was scaled."""
    factor = min(1, LONGEST / max(picture.size))
    size = [max(STEP, round(extent * factor / STEP) * STEP) for extent in picture.size]
    pixels = numpy.asarray(picture.resize(size, Image.Resampling.BILINEAR), dtype=numpy.float32)
    return ((pixels / 255 - 0.5) / 0.5).transpose(2, 0, 1)[None].copy()


def areas(heat, threshold=0.3, least=24):
    """Connected areas above the threshold: (left, top, right, bottom, mean score)."""
    todo = heat > threshold
    found = []
    for y, x in zip(*numpy.nonzero(todo)):
        if not todo[y, x]:
            continue
        area, stack = [], [(y, x)]
        todo[y, x] = False
        while stack:
            v, u = stack.pop()
            area.append((v, u))
            for w, t in ((v - 1, u), (v + 1, u), (v, u - 1), (v, u + 1)):
                if 0 <= w < heat.shape[0] and 0 <= t < heat.shape[1] and todo[w, t]:
                    todo[w, t] = False
                    stack.append((w, t))
        if len(area) < least:
            continue
        rows, columns = zip(*area)
        score = float(numpy.mean([heat[place] for place in area]))
        if score > 0.5:
            found.append((min(columns), min(rows), max(columns) + 1, max(rows) + 1, score))
    return found


def text_boxes(heat, size):
    """Boxes in the picture's own pixels, widened: the detector marks the kernels of lines."""
    across, down = size[0] / heat.shape[1], size[1] / heat.shape[0]
    boxes = []
    for left, top, right, bottom, _ in areas(heat):
        width, height = right - left, bottom - top
        grow = 1.6 * width * height / (2 * (width + height))
        boxes.append((max(0, round((left - grow) * across)), max(0, round((top - grow) * down)),
                      min(size[0], round((right + grow) * across)),
                      min(size[1], round((bottom + grow) * down))))
    return sorted(boxes, key=lambda box: (round((box[1] + box[3]) / 2 / 24), box[0]))


def line_input(picture, box):
    """[1,3,48,W] in -1..1 of one line of text."""
    line = picture.crop(box)
    width = round(line.width * LINE_HEIGHT / line.height)
    width = min(max(width, WIDTHS[0]), WIDTHS[1])
    pixels = numpy.asarray(line.resize((width, LINE_HEIGHT), Image.Resampling.BILINEAR),
                           dtype=numpy.float32)
    return ((pixels / 255 - 0.5) / 0.5).transpose(2, 0, 1)[None].copy()


def spell(scores, alphabet):
    """The best path of a connectionist temporal classification: repeats and blanks fall away."""
    best = scores.argmax(axis=1)
    kept = [i for i, label in enumerate(best) if label and (i == 0 or label != best[i - 1])]
    text = "".join(alphabet[best[i]] for i in kept)
    return text, float(numpy.mean([scores[i].max() for i in kept])) if kept else 0.0


def alphabet_of(model):
    """The letters that the reader's file carries along: blank, the letters, a space."""
    for entry in onnx.load(model, load_external_data=False).metadata_props:
        if entry.key == "character":
            return [""] + entry.value.split("\n") + [" "]
    raise Failure(f"{relative(model)} names no letters")


def annotate(picture, found, path):
    result = picture.copy()
    canvas = ImageDraw.Draw(result)
    for box, text, _ in found:
        canvas.rectangle(box, outline=(200, 60, 20), width=2)
        canvas.text((box[0], max(0, box[1] - 12)), text, fill=(200, 60, 20),
                    font=ImageFont.load_default(size=11))
    result.save(path)


def demo(options):
    archive = fetch("rapidocr")
    detector, reader = (extract(archive, ending) for ending in ("_det_small.onnx",
                                                                "_rec_small.onnx"))
    drawn = [] if options.picture else readme_lines(options.root)
    picture = Image.open(options.picture).convert("RGB") if options.picture else draw_text(drawn)
    where = Case(options, "ocr-where", detector, {"x": detector_input(picture)})
    heat, _ = where.outputs()
    boxes = text_boxes(heat[0, 0], picture.size)
    if not boxes:
        raise Failure("no text was found in the picture")
    lines = [line_input(picture, box) for box in boxes]
    widest = max(lines, key=lambda line: line.shape[3])
    low, high = WIDTHS
    what = Case(options, "ocr-what", reader, {"x": widest},
                f"x:1x3x{LINE_HEIGHT}x{low}..1x3x{LINE_HEIGHT}x{high},"
                f"opt=1x3x{LINE_HEIGHT}x{widest.shape[3]}")
    alphabet = alphabet_of(reader)
    found = []
    for box, line in zip(boxes, lines):  # one engine for all widths
        scores, _ = what.outputs({"x": line})
        found.append((box, *spell(scores[0], alphabet)))
    path = os.path.join(CACHE, "ocr.png")
    annotate(picture, found, path)
    print(f"\n  {len(found)} lines read; the picture with them: {relative(path)}")
    for box, text, score in found:
        print(f"  {str(box):>24} {score:.2f}  {text}")
    texts = [text for _, text, _ in found]
    where.compare(1e-3)
    what.compare(1e-3)
    if drawn and texts != drawn:
        raise Failure(f"drawn was {drawn}, read was {texts}")

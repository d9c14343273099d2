#!/usr/bin/env python3
# Small valid files for each target of fuzz/: fuzz_seeds.py --stoker PROGRAM --out FOLDER makes
# FOLDER/TARGET/NAME. Models for the importer come from the onnx wheel.
# SPDX-License-Identifier: Apache-2.0
import argparse
import glob
import io
import json
import os
import shutil
import struct
import subprocess
import tempfile
import zlib

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper

MOST_BYTES = 32768  # larger seeds slow every run down
NODE_TESTS = ["node/test_relu", "node/test_conv_with_strides_padding", "node/test_loop11",
              "node/test_nonzero_example", "node/test_softmax_axis_1", "node/test_qlinearmatmul_2D",
              "node/test_gru_seq_length", "node/test_resize_upsample_scales_linear",
              "node/test_attention_4d", "node/test_if", "node/test_topk", "node/test_gather_0",
              "node/test_maxpool_2d_default", "node/test_layer_normalization_4d_axis1",
              "node/test_einsum_transpose", "node/test_scan9_sum", "node/test_pad_example"]


class Seeds:
    def __init__(self, folder):
        self.folder = folder

    def put(self, target, name, data):
        if len(data) > MOST_BYTES:
            return
        path = os.path.join(self.folder, target, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(data)


def read(path):
    with open(path, "rb") as file:
        return file.read()


def suite():
    return os.path.join(os.path.dirname(onnx.__file__), "backend", "test", "data")


def importer(seeds):
    for i, path in enumerate(sorted(glob.glob(os.path.join(suite(), "*", "*", "model.onnx")))):
        if os.path.getsize(path) < 16384:
            seeds.put("import_onnx", f"{i}.onnx", read(path))


def dynamic_model():
    value = helper.make_tensor_value_info
    weight = numpy_helper.from_array(numpy.ones((3, 4), numpy.float32), "w")
    graph = helper.make_graph([helper.make_node("MatMul", ["x", "w"], ["p"]),
                               helper.make_node("Softmax", ["p"], ["y"])], "g",
                              [value("x", TensorProto.FLOAT, ["N", 3])],
                              [value("y", TensorProto.FLOAT, None)], [weight])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)],
                             ir_version=8).SerializeToString()


def engines(seeds, stoker):
    """Engines, the text of their graphs, decisions and a timing cache."""
    models = [(test.rsplit("/", 1)[1], os.path.join(suite(), test, "model.onnx"))
              for test in NODE_TESTS]
    with tempfile.TemporaryDirectory() as folder:
        def at(name):
            return os.path.join(folder, name)
        with open(at("dynamic.onnx"), "wb") as file:
            file.write(dynamic_model())
        for name, model in [("dynamic", at("dynamic.onnx")), *models]:
            if not os.path.exists(model):
                continue
            more = ["--refittable"] if len(name) % 2 else []
            made = subprocess.run(
                [stoker, "build", model, "-o", at("e.engine"), *more, "--json", "--dump-after",
                 "dce", "--save-decisions", at("d.json"), "--knob", "timing_rounds=1",
                 "--knob", "timing_cache=" + at("t.sqlite")], capture_output=True, check=False)
            if made.returncode:
                continue
            seeds.put("engine", name, read(at("e.engine")))
            seeds.put("settings", "decisions-" + name, b"\1" + read(at("d.json")))
            for i, dump in enumerate(json.loads(made.stdout).get("dumps", [])):
                seeds.put("text_ir", f"{name}-{i}", dump["graph"].encode())
            if name == "dynamic":
                seeds.put("timing_cache", name, read(at("t.sqlite")))


def arrays(seeds):
    for dtype in ("f4", "f8", "i8", "u1", "?", "c8", "f2"):
        for shape in ((), (3,), (2, 3), (0, 4)):
            for order in "CF":
                stream = io.BytesIO()
                numpy.save(stream, numpy.asarray(numpy.zeros(shape, dtype), order=order))
                seeds.put("npy", f"{dtype.strip('?')}-{len(shape)}{order}{len(stream.getvalue())}",
                          stream.getvalue())
        tensor = numpy_helper.from_array(numpy.ones((2, 3), dtype), "x")
        seeds.put("tensor_proto", dtype.strip("?") + "t", tensor.SerializeToString())
    strings = numpy_helper.from_array(numpy.array(["a", "bc"], object), "s")
    seeds.put("tensor_proto", "strings", strings.SerializeToString())
    for pattern in ("*sequence*", "*optional*"):
        for i, path in enumerate(glob.glob(os.path.join(suite(), "node", pattern, "*", "*.pb"))):
            seeds.put("tensor_proto", f"{pattern.strip('*')}-{i}", read(path))


def wav(encoding, bits, channels):
    form = struct.pack("<HHIIHH", encoding, channels, 8000, 8000 * channels * bits // 8,
                       channels * bits // 8, bits)
    samples = bytes(range(64)) * channels
    body = (b"WAVEfmt " + struct.pack("<I", len(form)) + form + b"data"
            + struct.pack("<I", len(samples)) + samples)
    return b"RIFF" + struct.pack("<I", len(body)) + body


def png(depth, color):
    def chunk(tag, data):
        return (struct.pack(">I", len(data)) + tag + data
                + struct.pack(">I", zlib.crc32(tag + data)))
    row = b"\0" + bytes(8 * {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}[color] * depth // 8)
    palette = chunk(b"PLTE", bytes(range(12))) if color == 3 else b""
    return (b"\x89PNG\r\n\x1a\n"
            + chunk(b"IHDR", struct.pack(">IIBBBBB", 8, 8, depth, color, 0, 0, 0)) + palette
            + chunk(b"IDAT", zlib.compress(row * 8)) + chunk(b"IEND", b""))


def media(seeds):
    for encoding, bits in ((1, 8), (1, 16), (1, 24), (1, 32), (3, 32), (3, 64)):
        for channels in (1, 2):
            seeds.put("wav", f"{encoding}-{bits}-{channels}", wav(encoding, bits, channels))
    for depth, color in ((8, 0), (8, 2), (8, 3), (8, 4), (8, 6), (16, 2), (1, 0)):
        seeds.put("image", f"png-{depth}-{color}", png(depth, color))
    for kind, body in (("1", b"1 0 1 0"), ("2", b"255 9 8 7 6"), ("3", b"255 " + b"1 2 3 " * 4),
                       ("4", b"\xa0\x50"), ("5", b"255 abcd"), ("6", b"255 abcdefghijkl")):
        head = f"P{kind} 2 2 ".encode()
        seeds.put("image", "pnm" + kind, head + body)
    bmp = struct.pack("<2sIHHI", b"BM", 54 + 16, 0, 0, 54) + struct.pack(
        "<IiiHHIIiiII", 40, 2, 2, 1, 24, 0, 16, 0, 0, 0, 0) + bytes(16)
    seeds.put("image", "bmp", bmp)
    tiff = b"II*\0\x08\0\0\0" + struct.pack("<H", 8)
    for tag, kind, value in ((256, 3, 2), (257, 3, 2), (258, 3, 8), (259, 3, 1), (262, 3, 1),
                             (273, 4, 110), (278, 3, 2), (279, 4, 4)):
        tiff += struct.pack("<HHII", tag, kind, 1, value)
    seeds.put("image", "tiff", tiff + bytes(4) + b"abcd")
    try:
        from PIL import Image
    except ImportError:
        return  # JPEG, WebP and JPEG 2000 then start from nothing
    for kind in ("JPEG", "WEBP", "JPEG2000", "TIFF"):
        stream = io.BytesIO()
        try:
            Image.new("RGB", (8, 8), (200, 100, 50)).save(stream, kind)
        except (OSError, KeyError):
            continue
        seeds.put("image", kind.lower(), stream.getvalue())


def settings(seeds):
    texts = {0: ["layout_c16=false threads=2", 'disable_passes=cse,dce log_level="warn"'],
             2: ["x:1x3", "x:Nx3", "x:1x3..8x3,opt=4x3"], 3: ["x:2x3", "a:b:0x7"]}
    for kind, lines in texts.items():
        for i, line in enumerate(lines):
            seeds.put("settings", f"{kind}-{i}", bytes([kind]) + line.encode())


def main():
    parser = argparse.ArgumentParser(description="Seeds for the fuzz targets.")
    parser.add_argument("--stoker", required=True)
    parser.add_argument("--out", required=True)
    options = parser.parse_args()
    shutil.rmtree(options.out, ignore_errors=True)
    seeds = Seeds(options.out)
    importer(seeds)
    engines(seeds, os.path.abspath(options.stoker))
    arrays(seeds)
    media(seeds)
    settings(seeds)
    for target in sorted(os.listdir(options.out)):
        print(f"{target}: {len(os.listdir(os.path.join(options.out, target)))} seeds")


if __name__ == "__main__":
    main()

# The table of bad inputs: every case is a name and the words of one command. Words may name what
# `make_files` puts into the case's folder. bad_inputs_expected.txt holds how each must end.
# SPDX-License-Identifier: Apache-2.0
import gzip
import io
import os
import sqlite3
import struct
import subprocess

import numpy
from onnx import TensorProto, numpy_helper

from bad_inputs_models import FLOAT, INT64, MODELS, i64, model, node, one, write_surroundings


def npy_bytes(array, **options):
    stream = io.BytesIO()
    numpy.save(stream, array, **options)
    return stream.getvalue()


def npy_with(header, elements=b"", version=b"\x01\0"):
    text = header.encode()
    return b"\x93NUMPY" + version + struct.pack("<H", len(text)) + text + elements


def wav(samples=b"\0" * 64, encoding=1, channels=1, rate=16000, bits=16, size=None):
    form = struct.pack("<HHIIHH", encoding, channels, rate, rate * channels * bits // 8,
                       channels * bits // 8, bits)
    body = b"WAVEfmt " + struct.pack("<I", len(form)) + form
    body += b"data" + struct.pack("<I", len(samples) if size is None else size) + samples
    return b"RIFF" + struct.pack("<I", len(body)) + body


def png(width, height, cut=None):
    import zlib

    def chunk(tag, data):
        return (struct.pack(">I", len(data)) + tag + data
                + struct.pack(">I", zlib.crc32(tag + data)))
    rows = zlib.compress(b"".join(b"\0" + bytes([y] * 3 * 8) for y in range(8)))
    data = (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0,
                                                              0, 0))
            + chunk(b"IDAT", rows) + chunk(b"IEND", b""))
    return data[:cut]


class Folder:
    """Writes files into a folder by name."""

    def __init__(self, path):
        self.path = path

    def put(self, name, data):
        path = os.path.join(self.path, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(data)


def put_models(folder, put):
    for name, make in MODELS.items():
        put(f"models/{name}.onnx", make())
    write_surroundings(os.path.join(folder, "models"))
    small = model([node("Add", ["x", "w"], ["s"]), node("Relu", ["s"], ["y"])],
                  [("x", FLOAT, ["N", 3])], [("y", FLOAT, None)],
                  [numpy_helper.from_array(numpy.ones((1, 3), numpy.float32), "w")])
    put("small.onnx", small)
    put("image.onnx", one("Relu", [[1, 3, 8, 8]]))
    put("sound.onnx", one("Relu", [[1, "samples"]]))
    put("two.onnx", one("Add", [[2], [2]]))
    put("big.onnx", one("ConstantOfShape", [], constants=[i64(1 << 28)]))
    put("folder.onnx/inside", b"")
    put("empty.onnx", b"")
    put("text.onnx", b"a shopping list, not a model\n" * 9)
    put("page.onnx", b"<!DOCTYPE html><title>404</title>")
    put("zipped.onnx", gzip.compress(small, mtime=0))
    put("cut.onnx", small[:len(small) // 2])
    put("small.txt", small)
    put("model.gguf", b"GGUF")
    for name in ("pipe.onnx", "pipe.pb"):
        os.mkfifo(os.path.join(folder, name))
    return small


def put_engines(stoker, folder, put, small):
    engine = os.path.join(folder, "small.engine")
    subprocess.run([stoker, "build", os.path.join(folder, "small.onnx"), "-o", engine, "--quiet",
                    "--route", "tactic_timing=false"], check=True, stdout=subprocess.DEVNULL)
    subprocess.run([stoker, "build", os.path.join(folder, "small.onnx"), "-o",
                    os.path.join(folder, "lean.engine"), "--lean", "--quiet", "--route",
                    "tactic_timing=false"], check=True, stdout=subprocess.DEVNULL)
    with open(engine, "rb") as file:
        data = file.read()
    put("cut.engine", data[:len(data) - 100])
    put("head.engine", data[:40])
    put("empty.engine", b"")
    put("text.engine", b"not an engine\n" * 40)
    put("newer.engine", data[:8] + struct.pack("<I", 7) + data[12:])
    put("flipped.engine", data[:4200] + bytes([data[4200] ^ 1]) + data[4201:])
    put("long.engine", data + b"\0")
    put("model.engine", small)


def put_inputs(put):
    x = numpy.ones((2, 3), numpy.float32)
    put("x.npy", npy_bytes(x))
    put("i64.npy", npy_bytes(x.astype("int64")))
    put("rank.npy", npy_bytes(x[0]))
    put("wide.npy", npy_bytes(numpy.ones((2, 4), numpy.float32)))
    put("cut.npy", npy_bytes(x)[:-5])
    put("long.npy", npy_bytes(x) + b"\0" * 7)
    put("head.npy", npy_bytes(x)[:20])
    put("empty.npy", b"")
    put("text.npy", b"1 2 3\n")
    put("object.npy", npy_bytes(numpy.array([{}], dtype=object), allow_pickle=True))
    put("fields.npy", npy_bytes(numpy.zeros(2, dtype=[("a", "f4"), ("b", "i4")])))
    put("unicode.npy", npy_bytes(numpy.array(["a", "bc"])))
    put("version.npy", b"\x93NUMPY\x09\0" + npy_bytes(x)[8:])
    put("huge-header.npy", b"\x93NUMPY\x02\0" + struct.pack("<I", 1 << 31) + b"{" * 100)
    put("broken-header.npy", npy_with("{'descr': '<f4', 'fortran_order': Maybe}"))
    put("overflow.npy", npy_with("{'descr': '<f4', 'fortran_order': False, "
                                 "'shape': (4611686018427387904, 8)}"))
    put("negative.npy", npy_with("{'descr': '<f4', 'fortran_order': False, 'shape': (2, -3)}"))
    put("terabyte.npy", npy_with("{'descr': '<f4', 'fortran_order': False, "
                                 "'shape': (1099511627776,)}"))
    put("garbage.pb", b"\xff" * 40)
    put("i32.pb", numpy_helper.from_array(x.astype("int32"), "x").SerializeToString())
    put("short.pb", TensorProto(dims=[2, 3], data_type=FLOAT, raw_data=b"\0" * 8
                                ).SerializeToString())
    outside = TensorProto(dims=[2, 3], data_type=FLOAT, data_location=TensorProto.EXTERNAL)
    entry = outside.external_data.add()
    entry.key, entry.value = "location", "x.npy"
    put("external.pb", outside.SerializeToString())
    put("text.wav", b"la la la")
    put("cut.wav", wav()[:30])
    put("mp3.wav", wav(encoding=85))
    put("channels.wav", wav(channels=0))
    put("12bits.wav", wav(bits=12))
    put("text.png", b"a drawing of a cat")
    put("cut.png", png(8, 8, 60))
    put("huge.png", png(1 << 30, 1 << 30))
    put("cut.jpg", b"\xff\xd8\xff\xe0\0\x10JFIF\0\x01\x01\0\0\x01\0\x01\0\0\xff\xdb\0C")
    put("garbage.decisions", b"one thing and\nanother\n")
    put("empty.decisions", b"")
    put("garbage.sqlite", b"these are no timings" * 300)
    put("endless.sqlite", b"")


def make_files(stoker, folder):
    """Everything that the commands name, in `folder`."""
    put = Folder(folder).put
    put_engines(stoker, folder, put, put_models(folder, put))
    put_inputs(put)
    cache = sqlite3.connect(os.path.join(folder, "endless.sqlite"))
    cache.execute("create view timing as with recursive n(i) as (select 1 union all select i + 1"
                  " from n) select i as desc, '' as tactic, 1 as version, '' as config,"
                  " cast(i as text) as machine, 1 as threads, '' as samples from n")
    cache.close()


# Faults that show when sizes are known and memory is taken.
AT_RUN = {"IR version 99, read all the same", "input of 2^62", "product of dims overflows",
          "constant index out of range"}


def model_cases():
    for name in MODELS:
        file = f"models/{name}.onnx"
        runs = name in AT_RUN or name.endswith((" bomb", " overflow"))
        yield name, ["run", file] if runs else ["build", file, "-o", "out.engine"]


def input_case(name, file, target="small.engine", key="x"):
    return name, ["run", target, "--input", f"{key}={file}"]


FILES = [
    ("model missing", ["build", "nowhere.onnx", "-o", "out.engine"]),
    ("model is empty", ["build", "empty.onnx", "-o", "out.engine"]),
    ("model is text", ["build", "text.onnx", "-o", "out.engine"]),
    ("model is a web page", ["run", "page.onnx"]),
    ("model is zipped", ["build", "zipped.onnx", "-o", "out.engine"]),
    ("model is cut", ["bench", "cut.onnx"]),
    ("model is a folder", ["inspect", "folder.onnx"]),
    ("input is a pipe", ["run", "small.engine", "--input", "x=pipe.pb"]),
    ("model is a pipe", ["build", "pipe.onnx", "-o", "out.engine"]),
    ("model without ending", ["build", "small.txt", "-o", "out.engine"]),
    ("model is GGUF", ["build", "model.gguf", "-o", "out.engine"]),
    ("engine missing", ["run", "nowhere.engine"]),
    ("engine is empty", ["run", "empty.engine"]),
    ("engine is text", ["run", "text.engine"]),
    ("engine is cut", ["run", "cut.engine"]),
    ("engine is cut in its header", ["inspect", "head.engine"]),
    ("engine is too long", ["run", "long.engine"]),
    ("engine of a newer version", ["run", "newer.engine"]),
    ("engine with a flipped bit", ["check", "flipped.engine", "--data", "."]),
    ("engine is a model", ["run", "model.engine"]),
    ("lean engine given to build", ["build", "lean.engine", "-o", "out.engine"]),
    ("engine built to be refitted", ["build", "small.engine", "-o", "out.engine", "--refittable"]),
    ("engine that cannot be refitted", ["refit", "small.engine", "--from", "small.onnx"]),
    ("decisions are garbage", ["build", "small.onnx", "-o", "out.engine", "--decisions",
                               "garbage.decisions"]),
    ("decisions are empty", ["build", "small.onnx", "-o", "out.engine", "--decisions",
                             "empty.decisions"]),
    ("timing cache is garbage", ["run", "small.onnx", "--knob", "timing_cache=garbage.sqlite"]),
    ("timing cache without an end", ["run", "small.onnx", "--knob",
                                     "timing_cache=endless.sqlite"]),
    ("output folder missing", ["build", "small.onnx", "-o", "no/such/out.engine"]),
    ("output is a folder", ["build", "small.onnx", "-o", "models"]),
    ("output is a device", ["build", "small.onnx", "-o", "/dev/full"]),
    ("outputs where a file is", ["run", "small.engine", "--save-outputs", "x.npy"]),
    ("page where a folder is", ["explain", "small.engine", "--html", "models"]),
    ("check without data", ["check", "small.engine", "--data", "models"]),
]

INPUTS = [
    input_case("input of an unknown name", "x.npy", key="z"),
    input_case("input of another dtype", "i64.npy"),
    input_case("input of another rank", "rank.npy"),
    input_case("input of another size", "wide.npy"),
    input_case("input file missing", "nowhere.npy"),
    input_case("input is a folder", "models"),
    input_case("input of unknown ending", "small.txt"),
    ("input given twice", ["run", "small.engine", "--input", "x=x.npy", "--input", "x=x.npy"]),
    ("input left out", ["run", "two.onnx", "--input", "a=random:1"]),
    ("input without its name", ["run", "two.onnx", "--input", "x.npy"]),
    input_case("random without a number", "random:abc"),
    input_case("npy is cut", "cut.npy"),
    input_case("npy is too long", "long.npy"),
    input_case("npy is cut in its header", "head.npy"),
    input_case("npy is empty", "empty.npy"),
    input_case("npy is text", "text.npy"),
    input_case("npy of objects", "object.npy"),
    input_case("npy of fields", "fields.npy"),
    input_case("npy of unicode", "unicode.npy"),
    input_case("npy of a later version", "version.npy"),
    input_case("npy with a huge header", "huge-header.npy"),
    input_case("npy with a broken header", "broken-header.npy"),
    input_case("npy of 2^65 elements", "overflow.npy"),
    input_case("npy of a negative size", "negative.npy"),
    input_case("npy that promises a terabyte", "terabyte.npy"),
    input_case("pb is garbage", "garbage.pb"),
    input_case("pb of another dtype", "i32.pb"),
    input_case("pb with too few bytes", "short.pb"),
    input_case("pb with external data", "external.pb"),
    input_case("wav is text", "text.wav", "sound.onnx", "a"),
    input_case("wav is cut", "cut.wav", "sound.onnx", "a"),
    input_case("wav of another encoding", "mp3.wav", "sound.onnx", "a"),
    input_case("wav without channels", "channels.wav", "sound.onnx", "a"),
    input_case("wav of 12 bits", "12bits.wav", "sound.onnx", "a"),
    input_case("png is text", "text.png", "image.onnx", "a"),
    input_case("png is cut", "cut.png", "image.onnx", "a"),
    input_case("png of 2^60 pixels", "huge.png", "image.onnx", "a"),
    input_case("jpg is cut", "cut.jpg", "image.onnx", "a"),
    input_case("picture for rank 2", "cut.png"),
]

BUILD = ["build", "small.onnx", "-o", "out.engine"]
WORDS = [
    ("no command", []),
    ("unknown command", ["biuld", "small.onnx"]),
    ("unknown flag", [*BUILD, "--refitable"]),
    ("flag without its value", ["build", "small.onnx", "-o"]),
    ("flag of another command", [*BUILD, "--top", "5"]),
    ("one word too many", [*BUILD, "other.onnx"]),
    ("no output named", ["build", "small.onnx"]),
    ("number that is none", [*BUILD, "--threads", "many"]),
    ("number too large", [*BUILD, "--threads", "99999999999999999999"]),
    ("negative threads", [*BUILD, "--threads", "-2"]),
    ("thousands of threads", [*BUILD, "--threads", "100000"]),
    ("top of 0", ["run", "small.engine", "--top", "0"]),
    ("duration that is none", ["bench", "small.engine", "--duration", "soon"]),
    ("negative duration", ["bench", "small.engine", "--duration", "-3s"]),
    ("shape without a name", [*BUILD, "--shapes", "2x3"]),
    ("shape of an unknown input", [*BUILD, "--shapes", "z:2x3"]),
    ("shape that is none", [*BUILD, "--shapes", "x:2xx3"]),
    ("shape of another rank", [*BUILD, "--shapes", "x:2x3x4"]),
    ("shape against the model", [*BUILD, "--shapes", "x:2x4"]),
    ("shape of negative size", [*BUILD, "--shapes", "x:-2x3"]),
    ("shape beyond 2^63", [*BUILD, "--shapes", "x:99999999999999999999x3"]),
    ("shape range backwards", [*BUILD, "--shapes", "x:8x3..2x3"]),
    ("shape optimum outside", [*BUILD, "--shapes", "x:1x3..8x3,opt=9x3"]),
    ("shape of an engine beyond memory", ["run", "small.engine", "--shapes",
                                          "x:1099511627776x3"]),
    ("unknown knob", [*BUILD, "--knob", "fuse_epilogue=true"]),
    ("unknown knob value", [*BUILD, "--knob", "log_level=wran"]),
    ("knob without a value", [*BUILD, "--knob", "threads"]),
    ("knob that is no number", [*BUILD, "--knob", "timing_rounds=soon"]),
    ("knob that is no truth value", [*BUILD, "--route", "layout_c16=maybe"]),
    ("route without equals sign", [*BUILD, "--route", "layout_c16"]),
    ("route with an open quote", [*BUILD, "--route", 'disable_passes="cse']),
    ("unknown pass", [*BUILD, "--stop-after", "fold_constant"]),
    ("unknown device", [*BUILD, "--device", "gpu"]),
    ("CUDA device", [*BUILD, "--device", "cuda:0"]),
    ("precision of later versions", [*BUILD, "--precision", "int8"]),
    ("unknown zoo model", ["zoo", "resnet51", "-o", "z.onnx"]),
    ("op library missing", [*BUILD, "--op-library", "nowhere.so"]),
    ("op library is no library", [*BUILD, "--op-library", "text.wav"]),
    ("memory limit that is none", [*BUILD, "--limit-memory", "lots"]),
    ("memory limit too low", [*BUILD, "--limit-memory", "64K"]),
    ("constant beyond the memory limit", ["run", "big.onnx", "--limit-memory", "64M"]),
    ("input beyond the memory limit", ["run", "small.engine", "--shapes", "x:100000000x3",
                                       "--limit-memory", "64M"]),
]


GROUPS = {
    "models: structure, shapes, dtypes, bombs, constants, external data": list(model_cases()),
    "files given as model, engine, decisions, timing cache or output": FILES,
    "inputs: .npy, .pb, pictures, sounds, names": INPUTS,
    "words of the command line, shapes, knobs, limits": WORDS,
}


def all_cases():
    return [case for cases in GROUPS.values() for case in cases]

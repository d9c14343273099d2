# GroupQueryAttention and RotaryEmbedding of com.microsoft, for contrib_attention_test.py.
# SPDX-License-Identifier: Apache-2.0
import numpy
from onnx import TensorProto, helper

from contrib_cases import CASES, Random, case

N, M, H = 4, 2, 16  # query heads, key heads, head size


def tables(r, pairs=H // 2, rows=24, dtype="float32"):
    angles = r.f(rows, pairs, scale=3)
    return numpy.cos(angles).astype(dtype), numpy.sin(angles).astype(dtype)


# ---- RotaryEmbedding.

def rotary():
    r = Random("rotary")
    positions = numpy.array([[0, 3, 9], [7, 7, 1]])
    cosine, sine = tables(r)

    def add(name, x, ids=positions, c=cosine, s=sine, **more):
        case("rotary_" + name, "RotaryEmbedding", {"x": x, "ids": ids, "cos": c, "sin": s},
             "cos sin", **more)

    flat, heads = r.f(2, 3, N * H), r.f(2, N, 3, H)
    for inner in (0, 1):
        add(f"packed_{inner}", flat, interleaved=inner)
        add(f"heads_{inner}", heads, interleaved=inner)
        add(f"partial_{inner}", flat, c=cosine[:, :4], s=sine[:, :4], interleaved=inner,
            num_heads=N, rotary_embedding_dim=8)
    add("first", flat, ids=numpy.array([5]))
    add("first_heads", heads, ids=numpy.array([5]))
    add("known_heads", flat, num_heads=N)
    add("symbolic", flat, dims={"x": ["b", "s", N * H], "ids": ["b", "s"]})
    add("first_symbolic", flat, ids=numpy.array([5]), dims={"x": ["b", "s", N * H]})
    add("half", flat.astype("float16"), c=cosine.astype("float16"), s=sine.astype("float16"),
        kind="half")


# ---- GroupQueryAttention.

def group_inputs(r, rows, past=None, room=0, dtype="float32", batch=None, packed=False, **more):
    """`past`: rows in the cache of each batch entry; None: no caches."""
    batch = batch or (len(past) if past is not None else 1)
    made = {"q": r.f(batch, rows, (N + 2 * M if packed else N) * H, dtype=dtype),
            "k": None if packed else r.f(batch, rows, M * H, dtype=dtype),
            "v": None if packed else r.f(batch, rows, M * H, dtype=dtype)}
    for name in ("pk", "pv"):
        made[name] = None
        if past is not None:
            made[name] = r.f(batch, M, max(room, *past), H, dtype=dtype)
            for b, count in enumerate(past):
                made[name][b, :, count:] = 0
    counts = past if past is not None else [0] * batch
    made["lengths"] = numpy.array([count + rows - 1 for count in counts], "int32")
    made["total"] = numpy.array([max(counts) + rows], "int32")
    made.update({"cos": None, "sin": None, "ids": None, "add": None, "sink": None})
    made.update(more)
    return made


def add_group(name, inputs, outputs=3, **more):
    made = outputs if isinstance(outputs, list) else [f"out{i}" for i in range(outputs)]
    types = {"scores": HALF if inputs["q"].dtype == numpy.float16 else TensorProto.FLOAT}
    case("gqa_" + name, "GroupQueryAttention", inputs, outputs=made, types=types, num_heads=N,
         kv_num_heads=M, **more)


HALF = TensorProto.FLOAT16
SCORES = ["out0", "out1", "out2", "scores"]


def prompts():
    r = Random("gqa_prompts")
    add_group("prompt", group_inputs(r, 5))
    add_group("prompt_batch", group_inputs(r, 5, batch=3))
    add_group("prompt_half", group_inputs(r, 5, dtype="float16"), kind="half")
    add_group("prompt_packed", group_inputs(r, 5, packed=True))
    add_group("prompt_room", group_inputs(r, 5, [0, 0], room=9))
    add_group("prompt_empty_cache", group_inputs(r, 5, [0], room=0))
    add_group("scale", group_inputs(r, 5), scale=0.4)
    add_group("softcap", group_inputs(r, 5), softcap=0.7)
    add_group("both_ways", group_inputs(r, 5), causal=0)
    add_group("smooth", group_inputs(r, 5), smooth_softmax=1)
    add_group("sink", group_inputs(r, 5, sink=r.f(N)))
    add_group("add", group_inputs(r, 5, add=r.f(1, N, 5, 5)))
    for window in (1, 3, 7):
        add_group(f"window_{window}", group_inputs(r, 5), local_window_size=window)
    for scores in (1, 2):
        add_group(f"scores_{scores}", group_inputs(r, 5), SCORES, qk_output=scores)
        add_group(f"scores_more_{scores}", group_inputs(r, 5, add=r.f(1, 1, 5, 5)), SCORES,
                  qk_output=scores, softcap=0.5, local_window_size=2, smooth_softmax=1)
    symbols = {"q": ["b", "s", N * H], "k": ["b", "s", M * H], "v": ["b", "s", M * H],
               "lengths": ["b"]}
    add_group("prompt_symbolic", group_inputs(r, 5, batch=2), dims=symbols)
    add_group("prompt_cache_symbolic", group_inputs(r, 5, [0, 0]),
              dims=dict(symbols, pk=["b", M, "p", H], pv=["b", M, "p", H]))


def steps():
    r = Random("gqa_steps")
    symbols = {"q": ["b", "s", N * H], "k": ["b", "s", M * H], "v": ["b", "s", M * H],
               "lengths": ["b"], "pk": ["b", M, "p", H], "pv": ["b", M, "p", H]}
    add_group("step", group_inputs(r, 1, [6]))
    add_group("step_room", group_inputs(r, 1, [6], room=12))
    add_group("step_ragged", group_inputs(r, 1, [6, 2, 4]))
    add_group("step_ragged_room", group_inputs(r, 1, [6, 2, 4], room=12))
    add_group("step_symbolic", group_inputs(r, 1, [6, 2]), dims=symbols)
    add_group("step_half", group_inputs(r, 1, [6, 2], dtype="float16"), kind="half")
    add_group("step_packed", group_inputs(r, 1, [6], packed=True))
    add_group("step_window", group_inputs(r, 1, [6, 2]), local_window_size=3)
    add_group("step_sink", group_inputs(r, 1, [6, 2], sink=r.f(N)))
    add_group("step_softcap", group_inputs(r, 1, [6, 2]), softcap=0.7)
    add_group("step_add", group_inputs(r, 1, [6], add=r.f(1, N, 1, 7)))
    add_group("chunk", group_inputs(r, 3, [6]))
    add_group("chunk_room", group_inputs(r, 3, [6], room=12), SCORES, qk_output=2)
    add_group("chunk_window", group_inputs(r, 3, [6], room=12), local_window_size=4)


def rotated():
    r = Random("gqa_rotated")
    cosine, sine = tables(r)
    add_group("rotary_prompt", group_inputs(r, 5, batch=2, cos=cosine, sin=sine), do_rotary=1)
    add_group("rotary_inner", group_inputs(r, 5, cos=cosine, sin=sine), do_rotary=1,
              rotary_interleaved=1)
    add_group("rotary_packed", group_inputs(r, 5, packed=True, cos=cosine, sin=sine), do_rotary=1)
    add_group("rotary_step", group_inputs(r, 1, [6, 2], cos=cosine, sin=sine), do_rotary=1)
    add_group("rotary_chunk", group_inputs(r, 3, [6], cos=cosine, sin=sine), do_rotary=1)
    half = tables(r, 8, dtype="float16")
    add_group("rotary_half", group_inputs(r, 1, [6, 2], dtype="float16", cos=half[0], sin=half[1]),
              do_rotary=1, kind="half")
    add_group("rotary_prompt_ids", group_inputs(r, 3, cos=cosine, sin=sine,
                                                ids=numpy.array([[5, 9, 2]])), do_rotary=1)
    add_group("rotary_step_ids", group_inputs(r, 1, [6, 2], cos=cosine, sin=sine,
                                              ids=numpy.array([[9], [4]])), do_rotary=1)
    add_group("rotary_chunk_ids", group_inputs(r, 3, [6], cos=cosine, sin=sine,
                                               ids=numpy.array([[9, 3, 8]])), do_rotary=1)
    add_group("rotary_room", group_inputs(r, 1, [6, 2], room=12, cos=cosine, sin=sine,
                                          packed=True), do_rotary=1, local_window_size=3)


def keep_rows(counts, rows):
    """Compares only rows that are no padding, of the last case."""
    made = CASES[-1]
    kept = numpy.arange(rows) < numpy.array(counts)[:, None]
    made.tensors["kept"] = kept[:, :, None]
    made.tensors["zero"] = numpy.zeros(1, "float32")
    made.nodes.append(helper.make_node("Where", ["kept", "out0", "zero"], ["rows"]))
    made.outputs = ["rows"]


def padded():
    r = Random("gqa_padded")
    cosine, sine = tables(r)
    tables_of = {"cos": cosine, "sin": sine}
    for name, more, attributes in [("", {}, {}), ("_rotary", tables_of, {"do_rotary": 1}),
                                   ("_window", {}, {"local_window_size": 2})]:
        for room in (0, 9):
            inputs = group_inputs(r, 5, [0, 0, 0], room=room, **more)
            inputs["lengths"] = numpy.array([4, 1, 2], "int32")
            add_group(f"padded_prompt{name}_{room}", inputs, **attributes)
            keep_rows([5, 2, 3], 5)
        inputs = group_inputs(r, 3, [6, 4, 0], room=12, **more)
        inputs.update({"ks": None, "vs": None, "qn": None, "kn": None,
                       "valid": numpy.array([2, 0, 3], "int32")})
        inputs["lengths"] = numpy.array([7, 3, 2], "int32")
        inputs["total"] = numpy.array([12], "int32")
        add_group(f"padded_chunk{name}", inputs, **attributes)
        keep_rows([2, 0, 3], 3)


def normal_heads():
    """Its CPU provider has no normalization of the heads; numpy does it before."""
    from contrib_attention_cases import ask
    r = Random("gqa_normal")
    cosine, sine = tables(r)
    inputs = group_inputs(r, 2, [5], room=9, cos=cosine, sin=sine)
    inputs.update({"ks": None, "vs": None, "qn": r.positive(H), "kn": r.positive(H)})

    def normal(x, weight):
        heads = x.reshape(*x.shape[:2], -1, H)
        scale = numpy.sqrt((heads ** 2).mean(-1, keepdims=True) + numpy.float32(1e-4))
        return (heads / scale * weight).reshape(x.shape).astype("float32")

    plain = {k: v for k, v in inputs.items() if k not in ("ks", "vs", "qn", "kn")}
    plain.update(q=normal(inputs["q"], inputs["qn"]), k=normal(inputs["k"], inputs["kn"]))
    expected = ask("GroupQueryAttention", 3, num_heads=N, kv_num_heads=M, do_rotary=1, **plain)
    add_group("normal_heads", inputs, expected=expected, do_rotary=1, qk_norm_epsilon=1e-4)


def add():
    for group in (rotary, prompts, steps, rotated, padded, normal_heads):
        group()

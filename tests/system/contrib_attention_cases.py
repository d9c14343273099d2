# The cases of contrib_attention_test.py: attention operators of com.microsoft. Caches hold zeros
# beyond the rows that count, where the operators leave their results open.
# SPDX-License-Identifier: Apache-2.0
import numpy
from onnx import TensorProto

from contrib_cases import CASES, Random, case

HALF = TensorProto.FLOAT16
B, S, T, N, H = 2, 4, 6, 3, 16  # batch, queries, keys, heads, head size


# ---- MultiHeadAttention and its relatives.

def multi_head_inputs(r, dtype="float32", s=S, t=S, v=H, **more):
    made = {"q": r.f(B, s, N * H, dtype=dtype), "k": r.f(B, t, N * H, dtype=dtype),
            "v": r.f(B, t, N * v, dtype=dtype), "bias": None, "mask": None, "add": None,
            "pk": None, "pv": None, "length": None, "beams": None}
    made.update(more)
    return made


def multi_head_case(name, inputs, outputs=1, **more):
    made = [f"out{i}" for i in range(outputs)]
    types = {"out3": HALF if inputs["q"].dtype == numpy.float16 else TensorProto.FLOAT}
    case("mha_" + name, "MultiHeadAttention", inputs, outputs=made, types=types, num_heads=N,
         **more)


def key_masks(r):
    lengths = numpy.array([6, 3], "int32")
    pairs = r.i(0, 2, B, S, T)
    pairs[:, :, 0] = 1
    return {"lengths": lengths,
            "keys": (numpy.arange(T) < lengths[:, None]).astype("int32"),
            "starts": numpy.array([6, 3, 0, 4, 8, 0, 6, 9], "int32"),
            "pairs": pairs}


def multi_head():
    r = Random("multi_head")
    symbols = {"q": ["b", "s", N * H], "k": ["b", "t", N * H], "v": ["b", "t", N * H]}
    multi_head_case("self", multi_head_inputs(r), 4)
    multi_head_case("symbolic", multi_head_inputs(r, t=T), 3, dims=symbols)
    multi_head_case("cross", multi_head_inputs(r, t=T), 4)
    multi_head_case("value_size", multi_head_inputs(r, v=20), 4)
    multi_head_case("scale", multi_head_inputs(r), scale=0.5)
    multi_head_case("half", multi_head_inputs(r, dtype="float16"), kind="half")
    multi_head_case("bias", multi_head_inputs(r, bias=r.f(3 * N * H)), 3)
    multi_head_case("bias_value_size", multi_head_inputs(r, v=20, bias=r.f(2 * N * H + N * 20)))
    for name, mask in key_masks(r).items():
        multi_head_case("mask_" + name, multi_head_inputs(r, t=T, mask=mask), 4)
        multi_head_case("mask_filter_" + name, multi_head_inputs(r, t=T, mask=mask), 4,
                        mask_filter_value=-1.5)
    masks = key_masks(r)
    multi_head_case("mask_symbolic", multi_head_inputs(r, t=T, mask=masks["lengths"]),
                    dims=dict(symbols, mask=["b"]))
    multi_head_case("mask_keys_symbolic", multi_head_inputs(r, t=T, mask=masks["keys"]),
                    dims=dict(symbols, mask=["b", "t"]))
    for name, shape in [("full", (B, N, S, T)), ("batch", (1, N, S, T)), ("head", (B, 1, S, T)),
                        ("one", (1, 1, S, T))]:
        multi_head_case("add_" + name, multi_head_inputs(r, t=T, add=r.f(*shape)), 4)
    multi_head_case("add_and_mask", multi_head_inputs(r, t=T, add=r.f(1, N, S, T),
                                                      mask=masks["keys"]), 4)


def multi_head_causal():
    r = Random("multi_head_causal")
    mask = numpy.ones((B, S), "int32")
    mask[1, 2:] = 0
    early = numpy.ones((B, S), "int32")
    early[1, :2] = 0
    multi_head_case("causal", multi_head_inputs(r), 4, unidirectional=1)
    multi_head_case("causal_mask", multi_head_inputs(r, mask=mask), 4, unidirectional=1)
    multi_head_case("causal_early_mask", multi_head_inputs(r, mask=early), 1, unidirectional=1,
                    kind="half")  # ONNX Runtime rounds scores of -10000 in f32
    multi_head_case("causal_lowest", multi_head_inputs(r, mask=early), 4, unidirectional=1,
                    mask_filter_value=float(numpy.finfo("float32").min))
    past = dict(pk=r.f(B, N, 5, H), pv=r.f(B, N, 5, H))
    multi_head_case("past", multi_head_inputs(r, **past), 4)
    multi_head_case("past_causal", multi_head_inputs(r, **past), 4, unidirectional=1)
    multi_head_case("past_step", multi_head_inputs(r, s=1, t=1, **past), 4, unidirectional=1)
    mask = r.i(0, 2, B, 5 + S)
    mask[:, 0] = 1
    multi_head_case("past_mask", multi_head_inputs(r, mask=mask, **past), 4)
    multi_head_case("past_mask_causal", multi_head_inputs(r, mask=mask, **past), 4,
                    unidirectional=1)
    multi_head_case("past_bias", multi_head_inputs(r, bias=r.f(3 * N * H), **past), 4)
    multi_head_case("past_empty", multi_head_inputs(r, pk=r.f(B, N, 0, H), pv=r.f(B, N, 0, H)), 3,
                    unidirectional=1)
    cached = multi_head_inputs(r)
    cached.update(k=r.f(B, N, T, H), v=r.f(B, N, T, H))
    multi_head_case("cached_keys", cached, 4)
    multi_head_case("cached_keys_bias", dict(cached, bias=r.f(3 * N * H)), 4)


def packed():
    """Its CPU provider takes keys and values apart only."""
    for bias in (False, True):
        r = Random(f"packed_{bias}")
        qkv, kv, q = r.f(B, S, N, 3, H), r.f(B, T, N, 2, H), r.f(B, S, N * H)
        more = {"bias": r.f(3 * N * H) if bias else None}
        name = "packed_bias" if bias else "packed"
        parts = [qkv[:, :, :, i].reshape(B, S, N * H) for i in range(3)]
        multi_head_case(name + "_qkv", {"q": qkv, "k": None, "v": None, **more}, 3,
                        expected=ask("MultiHeadAttention", 3, num_heads=N,
                                     **dict(zip("qkv", parts)), **more))
        parts = [kv[:, :, :, i].reshape(B, T, N * H) for i in range(2)]
        multi_head_case(name + "_kv", {"q": q, "k": kv, "v": None, **more}, 3,
                        expected=ask("MultiHeadAttention", 3, num_heads=N, q=q, k=parts[0],
                                     v=parts[1], **more))


def ask(op, outputs, **words):
    """What ONNX Runtime answers to another form of the case."""
    import contrib_test
    inputs = {k: v for k, v in words.items() if v is None or isinstance(v, numpy.ndarray)}
    attributes = {k: v for k, v in words.items() if k not in inputs}
    case("asked", op, inputs, outputs=outputs, **attributes)
    asked = CASES.pop()
    levels = contrib_test.onnxruntime.GraphOptimizationLevel
    return contrib_test.answers(contrib_test.model_of(asked), asked, levels.ORT_DISABLE_ALL)


def decoder_masked():
    r = Random("decoder_masked")

    def inputs(filled, room=8, **more):
        cache = r.f(2, B, N, room, H)
        cache[:, :, :, filled:] = 0
        made = {"q": r.f(B, 1, N * H), "k": r.f(B, 1, N * H), "v": r.f(B, 1, N * H), "mask": None,
                "add": None, "pk": cache[0], "pv": cache[1],
                "length": numpy.array([filled], "int32"), "width": None, "beams": None,
                "bias": None}
        made.update(more)
        return made

    def add(name, values, outputs=3, **more):
        made = [f"out{i}" for i in range(outputs)]
        case("decoder_" + name, "DecoderMaskedMultiHeadAttention", values, outputs=made,
             types={"out3": TensorProto.FLOAT}, num_heads=N, **more)

    shared = {"past_present_share_buffer": 1}
    add("shared", inputs(5), **shared)
    add("first", inputs(0), **shared)
    add("last", inputs(7), **shared)
    add("scores", inputs(5), 4, output_qk=1, **shared)
    add("scale", inputs(5), scale=0.2, **shared)
    mask = r.i(0, 2, B, 6)
    mask[:, 0] = 1
    add("mask", inputs(5, mask=mask), **shared)
    add("add", inputs(5, add=r.f(B, N, 1, 6)), **shared)
    add("bias", inputs(5, bias=r.f(3 * N * H)), **shared)
    beams = r.i(0, B, 1, B, 8)
    add("beams", inputs(5, width=numpy.array([B], "int32"), beams=beams), **shared)
    cross = inputs(5, pk=None, pv=None, length=None)
    cross.update(k=r.f(B, N, T, H), v=r.f(B, N, T, H))
    add("cross", cross, 1)


# ---- Attention and QAttention.

def projected():
    r = Random("projected")
    width, hidden = 24, N * H

    def inputs(**more):
        made = {"x": r.f(B, S, width), "w": r.f(width, 3 * hidden, scale=0.2),
                "bias": r.f(3 * hidden), "mask": None, "past": None, "add": None}
        made.update(more)
        return made

    def add(name, values, outputs=2, constants="w bias", **more):
        case("attention_" + name, "Attention", values, constants, outputs, num_heads=N, **more)

    add("plain", inputs())
    add("no_bias", inputs(bias=None), 1)
    add("variable_weights", inputs(), constants="")
    add("symbolic", inputs(), dims={"x": ["b", "s", width]})
    add("causal", inputs(), unidirectional=1)
    add("scale", inputs(), scale=0.3)
    sizes = {"w": r.f(width, 2 * hidden + N * 20, scale=0.2), "bias": r.f(2 * hidden + N * 20)}
    add("sizes", inputs(**sizes), 1, qkv_hidden_sizes=[hidden, hidden, N * 20])
    masks = {"ends": numpy.array([4, 2], "int32"), "ranges": numpy.array([4, 3, 1, 0], "int32"),
             "starts": numpy.array([4, 2, 0, 4, 8, 0, 4, 6], "int32"),
             "keys": numpy.array([[1, 1, 0, 1], [1, 1, 0, 0]], "int32"),
             "pairs": numpy.maximum(r.i(0, 2, B, S, S), numpy.eye(S, dtype="int32"))}
    for name, mask in masks.items():
        add("mask_" + name, inputs(mask=mask))
    for name in ("ends", "keys", "pairs"):
        add("mask_causal_" + name, inputs(mask=masks[name]), unidirectional=1,
            mask_filter_value=-20.0)
    add("mask_symbolic", inputs(mask=masks["ranges"]), dims={"x": ["b", "s", width]})
    add("add", inputs(add=r.f(1, N, S, S)))
    past = r.f(2, B, N, 5, H)
    add("past", inputs(past=past))
    add("past_causal", inputs(past=past), unidirectional=1)
    mask = r.i(0, 2, B, 5 + S)
    mask[:, 0] = 1
    add("past_mask", inputs(past=past, mask=mask), unidirectional=1)
    add("past_ends", inputs(past=past, mask=numpy.array([9, 6], "int32")))


def quantized():
    r = Random("quantized")
    width, hidden = 24, N * H
    zeros = {"uint8": numpy.array(120, "uint8"), "int8": numpy.array(-4, "int8")}

    def add(name, x, w, columns=False, outputs=2, mask=None, past=None, zero=True, **more):
        count = (3 * hidden,) if columns else ()
        # The zero points of columns must be one number in that provider.
        case("qattention_" + name, "QAttention",
             {"x": r.q(x, B, S, width), "w": r.q(w, width, 3 * hidden), "bias": r.f(3 * hidden),
              "xs": numpy.array(0.02, "float32"),
              "ws": (r.positive(*count) / 60).astype("float32"), "mask": mask,
              "xz": zeros[x] if zero else None, "wz": zeros[w] if zero else None, "past": past},
             "w bias xs ws xz wz", outputs, num_heads=N, **more)

    add("u8", "uint8", "uint8")
    add("u8_i8", "uint8", "int8")
    add("no_zero", "uint8", "int8", zero=False, outputs=1)
    add("causal", "uint8", "int8", unidirectional=1)
    add("ends", "uint8", "int8", mask=numpy.array([4, 2], "int32"))
    add("keys", "uint8", "int8", mask=numpy.array([[1, 1, 0, 1], [1, 1, 0, 0]], "int32"))
    add("past", "uint8", "int8", past=r.f(2, B, N, 5, H), unidirectional=1)


def cases():
    if not CASES:
        import contrib_cached_cases
        import contrib_sequence_cases
        for group in (multi_head, multi_head_causal, packed, decoder_masked, projected, quantized):
            group()
        contrib_cached_cases.add()
        contrib_sequence_cases.add()
    return CASES

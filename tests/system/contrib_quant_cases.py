# The quantized cases of contrib_test.py.
# SPDX-License-Identifier: Apache-2.0
import numpy
from onnx import TensorProto

from contrib_cases import Random, case, scalar


# ---- 8 bits.

def linear():
    for dtype, zero in [("uint8", 128), ("int8", -3), ("uint16", 30000), ("int16", -5)]:
        r = Random("quantize_" + dtype)
        x = r.f(3, 5, 4, scale=2)
        case("quantize_" + dtype, "QuantizeLinear",
             {"x": x, "scale": scalar(0.013), "zero": scalar(zero, dtype)}, "*", kind="exact")
        case("quantize_axis_" + dtype, "QuantizeLinear",
             {"x": x, "scale": r.positive(5) / 50, "zero": numpy.full(5, zero, dtype)}, "*",
             kind="exact", axis=1)
        case("dequantize_" + dtype, "DequantizeLinear",
             {"x": r.q(dtype, 3, 5), "scale": scalar(0.013), "zero": scalar(zero, dtype)}, "*")
        case("dequantize_axis_" + dtype, "DequantizeLinear",
             {"x": r.q(dtype, 3, 5), "scale": r.positive(3), "zero": r.q(dtype, 3)}, "*", axis=0)
    r = Random("quantize_more")
    case("quantize_no_zero", "QuantizeLinear", {"x": r.f(6), "scale": scalar(0.01)}, "*",
         kind="exact")
    case("dequantize_i32", "DequantizeLinear", {"x": r.q("int32", 6), "scale": scalar(1e-6)}, "*")
    for kind, dtype, low in [(TensorProto.UINT4, "uint8", 0), (TensorProto.INT4, "int8", -8)]:
        case("dequantize_4bit_" + dtype, "DequantizeLinear",
             {"x": r.i(low, low + 16, 4, 6, dtype=dtype), "scale": r.positive(4),
              "zero": r.i(low, low + 16, 4, dtype=dtype)}, "x scale zero", axis=0,
             types={"x": kind, "zero": kind})


def elementwise():
    for dtype in ("uint8", "int8"):
        r = Random("qlinear_" + dtype)
        for op in ("Add", "Mul"):
            for name, a, b in [("same", (2, 3, 8, 5), (2, 3, 8, 5)), ("row", (4, 9), (9,)),
                               ("scalar", (7, 3), (1,)), ("cross", (4, 1, 3), (1, 5, 3))]:
                case(f"qlinear_{op.lower()}_{name}_{dtype}", f"QLinear{op}",
                     {"a": r.q(dtype, *a), "as": scalar(0.021), "az": r.q(dtype),
                      "b": r.q(dtype, *b), "bs": scalar(0.037), "bz": r.q(dtype),
                      "cs": scalar(0.053), "cz": r.q(dtype)}, "as az bs bz cs cz", kind="exact")
        case("qlinear_add_no_zero_" + dtype, "QLinearAdd",
             {"a": r.q(dtype, 4, 4), "as": scalar(0.021), "az": r.q(dtype), "b": r.q(dtype, 4, 4),
              "bs": scalar(0.01), "bz": r.q(dtype), "cs": scalar(0.05)}, "as az b bs bz cs",
             kind="exact")
        every = numpy.arange(256).astype("uint8").view(dtype)
        for op, more in [("Sigmoid", {}), ("LeakyRelu", {"alpha": 0.13})]:
            case(f"qlinear_{op.lower()}_{dtype}", f"QLinear{op}",
                 {"x": every, "xs": scalar(0.05), "xz": r.q(dtype),
                  "ys": scalar(1 / 256 if op == "Sigmoid" else 0.04), "yz": r.q(dtype)}, "*",
                 kind="exact", **more)
        limits = numpy.iinfo(dtype)
        value = 256 / (1 + numpy.exp(-0.05 * every.astype("float64")))
        case("qlinear_sigmoid_no_zero_" + dtype, "QLinearSigmoid",
             {"x": every, "xs": scalar(0.05), "xz": None, "ys": scalar(1 / 256)}, "*",
             kind="exact",
             expected=[numpy.clip(numpy.round(value), limits.min, limits.max).astype(dtype)])
        condition = r.source.random((3, 1)) < 0.5
        case("qlinear_where_" + dtype, "QLinearWhere",
             {"c": condition, "x": r.q(dtype, 3, 4), "xs": scalar(0.03), "xz": r.q(dtype),
              "y": r.q(dtype, 4), "ys": scalar(0.02), "yz": r.q(dtype), "zs": scalar(0.05),
              "zz": r.q(dtype)}, "xs xz ys yz zs zz", kind="exact")
        case("qlinear_concat_" + dtype, "QLinearConcat",
             {"ys": scalar(0.04), "yz": r.q(dtype), "a": r.q(dtype, 2, 3), "as": scalar(0.03),
              "az": r.q(dtype), "b": r.q(dtype, 2, 4), "bs": scalar(0.05), "bz": r.q(dtype)},
             "ys yz as az bs bz", kind="exact", axis=1)
        for axis, opset in [(-1, 13), (1, 13), (1, 11)]:
            case(f"qlinear_softmax_{axis}_{opset}_{dtype}", "QLinearSoftmax",
                 {"x": r.q(dtype, 2, 6, 7), "xs": scalar(0.06), "xz": r.q(dtype),
                  "ys": scalar(1 / 256), "yz": scalar(0 if dtype == "uint8" else -128, dtype)},
                 "*", kind="exact", axis=axis, opset_=opset)


def pools():
    for dtype in ("uint8", "int8"):
        r = Random("qlinear_pool_" + dtype)
        for last in (0, 1):
            tail = f"_{'nhwc' if last else 'nchw'}_{dtype}"
            x = r.q(dtype, 2, 7, 6, 5)
            scales = {"xs": scalar(0.03), "xz": r.q(dtype), "ys": scalar(0.017), "yz": r.q(dtype)}
            case("qlinear_global_pool" + tail, "QLinearGlobalAveragePool", {"x": x, **scales}, "*",
                 kind="exact", channels_last=last)
            case("qlinear_pool" + tail, "QLinearAveragePool", {"x": x, **scales}, "*",
                 kind="exact", channels_last=last, kernel_shape=[3, 2], strides=[2, 1],
                 pads=[1, 0, 1, 1])
            case("qlinear_pool_counted" + tail, "QLinearAveragePool", {"x": x, **scales}, "*",
                 kind="exact", channels_last=last, kernel_shape=[2, 2], pads=[1, 1, 0, 0],
                 count_include_pad=1)
            case("qlinear_pool_ceil" + tail, "QLinearAveragePool", {"x": x, **scales}, "*",
                 kind="exact", channels_last=last, kernel_shape=[2, 2], strides=[2, 2],
                 ceil_mode=1)
            case("qlinear_pool_same" + tail, "QLinearAveragePool", {"x": x, **scales}, "*",
                 kind="exact", channels_last=last, kernel_shape=[3, 3], strides=[2, 2],
                 auto_pad="SAME_UPPER")
        means = r.q(dtype, 2, 6)
        zeros = r.q(dtype), r.q(dtype)
        value = (means.astype("float32") - float(zeros[0])).mean(1, keepdims=True) * 0.03 / 0.02
        limits = numpy.iinfo(dtype)
        case("qlinear_mean_" + dtype, "QLinearReduceMean",
             {"x": means, "xs": scalar(0.03), "xz": zeros[0], "ys": scalar(0.02), "yz": zeros[1]},
             "*", kind="exact", axes=[1], keepdims=1,
             expected=[numpy.clip(numpy.round(value) + float(zeros[1]), limits.min, limits.max)
                       .astype(dtype)])


def products():
    for a, b in [("uint8", "uint8"), ("uint8", "int8"), ("int8", "int8")]:
        r = Random(f"quantized_product_{a}_{b}")
        tail = f"_{a}_{b}"
        x, w = r.q(a, 2, 5, 8), r.q(b, 8, 6)
        case("matmul_to_float" + tail, "MatMulIntegerToFloat",
             {"a": x, "b": w, "as": scalar(0.02), "bs": scalar(0.03), "az": r.q(a), "bz": r.q(b),
              "bias": r.f(6)}, "b as bs az bz bias")
        case("matmul_to_float_columns" + tail, "MatMulIntegerToFloat",
             {"a": x, "b": w, "as": scalar(0.02), "bs": r.positive(6) / 30, "az": r.q(a),
              "bz": r.q(b, 6)}, "b bs bz")
        case("matmul_to_float_plain" + tail, "MatMulIntegerToFloat",
             {"a": x, "b": w, "as": scalar(0.02), "bs": numpy.full(1, 0.01, "float32")}, "b bs")
        qgemm(r, a, b, tail)
        qconv(r, a, b, tail)
    for b in ("uint8", "int8"):
        r = Random("dynamic_" + b)
        x, w = r.f(2, 5, 8), r.q(b, 8, 6)
        case("dynamic_matmul_" + b, "DynamicQuantizeMatMul",
             {"a": x, "b": w, "bs": scalar(0.02), "bz": r.q(b), "bias": r.f(6)}, "*")
        case("dynamic_matmul_columns_" + b, "DynamicQuantizeMatMul",
             {"a": x, "b": w, "bs": r.positive(6) / 30, "bz": r.q(b, 6)}, "*")
        case("dynamic_matmul_plain_" + b, "DynamicQuantizeMatMul",
             {"a": x, "b": w, "bs": scalar(0.02)}, "*")
    r = Random("matmul_16")
    case("matmul_16", "MatMulInteger16", {"a": r.i(-999, 999, 3, 4, dtype="int16"),
                                          "b": r.i(-999, 999, 4, 5, dtype="int16")}, kind="exact")


def qgemm(r, a, b, tail):
    m, n, k = 5, 6, 8
    scale = float(numpy.float32(0.02) * numpy.float32(0.01))
    zeros = {"az": r.q(a), "bz": r.q(b)}
    for name, attributes, shape in [("plain", {}, None), ("row", {}, (n,)),
                                    ("column", {"transA": 1}, (m, 1)),
                                    ("full", {"transB": 1, "alpha": 0.5}, (m, n))]:
        x = r.q(a, *((k, m) if attributes.get("transA") else (m, k)))
        w = r.q(b, *((n, k) if attributes.get("transB") else (k, n)))
        c = None if shape is None else r.i(-20000, 20000, *shape)
        start = {"a": x, "as": scalar(0.02), "az": zeros["az"], "b": w, "bs": scalar(0.01),
                 "bz": zeros["bz"], "c": c}
        case(f"qgemm_float_{name}{tail}", "QGemm", start, "as az b bs bz c", **attributes)
        case(f"qgemm_{name}{tail}", "QGemm",
             {**start, "ys": scalar(scale * 600), "yz": r.q(a)}, "as az b bs bz c ys yz",
             kind="exact", **attributes)
    columns = {"a": r.q(a, m, k), "as": scalar(0.02), "az": zeros["az"], "b": r.q(b, k, n),
               "bs": r.positive(n) / 50, "bz": r.q(b, n), "c": r.i(-20000, 20000, n)}
    case("qgemm_float_columns" + tail, "QGemm", columns, "as az b bs bz c")
    case("qgemm_columns" + tail, "QGemm", {**columns, "ys": scalar(scale * 800), "yz": r.q(a)},
         "as az b bs bz c ys yz", kind="exact")


def qconv(r, a, b, tail):
    w, bias = r.q(b, 6, 2, 3, 3), r.i(-3000, 3000, 6)
    # Weights are symmetric when they have a scale for each channel.
    each = r.positive(6) / 60, numpy.zeros(6, b) if b == "int8" else numpy.full(6, 128, b)
    for name, last, scale, zero in [("nchw", 0, scalar(0.01), r.q(b)),
                                    ("nhwc", 1, scalar(0.01), r.q(b)), ("nhwc_each", 1, *each)]:
        x = r.q(a, 1, 7, 6, 4) if last else r.q(a, 1, 4, 7, 6)
        case(f"qlinear_conv_{name}{tail}", "QLinearConv",
             {"x": x, "xs": scalar(0.02), "xz": r.q(a), "w": w, "ws": scale, "wz": zero,
              "ys": scalar(0.15), "yz": r.q(a), "b": bias}, "*", kind="exact",
             channels_last=last, group=2, strides=[2, 1], pads=[1, 1, 0, 1])
    case("qlinear_conv_wide" + tail, "QLinearConv",
         {"x": r.q(a, 1, 32, 7, 6), "xs": scalar(0.02), "xz": r.q(a), "w": r.q(b, 16, 32, 3, 3),
          "ws": r.positive(16) / 60, "wz": numpy.full(16, 0 if b == "int8" else 128, b),
          "ys": scalar(0.4), "yz": r.q(a)}, "*", kind="exact", pads=[1, 1, 1, 1])


def lstm():
    r = Random("dynamic_lstm")
    for b in ("int8", "uint8"):
        for name, sizes in [("tensor", (1,)), ("channels", (1, 16))]:
            zero = numpy.zeros(sizes, b) if b == "int8" else numpy.full(sizes, 128, b)
            case(f"dynamic_lstm_{name}_{b}", "DynamicQuantizeLSTM",
                 {"x": r.f(5, 2, 3), "w": r.q(b, 1, 3, 16), "r": r.q(b, 1, 4, 16),
                  "b": r.f(1, 32), "lengths": None, "h": r.f(1, 2, 4), "c": r.f(1, 2, 4),
                  "p": None, "ws": r.positive(*sizes) / 200, "wz": zero,
                  "rs": r.positive(*sizes) / 200, "rz": zero}, "w r b ws wz rs rz", outputs=3,
                 kind="loose", hidden_size=4)


# ---- Weights of few bits.

def packed(values, bits):
    """The last axis packed, low bits first."""
    per = 8 // bits
    pad = -values.shape[-1] % per
    wide = numpy.pad(values, [(0, 0)] * (values.ndim - 1) + [(0, pad)])
    parts = wide.reshape(*values.shape[:-1], -1, per).astype("uint8")
    return (parts << (bits * numpy.arange(per, dtype="uint8"))).sum(-1).astype("uint8")


def few_bits():
    for bits in (2, 4, 8):
        for k, n, block in [(32, 5, 16), (80, 6, 32), (64, 3, 64)]:
            for zero in ("none", "packed", "float"):
                name = f"matmul_bits_{bits}_{k}x{n}_{block}_{zero}"
                r = Random(name)
                blocks = -(-k // block)
                w = packed(r.i(0, 1 << bits, n, blocks, block), bits)
                zeros = {"none": None, "packed": packed(r.i(0, 1 << bits, n, blocks), bits),
                         "float": r.f(n, blocks) + 2 ** (bits - 1)}[zero]
                inputs = {"a": r.f(2, 3, k), "w": w, "s": r.positive(n, blocks) / 10, "z": zeros,
                          "g": None, "bias": r.f(n) if zero == "packed" else None}
                expected = None
                if bits == 8 and zero == "float":  # ONNX Runtime has no kernel for this pair
                    dense = (w - zeros[:, :, None]) * inputs["s"][:, :, None]
                    expected = [inputs["a"] @ dense.reshape(n, -1)[:, :k].T]
                case(name, "MatMulNBits", inputs, "*", K=k, N=n, bits=bits, block_size=block,
                     accuracy_level=0, expected=expected)
    r = Random("matmul_bits_more")
    w = packed(r.i(0, 16, 6, 2, 32), 4)
    inputs = {"a": r.f(4, 64), "w": w, "s": r.positive(6, 2) / 10,
              "z": packed(r.i(0, 16, 6, 2), 4)}
    shape = {"K": 64, "N": 6, "bits": 4, "block_size": 32}
    case("matmul_bits_int8", "MatMulNBits", inputs, "*", kind="loose", accuracy_level=4, **shape)
    case("matmul_bits_default", "MatMulNBits", {k: inputs[k] for k in "aws"}, "*", K=64, N=6,
         block_size=32)
    case("matmul_bits_flat", "MatMulNBits",
         {**inputs, "s": inputs["s"].flatten(), "z": inputs["z"].flatten()}, "*", **shape)
    case("matmul_bits_variable", "MatMulNBits", inputs, "", **shape)
    groups = r.i(0, 2, 64)
    case("matmul_bits_g", "MatMulNBits", {**inputs, "z": None, "g": groups}, "*", **shape)
    # ONNX Runtime leaves the zero points out of account beside g_idx.
    unpacked = numpy.stack([w & 15, w >> 4], -1).reshape(6, 64).astype("float32")
    zeros = numpy.stack([inputs["z"] & 15, inputs["z"] >> 4], -1).reshape(6, 2).astype("float32")
    dense = (unpacked - zeros[:, groups]) * inputs["s"][:, groups]
    case("matmul_bits_g_zeros", "MatMulNBits", {**inputs, "g": groups}, "*",
         expected=[inputs["a"] @ dense.T], **shape)
    half = {"a": r.f(4, 64, dtype="float16"), "w": w, "s": inputs["s"].astype("float16"),
            "z": inputs["z"]}
    case("matmul_bits_half", "MatMulNBits", half, "*", kind="half", **shape)
    gather_blocks()
    bnb()


def gather_blocks():
    for kind, dtype, low in [(TensorProto.UINT4, "uint8", 0), (TensorProto.INT4, "int8", -8)]:
        r = Random("gather_blocks_" + dtype)
        case("gather_blocks_" + dtype, "GatherBlockQuantized",
             {"x": r.i(low, low + 16, 5, 3, 32, dtype=dtype), "i": r.i(-5, 5, 2, 2, dtype="int64"),
              "s": r.positive(5, 3, 2), "z": r.i(low, low + 16, 5, 3, 2, dtype=dtype)}, "x s z",
             types={"x": kind, "z": kind}, block_size=16, quantize_axis=2, opset=21)
        case("gather_blocks_axis_" + dtype, "GatherBlockQuantized",
             {"x": r.i(low, low + 16, 5, 32, 3, dtype=dtype), "i": r.i(0, 3, 4, dtype="int32"),
              "s": r.positive(5, 1, 3)}, "x s", types={"x": kind}, block_size=32, quantize_axis=1,
             gather_axis=2, opset=21)
    for bits in (4, 8):
        r = Random(f"gather_blocks_bytes_{bits}")
        for zero in (False, True):
            z = packed(r.i(0, 1 << bits, 6, 2), bits) if zero else None
            case(f"gather_blocks_bytes_{bits}_{zero}".lower(), "GatherBlockQuantized",
                 {"x": packed(r.i(0, 1 << bits, 6, 64), bits), "i": r.i(0, 6, 2, 3, dtype="int64"),
                  "s": r.positive(6, 2), "z": z}, "x s z", bits=bits, block_size=32,
                 quantize_axis=1, opset=21)


def bnb():
    for kind in (0, 1):
        for k, n in [(64, 3), (40, 5)]:
            r = Random(f"bnb_{kind}_{k}")
            case(f"matmul_bnb4_{kind}_{k}", "MatMulBnb4",
                 {"a": r.f(2, 3, k), "w": r.q("uint8", (n * k + 1) // 2),
                  "m": r.positive(-(-n * k // 16))}, "*", K=k, N=n, block_size=16,
                 quant_type=kind)


def experts():
    tokens, count, width, inner = 5, 4, 32, 16
    for name, activation, more in [
            ("relu", "relu", {}), ("silu", "silu", {"normalize_routing_weights": 1}),
            ("gelu", "gelu", {"k": 1}), ("identity", "identity", {"k": 4}),
            ("swiglu", "swiglu", {"swiglu_fusion": 1, "activation_alpha": 1.7,
                                  "activation_beta": 1.0, "swiglu_limit": 0.7}),
            ("swiglu_free", "swiglu", {"swiglu_fusion": 1, "normalize_routing_weights": 1})]:
        r = Random("moe_" + name)
        rows = inner * (2 if activation == "swiglu" else 1)
        x = r.f(1, tokens, width) if name == "silu" else r.f(tokens, width)
        inputs = {"x": x, "p": r.f(tokens, count), "w1": r.f(count, rows, width, scale=0.2),
                  "b1": r.f(count, rows), "w2": r.f(count, width, inner, scale=0.2),
                  "b2": r.f(count, width)}
        if name == "relu":
            inputs["b1"] = inputs["b2"] = None
        case("moe_" + name, "MoE", inputs, "w1 b1 w2 b2", activation_type=activation,
             **{"k": 2, **more})
    r = Random("moe_gated")
    x, p = r.f(1, 4), r.f(1, 1)
    w1, w3, w2 = r.f(1, 6, 4), r.f(1, 6, 4), r.f(1, 4, 6)
    h = x @ w1[0].T
    case("moe_gated", "MoE", {"x": x, "p": p, "w1": w1, "b1": None, "w2": w2, "b2": None,
                              "w3": w3}, "w1 w2 w3", k=1, activation_type="silu",
         expected=[(h / (1 + numpy.exp(-h)) * (x @ w3[0].T)) @ w2[0].T])
    for bits in (4, 8):
        for blocked in (False, True):
            for zero in (False, True):
                quantized_experts(bits, blocked, zero)


def quantized_experts(bits, blocked, zero):
    tokens, count, width, inner = 5, 4, 64, 32
    name = f"moe_{bits}{'_blocks' if blocked else ''}{'_zeros' if zero else ''}"
    r = Random(name)

    def weight(rows, columns):
        shape = (count, rows, columns // 16) if blocked else (count, rows)
        q = packed(r.i(0, 1 << bits, count, rows, columns), bits)
        return q, r.positive(*shape) / 40 / 2 ** (bits - 4), packed(r.i(0, 1 << bits, *shape), bits)

    w1, s1, z1 = weight(2 * inner, width)
    w2, s2, z2 = weight(width, inner)
    inputs = {"x": r.f(tokens, width), "p": r.f(tokens, count), "w1": w1, "s1": s1,
              "b1": r.f(count, 2 * inner), "w2": w2, "s2": s2, "b2": r.f(count, width), "w3": None,
              "s3": None, "b3": None, "z1": z1 if zero else None, "z2": z2 if zero else None}
    more = {"block_size": 16} if blocked else {}
    case(name, "QMoE", inputs, "w1 s1 b1 w2 s2 b2 z1 z2", k=2, activation_type="swiglu",
         swiglu_fusion=1, expert_weight_bits=bits, activation_alpha=1.7, activation_beta=1.0,
         normalize_routing_weights=1, kind="loose" if bits == 8 and blocked else "float", **more)


def add():
    for group in (linear, elementwise, pools, products, lstm, few_bits, experts):
        group()

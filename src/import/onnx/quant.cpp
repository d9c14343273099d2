// Quantization: the standard's operators and the forms of domain com.microsoft that real models use
// for 16-bit and 4-bit types before ONNX had them.
// SPDX-License-Identifier: Apache-2.0
#include "import/onnx/node_importer.h"
#include "import/onnx/op_table.h"

namespace stoker {

namespace {

constexpr OnnxOp kOps[] = {
    {"", "ConvInteger", import_same},
    {"", "DequantizeLinear", import_same},
    {"", "DynamicQuantizeLinear", import_same},
    {"", "MatMulInteger", import_same},
    {"", "QLinearConv", import_same},
    {"", "QLinearMatMul", import_same},
    {"", "QuantizeLinear", import_same},
    {"com.microsoft", "DequantizeLinear", import_same},
    {"com.microsoft", "QuantizeLinear", import_same},
};

}  // namespace

std::span<const OnnxOp> quant_ops() { return kOps; }

}  // namespace stoker

// SPDX-License-Identifier: Apache-2.0
#include "api/operators.h"

#include <algorithm>
#include <tuple>

#include "import/onnx/op_table.h"
#include "lower/lowered.h"

namespace stoker {

std::vector<OperatorSupport> operator_support() {
  std::vector<OperatorSupport> rows;
  for (const OnnxOp* onnx : all_onnx_ops()) {
    OperatorSupport row;
    row.domain = onnx->domain.empty() ? "ai.onnx" : onnx->domain;
    row.name = onnx->name;
    if (const Op* op = find_op(ir_op_name(onnx->name))) {
      row.op = op->name;
      row.runs_by = usual_family(*op);
    } else {
      row.runs_by = "written out in other operators";
    }
    rows.push_back(std::move(row));
  }
  std::sort(rows.begin(), rows.end(), [](const OperatorSupport& a, const OperatorSupport& b) {
    return std::tie(a.domain, a.name) < std::tie(b.domain, b.name);
  });
  return rows;
}

}  // namespace stoker

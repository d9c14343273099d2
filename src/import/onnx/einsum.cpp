// Einsum of one or two operands as transposes, sums, products and matrix products, which have fast
// kernels; what needs more (diagonals, three operands, extents that may broadcast) stays an einsum.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "base/status.h"
#include "import/onnx/node_importer.h"
#include "import/onnx/op_table.h"
#include "ops/einsum_equation.h"

namespace stoker {

namespace {

// A value whose axes carry these labels.
struct Labelled {
  Value* value = nullptr;
  Labels labels;

  bool has(int label) const { return index(label) < labels.size(); }
  size_t index(int label) const {
    return static_cast<size_t>(std::find(labels.begin(), labels.end(), label) - labels.begin());
  }
  const Dim& extent(int label) const { return value->type.dims[index(label)]; }
};

class EinsumBuilder {
 public:
  EinsumBuilder(NodeImporter& node, Labels output) : node_(node), output_(std::move(output)) {}

  // Sums over the labels that neither `other` nor the output has.
  Status drop_own(Labelled& x, const Labelled* other) {
    std::vector<int64_t> axes;
    Labels kept;
    for (size_t d = 0; d < x.labels.size(); ++d) {
      const int label = x.labels[d];
      const bool needed = holds(output_, label) || (other && other->has(label));
      if (needed) {
        kept.push_back(label);
      } else {
        axes.push_back(static_cast<int64_t>(d));
      }
    }
    if (axes.empty()) return Status::ok();
    STOKER_ASSIGN(x.value, node_.apply("reduce_sum", {x.value, node_.constant_i64(axes, "axes")},
                                       {{"keepdims", int64_t{0}}}));
    x.labels = std::move(kept);
    return Status::ok();
  }

  // The axes in this order; labels that x does not have become axes of extent 1.
  Result<Value*> arrange(const Labelled& x, const Labels& order) {
    std::vector<int64_t> perm, added;
    for (size_t d = 0; d < order.size(); ++d) {
      if (x.has(order[d])) {
        perm.push_back(static_cast<int64_t>(x.index(order[d])));
      } else {
        added.push_back(static_cast<int64_t>(d));
      }
    }
    Value* value = x.value;
    if (!std::is_sorted(perm.begin(), perm.end())) {
      STOKER_ASSIGN(value, node_.apply("transpose", {value}, {{"perm", perm}}));
    }
    if (added.empty()) return value;
    return node_.apply("unsqueeze", {value, node_.constant_i64(added, "axes")});
  }

  // Nothing is summed over two operands: they broadcast to the output.
  Result<Value*> product(const Labelled& a, const Labelled& b) {
    STOKER_ASSIGN(Value* const left, arrange(a, output_));
    STOKER_ASSIGN(Value* const right, arrange(b, output_));
    return node_.apply("mul", {left, right});
  }

  // The labels of the output as batch axes, the last of each operand's own as row and column.
  Result<Value*> matrix_product(const Labelled& a, const Labelled& b, const Labels& summed) {
    Labels batch;
    int row = 0, column = 0;  // no label is 0
    for (const int label : output_) {
      if (a.has(label) && b.has(label)) {
        batch.push_back(label);
        continue;
      }
      int& line = a.has(label) ? row : column;
      if (line) batch.push_back(line);
      line = label;
    }
    STOKER_ASSIGN(Value* const left, matrix(a, batch, row, summed));
    STOKER_ASSIGN(Value * right, matrix(b, batch, column, summed));
    std::vector<int64_t> perm;
    for (int64_t d = 0; d < right->type.rank(); ++d) perm.push_back(d);
    std::swap(perm[perm.size() - 1], perm[perm.size() - 2]);
    STOKER_ASSIGN(right, node_.apply("transpose", {right}, {{"perm", perm}}));
    Labelled result{nullptr, batch};
    STOKER_ASSIGN(result.value, node_.apply("matmul", {left, right}));
    std::vector<int64_t> absent;
    const auto rank = static_cast<int64_t>(batch.size());
    if (row) result.labels.push_back(row);
    if (column) result.labels.push_back(column);
    if (!row) absent.push_back(rank);
    if (!column) absent.push_back(rank + 1);
    if (!absent.empty()) {
      STOKER_ASSIGN(result.value,
                    node_.apply("squeeze", {result.value, node_.constant_i64(absent, "axes")}));
    }
    return arrange(result, output_);
  }

  static bool holds(const Labels& labels, int label) {
    return std::find(labels.begin(), labels.end(), label) != labels.end();
  }

 private:
  // [batch..., line, summed], the summed labels merged to one axis.
  Result<Value*> matrix(const Labelled& x, const Labels& batch, int line, const Labels& summed) {
    // Batch axes that x lacks broadcast; at the front they need not be there at all.
    Labels order(std::find_if(batch.begin(), batch.end(), [&](int label) { return x.has(label); }),
                 batch.end());
    order.push_back(line);
    const size_t lead = order.size();
    order.insert(order.end(), summed.begin(), summed.end());
    STOKER_ASSIGN(Value* const value, arrange(x, order));
    if (summed.size() == 1) return value;
    Dim count(1);
    for (const int label : summed) count = count * x.extent(label);
    std::vector<int64_t> shape(lead, 0);  // 0: as it is
    shape.push_back(count.constant().value_or(-1));
    return node_.apply("reshape", {value, node_.constant_i64(shape, "shape")});
  }

  NodeImporter& node_;
  Labels output_;
};

bool distinct(Labels labels) {
  std::sort(labels.begin(), labels.end());
  return std::adjacent_find(labels.begin(), labels.end()) == labels.end();
}

// The operands with their labels, when the forms above can express them.
std::optional<std::vector<Labelled>> simple_operands(const NodeImporter& node,
                                                     const EquationLabels& labels) {
  std::vector<Labelled> operands;
  for (size_t i = 0; i < labels.terms.size(); ++i) {
    operands.push_back({node.input(i), labels.terms[i]});
    if (!distinct(labels.terms[i])) return std::nullopt;
    for (const Dim& extent : operands.back().value->type.dims) {
      if (extent == Dim(0)) return std::nullopt;
    }
  }
  if (operands.size() == 2) {
    for (const int label : operands[0].labels) {
      if (operands[1].has(label) && operands[0].extent(label) != operands[1].extent(label))
        return std::nullopt;
    }
  }
  return operands;
}

bool has_matmul(DType dtype) {
  return dtype == DType::kF64 || dtype == DType::kF32 || dtype == DType::kF16 ||
         dtype == DType::kBF16;
}

}  // namespace

Status import_einsum(NodeImporter& node) {
  std::vector<int> ranks;
  for (size_t i = 0; i < node.input_count(); ++i) {
    if (!node.has_input(i)) return invalid_model("input {} is left out", i);
    if (!node.input(i)->type.ranked) return import_same(node);
    ranks.push_back(node.input(i)->type.rank());
  }
  STOKER_ASSIGN(const Equation equation, parse_equation(node.get_string("equation", "")));
  STOKER_ASSIGN(const EquationLabels labels, label_axes(equation, ranks));
  auto operands = simple_operands(node, labels);
  if (!operands || operands->empty() || operands->size() > 2 ||
      !has_matmul(node.input(0)->type.dtype)) {
    return import_same(node);
  }
  EinsumBuilder build(node, labels.output);
  Labelled& a = (*operands)[0];
  Value* result = nullptr;
  if (operands->size() == 1) {
    STOKER_TRY(build.drop_own(a, nullptr));
    STOKER_ASSIGN(result, build.arrange(a, labels.output));
  } else {
    Labelled& b = (*operands)[1];
    STOKER_TRY(build.drop_own(a, &b));
    STOKER_TRY(build.drop_own(b, &a));
    Labels summed;
    std::copy_if(a.labels.begin(), a.labels.end(), std::back_inserter(summed), [&](int label) {
      return b.has(label) && !EinsumBuilder::holds(labels.output, label);
    });
    STOKER_ASSIGN(result,
                  summed.empty() ? build.product(a, b) : build.matrix_product(a, b, summed));
  }
  if (result == node.input(0)) {
    STOKER_ASSIGN(result, node.apply("identity", {result}));
  }
  node.bind(0, result);
  return Status::ok();
}

}  // namespace stoker

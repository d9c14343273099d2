// The joined operator table and the naming rule between ONNX and IR.
// SPDX-License-Identifier: Apache-2.0
#include "import/onnx/op_table.h"

#include <cctype>
#include <map>

namespace stoker {

namespace {

using Key = std::pair<std::string_view, std::string_view>;

// One group a line; each is a file of that name.
using Group = std::span<const OnnxOp> (*)();
// clang-format off
constexpr Group kGroups[] = {
    math_ops,
    nn_ops,
    tensor_ops,
    attention_ops,
    contrib_attention_ops,
    contrib_sequence_ops,
    contrib_cached_ops,
    vision_ops,
    reduce_ops,
    quant_ops,
    control_ops,
    values_ops,
    ml_ops,
    training_ops,
    contrib_ops,
    contrib_norm_ops,
    contrib_data_ops,
    contrib_quant_ops,
    contrib_bits_ops,
    contrib_moe_ops,
    retired_ops,
};
// clang-format on

std::map<Key, const OnnxOp*> build_table() {
  std::map<Key, const OnnxOp*> table;
  for (const Group group : kGroups) {
    for (const OnnxOp& op : group()) table.emplace(Key{op.domain, op.name}, &op);
  }
  return table;
}

// Words that ONNX spells with inner capitals but that are one word in IR names.
void join_words(std::string& name) {
  for (const auto& [from, to] : {std::pair<std::string_view, std::string_view>{"MatMul", "Matmul"},
                                 {"QLinear", "Qlinear"},
                                 {"PRelu", "Prelu"},
                                 {"NaN", "Nan"}}) {
    for (size_t at = name.find(from); at != std::string::npos; at = name.find(from, at)) {
      name.replace(at, from.size(), to);
    }
  }
}

}  // namespace

const OnnxOp* find_onnx_op(std::string_view domain, std::string_view name) {
  static const std::map<Key, const OnnxOp*> table = build_table();
  const auto found = table.find({domain, name});
  return found == table.end() ? nullptr : found->second;
}

std::vector<const OnnxOp*> all_onnx_ops() {
  std::vector<const OnnxOp*> ops;
  for (const Group group : kGroups) {
    for (const OnnxOp& op : group()) ops.push_back(&op);
  }
  return ops;
}

std::string ir_op_name(std::string_view onnx_name) {
  std::string name(onnx_name);
  join_words(name);
  const auto upper = [&](size_t i) {
    return i < name.size() && std::isupper(static_cast<unsigned char>(name[i]));
  };
  const auto lower = [&](size_t i) {
    return i < name.size() && std::islower(static_cast<unsigned char>(name[i]));
  };
  std::string out;
  for (size_t i = 0; i < name.size(); ++i) {
    // A word starts at a capital after a small letter or digit, and at the last capital of a run
    // that goes on in small letters (RMSNormalization).
    if (i > 0 && upper(i) && (!upper(i - 1) || lower(i + 1))) out += '_';
    out += static_cast<char>(std::tolower(static_cast<unsigned char>(name[i])));
  }
  return out;
}

}  // namespace stoker

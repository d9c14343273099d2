// matmul(softmax(matmul(q, transpose(k)) * scale + mask), v) in the spellings of exporters ->
// attention. The transposes that put heads before positions, and the one that puts them back, go
// into its packed form where all four are there. Key heads that are repeated for groups of query
// heads are shared instead.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <limits>

#include "passes/pass.h"
#include "passes/patterns/attention_parts.h"

namespace stoker {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Builds the attention's operands before the second product; takes them away again when no kernel
// would run it.
class Rewrite {
 public:
  Rewrite(Graph& graph, const AttentionParts& parts) : graph_(graph), parts_(parts) {}

  Result<bool> run(const PassContext& context) {
    before_ = parts_.last;
    out_ = parts_.last->outputs[0];
    if (parts_.has_heads) back_ = transposing_user(graph_, out_, {0, 2, 1, 3});
    packed_ = back_ && parts_.q.heads_third && parts_.k.heads_third && parts_.v.heads_third &&
              has_numbers(parts_.q) && has_numbers(parts_.k) && has_numbers(parts_.v);
    STOKER_TRY(make_operands());
    STOKER_TRY(make_mask());
    STOKER_ASSIGN(const bool accepted, ask(context));
    if (!accepted) return false;
    STOKER_ASSIGN(Node * last, make_last());
    STOKER_TRY(absorb_expression(graph_, last, "attention", inputs_, attributes()).status());
    return true;
  }

 private:
  static bool has_numbers(const HeadOperand& operand) {
    const auto heads = operand.heads().constant(), width = operand.width().constant();
    return heads && width && *heads > 0 && *width > 0;
  }

  Result<Value*> insert(std::string_view op, std::vector<Value*> inputs, Attributes values = {}) {
    STOKER_ASSIGN(Node * node,
                  insert_node(graph_, before_, op, std::move(inputs), std::move(values)));
    made_.push_back(node);
    return node->outputs[0];
  }

  Value* ints(const char* name, std::vector<int64_t> values) {
    const auto count = static_cast<int64_t>(values.size());
    return graph_.add_constant(name, Tensor::from<int64_t>({count}, std::move(values)));
  }

  // [batch, length, heads * width].
  Result<Value*> packed(const HeadOperand& operand) {
    Value* x = operand.heads_third;
    const Dims wanted{operand.batch(), operand.length(), operand.heads() * operand.width()};
    const Node* split = producer_of(x, "reshape");
    if (split && split->inputs[0]->type.ranked && split->inputs[0]->type.dims == wanted)
      return split->inputs[0];
    return insert("reshape", {x, ints("packed", {0, 0, wanted[2].value()})});
  }

  Result<Value*> heads_first(const HeadOperand& operand) {
    if (operand.heads_first) return operand.heads_first;
    return insert("transpose", {operand.heads_third},
                  {{"perm", Attribute(std::vector<int64_t>{0, 2, 1, 3})}});
  }

  std::vector<int64_t> flat_axes() const {
    return parts_.flat[0]->type.rank() == 2 ? std::vector<int64_t>{0, 1} : std::vector<int64_t>{1};
  }

  Status make_operands() {
    const HeadOperand* operands[] = {&parts_.q, &parts_.k, &parts_.v};
    for (size_t i = 0; i < 3; ++i) {
      Value* operand = nullptr;
      if (!parts_.has_heads) {
        STOKER_ASSIGN(operand, insert("unsqueeze", {parts_.flat[i], ints("axes", flat_axes())}));
      } else if (packed_) {
        STOKER_ASSIGN(operand, packed(*operands[i]));
      } else {
        STOKER_ASSIGN(operand, heads_first(*operands[i]));
      }
      inputs_.push_back(operand);
    }
    return Status::ok();
  }

  Value* minus_infinity(DType dtype) {
    return graph_.add_constant("minus_infinity", dtype == DType::kF32
                                                     ? Tensor::scalar_f32(-HUGE_VALF)
                                                     : Tensor::from<double>({}, {-kInfinity}));
  }

  // One mask out of what is added and what a `where` rules out.
  Status make_mask() {
    Value* mask = parts_.added.empty() ? nullptr : parts_.added.back();
    if (parts_.added.size() > 1) {
      STOKER_ASSIGN(mask, insert("add", {mask, parts_.added.front()}));
    }
    if (parts_.condition && mask) {
      Value* instead = minus_infinity(mask->type.dtype);
      std::vector<Value*> inputs{parts_.condition, mask, instead};
      if (parts_.where_true) std::swap(inputs[1], inputs[2]);
      STOKER_ASSIGN(mask, insert("where", std::move(inputs)));
    } else if (parts_.condition && parts_.where_true) {
      STOKER_ASSIGN(mask, insert("not", {parts_.condition}));
    } else if (parts_.condition) {
      mask = parts_.condition;
    }
    if (!mask) return Status::ok();
    if (!parts_.has_heads && mask->type.rank() == 3) {
      STOKER_ASSIGN(mask, insert("unsqueeze", {mask, ints("axes", {1})}));
    }
    inputs_.push_back(mask);
    return Status::ok();
  }

  Attributes attributes() const {
    Attributes a{{"scale", Attribute(parts_.scale)}};
    if (parts_.softcap > 0) a.set("softcap", parts_.softcap);
    const bool masked = inputs_.size() > 3;
    if (masked && inputs_[3]->type.dims.back() == Dim(1)) a.set("mask_repeats", int64_t{1});
    if (masked && inputs_[3]->type.dtype == DType::kBool && parts_.masked_score != -kInfinity)
      a.set("masked_score", parts_.masked_score);
    if (masked && parts_.nan_rows) a.set("nan_rows", int64_t{1});
    if (packed_) {
      a.set("q_num_heads", parts_.q.heads().value());
      a.set("kv_num_heads", parts_.k.heads().value());
    }
    return a;
  }

  Result<bool> ask(const PassContext& context) {
    if (!context.oracle) return true;
    STOKER_ASSIGN(Node * candidate,
                  insert_node(graph_, before_, "attention", inputs_, attributes()));
    const Status status = context.oracle->has_tactic(*candidate);
    graph_.erase(candidate);
    if (status.is_ok()) return true;
    for (size_t i = made_.size(); i-- > 0;) graph_.erase(made_[i]);
    if (context.refusals)
      context.refusals->push_back({"attention", origins_text(*parts_.last), status.message()});
    return false;
  }

  Node* node_behind(const Node* node) const {
    const auto behind = std::next(node->position);
    return behind == graph_.nodes().end() ? nullptr : behind->get();
  }

  // The node whose output is what the attention will give; where there is none, the result is
  // brought into that form and back.
  Result<Node*> make_last() {
    if (parts_.has_heads && !packed_) return parts_.last;
    if (!packed_) return there_and_back("unsqueeze", "squeeze", out_, flat_axes(), flat_axes());
    Value* y = back_->outputs[0];
    const int64_t heads = parts_.q.heads().value(), width = parts_.v.width().value();
    const Dims wanted{parts_.q.batch(), parts_.q.length(), Dim(heads * width)};
    if (single_use(graph_, y)) {
      Node* user = y->uses[0].node;
      if (user->is("reshape") && user->outputs[0]->type.ranked &&
          user->outputs[0]->type.dims == wanted)
        return user;
    }
    return there_and_back("reshape", "reshape", y, {0, 0, heads * width}, {0, 0, heads, width});
  }

  Result<Node*> there_and_back(std::string_view to, std::string_view from, Value* value,
                               std::vector<int64_t> to_shape, std::vector<int64_t> from_shape) {
    before_ = node_behind(value->producer);
    const ValueType type = value->type;
    STOKER_ASSIGN(Value * there, insert(to, {value, ints("shape", std::move(to_shape))}));
    STOKER_ASSIGN(Value * back, insert(from, {there, ints("shape", std::move(from_shape))}));
    back->type = type;
    if (!replace_value(graph_, value, back))
      return internal_error("output of '{}' cannot be renamed", value->producer->name);
    graph_.set_input(there->producer, 0, value);
    return there->producer;
  }

  Graph& graph_;
  const AttentionParts& parts_;
  Node* before_ = nullptr;
  Value* out_ = nullptr;
  Node* back_ = nullptr;  // the transpose that puts heads behind positions again
  bool packed_ = false;
  std::vector<Node*> made_;
  std::vector<Value*> inputs_;
};

}  // namespace

Result<int> attention(Graph& graph, const PassContext& context) {
  int changes = 0;
  for (Node* node : node_snapshot(graph)) {
    const auto parts = match_attention(graph, node);
    if (!parts) continue;
    STOKER_ASSIGN(const bool changed, Rewrite(graph, *parts).run(context));
    changes += changed;
  }
  return changes;
}

}  // namespace stoker

// Composer: writes one operator of a model as several IR nodes. The first problem ends the work:
// every later step gives null, and `status` says what was wrong, so that a decomposition reads as
// the formula that it is.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "import/onnx/node_importer.h"

namespace stoker {

class Composer {
 public:
  explicit Composer(NodeImporter& node) : node_(node) {}

  bool ok() const { return status_.is_ok(); }
  const Status& status() const { return status_; }
  void fail(Status status) {
    if (ok()) status_ = std::move(status);
  }
  NodeImporter& node() { return node_; }

  // Input `i`, an error when it is left out; `what` names it there.
  Value* input(size_t i, const char* what);
  Value* optional_input(size_t i) { return ok() ? node_.input(i) : nullptr; }
  DType dtype(const Value* value) const { return value ? value->type.dtype : DType::kInvalid; }
  // The rank, an error (and 0) when it is not known.
  int64_t rank(const Value* value, const char* what);
  // The extent of an axis when it is a number; an error (and 1) otherwise.
  int64_t extent(const Value* value, int64_t axis, const char* what);

  Value* op(const std::string& name, std::vector<Value*> inputs, Attributes attributes = {});
  // All outputs of a node with several; nulls after a problem.
  std::vector<Value*> outputs(const std::string& name, std::vector<Value*> inputs,
                              Attributes attributes, int count);
  Value* ints(const std::vector<int64_t>& values, const char* role);
  Value* scalar(DType dtype, double value, const char* role);
  Value* constant(Result<Tensor> tensor, const char* role);

  Value* add(Value* a, Value* b) { return op("add", {a, b}); }
  Value* mul(Value* a, Value* b) { return op("mul", {a, b}); }
  Value* scaled(Value* x, double factor, const char* role);  // x itself when the factor is 1
  Value* cast(Value* x, DType to);                           // x itself when it has that dtype
  Value* transpose(Value* x, std::vector<int64_t> perm);
  Value* reshape(Value* x, const std::vector<int64_t>& shape, const char* role);
  Value* unsqueeze(Value* x, const std::vector<int64_t>& axes, const char* role);
  // Elements from `start` to before `end` of one axis.
  Value* slice(Value* x, int64_t axis, int64_t start, int64_t end, const char* role);
  // Between the order [N, H, W, ..., C] and [N, C, H, W, ...].
  Value* channels_first(Value* x);
  Value* channels_last(Value* x);

  // Makes `value` output `i` of the ONNX node where the node names it.
  void bind(size_t i, Value* value);
  // Binds output 0; the status of the whole.
  Status finish(Value* value) {
    bind(0, value);
    return status_;
  }

 private:
  NodeImporter& node_;
  Status status_;
};

// The activation of a fused operator by its ONNX name ("" for none), with its parameters in the
// order in which ONNX lists them.
Value* activate(Composer& c, const std::string& name, Value* x, const std::vector<double>& params);

}  // namespace stoker

// The encoder of the table sections, shared by encode.cpp and encode_params.cpp only.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <unordered_map>

#include "engine/codec.h"
#include "engine/engine_generated.h"
#include "engine/format.h"

namespace stoker::engine {

using flatbuffers::FlatBufferBuilder;
using flatbuffers::Offset;

template <class T>
using Vector = Offset<flatbuffers::Vector<T>>;
template <class T>
using Tables = Offset<flatbuffers::Vector<Offset<T>>>;

inline constexpr size_t kShareUpTo =
    64;  // longer strings are stored once per use; see the reader's budget

// Children are always built in the order of the fields, in statements of their own: the order in
// which a compiler evaluates arguments is free, and bytes must not depend on it.
class Encoder {
 public:
  Encoder() { b_.ForceDefaults(true); }

  Result<std::vector<std::byte>> plan(const EngineContents& contents,
                                      const std::vector<WeightPlace>& places);
  Result<std::vector<std::byte>> volatile_section(const Volatile& data);

 private:
  uint32_t text(const std::string& value) {
    if (value.size() <= kShareUpTo) {
      const auto [it, added] = string_index_.emplace(value, static_cast<uint32_t>(strings_.size()));
      if (!added) return it->second;
    }
    string_bytes_ += static_cast<int64_t>(value.size()) + 9;
    strings_.push_back(value);
    return static_cast<uint32_t>(strings_.size() - 1);
  }
  uint32_t expression(const Dim& dim) {
    const std::string value = dim.text();
    const auto [it, added] =
        expression_index_.emplace(value, static_cast<uint32_t>(expressions_.size()));
    if (added) {
      Status status = check_expression(value);
      if (status.is_ok()) {
        const Result<Dim> read = Dim::parse(value);
        if (!read.is_ok() || !(*read == dim))
          status = internal_error("size expression '{}' does not read back", value);
      }
      fail(status);
      expressions_.push_back(value);
      string_bytes_ += static_cast<int64_t>(value.size()) + 9;
    }
    return it->second;
  }
  void fail(const Status& status) {
    if (status_.is_ok() && !status.is_ok()) status_ = status;
  }
  // False once an error occurred or the section outgrows what FlatBuffers can address.
  bool going() {
    if (int64_t{b_.GetSize()} + string_bytes_ > kMaxTableSection) {
      fail(error(StatusCode::kResourceExhausted,
                 "the plan needs more than {} bytes: large constants belong into "
                 "weights, not into attributes",
                 kMaxTableSection));
    }
    return status_.is_ok();
  }

  Vector<uint32_t> texts(const std::vector<std::string>& values) {
    std::vector<uint32_t> list;
    for (const auto& value : values) list.push_back(text(value));
    return b_.CreateVector(list);
  }
  Vector<uint32_t> dims(const Dims& values) {
    std::vector<uint32_t> list;
    for (const Dim& dim : values) list.push_back(expression(dim));
    return b_.CreateVector(list);
  }
  Tables<fb::Pair> pairs(const std::map<std::string, std::string>& values) {
    return tables<fb::Pair>(values, [&](const auto& pair) {
      const uint32_t key = text(pair.first), value = text(pair.second);
      return fb::CreatePair(b_, key, value);
    });
  }
  template <class T, class List, class Make>
  Tables<T> tables(const List& list, Make make) {
    std::vector<Offset<T>> offsets;
    for (const auto& item : list) {
      if (!going()) break;
      offsets.push_back(make(item));
    }
    return b_.CreateVector(offsets);
  }

  Offset<fb::Names> names();
  Offset<fb::Manifest> manifest(const Manifest& m);
  Offset<fb::Symbol> symbol(const PlanSymbol& s);
  Offset<fb::PlanTensor> tensor(const PlanTensor& t);
  Offset<fb::OperandMap> map(const RegionOperand& operand) {
    return fb::CreateOperandMap(b_, b_.CreateVector(operand.dim_of));
  }
  Offset<fb::RegionProgram> region(const RegionProgram& program);
  Offset<fb::Attribute> attribute(const std::string& name, const Attribute& value);
  Offset<fb::TensorValue> tensor_value(const Tensor& tensor);
  Tables<fb::Attribute> attributes(const Attributes& list) {
    return tables<fb::Attribute>(
        list.all(), [&](const auto& pair) { return attribute(pair.first, pair.second); });
  }
  Offset<void> params(const GemmParams& p);
  Offset<void> params(const ConvParams& p);
  Offset<void> params(const RegionParams& p);
  Offset<void> params(const PoolParams& p);
  Offset<void> params(const CopyParams& p);
  Offset<void> params(const GatherParams& p) { return fb::CreateGather(b_, p.axis).Union(); }
  Offset<void> params(const FallbackParams& p);
  Offset<void> params(const AttentionParams& p);
  Offset<void> params(const ResizeParams& p);
  Offset<void> params(const RecurrentParams& p);
  Offset<fb::Step> step(const PlanStep& s);
  Tables<fb::Port> ports(const std::vector<PlanPort>& list) {
    return tables<fb::Port>(
        list, [&](const PlanPort& p) { return fb::CreatePort(b_, text(p.name), p.tensor); });
  }
  Offset<fb::Program> program(const PlanProgram& p);
  Offset<fb::Recipe> recipe(const WeightRecipe& r);
  Offset<fb::Weight> weight(const PlanWeight& w, const WeightPlace& place);
  Offset<fb::Source> source(const PlanSource& s, const WeightPlace& place);
  Offset<fb::Measurement> measurement(const StepMeasurement& m);
  Offset<fb::Certificate> certificate(const Certificate& c);
  std::vector<std::byte> bytes() {
    const auto* data = reinterpret_cast<const std::byte*>(b_.GetBufferPointer());
    return {data, data + b_.GetSize()};
  }

  FlatBufferBuilder b_{1 << 20};
  std::vector<std::string> strings_, expressions_;
  std::unordered_map<std::string, uint32_t> string_index_, expression_index_;
  int64_t string_bytes_ = 0;
  Status status_;
};

}  // namespace stoker::engine

// The op case tables: tests/ops/*.cases. One line is one case, for the op tests, the kernel tests
// and the benchmarks:
//
//   conv x=f32[1,3,5,5] w=f32[4,3,3,3] b=none pads=[1,1,1,1] -> f32[1,4,5,5]
//   relu x=f32[3]{-1,0,2} -> f32[3]{0,0,2}
//   gather x=f32[4,2] i=i64[3]~0..3 -> f32[3,2]
//   conv x=f32[1,3,5,5] w=f32[4,4,3,3] -> error "weight expects 4"
//
// A word NAME=VALUE is an attribute when the op has one of that name, otherwise the next input;
// `none` leaves an optional input out. Inputs without {values} are random, from ~low..high or a
// default range. Outputs with {values} are checked against them, within ~tolerance when one
// follows. `#` starts a comment.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "ops/op.h"

namespace stoker {

struct CaseTensor {
  std::string name;               // inputs only
  DType dtype = DType::kInvalid;  // kInvalid: an input left out
  Shape shape;
  std::optional<Tensor> values;  // given elements
  std::optional<std::pair<double, double>> range;
  std::optional<double> tolerance;
};

struct OpCase {
  const Op* op = nullptr;
  std::string text, file;
  int line = 0;
  Attributes attributes;
  std::vector<CaseTensor> inputs, outputs;
  std::string error;  // not empty: inference or evaluation must fail with a message that holds this

  std::string where() const { return file + ":" + std::to_string(line) + ": " + text; }
};

Result<OpCase> parse_case(const std::string& line);
Result<std::vector<OpCase>> load_cases(const std::string& path);
// Every *.cases file of a folder, in the order of their names.
Result<std::vector<OpCase>> load_all_cases(const std::string& folder);

// The inputs of a case. The same case and seed give the same tensors on every machine.
Result<std::vector<Tensor>> make_inputs(const OpCase& op_case, uint64_t seed = 0);
Result<Tensor> random_tensor(DType dtype, const Shape& shape, uint64_t seed,
                             std::optional<std::pair<double, double>> range = std::nullopt);

}  // namespace stoker

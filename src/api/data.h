// Tensors for running an engine from outside: files, seeded random values, folders of test data,
// and the facts of an engine that choosing them takes. Used by the program's commands.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "stoker/engine.h"

namespace stoker {

// What is not in the public interface of an engine but belongs in reports.
struct EngineFacts {
  std::string device;
  int threads = 1;
  double build_seconds = 0;
  std::map<std::string, std::string> machine;  // of this process, not of the build
  std::map<std::string, int64_t> optimum;      // size of each symbol that the engine was tuned for
};
EngineFacts engine_facts(const Engine& engine);

// Shape of an input: open sizes take the optimum, or 1 where there is none.
Result<Shape> default_shape(const TensorInfo& input, const EngineFacts& facts);

// "x:8x3x224x224" with numbers only; "x:" is a scalar.
struct FixedShape {
  std::string input;
  Shape shape;
};
Result<FixedShape> parse_fixed_shape(const std::string& text);
// One shape per input: those given, default_shape for the rest. Unknown names are an error.
Result<std::vector<Shape>> input_shapes(const Engine& engine, const std::vector<FixedShape>& given);

// .npy or .pb (a serialized TensorProto, or SequenceProto or OptionalProto for a port that holds
// one); anything else is refused by name. `name` takes the name inside a .pb, empty otherwise.
Result<AnyValue> load_value(const std::string& path, const std::string& kind = "tensor",
                            std::string* name = nullptr);
// Repeatable on every machine; different names get different values.
Result<Tensor> random_tensor(const std::string& name, DType dtype, const Shape& shape,
                             uint64_t seed);

// Stored inputs and expected outputs of one run.
struct DataSet {
  std::string folder;
  ValueMap inputs, outputs;
};
// The folder's test_data_set_* subfolders in the order of their numbers, or the folder itself.
// Files: input_K.pb and output_K.pb in the model's order, where a name inside that the model knows
// wins, or NAME.npy (NAME with unsafe characters as `_`). Without `outputs` only inputs are read.
Result<std::vector<std::string>> data_set_folders(const std::string& folder);
Result<DataSet> load_data_set(const std::string& folder, const std::vector<TensorInfo>& inputs,
                              const std::vector<TensorInfo>& outputs);

// A tensor's name as a file name: all but letters, digits, '.', '_' and '-' becomes '_'.
std::string safe_file_name(const std::string& name);

// Every real element as double. Not for strings and complex numbers.
std::vector<double> tensor_doubles(const Tensor& tensor);

}  // namespace stoker

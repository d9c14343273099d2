// ai.onnx.ml: what stands around networks in published models: encoders, scalers, trees, linear
// models, support vectors, maps.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <numeric>

#include "base/status.h"
#include "import/onnx/node_importer.h"
#include "import/onnx/op_table.h"
#include "onnx/onnx-ml.pb.h"

namespace stoker {

namespace {

std::vector<std::string> strings_of(const NodeImporter& node, const char* name) {
  const auto* attribute = node.raw(name);
  if (!attribute) return {};
  return {attribute->strings().begin(), attribute->strings().end()};
}

// Lookup between integers and strings, in the direction that the input's type says.
Status finish_lookup(NodeImporter& node, std::vector<int64_t> ints,
                     std::vector<std::string> strings) {
  if (!node.has_input(0)) return invalid_model("input 0 is left out");
  if (node.input(0)->type.dtype == DType::kString) {
    return node.finish("label_encoder", {node.input(0)},
                       {{"keys_strings", std::move(strings)},
                        {"values_int64s", std::move(ints)},
                        {"default_int64", node.get_int("default_int64", -1)}});
  }
  return node.finish("label_encoder", {node.input(0)},
                     {{"keys_int64s", std::move(ints)},
                      {"values_strings", std::move(strings)},
                      {"default_string", node.get_string("default_string", "_Unused")}});
}

Status import_category_mapper(NodeImporter& node) {
  return finish_lookup(node, node.get_ints("cats_int64s"), strings_of(node, "cats_strings"));
}

template <class T>
void reverse_list(Attributes& attributes, const std::string& name) {
  const auto found = attributes.all().find(name);
  if (found == attributes.all().end()) return;
  const auto* list = std::get_if<std::vector<T>>(&found->second);
  if (list) attributes.set(name, std::vector<T>(list->rbegin(), list->rend()));
}

// Version 1 maps between strings and their positions. Since version 4 the last of equal keys
// counts, before it the first: reading the lists backwards is the same.
Status import_label_encoder(NodeImporter& node) {
  if (node.version() < 2) {
    std::vector<std::string> classes = strings_of(node, "classes_strings");
    std::vector<int64_t> positions(classes.size());
    std::iota(positions.begin(), positions.end(), 0);
    return finish_lookup(node, std::move(positions), std::move(classes));
  }
  if (node.version() >= 4) return import_same(node);
  STOKER_ASSIGN(Attributes attributes, node.converted());
  for (const char* part : {"keys", "values"}) {
    reverse_list<double>(attributes, fmt::format("{}_floats", part));
    reverse_list<int64_t>(attributes, fmt::format("{}_int64s", part));
    reverse_list<std::string>(attributes, fmt::format("{}_strings", part));
  }
  return node.finish("label_encoder", node.inputs(), std::move(attributes));
}

constexpr std::string_view kMl = "ai.onnx.ml";
constexpr OnnxOp kOps[] = {
    {kMl, "ArrayFeatureExtractor", import_same},
    {kMl, "Binarizer", import_same},
    {kMl, "CastMap", import_same},
    {kMl, "CategoryMapper", import_category_mapper},
    {kMl, "DictVectorizer", import_same},
    {kMl, "FeatureVectorizer", import_same},
    {kMl, "Imputer", import_same},
    {kMl, "LabelEncoder", import_label_encoder},
    {kMl, "LinearClassifier", import_same},
    {kMl, "LinearRegressor", import_same},
    {kMl, "Normalizer", import_same},
    {kMl, "OneHotEncoder", import_same},
    {kMl, "SVMClassifier", import_same},
    {kMl, "SVMRegressor", import_same},
    {kMl, "Scaler", import_same},
    {kMl, "TreeEnsemble", import_same},
    {kMl, "TreeEnsembleClassifier", import_same},
    {kMl, "TreeEnsembleRegressor", import_same},
    {kMl, "ZipMap", import_same},
};

}  // namespace

std::span<const OnnxOp> ml_ops() { return kOps; }

}  // namespace stoker

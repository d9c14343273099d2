// Model: a network from a model file, or from the graph that an engine keeps.
// SPDX-License-Identifier: Apache-2.0
#include "api/graph_section.h"
#include "api/loaded_model.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/knobs.h"
#include "runtime/loaded_engine.h"
#include "runtime/op_libraries.h"

namespace stoker {
namespace {

std::vector<TensorInfo> value_infos(const std::vector<Value*>& values) {
  std::vector<TensorInfo> infos;
  for (const Value* value : values) {
    TensorInfo info{value->origin.empty() ? value->name : value->origin, value->type.dtype, {}};
    for (const Dim& dim : value->type.dims) info.dims.push_back(dim.text());
    infos.push_back(std::move(info));
  }
  return infos;
}

}  // namespace

Result<Model> Model::load(const std::string& path, const KnobList& knobs) {
  auto model = std::make_shared<LoadedModel>();
  STOKER_ASSIGN(KnobSet set, KnobSet::from_environment());
  for (const auto& [name, value] : knobs) STOKER_TRY(set.set(name, value));
  ImportOptions options;
  STOKER_ASSIGN(options.op_libraries, load_op_libraries(set.get_string(Knob::kOpLibraries)));
  STOKER_ASSIGN(model->imported, import_onnx_file(path, options));
  model->op_libraries = std::move(options.op_libraries);
  STOKER_ASSIGN(const Tensor bytes, read_file(path, ImportLimits{}.max_file_bytes));
  model->path = path;
  model->hash = content_hash(
      {static_cast<const std::byte*>(bytes.data()), static_cast<size_t>(bytes.bytes())});
  return Model(std::move(model));
}

Result<Model> Model::of(const Engine& engine) {
  const EngineContents& contents = engine.impl().contents();
  auto model = std::make_shared<LoadedModel>();
  STOKER_ASSIGN(model->imported.graph, graph_of(contents));
  model->imported.producer = "Stoker " + contents.manifest.library_version;
  model->hash = contents.manifest.model_hash;
  model->op_libraries = engine.impl().options().op_libraries;
  model->from_engine = true;
  for (const PlanSymbol& symbol : contents.symbols) {
    if (symbol.kind == PlanSymbol::Kind::kBind)
      model->profile[symbol.name] = {symbol.min, symbol.optimum, symbol.max};
  }
  return Model(std::move(model));
}

std::vector<TensorInfo> Model::inputs() const { return value_infos(impl_->imported.graph->inputs); }
std::vector<TensorInfo> Model::outputs() const {
  return value_infos(impl_->imported.graph->outputs);
}
std::string Model::graph_text() const { return print(*impl_->imported.graph); }

}  // namespace stoker

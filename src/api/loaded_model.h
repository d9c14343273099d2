// What a Model holds: a network as read from a model file, or as an engine keeps it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "import/onnx/import.h"
#include "lower/lower_graph.h"
#include "stoker/builder.h"

namespace stoker {

class LoadedModel {
 public:
  ImportedModel imported;
  std::string path;
  std::string hash;          // content hash of the file
  OpLibraries op_libraries;  // that its custom operators come from
  // Of an engine: the sizes that it was built for. Its constants have no names to refit them by.
  bool from_engine = false;
  std::map<std::string, SymbolProfile> profile;
};

}  // namespace stoker

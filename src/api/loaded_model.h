// What a Model holds.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "import/onnx/import.h"
#include "stoker/builder.h"

namespace stoker {

class LoadedModel {
 public:
  ImportedModel imported;
  std::string path;
  std::string hash;          // content hash of the file
  OpLibraries op_libraries;  // that its custom operators come from
};

}  // namespace stoker

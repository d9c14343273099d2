// Operators that a library of the caller's has (stoker/custom_op.h).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ops/custom_library.h"

namespace stoker {

class NodeImporter;

struct LibraryOp {
  const OpLibrary* library = nullptr;
  const CustomOp* op = nullptr;  // null: no library has it
};

// An error when two libraries have it. `domain`: "" is ai.onnx.
Result<LibraryOp> find_library_op(const OpLibraries& libraries, const std::string& domain,
                                  const std::string& name);
Status unknown_operator(const OpLibraries& libraries);
Status import_library_op(NodeImporter& node, const LibraryOp& found);

}  // namespace stoker

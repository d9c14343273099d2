// SPDX-License-Identifier: Apache-2.0
#include "import/onnx/custom.h"

#include "base/status.h"
#include "import/onnx/node_importer.h"

namespace stoker {

Result<LibraryOp> find_library_op(const OpLibraries& libraries, const std::string& domain,
                                  const std::string& name) {
  LibraryOp found;
  const std::string shown = domain.empty() ? "ai.onnx" : domain;
  for (const auto& library : libraries) {
    const CustomOp* op = library->find(shown, name);
    if (op && found.op) {
      return invalid_argument(
          "both '{}' and '{}' have the operator: name one of the libraries only",
          found.library->path, library->path);
    }
    if (op) found = {library.get(), op};
  }
  return found;
}

Status unknown_operator(const OpLibraries& libraries) {
  std::string named;
  for (const auto& library : libraries) {
    named += named.empty() ? "; not in " : ", ";
    named += library->name + " " + library->version;
  }
  return unsupported(
      "unknown operator; expected one of ONNX, a function of the model, or one of a library that "
      "is named with --op-library FILE (knob op_libraries){}",
      named);
}

Status import_library_op(NodeImporter& node, const LibraryOp& found) {
  STOKER_ASSIGN(Attributes attributes, node.converted());
  for (const auto& [name, value] : attributes.all()) {
    if (name.find('.') != std::string::npos)
      return invalid_model("attribute '{}' has a dot in its name", name);
  }
  attributes.set(kCustomLibrary, found.library->identity());
  attributes.set(kCustomDomain, found.op->domain);
  attributes.set(kCustomName, found.op->name);
  attributes.set(kCustomVersion, node.version());
  return node.finish("custom", node.inputs(), std::move(attributes));
}

}  // namespace stoker

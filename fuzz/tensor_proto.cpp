// .pb files of test data, read as each kind that they may hold.
// SPDX-License-Identifier: Apache-2.0
#include "import/onnx/tensor_proto.h"
#include "tests/engine/bytes_file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using stoker::ProtoKind;
  const stoker::test::BytesFile file(data, size);
  for (const auto kind : {ProtoKind::kTensor, ProtoKind::kSequence, ProtoKind::kOptional}) {
    std::string name;
    (void)stoker::read_value_proto_file(file.path(), kind, &name);
  }
  return 0;
}

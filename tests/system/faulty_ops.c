// A library of one operator, test.faults Faulty, which does what its attribute "how" says: "fail",
// "size" (another size than infer said), "none" (no output) or "fine" (the identity of f32).
// SPDX-License-Identifier: Apache-2.0
#include <string.h>

#include "stoker/custom_op.h"

static int is(const StokerOpHost* host, StokerOpCall* call, const char* word) {
  const char* how = 0;
  size_t bytes = 0;
  if (!host->get_string(call, "how", 0, &how, &bytes)) return 0;
  return bytes == strlen(word) && memcmp(how, word, bytes) == 0;
}

static int32_t infer(const StokerOpHost* host, StokerOpCall* call) {
  const StokerOpTensor* x = host->input(call, 0);
  if (x->dtype != STOKER_F32 || x->rank != 2) return host->fail(call, "expected an f32 matrix");
  return !host->set_output(call, 0, x->dtype, x->rank, x->dims);
}

static int32_t evaluate(const StokerOpHost* host, StokerOpCall* call) {
  const StokerOpTensor* x = host->input(call, 0);
  void* y = 0;
  int64_t dims[2] = {x->dims[0], x->dims[1]};
  if (is(host, call, "fail")) return host->fail(call, "nothing works today");
  if (is(host, call, "none")) return 0;
  if (is(host, call, "size")) ++dims[1];
  if (!host->make_output(call, 0, 2, dims, &y)) return 1;
  memcpy(y, x->data, (size_t)(dims[0] * dims[1]) * sizeof(float));
  return 0;
}

static const StokerOpDef ops[] = {{"test.faults", "Faulty", 1, 1, 1, 1, infer, evaluate}};
static const StokerOpLibrary library = {STOKER_OP_ABI, 1, "faulty_ops", "0.1", ops};

const StokerOpLibrary* stoker_op_library(uint32_t abi) {
  return abi >= STOKER_OP_ABI ? &library : 0;
}

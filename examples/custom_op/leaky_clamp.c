// A library of custom operators in plain C: demo.ops LeakyClamp, which is x for x >= 0 and alpha *
// x below, clamped to [-limit, limit]. Element types f32 and f64; attributes alpha (0.01 when left
// out) and limit (needed).
// SPDX-License-Identifier: Apache-2.0
#include "stoker/custom_op.h"

#ifndef DEMO_OPS_VERSION
#define DEMO_OPS_VERSION "1.0.0"
#endif

static int32_t infer(const StokerOpHost* host, StokerOpCall* call) {
  const StokerOpTensor* x = host->input(call, 0);
  double limit = 0;
  if (!x || (x->dtype != STOKER_F32 && x->dtype != STOKER_F64))
    return host->fail(call, "expected an input of f32 or f64");
  if (!host->get_float(call, "limit", &limit) || !(limit >= 0))
    return host->fail(call, "attribute 'limit' must be a number from 0 on");
  // The input's sizes as they are, whether numbers or known only later.
  return !host->set_output(call, 0, x->dtype, x->rank, x->dims);
}

static double leaky_clamp(double x, double alpha, double limit) {
  const double y = x < 0 ? alpha * x : x;
  return y > limit ? limit : y < -limit ? -limit : y;
}

static int32_t evaluate(const StokerOpHost* host, StokerOpCall* call) {
  const StokerOpTensor* x = host->input(call, 0);
  double alpha = 0.01, limit = 0;
  host->get_float(call, "alpha", &alpha);
  host->get_float(call, "limit", &limit);
  void* y = 0;
  if (!host->make_output(call, 0, x->rank, x->dims, &y)) return 1;
  int64_t count = 1;
  for (int32_t d = 0; d < x->rank; ++d) count *= x->dims[d];
  for (int64_t i = 0; i < count; ++i) {
    if (x->dtype == STOKER_F32) {
      ((float*)y)[i] = (float)leaky_clamp(((const float*)x->data)[i], alpha, limit);
    } else {
      ((double*)y)[i] = leaky_clamp(((const double*)x->data)[i], alpha, limit);
    }
  }
  return 0;
}

static const StokerOpDef ops[] = {
    {"demo.ops", "LeakyClamp", 1, 1, 1, 1, infer, evaluate},
};

static const StokerOpLibrary library = {STOKER_OP_ABI, 1, "demo_ops", DEMO_OPS_VERSION, ops};

const StokerOpLibrary* stoker_op_library(uint32_t abi) {
  return abi >= STOKER_OP_ABI ? &library : 0;
}

// Tactic recurrent_f32: LSTM, GRU and RNN layers. The products of the input are one gemm over all
// steps; a step then multiplies the hidden state by R with the shared register tile, 8 blocks of 16
// hidden units at a time, all their gates together, and finishes the gates while the products are
// in L1.
//   flops    2 steps batch gates hidden (input + hidden) of a direction
//   bytes    W and X once; R once a step, from L2 where it fits
//   bound    the FMA ports in the products of the input; in the steps of few sequences the
//   bandwidth
//            of R: at hidden 256 an LSTM reads 1 MB a step
//   limits   f32, or f32 by weights of 8 bits, which are widened while they are read; W and R
//   constant
// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/recurrent/recurrent_plan.h"

namespace stoker::cpu {
namespace {

constexpr int64_t kGroupBlocks = 8;       // hidden blocks that are multiplied at a time
constexpr int64_t kMaxSplitSteps = 4096;  // a phase each

struct Scratch {
  const std::byte** rows;
  float* products;
  float* widened;
};

Scratch carve(const RecurrentPlan& plan, Carver& carver) {
  Scratch s{};
  s.rows = carver.take<const std::byte*>(std::max(plan.unit_rows, plan.unit_batch));
  const int64_t blocks = std::min(kGroupBlocks, plan.unit_blocks);
  s.products = carver.take<float>(plan.unit_batch * blocks * plan.first_gates * 16);
  // Rows enough for two tiles pay for widening the panels once.
  const int width = tile_panels(plan.input_kind, plan.rows);
  if (plan.input_kind == TileKind::kF32I8 && plan.unit_rows > tile_rows(plan.input_kind, width))
    s.widened = carver.take<float>(width * plan.e.input * 16);
  return s;
}

const float* floats(const void* data) { return static_cast<const float*>(data); }

const void* operand(const Launch& l, size_t index) {
  return has_operand(*l.desc, index) ? l.inputs[index] : nullptr;
}

void* result(const Launch& l, size_t index) {
  return index < l.desc->outputs.size() ? l.outputs[index] : nullptr;
}

// ---- phase 0.

void multiply_input(const RecurrentPlan& plan, const Launch& l, int64_t unit) {
  Carver carver(l.worker_workspace);
  const Scratch s = carve(plan, carver);
  const int64_t row = unit % plan.row_units * plan.unit_rows;
  const int64_t panel = unit / plan.row_units * plan.unit_panels;
  const int64_t all_panels = plan.e.directions * plan.panels, segment = 0;
  Block block;
  block.kind = plan.input_kind;
  block.widened = s.widened;
  block.rows = s.rows;
  block.row_count = std::min(plan.unit_rows, plan.rows - row);
  for (int64_t r = 0; r < block.row_count; ++r) {
    s.rows[r] = reinterpret_cast<const std::byte*>(floats(l.inputs[0]) + (row + r) * plan.e.input);
  }
  block.segments = &segment;
  block.segment_count = 1;
  block.steps = plan.e.input;
  block.panel_bytes = plan.e.input * step_of_b(plan.input_kind);
  block.b = static_cast<const std::byte*>(l.inputs[1]) + panel * block.panel_bytes;
  block.panels = static_cast<int>(std::min(plan.unit_panels, all_panels - panel));
  block.tile_panels = tile_panels(plan.input_kind, plan.rows);
  block.values = reinterpret_cast<float*>(l.shared_workspace) + plan.products +
                 row * plan.row_floats + panel * 16;
  block.whole = true;
  block.value_row = plan.row_floats;
  block.value_panel = 16;
  run_block(block, [](const TileValues&, int64_t, int) {});
}

// The biases of a gate in the order of the panels; of a GRU whose reset gate multiplies a product,
// that product's bias stands apart.
void place_bias(const RecurrentPlan& plan, const float* b, float* shared) {
  const int64_t hidden = plan.e.hidden, half = plan.e.gates * hidden;
  for (int64_t d = 0; d < plan.e.directions; ++d) {
    for (int64_t g = 0; g < plan.e.gates; ++g) {
      const bool apart = plan.params.linear_first && g == 2;
      const float *of_w = b + 2 * d * half + g * hidden, *of_r = of_w + half;
      for (int64_t n = 0; n < hidden; ++n) {
        const int64_t panel = d * plan.panels + gate_panel(plan.params, plan.blocks, n / 16, g);
        shared[plan.bias + panel * 16 + n % 16] = apart ? of_w[n] : of_w[n] + of_r[n];
        if (apart) shared[plan.state_bias + d * plan.blocks * 16 + n] = of_r[n];
      }
    }
  }
}

// The scales of a weight in the order of the panels.
void place_scales(const RecurrentPlan& plan, const Launch& l, size_t weight, float* to) {
  const size_t at = scale_operand(weight);
  const auto count = static_cast<size_t>(logical_count(l.desc->inputs[at]));
  const std::span<const float> scales(floats(l.inputs[at]), count);
  for (int64_t d = 0; d < plan.e.directions; ++d) {
    for (int64_t g = 0; g < plan.e.gates; ++g) {
      for (int64_t n = 0; n < plan.e.hidden; ++n) {
        const int64_t panel = d * plan.panels + gate_panel(plan.params, plan.blocks, n / 16, g);
        to[panel * 16 + n % 16] = row_scale(plan.e, scales, d, g * plan.e.hidden + n);
      }
    }
  }
}

int64_t state_position(const RecurrentPlan& plan, int64_t d, int64_t b) {
  return (plan.params.batch_first ? b * plan.e.directions + d : d * plan.e.batch + b) *
         plan.e.hidden;
}

void place_state(const RecurrentPlan& plan, const float* from, float* to, void* last) {
  for (int64_t d = 0; d < plan.e.directions; ++d) {
    for (int64_t b = 0; b < plan.e.batch; ++b) {
      const int64_t at = state_position(plan, d, b);
      float* row = to + (d * plan.e.batch + b) * plan.blocks * 16;
      if (from) std::copy_n(from + at, plan.e.hidden, row);
      if (plan.e.steps == 0 && last)
        std::copy_n(row, plan.e.hidden, static_cast<float*>(last) + at);
    }
  }
}

// Everything small, in one unit.
Status place_operands(const RecurrentPlan& plan, const Launch& l) {
  float* shared = reinterpret_cast<float*>(l.shared_workspace);
  std::fill(shared + plan.bias, shared + plan.shared_floats, 0.0f);
  if (const void* b = operand(l, kBias)) place_bias(plan, floats(b), shared);
  if (const void* p = operand(l, kPeepholes)) {
    for (int64_t i = 0; i < plan.e.directions * 3 * plan.e.hidden; ++i) {
      const int64_t row = i / plan.e.hidden, n = i % plan.e.hidden;
      const int64_t block = row / 3 * plan.blocks + n / 16;
      shared[plan.peepholes + (block * 3 + row % 3) * 16 + n % 16] = floats(p)[i];
    }
  }
  if (plan.input_scale >= 0) place_scales(plan, l, 1, shared + plan.input_scale);
  if (plan.state_scale >= 0) place_scales(plan, l, 2, shared + plan.state_scale);
  place_state(plan, floats(operand(l, kInitialH)), shared + plan.h[0], result(l, 1));
  place_state(plan, floats(operand(l, kInitialC)), shared + plan.c, result(l, 2));
  const auto* lengths = static_cast<const int32_t*>(operand(l, kLengths));
  for (int64_t b = 0; lengths && b < plan.e.batch; ++b) {
    if (lengths[b] < 0 || lengths[b] > plan.e.steps) {
      return invalid_argument("sequence {} has length {}, the input has {} steps", b, lengths[b],
                              plan.e.steps);
    }
  }
  return Status::ok();
}

// ---- the steps.

// Sequences and hidden units of a direction.
class Share {
 public:
  Share(const RecurrentPlan& plan, const Launch& l, int64_t unit)
      : plan_(plan), launch_(l), shared_(reinterpret_cast<float*>(l.shared_workspace)) {
    Carver carver(l.worker_workspace);
    s_ = carve(plan, carver);
    block_ = unit % plan.block_units * plan.unit_blocks;
    block_end_ = std::min(block_ + plan.unit_blocks, plan.blocks);
    unit /= plan.block_units;
    batch_ = unit % plan.batch_units * plan.unit_batch;
    batch_end_ = std::min(batch_ + plan.unit_batch, plan.e.batch);
    direction_ = unit / plan.batch_units;
    tile_panels_ = tile_panels(plan_.state_kind, batch_end_ - batch_);
    lengths_ = static_cast<const int32_t*>(operand(l, kLengths));
    peepholes_ = has_operand(*l.desc, kPeepholes);
  }

  void sweep(int64_t step, int sweep) {
    const bool second = sweep > 0;
    const float* state = shared_ + (second ? plan_.kept : plan_.h[step % 2]);
    for (int64_t b = batch_; b < batch_end_; ++b)
      s_.rows[b - batch_] = reinterpret_cast<const std::byte*>(state + row_of(b));
    const int64_t gates = second ? plan_.e.gates - plan_.first_gates : plan_.first_gates;
    for (int64_t j = block_; j < block_end_; j += kGroupBlocks) {
      const int64_t count = std::min(kGroupBlocks, block_end_ - j);
      multiply_state(gate_panel(plan_.params, plan_.blocks, j, second ? plan_.first_gates : 0),
                     gates * count);
      for (int64_t b = batch_; b < batch_end_; ++b) {
        const float* products = s_.products + (b - batch_) * gates * count * 16;
        for (int64_t k = 0; k < count; ++k)
          finish(step, b, j + k, products + k * gates * 16, second);
      }
    }
  }

 private:
  int64_t row_of(int64_t b) const { return (direction_ * plan_.e.batch + b) * plan_.blocks * 16; }

  // The states of the share by panels of the direction from `panel` on.
  void multiply_state(int64_t panel, int64_t panels) {
    const int64_t segment = 0;
    Block block;
    block.kind = plan_.state_kind;
    block.rows = s_.rows;
    block.row_count = batch_end_ - batch_;
    block.segments = &segment;
    block.segment_count = 1;
    block.steps = plan_.e.hidden;
    block.panel_bytes = plan_.e.hidden * step_of_b(plan_.state_kind);
    block.b = static_cast<const std::byte*>(launch_.inputs[2]) +
              (direction_ * plan_.panels + panel) * block.panel_bytes;
    block.panels = static_cast<int>(panels);
    block.tile_panels = tile_panels_;
    block.values = s_.products;
    block.whole = true;
    block.value_row = panels * 16;
    block.value_panel = 16;
    run_block(block, [](const TileValues&, int64_t, int) {});
  }

  // 16 hidden units of a sequence after their products.
  void finish(int64_t step, int64_t b, int64_t block, const float* products, bool second) {
    const int64_t at = row_of(b) + block * 16;
    const VecF h = load(shared_ + plan_.h[step % 2] + at);
    // A length out of range is an error by now; it must not lead out of the operands.
    const int64_t length =
        lengths_ ? std::clamp<int64_t>(lengths_[b], 0, plan_.e.steps) : plan_.e.steps;
    const bool runs = step < length;
    const int64_t t = runs && plan_.backwards[direction_] ? length - 1 - step : step;
    if (plan_.sweeps() > 1 && !second) {
      store(shared_ + plan_.kept + at, h);
      if (!runs) return;
      const GruGates gates =
          gru_gates(plan_.functions[direction_], inputs(t, b, block, products), h);
      store(shared_ + plan_.update + at, gates.update);
      store(shared_ + plan_.kept + at, gates.kept);
      return;
    }
    const VecF next = runs ? hidden(t, b, block, products, h) : h;
    store(shared_ + plan_.h[(step + 1) % 2] + at, next);
    const int count = static_cast<int>(std::min<int64_t>(16, plan_.e.hidden - block * 16));
    const int64_t y = plan_.params.batch_first
                          ? (b * plan_.e.steps + t) * plan_.e.directions + direction_
                          : (t * plan_.e.directions + direction_) * plan_.e.batch + b;
    store_first(static_cast<float*>(launch_.outputs[0]) + y * plan_.e.hidden + block * 16,
                runs ? next : broadcast(0.0f), count);
    if (step + 1 < plan_.e.steps) return;
    const int64_t state = state_position(plan_, direction_, b) + block * 16;
    if (void* last = result(launch_, 1))
      store_first(static_cast<float*>(last) + state, next, count);
    if (void* last = result(launch_, 2))
      store_first(static_cast<float*>(last) + state, load(shared_ + plan_.c + at), count);
  }

  // From `gate` on, of whose sweep the products are.
  GateInputs inputs(int64_t t, int64_t b, int64_t block, const float* products,
                    int64_t gate = 0) const {
    const int64_t at =
        16 * (direction_ * plan_.panels + gate_panel(plan_.params, plan_.blocks, block, gate));
    GateInputs in{of_input(t, b) + at, products, shared_ + plan_.bias + at};
    if (plan_.input_scale >= 0) in.input_scale = shared_ + plan_.input_scale + at;
    if (plan_.state_scale >= 0) in.state_scale = shared_ + plan_.state_scale + at;
    return in;
  }

  const float* of_input(int64_t t, int64_t b) const {
    const int64_t row = plan_.params.batch_first ? b * plan_.e.steps + t : t * plan_.e.batch + b;
    return shared_ + plan_.products + row * plan_.row_floats;
  }

  VecF hidden(int64_t t, int64_t b, int64_t block, const float* products, VecF h) {
    const GateFunction* functions = plan_.functions[direction_];
    const int64_t at = row_of(b) + block * 16, of_direction = direction_ * plan_.blocks + block;
    if (plan_.params.cell == RecurrentParams::Cell::kRnn)
      return rnn_step(functions, inputs(t, b, block, products));
    if (plan_.params.cell == RecurrentParams::Cell::kLstm) {
      const float* peepholes = shared_ + plan_.peepholes + of_direction * 48;
      return lstm_step(functions, plan_.params.coupled, inputs(t, b, block, products),
                       peepholes_ ? peepholes : nullptr, shared_ + plan_.c + at);
    }
    if (plan_.sweeps() == 1) {
      return gru_step(functions, inputs(t, b, block, products),
                      shared_ + plan_.state_bias + of_direction * 16, h);
    }
    const VecF sum = inputs(t, b, block, products, 2).sum(0);
    return gru_finish(functions, sum, load(shared_ + plan_.update + at), h);
  }

  const RecurrentPlan& plan_;
  const Launch& launch_;
  float* shared_;
  Scratch s_;
  const int32_t* lengths_ = nullptr;
  bool peepholes_ = false;
  int tile_panels_ = 1;
  int64_t direction_ = 0, batch_ = 0, batch_end_ = 0, block_ = 0, block_end_ = 0;
};

// ---- the tactic.

bool is_by_steps(const Config& config) { return config.values[0] != 0; }

Status supports(const Desc& desc) {
  if (desc.inputs[0].dtype != DType::kF32)
    return unsupported("operands are {}, expected f32", dtype_name(desc.inputs[0].dtype));
  for (const size_t i : {size_t{1}, size_t{2}}) {
    if (!desc.inputs[i].constant) return unsupported("{} is not constant", i == 1 ? "W" : "R");
    if (desc.inputs[i].packing != Packing::kGatePanel)
      return unsupported("{} is packed as {}, expected {}", i == 1 ? "W" : "R",
                         packing_name(desc.inputs[i].packing), packing_name(Packing::kGatePanel));
  }
  return Status::ok();
}

Packing packing(const Desc& desc, int index) {
  const bool weight = (index == 1 || index == 2) && desc.inputs[0].dtype == DType::kF32 &&
                      desc.inputs[static_cast<size_t>(index)].constant;
  return weight ? Packing::kGatePanel : Packing::kNone;
}

std::vector<Config> configs(const Desc& desc) {
  const Config whole{"whole", {0}}, steps{"steps", {1}};
  const RecurrentExtents e = recurrent_extents(desc);
  if (e.steps > kMaxSplitSteps) return {whole};
  return e.steps > 1 ? std::vector<Config>{whole, steps} : std::vector<Config>{steps, whole};
}

Workspace workspace(const Desc& desc, const Config& config) {
  const RecurrentPlan plan = plan_recurrent(desc, is_by_steps(config));
  Carver carver(nullptr);
  carve(plan, carver);
  return {plan.shared_floats * 4, carver.bytes()};
}

std::shared_ptr<const void> prepare(const Desc& desc, const Config& config) {
  return std::make_shared<const RecurrentPlan>(plan_recurrent(desc, is_by_steps(config)));
}

int phases(const Desc& desc, const Config& config) {
  return plan_recurrent(desc, is_by_steps(config)).phases();
}

int64_t units(const Desc&, const Config&, const void* prepared, int phase) {
  return static_cast<const RecurrentPlan*>(prepared)->units(phase);
}

Status launch(const Launch& l) {
  const auto& plan = *static_cast<const RecurrentPlan*>(l.prepared);
  for (int64_t unit = l.unit_begin; unit < l.unit_end; ++unit) {
    if (l.phase == 0) {
      // The small operands come first, since the input's products may come in any number.
      if (unit > 0)
        multiply_input(plan, l, unit - 1);
      else
        STOKER_TRY(place_operands(plan, l));
    } else if (plan.by_steps) {
      Share(plan, l, unit).sweep((l.phase - 1) / plan.sweeps(), (l.phase - 1) % plan.sweeps());
    } else {
      Share share(plan, l, unit);
      for (int64_t step = 0; step < plan.e.steps; ++step) {
        for (int sweep = 0; sweep < plan.sweeps(); ++sweep) share.sweep(step, sweep);
      }
    }
  }
  return Status::ok();
}

}  // namespace

extern const Tactic recurrent_f32;
const Tactic recurrent_f32 = {
    .name = "recurrent_f32",
    .family = Family::kRecurrent,
    .supports = supports,
    .configs = configs,
    .packing = packing,
    .workspace = workspace,
    .prepare = prepare,
    .phases = phases,
    .units = units,
    .launch = launch,
};

}  // namespace stoker::cpu

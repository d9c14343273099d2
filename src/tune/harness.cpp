// SPDX-License-Identifier: Apache-2.0
#include "tune/harness.h"

#include "base/memory.h"

namespace stoker {

Result<std::unique_ptr<Contender>> Contender::create(const Tactic& tactic, const Config& config,
                                                     const Desc& desc,
                                                     const std::vector<Tensor>& inputs,
                                                     int workers) {
  std::unique_ptr<Contender> c(new Contender);
  c->tactic_ = &tactic;
  c->config_ = config;
  c->desc_ = desc;
  c->workers_ = workers;
  for (size_t i = 0; i < inputs.size(); ++i) {
    Tensor tensor = inputs[i];
    if (desc.inputs[i].packing != Packing::kNone) {
      STOKER_ASSIGN(tensor,
                    pack_weight(desc, static_cast<int>(i), desc.inputs[i].packing, inputs[i]));
    }
    c->input_pointers_.push_back(desc.inputs[i].present() ? tensor.data() : nullptr);
    c->inputs_.push_back(std::move(tensor));
  }
  for (const TensorDesc& output : desc.outputs) {
    STOKER_ASSIGN(Tensor tensor, Tensor::allocate(output.dtype, {stored_count(output)}));
    c->output_pointers_.push_back(tensor.data());
    c->outputs_.push_back(std::move(tensor));
  }
  if (tactic.prepare) {
    c->prepared_ = tactic.prepare(desc, config);
    if (!c->prepared_)
      return internal_error("tactic {} could not prepare {}", tactic.name, desc_key(desc));
  }
  const Workspace workspace = tactic.workspace ? tactic.workspace(desc, config) : Workspace{};
  c->scratch_stride_ = round_up(workspace.per_worker_bytes, 4096);
  c->shared_ = allocate_aligned(workspace.shared_bytes);
  c->scratch_ = allocate_aligned(c->scratch_stride_ * workers);
  if (!c->shared_ || !c->scratch_)
    return error(StatusCode::kResourceExhausted, "no memory to time {}", tactic.name);
  const int phases = tactic.phases ? tactic.phases(desc, config) : 1;
  for (int phase = 0; phase < phases; ++phase) {
    c->phase_units_.push_back(tactic.units ? tactic.units(desc, config, c->prepared_.get(), phase)
                                           : 1);
  }
  c->barrier_ = std::make_unique<GangBarrier>(workers);
  return c;
}

Status Contender::run(WorkerPool& pool) {
  error_ = Status::ok();
  pool.run([](void* self, int worker) { static_cast<Contender*>(self)->work(worker); }, this);
  return error_;
}

void Contender::work(int worker) {
  for (size_t phase = 0; phase < phase_units_.size(); ++phase) {
    Launch launch;
    launch.desc = &desc_;
    launch.config = &config_;
    launch.prepared = prepared_.get();
    launch.inputs = input_pointers_.data();
    launch.outputs = output_pointers_.data();
    launch.shared_workspace = static_cast<std::byte*>(shared_.get());
    launch.worker_workspace = static_cast<std::byte*>(scratch_.get()) + scratch_stride_ * worker;
    launch.phase = static_cast<int>(phase);
    launch.unit_begin = phase_units_[phase] * worker / workers_;
    launch.unit_end = phase_units_[phase] * (worker + 1) / workers_;
    if (launch.unit_begin < launch.unit_end) {
      if (const Status status = tactic_->launch(launch); !status) {
        std::lock_guard<std::mutex> lock(mutex_);
        error_ = status;
      }
    }
    if (workers_ > 1) barrier_->arrive_and_wait();
  }
}

void Contender::evict_weights() const {
  for (size_t i = 0; i < inputs_.size(); ++i) {
    if (!desc_.inputs[i].constant) continue;
    const auto* bytes = static_cast<const char*>(inputs_[i].data());
    for (int64_t offset = 0; offset < inputs_[i].bytes(); offset += 64)
      __builtin_ia32_clflush(bytes + offset);
  }
  __builtin_ia32_mfence();
}

}  // namespace stoker

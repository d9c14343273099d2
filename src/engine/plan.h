// The plan data model: what an engine file holds, as plain structs. A plan is data only: tactic
// names, packed descs, shape expressions; never IR and never code. The graph in IR form travels
// beside it as text.
//
// A plan is thread-neutral: steps with a partial order. Worker assignment, exact buffer offsets and
// configs for another shape are decided at bind by src/plan.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/dim.h"
#include "kernels/desc/desc.h"
#include "stoker/tensor.h"

namespace stoker {

// Where a step runs or a buffer lives.
struct Place {
  enum class Kind : uint8_t { kCpu, kCuda, kNull };
  Kind kind = Kind::kCpu;
  int32_t index = 0;
  friend bool operator==(const Place&, const Place&) = default;
};
std::string place_text(const Place& place);  // "cpu", "cuda:0", "null:0"

// A named size of the plan. Bind symbols enter the binding key; step symbols change from run to run
// up to `max`, buffers being placed for `max` once; data symbols get their value in a dynamic
// program, when the step that determines it has run.
struct PlanSymbol {
  enum class Kind : uint8_t { kBind, kStep, kData };
  std::string name;
  Kind kind = Kind::kBind;
  int64_t min = 0, max = INT64_MAX;
  int64_t optimum = 1;  // the profile's point that tactics were timed at
};

struct PlanTensor {
  enum class Kind : uint8_t {
    kInput,       // the caller's memory
    kOutput,      // the caller's memory, written by a step
    kTemporary,   // placed in the arena at bind
    kWeight,      // `weight` says which
    kShapeValue,  // integers known once the shape is bound: `elements`
    kState,       // the caller's State, updated in place by its one writer
  };
  // Only dynamic programs hold other things than ranked tensors; `dtype` is then that of the
  // tensors inside.
  enum class Holds : uint8_t { kTensor, kSequence, kOptional, kMap };
  std::string name;
  Kind kind = Kind::kTemporary;
  Holds holds = Holds::kTensor;
  bool ranked = true;
  DType dtype = DType::kInvalid;
  Dims dims;
  Layout layout = Layout::kPlain;
  Place place;
  int32_t weight = -1;    // kWeight
  int32_t alias_of = -1;  // shares the storage of this earlier tensor (reshape); equal byte size
  Dims elements;          // kShapeValue: one expression per element
};

struct PlanStep {
  std::string name;  // of the lowered node
  Params params;     // the desc's parameters; operands come from the tensors
  Dims param_dims;   // region: extents; copy: starts; written into params at bind
  std::vector<int32_t> inputs, outputs;  // tensors of the program; -1: absent
  std::vector<int32_t> after;  // earlier steps that must have finished (data and reuse order)
  Place place;
  std::string tactic;  // empty: the first that takes the sizes when they are known
  int32_t tactic_version = 0;
  std::string config;
  std::vector<std::string> origins;  // node names of the model file
  std::vector<int32_t> subprograms;  // control flow: programs that this step runs
};

struct PlanPort {
  std::string name;
  int32_t tensor = -1;
};

// State threaded linearly through a program: `initial` is what the caller's State holds on entry,
// `final` what its one writer leaves.
struct PlanState {
  std::string name;
  int32_t initial = -1, final_value = -1;
};

// The op of a step of a dynamic program that runs a static one on its operands. The other ops with
// sub-programs are if, loop, scan and sequence_map.
inline constexpr const char* kCallOp = "call";

struct PlanProgram {
  // kStatic: all sizes follow from the symbols at entry; bound as a whole and run by the workers.
  // kDynamic: run step by step on values of any kind, whose sizes, ranks and branches are known
  // only then. Every step has FallbackParams: it evaluates its op, or runs sub-programs.
  enum class Kind : uint8_t { kStatic, kDynamic };
  std::string name;
  Kind kind = Kind::kStatic;
  std::vector<PlanTensor> tensors;
  std::vector<PlanStep> steps;  // in a valid order; `after` refers to earlier positions
  std::vector<PlanPort> inputs, outputs;
  std::vector<PlanState> states;
};

// How a packed weight came to be: a small program over source tensors, run by the reference ops and
// the pack functions, all scales frozen. Operand numbering: the sources, then the outputs of the
// steps.
struct RecipeStep {
  std::string op;
  Attributes attributes;
  std::vector<int32_t> inputs;  // -1: absent
  int32_t output_count = 1;
};

struct WeightRecipe {
  std::vector<std::string> sources;  // names in the model file, or of constants that passes made
  std::vector<RecipeStep> steps;
  int32_t result = 0;  // operand number of the canonical weight, packed afterwards
};

struct PlanWeight {
  std::string name;
  DType dtype = DType::kInvalid;  // of the canonical form
  Shape shape;
  Packing packing = Packing::kNone;
  WeightRecipe recipe;
  // kNone: the canonical tensor itself; otherwise u8[packed bytes]. A refittable engine may be
  // without, until refit gives it; running it is an error before.
  Tensor bytes;
};

// A constant that recipes start from. Refittable engines list all constants of the model, and what
// passes added to their recipes; others none.
struct PlanSource {
  std::string name;  // in the model file; of a constant made by a pass: one that is free
  DType dtype = DType::kInvalid;
  Shape shape;
  std::string hash;    // content hash of its value
  std::string frozen;  // why another value cannot take its place; empty: refit may give one
  bool kept = false;   // recipes need the value beside those that a refit gives
  Tensor bytes;        // of a kept one, unless the engine waits for its weights
};

// A library of custom operators that the engine's steps call; its loader must have been given the
// same one.
struct UsedLibrary {
  std::string name, version;
  std::string hash;  // content hash of its file
  friend bool operator==(const UsedLibrary&, const UsedLibrary&) = default;
};

struct Manifest {
  std::string library_version;
  std::string model_name;
  std::string model_hash;                      // content hash of the source file
  std::string device;                          // "cpu"
  std::map<std::string, std::string> options;  // build options that enter the engine key
  std::string route;                      // full effective route: every knob that enters the key
  std::vector<UsedLibrary> op_libraries;  // sorted by name, version and hash
  int64_t source_weight_bytes = 0;        // of the constants in the source file
  // Content hash of the graph as imported, the values that refit may change left out; empty: the
  // engine was not built to be refitted.
  std::string structure;
};

// Figures of this build and this machine; outside the digest.
struct TacticTiming {
  std::string tactic, config;
  double median_ns = 0;  // 0: not timed
  int32_t samples = 0;
  std::string refusal;  // why it could not or may not run; empty: it could
};
struct StepMeasurement {
  int32_t program = 0, step = 0;
  std::vector<TacticTiming> candidates;
  double check_error = -1, check_bound = -1;  // self-check: worst error over bound; -1: not checked
  int32_t check_elements = 0;
};
struct OutputLoss {
  std::string output;
  double max_abs_error = 0, max_rel_error = 0;  // against an unfused reference build
};
struct Certificate {
  std::string checked_against, data, data_hash;
  std::vector<OutputLoss> outputs;
  std::vector<std::string> demoted;  // "step conv_3: conv_f32_c16 error 1.2e-2 over bound 3e-5"
};
struct Volatile {
  std::map<std::string, std::string> fingerprint;  // machine facts
  double build_seconds = 0;
  std::vector<StepMeasurement> steps;
  Certificate certificate;
  std::vector<std::string> notes;  // fusions refused and why, unfolded constants, ...
};

struct EngineContents {
  Manifest manifest;
  std::vector<PlanSymbol> symbols;
  std::vector<PlanProgram> programs;  // 0: main
  std::vector<PlanWeight> weights;    // in execution order
  std::vector<PlanSource> sources;    // by name
  std::string graph_text;             // post-pass IR; empty in a lean engine
  Volatile volatile_section;
};

}  // namespace stoker

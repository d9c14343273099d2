// Dynamic programs: graphs whose sizes depend on data, control flow, values that are no tensors.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "lower/lower_graph.h"
#include "passes/pipeline.h"
#include "runtime/loaded_engine.h"
#include "tune/contest.h"

namespace stoker {
namespace {

// The engine of a graph in text form; every pass off unless `optimize`.
Result<Engine> engine_of(const std::string& text, bool optimize = true,
                         const KnobList& knobs = {}) {
  STOKER_ASSIGN(auto graph, parse_graph(text));
  PipelineOptions pipeline;
  for (const PassEntry& pass : pass_list()) {
    if (!optimize) pipeline.disabled.insert(std::string(pass.name));
  }
  pipeline.verify_each = true;
  STOKER_TRY(run_passes(*graph, pipeline).status());
  STOKER_ASSIGN(EngineContents contents, lower_graph(*graph, {}));
  STOKER_ASSIGN(const RuntimeOptions runtime, runtime_options(knobs));
  const TacticRegistry registry(runtime.isa);
  STOKER_TRY(assign_layouts(contents, registry, true, {}));
  ContestOptions contest;
  contest.timing = false;
  STOKER_ASSIGN(const auto pool, shared_worker_pool(runtime.pool));
  STOKER_TRY(choose_tactics(contents, registry, *pool, contest));
  STOKER_TRY(finish_plan(contents, registry));
  STOKER_TRY(verify_plan(contents, tactic_lists()));
  STOKER_ASSIGN(auto loaded, LoadedEngine::create(std::move(contents), runtime));
  return Engine(std::move(loaded));
}

template <class T>
std::vector<T> values_of(const Tensor& tensor) {
  const auto values = tensor.values<T>();
  return {values.begin(), values.end()};
}

constexpr const char* kNonZero = R"(
graph @g(%x: f32[N]) -> (%y: f32[1,u0], %z: f32[N]) {
  %double = add(%x, %x)
  %where = non_zero(%double)
  %as_float = cast(%where) {to=f32}
  %y = relu(%as_float)
  %z = exp(%double)
}
)";

TEST(Dynamic, SegmentsStandAroundWhatDependsOnData) {
  for (const bool optimize : {true, false}) {
    const auto engine = engine_of(kNonZero, optimize);
    ASSERT_TRUE(engine) << engine.status().message();
    const auto& programs = engine->impl().contents().programs;
    ASSERT_EQ(programs.size(), 3u);  // main, the segment before non_zero, the one behind it
    EXPECT_EQ(programs[0].kind, PlanProgram::Kind::kDynamic);
    EXPECT_EQ(programs[0].steps.size(), 3u);
    Session session(*engine);
    for (const std::vector<float>& x :
         {std::vector<float>{0, 2, 0, 3}, std::vector<float>{1, 1, 1}, std::vector<float>{0, 0}}) {
      const auto size = static_cast<int64_t>(x.size());
      const auto out = session.run({{"x", Tensor::from<float>({size}, x)}});
      ASSERT_TRUE(out) << out.status().message();
      std::vector<float> expected;
      for (size_t i = 0; i < x.size(); ++i) {
        if (x[i] != 0) expected.push_back(static_cast<float>(i));
      }
      EXPECT_EQ(values_of<float>(out->at("y")), expected);
      EXPECT_EQ(out->at("y").shape(), (Shape{1, static_cast<int64_t>(expected.size())}));
      EXPECT_EQ(out->at("z").shape(), Shape{size});
    }
  }
}

TEST(Dynamic, BoundRunsProfileAndMemory) {
  const auto engine = engine_of(kNonZero);
  ASSERT_TRUE(engine) << engine.status().message();
  Session session(*engine);
  session.enable_profile(true);
  ASSERT_TRUE(session.bind({{"x", Tensor::from<float>({2}, {0, 1})}}));
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(session.run_bound());
  EXPECT_EQ(values_of<float>(session.bound_outputs().at("y")), std::vector<float>{1});
  bool found = false;
  for (const StepProfile& row : session.profile()) found |= row.step == "where";
  EXPECT_TRUE(found);
  EXPECT_EQ(engine->memory({{2}}).status().code(), StatusCode::kUnsupported);
}

TEST(Dynamic, WrongInputsAreRefused) {
  const auto engine = engine_of(kNonZero);
  ASSERT_TRUE(engine) << engine.status().message();
  const auto message = [&](const TensorMap& inputs) {
    return engine->run(inputs).status().message();
  };
  EXPECT_NE(message({}).find("'x' is missing"), std::string::npos);
  EXPECT_NE(message({{"x", Tensor::from<int64_t>({1}, {1})}}).find("is i64, expected f32"),
            std::string::npos);
  EXPECT_NE(message({{"x", Tensor::from<float>({1, 1}, {1})}}).find("has shape [1,1]"),
            std::string::npos);
}

constexpr const char* kGrowing = R"(
graph @g(%trips: i64[], %x: f32[1]) -> (%last: f32[u0], %seen: f32[u1,1]) {
  %last, %seen = loop(%trips, _, %x) {carried=1} : f32[u0], f32[u1,1] name "L"
    graph @body(%i: i64[], %go: bool[], %l: f32[u2]) -> (%go: bool[], %m: f32[u2+1], %v: f32[1]) {
      %zero = const i64[1] {0}
      %number = cast(%i) {to=f32}
      %axis = const i64[1] {0}
      %v = unsqueeze(%number, %axis)
      %m = concat(%l, %v) {axis=0}
    }
}
)";

std::string growing() {
  std::string text = kGrowing;
  // Constants are written with @ in the text form.
  for (const char* name : {"%axis", "%zero"}) {
    for (size_t at = text.find(name); at != std::string::npos; at = text.find(name, at))
      text[at] = '@';
  }
  return text;
}

TEST(Dynamic, LoopsCarryValuesThatGrow) {
  const auto engine = engine_of(growing());
  ASSERT_TRUE(engine) << engine.status().message();
  for (const int64_t trips : {int64_t{4}, int64_t{1}, int64_t{0}}) {
    const auto out =
        engine->run({{"trips", Tensor::scalar_i64(trips)}, {"x", Tensor::from<float>({1}, {7})}});
    ASSERT_TRUE(out) << out.status().message();
    EXPECT_EQ(out->at("last").shape(), Shape{1 + trips});
    EXPECT_EQ(out->at("seen").shape(), (Shape{trips, 1}));
    std::vector<float> expected = {7};
    for (int64_t i = 0; i < trips; ++i) expected.push_back(static_cast<float>(i));
    EXPECT_EQ(values_of<float>(out->at("last")), expected);
  }
}

TEST(Dynamic, EndlessLoopsAreRefused) {
  const auto engine = engine_of(growing(), true, {{"loop_limit", "5"}});
  ASSERT_TRUE(engine) << engine.status().message();
  const auto out =
      engine->run({{"trips", Tensor::scalar_i64(1000)}, {"x", Tensor::from<float>({1}, {7})}});
  EXPECT_EQ(out.status().code(), StatusCode::kResourceExhausted);
  EXPECT_NE(out.status().message().find("loop_limit"), std::string::npos);
}

// Expected values of the scans: ONNX Runtime 1.32.
TEST(Dynamic, ScansRunAlongAxesInBothDirections) {
  const std::string text = R"(
graph @g(%init: f32[2], %x0: f32[3,2], %x1: f32[2,3]))"
                           R"( -> (%fin: f32[2], %y0: f32[2,3], %y1: f32[3,2]) {
  %fin, %y0, %y1 = scan(%init, %x0, %x1) {carried=1, scanned=2, scan_input_axes=[0,-1], )"
                           R"(scan_input_directions=[0,1], )"
                           R"(scan_output_axes=[1,0], scan_output_directions=[1,1]})"
                           R"( : f32[2], f32[2,3], f32[3,2] name "S"
    graph @body(%s: f32[2], %r0: f32[2], %r1: f32[2]) -> (%sn: f32[2], %o0: f32[2], %o1: f32[2]) {
      @one = const f32[1] {1}
      %s2 = add(%s, %s)
      %t0 = add(%s2, %r0)
      %sn = add(%t0, %r1)
      %o0 = add(%sn, @one)
      %o1 = mul(%r0, %r0)
    }
}
)";
  const auto engine = engine_of(text);
  ASSERT_TRUE(engine) << engine.status().message();
  const auto out = engine->run({{"init", Tensor::from<float>({2}, {-1, 1})},
                                {"x0", Tensor::from<float>({3, 2}, {2, -2, -1, 3, -1, 0})},
                                {"x1", Tensor::from<float>({2, 3}, {-1, -3, -1, 1, 0, 2})}});
  ASSERT_TRUE(out) << out.status().message();
  EXPECT_EQ(values_of<float>(out->at("fin")), (std::vector<float>{-14, 15}));
  EXPECT_EQ(values_of<float>(out->at("y0")), (std::vector<float>{-13, -5, 0, 16, 8, 3}));
  EXPECT_EQ(values_of<float>(out->at("y1")), (std::vector<float>{1, 0, 1, 9, 4, 4}));
}

TEST(Dynamic, BatchedScansHaveLengthsOfTheirOwn) {
  const std::string text = R"(
graph @g(%lens: i64[2], %init: f32[2,2], %x: f32[2,3,2]))"
                           R"( -> (%fin: f32[2,2], %y0: f32[2,3,2], %y1: f32[2,3,2]) {
  %fin, %y0, %y1 = scan(%lens, %init, %x) {batched=1, carried=1, scanned=1})"
                           R"( : f32[2,2], f32[2,3,2], f32[2,3,2] name "S"
    graph @body(%s: f32[2], %r0: f32[2]) -> (%sn: f32[2], %o0: f32[2], %o1: f32[2]) {
      @one = const f32[1] {1}
      %s2 = add(%s, %s)
      %sn = add(%s2, %r0)
      %o0 = add(%sn, @one)
      %o1 = mul(%r0, %r0)
    }
}
)";
  const auto engine = engine_of(text);
  ASSERT_TRUE(engine) << engine.status().message();
  const auto out =
      engine->run({{"lens", Tensor::from<int64_t>({2}, {3, 2})},
                   {"init", Tensor::from<float>({2, 2}, {-1, 3, 2, -1})},
                   {"x", Tensor::from<float>({2, 3, 2}, {0, -2, 1, 1, 2, 2, 3, 3, 3, -2, -3, 0})}});
  ASSERT_TRUE(out) << out.status().message();
  EXPECT_EQ(values_of<float>(out->at("fin")), (std::vector<float>{-4, 20, 17, 0}));
  EXPECT_EQ(values_of<float>(out->at("y0")),
            (std::vector<float>{-1, 5, -2, 10, -3, 21, 8, 2, 18, 1, 0, 0}));
  EXPECT_EQ(values_of<float>(out->at("y1")),
            (std::vector<float>{0, 4, 1, 1, 4, 4, 9, 9, 9, 4, 0, 0}));
}

TEST(Dynamic, BranchesMayDifferInRank) {
  const auto engine = engine_of(R"(
graph @g(%c: bool[], %x: f32[2,3]) -> (%y: f32[?]) {
  %y = if(%c, %x) name "I"
    graph @then(%a: f32[2,3]) -> (%t: f32[2,3]) {
      %t = relu(%a)
    }
    graph @else(%a: f32[2,3]) -> (%t: f32[6]) {
      @shape = const i64[1] {-1}
      %t = reshape(%a, @shape)
    }
}
)");
  ASSERT_TRUE(engine) << engine.status().message();
  EXPECT_FALSE(engine->outputs()[0].ranked);
  const Tensor x = Tensor::from<float>({2, 3}, {-1, 2, -3, 4, -5, 6});
  for (const bool taken : {true, false}) {
    const Tensor c = *Tensor::from_bytes(DType::kBool, {}, std::as_bytes(std::span(&taken, 1)));
    const auto out = engine->run({{"c", c}, {"x", x}});
    ASSERT_TRUE(out) << out.status().message();
    EXPECT_EQ(out->at("y").shape(), taken ? Shape({2, 3}) : Shape({6}));
  }
}

// What a branch or a loop cannot do with the sizes at hand is no matter unless it is reached.
TEST(Dynamic, ImpossibleBranchesMatterWhenTheyAreTaken) {
  const char* text = R"(
graph @g(%c: bool[], %n: i64[], %x: f32[2,2]) -> (%y: f32[?], %z: f32[?]) {
  @true = const bool[] {1}
  @target = const i64[2] {3, -1}
  %y = if(%c, %x, @target)
    graph @then(%a: f32[2,2], %t: i64[2]) -> (%r: f32[2,2]) {
      %r = relu(%a)
    }
    graph @else(%a: f32[2,2], %t: i64[2]) -> (%r: f32[2,2]) {
      %three = reshape(%a, %t)
      %r = add(%three, %a)
    }
  %z = loop(%n, @true, %x, @target) {carried=1}
    graph @body(%i: i64[], %go: bool[], %v: f32[2,2], %t: i64[2]) -> (%more: bool[], %w: f32[2,2]) {
      %more = identity(%go)
      %three = reshape(%v, %t)
      %w = add(%three, %v)
    }
}
)";
  for (const bool optimize : {true, false}) {
    const auto engine = engine_of(text, optimize);
    ASSERT_TRUE(engine) << engine.status().message();
    Session session(*engine);
    const auto run = [&](bool condition, int64_t rounds) {
      Tensor c = *Tensor::allocate(DType::kBool, {});
      *static_cast<uint8_t*>(c.data()) = condition;
      return session.run({{"c", c},
                          {"n", Tensor::from<int64_t>({}, {rounds})},
                          {"x", Tensor::from<float>({2, 2}, {-1, 2, -3, 4})}});
    };
    const auto out = run(true, 0);
    ASSERT_TRUE(out) << out.status().message();
    EXPECT_EQ(values_of<float>(out->at("y")), (std::vector<float>{0, 2, 0, 4}));
    EXPECT_EQ(out->at("z").shape(), (Shape{2, 2}));
    EXPECT_NE(run(false, 0).status().message().find("do not divide by 3"), std::string::npos);
    EXPECT_NE(run(true, 1).status().message().find("do not divide by 3"), std::string::npos);
  }
}

TEST(Dynamic, SequencesGoInAndOut) {
  const auto engine = engine_of(R"(
graph @g(%s: sequence f32[?], %x: f32[N]) -> (%t: sequence f32[?], %n: i64[]) {
  %longer = sequence_insert(%s, %x)
  %t = sequence_map(%longer) {mapped=0}
    graph @body(%e: f32[?]) -> (%d: f32[?]) {
      %d = neg(%e)
    }
  %n = sequence_length(%t)
}
)");
  ASSERT_TRUE(engine) << engine.status().message();
  const Tensor x = Tensor::from<float>({2}, {1, 2});
  const AnyValue one = AnyValue::sequence({AnyValue(Tensor::from<float>({1}, {5}))});
  const auto out = engine->run_values({{"s", one}, {"x", AnyValue(x)}});
  ASSERT_TRUE(out) << out.status().message();
  ASSERT_EQ(out->at("t").kind(), AnyValue::Kind::kSequence);
  ASSERT_EQ(out->at("t").elements().size(), 2u);
  EXPECT_EQ(values_of<float>(out->at("t").elements()[1].tensor()), (std::vector<float>{-1, -2}));
  EXPECT_EQ(values_of<int64_t>(out->at("n").tensor()), std::vector<int64_t>{2});
  EXPECT_EQ(engine->inputs()[0].kind, "sequence");
  // The plain form says what to use instead.
  Session session(*engine);
  const auto plain = session.run({{"x", x}});
  EXPECT_FALSE(plain);
}

TEST(Dynamic, ScalarsMayComeAsOneElement) {
  const auto engine = engine_of("graph @g(%x: f32[]) -> (%y: f32[]) {\n  %y = neg(%x)\n}\n");
  ASSERT_TRUE(engine) << engine.status().message();
  const auto out = engine->run({{"x", Tensor::from<float>({1}, {3})}});
  ASSERT_TRUE(out) << out.status().message();
  EXPECT_EQ(out->at("y").shape(), Shape{});
  EXPECT_EQ(values_of<float>(out->at("y")), std::vector<float>{-3});
}

}  // namespace
}  // namespace stoker

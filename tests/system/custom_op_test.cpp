// Custom operators from the model file to a loaded engine: the demo library's answers, what engines
// record, and the refusals of libraries that are missing, other ones, or faulty.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <thread>

#include "base/file.h"
#include "base/hash.h"
#include "runtime/loaded_engine.h"
#include "stoker/builder.h"
#include "tests/import/onnx_builder.h"

namespace stoker {
namespace {

namespace fs = std::filesystem;
using test::add_node;
using test::expect_in;
using test::ModelText;

class CustomOpTest : public testing::Test {
 protected:
  void SetUp() override {
    const auto* info = testing::UnitTest::GetInstance()->current_test_info();
    folder_ = fs::temp_directory_path() /
              ("stoker_custom_op_" + std::to_string(getpid()) + "_" + info->name());
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string file(const std::string& name) const { return (folder_ / name).string(); }
  static KnobList knobs(const std::string& libraries) {
    return {{"op_libraries", libraries}, {"threads", "2"}, {"tactic_timing", "false"}};
  }
  std::string save(const ModelText& model) const {
    const std::string bytes = model.bytes();
    EXPECT_TRUE(write_file_atomic(file("m.onnx"), std::as_bytes(std::span(bytes))));
    return file("m.onnx");
  }
  // y = -LeakyClamp(x + x), x of N by 3.
  static ModelText demo_model(int type = test::kFloat) {
    ModelText model(17);
    auto* opset = model.model.add_opset_import();
    opset->set_domain("demo.ops");
    opset->set_version(1);
    model.input("x", {"N", "3"}, type);
    model.node("Add", {"x", "x"}, {"a"});
    model.node("LeakyClamp", {"a"}, {"b"})
        .domain("demo.ops")
        .named("clamp")
        .set("alpha", 0.5f)
        .set("limit", 4.0f);
    model.node("Neg", {"b"}, {"y"});
    model.output("y");
    return model;
  }
  Result<Engine> build_demo() const {
    STOKER_ASSIGN(const Model model, Model::load(save(demo_model()), knobs(DEMO_OPS)));
    BuildOptions options;
    options.knobs = knobs("");
    return build(model, options);
  }
  std::string load_error(const std::string& libraries) const {
    const auto engine = Engine::load(file("m.engine"), knobs(libraries));
    return engine ? "loaded" : engine.status().message();
  }

  fs::path folder_;
};

const std::vector<float> kIn = {1, -1, 3, -20, 0, 0.25f}, kOut = {-2, 1, -4, 4, -0.f, -0.5f};

void expect_answers(const Engine& engine) {
  const auto outputs = engine.run({{"x", Tensor::from<float>({2, 3}, kIn)}});
  ASSERT_TRUE(outputs) << outputs.status().message();
  const auto y = outputs->at("y").values<float>();
  EXPECT_EQ(std::vector<float>(y.begin(), y.end()), kOut);
}

TEST_F(CustomOpTest, BuildsSavesLoadsAndRuns) {
  const auto built = build_demo();
  ASSERT_TRUE(built) << built.status().message();
  expect_answers(*built);
  EXPECT_EQ(built->outputs()[0].dims, (std::vector<std::string>{"N", "3"}));
  // Only the operator itself is run step by step: sizes are known around it.
  const auto& programs = built->impl().contents().programs;
  EXPECT_EQ(programs.size(), 3u);
  ASSERT_TRUE(built->save(file("m.engine")));
  const auto loaded = Engine::load(file("m.engine"), knobs(DEMO_OPS));
  ASSERT_TRUE(loaded) << loaded.status().message();
  expect_answers(*loaded);
  EXPECT_EQ(*built->digest(), *loaded->digest());
  const auto& certificate = built->impl().contents().volatile_section.certificate;
  expect_in(certificate.checked_against, "without fusion");
}

TEST_F(CustomOpTest, EnginesRecordTheLibrary) {
  const auto engine = build_demo();
  ASSERT_TRUE(engine) << engine.status().message();
  const auto bytes = read_file(DEMO_OPS, 1 << 30);
  ASSERT_TRUE(bytes);
  const std::string hash = content_hash(
      {static_cast<const std::byte*>(bytes->data()), static_cast<size_t>(bytes->bytes())});
  const auto& libraries = engine->impl().contents().manifest.op_libraries;
  ASSERT_EQ(libraries.size(), 1u);
  EXPECT_EQ(libraries[0], (UsedLibrary{"demo_ops", "1.0.0", hash}));
  expect_in(engine->describe(false, false), "op library     demo_ops 1.0.0 (" + hash + ")");
  expect_in(engine->describe(true, false), "\"name\": \"demo_ops\"");
}

TEST_F(CustomOpTest, DoublesAndManyCallers) {
  const auto model = Model::load(save(demo_model(onnx::TensorProto::DOUBLE)), knobs(DEMO_OPS));
  ASSERT_TRUE(model) << model.status().message();
  BuildOptions options;
  options.knobs = knobs(DEMO_OPS);
  const auto engine = build(*model, options);
  ASSERT_TRUE(engine) << engine.status().message();
  std::atomic<int> wrong{0};
  std::vector<std::thread> callers;
  for (int t = 0; t < 4; ++t) {
    callers.emplace_back([&] {
      for (int i = 0; i < 10; ++i) {
        const auto found = engine->run({{"x", Tensor::from<double>({1, 3}, {1, -1, 30})}});
        const bool right = found && found->at("y").values<double>()[0] == -2 &&
                           found->at("y").values<double>()[1] == 1 &&
                           found->at("y").values<double>()[2] == -4;
        if (!right) ++wrong;
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(wrong.load(), 0);
}

TEST_F(CustomOpTest, ModelsNeedTheLibraryNamed) {
  const std::string path = save(demo_model());
  const auto none = Model::load(path);
  ASSERT_FALSE(none);
  expect_in(none.status().message(), "(LeakyClamp, demo.ops 1): unknown operator");
  expect_in(none.status().message(), "--op-library FILE (knob op_libraries)");
  const auto other = Model::load(path, knobs(FAULTY_OPS));
  ASSERT_FALSE(other);
  expect_in(other.status().message(), "not in faulty_ops 0.1");
  const auto two = Model::load(path, knobs(DEMO_OPS ":" DEMO_OPS_2));
  ASSERT_FALSE(two);
  expect_in(two.status().message(), "name one of the libraries only");
  const auto missing = Model::load(path, knobs(file("none.so")));
  EXPECT_EQ(missing.status().code(), StatusCode::kNotFound);
  const auto wrong_type = Model::load(save(demo_model(onnx::TensorProto::INT32)), knobs(DEMO_OPS));
  ASSERT_FALSE(wrong_type);
  expect_in(wrong_type.status().message(), "infer: expected an input of f32 or f64");
}

TEST_F(CustomOpTest, EnginesNeedTheVeryLibraryNamed) {
  const auto built = build_demo();
  ASSERT_TRUE(built) << built.status().message();
  ASSERT_TRUE(built->save(file("m.engine")));
  // Loaded in this process, but this caller did not name it.
  expect_in(load_error(""), "calls operator library demo_ops, version 1.0.0, content ");
  expect_in(load_error(""), "which is not named: give its file with --op-library FILE");
  expect_in(load_error(FAULTY_OPS), "which is not named");
  expect_in(load_error(DEMO_OPS_2), "is version 2.0.0 with content ");
  expect_in(load_error(DEMO_OPS_2), "build the engine again");
  fs::copy_file(DEMO_OPS, file("copy.so"));
  EXPECT_EQ(load_error(file("copy.so")), "loaded");
  // Other bytes are another library, even under the same version.
  fs::copy_file(DEMO_OPS, file("other.so"));
  std::FILE* other = std::fopen(file("other.so").c_str(), "ab");
  std::fputc('x', other);
  std::fclose(other);
  expect_in(load_error(file("other.so")), "is version 1.0.0 with content ");
  EXPECT_EQ(load_error(file("other.so") + ":" DEMO_OPS), "loaded");
}

TEST_F(CustomOpTest, ManifestAndStepsMustAgree) {
  const auto built = build_demo();
  ASSERT_TRUE(built) << built.status().message();
  EngineContents contents = built->impl().contents();
  contents.manifest.op_libraries.clear();
  ASSERT_TRUE(write_engine(contents, file("m.engine")));
  expect_in(load_error(DEMO_OPS), "other operator libraries than the manifest lists");
}

TEST_F(CustomOpTest, AFileThatChangesWhileLoadedIsRefused) {
  fs::copy_file(DEMO_OPS, file("ops.so"));
  std::FILE* added = std::fopen(file("ops.so").c_str(), "ab");
  std::fputs("changed", added);
  std::fclose(added);
  ASSERT_TRUE(load_op_library(file("ops.so")));
  fs::copy_file(DEMO_OPS_2, file("new.so"));
  std::FILE* more = std::fopen(file("new.so").c_str(), "ab");
  std::fputs("again", more);
  std::fclose(more);
  fs::rename(file("new.so"), file("ops.so"));
  expect_in(load_op_library(file("ops.so")).status().message(), "has changed since this process");
}

TEST_F(CustomOpTest, FaultsOfCallbacksAreErrorsOfTheRun) {
  const auto run = [&](const std::string& how) -> std::string {
    ModelText model(17);
    model.input("x", {"N", "3"});
    model.node("Faulty", {"x"}, {"y"}).domain("test.faults").named("f").set("how", how);
    model.output("y");
    const auto loaded = Model::load(save(model), knobs(FAULTY_OPS));
    if (!loaded) return loaded.status().message();
    const auto engine = build(*loaded, {});
    if (!engine) return engine.status().message();
    const auto outputs = engine->run({{"x", Tensor::from<float>({2, 3}, kIn)}});
    return outputs ? "ran" : outputs.status().message();
  };
  EXPECT_EQ(run("fine"), "ran");
  expect_in(run("fail"), "test.faults:Faulty of library faulty_ops 0.1: evaluate: nothing works");
  expect_in(run("size"), "output 0 has shape [2,4], infer said [2,3]: a defect of the library");
  expect_in(run("none"), "does not make output 0");
}

TEST_F(CustomOpTest, AFunctionOfTheModelComesFirst) {
  ModelText model = demo_model();
  auto* function = model.model.add_functions();
  function->set_name("LeakyClamp");
  function->set_domain("demo.ops");
  function->add_input("v");
  function->add_output("w");
  auto* opset = function->add_opset_import();
  opset->set_version(17);
  add_node(*function, "Identity", {"v"}, {"w"});
  const auto loaded = Model::load(save(model), knobs(DEMO_OPS));
  ASSERT_TRUE(loaded) << loaded.status().message();
  EXPECT_EQ(loaded->graph_text().find("custom"), std::string::npos);
}

TEST_F(CustomOpTest, WorksInsideControlFlow) {
  ModelText model(17);
  model.input("x", {"N", "3"});
  model.input("c", {}, onnx::TensorProto::BOOL);
  auto conditional = model.node("If", {"c"}, {"y"});
  auto& then_graph = conditional.graph("then_branch");
  then_graph.set_name("then");
  add_node(then_graph, "LeakyClamp", {"x"}, {"t"}).domain("demo.ops").set("limit", 4.0f);
  then_graph.add_output()->set_name("t");
  auto& else_graph = conditional.graph("else_branch");
  else_graph.set_name("else");
  add_node(else_graph, "Neg", {"x"}, {"e"});
  else_graph.add_output()->set_name("e");
  model.output("y");
  const auto loaded = Model::load(save(model), knobs(DEMO_OPS));
  ASSERT_TRUE(loaded) << loaded.status().message();
  const auto engine = build(*loaded, {});
  ASSERT_TRUE(engine) << engine.status().message();
  EXPECT_EQ(engine->impl().contents().manifest.op_libraries.size(), 1u);
  const Tensor yes = Tensor::from<uint8_t>({}, {1});
  const Tensor condition =
      *Tensor::from_bytes(DType::kBool, {}, {static_cast<const std::byte*>(yes.data()), 1});
  const auto found =
      engine->run({{"x", Tensor::from<float>({1, 3}, {-100, 9, 2})}, {"c", condition}});
  ASSERT_TRUE(found) << found.status().message();
  const auto y = found->at("y").values<float>();
  EXPECT_EQ(std::vector<float>(y.begin(), y.end()), (std::vector<float>{-1, 4, 2}));
}

}  // namespace
}  // namespace stoker

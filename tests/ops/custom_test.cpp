// Op custom on libraries that are linked into the test: what callbacks see, and that every wrong
// answer of theirs is an error that says what is wrong. Files are
// tests/system/custom_op_test.cpp's.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstring>
#include <stdexcept>

#include "ops/custom_library.h"
#include "ops/op.h"

namespace stoker {
namespace {

using Host = const StokerOpHost*;
using Call = StokerOpCall*;

// Output 0 has the type of input 0.
int32_t same_type(Host host, Call call) {
  const StokerOpTensor* x = host->input(call, 0);
  if (!x) return host->fail(call, "input 0 is missing");
  return !host->set_output(call, 0, x->dtype, x->rank, x->dims);
}

int32_t zeros(Host host, Call call) {
  const StokerOpTensor* x = host->input(call, 0);
  void* data = nullptr;
  return !host->make_output(call, 0, x->rank, x->dims, &data);
}

int32_t one_open_dim(Host host, Call call) {
  const int64_t dims[] = {STOKER_OP_UNKNOWN_DIM};
  return !host->set_output(call, 0, STOKER_F32, 1, dims);
}

template <int64_t kFirst, int64_t kSecond>
int32_t make_rank_2(Host host, Call call) {
  const int64_t dims[] = {kFirst, kSecond};
  void* data = nullptr;
  host->make_output(call, 0, 2, dims, &data);
  return 0;  // even when refused
}

StokerOpDef op_of(const char* name, StokerOpCallback infer, StokerOpCallback evaluate) {
  return {"test.ops", name, 1, 2, 1, 2, infer, evaluate};
}

std::shared_ptr<const OpLibrary> library_of(const std::vector<StokerOpDef>& ops) {
  static int count = 0;
  const StokerOpLibrary description = {STOKER_OP_ABI, static_cast<uint32_t>(ops.size()), "test-ops",
                                       "1.2", ops.data()};
  auto library = adopt_op_library(&description, "hash" + std::to_string(++count), "test");
  EXPECT_TRUE(library) << library.status().message();
  return *library;
}

Attributes attributes_of(const OpLibrary& library, const std::string& op, Attributes more = {}) {
  more.set(kCustomLibrary, library.identity());
  more.set(kCustomDomain, std::string("test.ops"));
  more.set(kCustomName, op);
  more.set(kCustomVersion, int64_t{3});
  return more;
}

Result<std::vector<Tensor>> run(StokerOpCallback infer, StokerOpCallback evaluate,
                                const std::vector<Tensor>& inputs, const Attributes& more = {},
                                int outputs = 1) {
  const auto library = library_of({op_of("Op", infer, evaluate)});
  return evaluate_op(*find_op("custom"), attributes_of(*library, "Op", more), inputs, outputs);
}

std::string message(StokerOpCallback infer, StokerOpCallback evaluate) {
  const auto result = run(infer, evaluate, {Tensor::from<float>({2, 3}, {1, 2, 3, 4, 5, 6})});
  return result ? "ran" : result.status().message();
}

void expect_in(const std::string& text, const std::string& part) {
  EXPECT_NE(text.find(part), std::string::npos) << "'" << part << "' is not in: " << text;
}

TEST(CustomOp, EvaluatesWhatTheLibrarySays) {
  const auto doubled = [](Host host, Call call) -> int32_t {
    const StokerOpTensor* x = host->input(call, 0);
    void* y = nullptr;
    if (host->input(call, 1) || host->input_count(call) != 1 || host->output_count(call) != 1)
      return host->fail(call, "counts");
    if (host->opset_version(call) != 3) return host->fail(call, "version");
    if (!host->make_output(call, 0, x->rank, x->dims, &y)) return 1;
    for (int i = 0; i < 4; ++i)
      static_cast<float*>(y)[i] = 2 * static_cast<const float*>(x->data)[i];
    return 0;
  };
  const auto result = run(same_type, doubled, {Tensor::from<float>({2, 2}, {1, 2, 3, -4})});
  ASSERT_TRUE(result) << result.status().message();
  EXPECT_EQ((*result)[0].shape(), (Shape{2, 2}));
  const auto values = (*result)[0].values<float>();
  EXPECT_EQ(std::vector<float>(values.begin(), values.end()), (std::vector<float>{2, 4, 6, -8}));
}

TEST(CustomOp, FailuresOfCallbacksAreErrorsWithTheirText) {
  const auto fails = [](Host host, Call call) { return host->fail(call, "the wheel\nfell off"); };
  expect_in(message(same_type, fails), "test.ops:Op of library test-ops 1.2: evaluate: the wheel ");
  expect_in(message(fails, zeros), "infer: the wheel fell off");
  const auto and_goes_on = [](Host host, Call call) -> int32_t {
    host->fail(call, nullptr);
    return zeros(host, call);
  };
  expect_in(message(same_type, and_goes_on), "no reason given");
  const auto code = [](Host, Call) -> int32_t { return 7; };
  expect_in(message(same_type, code), "failed with code 7 and no text");
  const auto throws = [](Host, Call) -> int32_t { throw std::runtime_error("boom"); };
  expect_in(message(same_type, throws), "threw an exception, which it must not: boom");
  const auto throws_number = [](Host, Call) -> int32_t { throw 3; };
  expect_in(message(throws_number, zeros), "infer threw an exception");
}

TEST(CustomOp, WrongAnswersOfInferAreRefused) {
  const auto nothing = [](Host, Call) -> int32_t { return 0; };
  expect_in(message(nothing, zeros), "does not set output 0");
  const auto no_type = [](Host host, Call call) -> int32_t {
    host->set_output(call, 0, 99, 0, nullptr);
    return 0;
  };
  expect_in(message(no_type, zeros), "output 0 of element type 99, which there is not");
  const auto index = [](Host host, Call call) -> int32_t {
    host->set_output(call, 1, STOKER_F32, 0, nullptr);
    return 0;
  };
  expect_in(message(index, zeros), "output 1 of 1");
  const auto dims = [](Host host, Call call) -> int32_t {
    host->set_output(call, 0, STOKER_F32, 2, nullptr);
    return 0;
  };
  expect_in(message(dims, zeros), "output 0 of rank 2, expected 0 to 64 and its dims");
  const auto rank = [](Host host, Call call) -> int32_t {
    const int64_t one = 1;
    host->set_output(call, 0, STOKER_F32, 65, &one);
    return 0;
  };
  expect_in(message(rank, zeros), "rank 65");
  const auto size = [](Host host, Call call) -> int32_t {
    const int64_t minus = -1;
    host->set_output(call, 0, STOKER_F32, 1, &minus);
    return 0;
  };
  expect_in(message(size, zeros), "size -1 in dimension 0, which is no size of an input");
  expect_in(message(make_rank_2<2, 3>, zeros), "make_output in infer");
}

TEST(CustomOp, WrongAnswersOfEvaluateAreRefused) {
  expect_in(message(same_type, make_rank_2<2, 4>), "has shape [2,4], infer said [2,3]");
  expect_in(message(one_open_dim, make_rank_2<2, 4>), "has shape [2,4], infer said [?]");
  expect_in(message(same_type, [](Host, Call) -> int32_t { return 0; }), "does not make output 0");
  expect_in(message(same_type, same_type), "set_output in evaluate");
  const auto twice = [](Host host, Call call) -> int32_t {
    zeros(host, call);
    zeros(host, call);
    return 0;
  };
  expect_in(message(same_type, twice), "made twice");
  const auto open_rank = [](Host host, Call call) -> int32_t {
    return !host->set_output(call, 0, STOKER_F32, STOKER_OP_UNKNOWN_RANK, nullptr);
  };
  expect_in(message(open_rank, make_rank_2<2, -1>), "has shape [2,-1]");
  expect_in(message(open_rank, make_rank_2<INT64_MAX, 2>), "evaluate: ");
  EXPECT_EQ(message(open_rank, make_rank_2<0, 2>), "ran");
  const auto text = [](Host host, Call call) -> int32_t {
    zeros(host, call);
    host->set_string(call, 0, 0, "a", 1);
    return 0;
  };
  expect_in(message(same_type, text), "set_string: element 0 of output 0");
}

TEST(CustomOp, SizesDecidedByTheDataAndPackedElements) {
  const auto take_two = [](Host host, Call call) -> int32_t {
    const int64_t dims[] = {2};
    void* data = nullptr;
    if (!host->make_output(call, 0, 1, dims, &data)) return 1;
    std::memcpy(data, host->input(call, 0)->data, 8);
    return 0;
  };
  const Tensor x = Tensor::from<float>({2, 3}, {1, 2, 3, 4, 5, 6});
  const auto result = run(one_open_dim, take_two, {x});
  ASSERT_TRUE(result) << result.status().message();
  EXPECT_EQ((*result)[0].shape(), Shape{2});
  EXPECT_EQ((*result)[0].values<float>()[1], 2);
  // Bools are 0 or 1, and the bits behind the last packed element are 0, whatever was written.
  const auto bools = [](Host host, Call call) -> int32_t {
    const int64_t dims[] = {3};
    return !host->set_output(call, 0, STOKER_BOOL, 1, dims) ||
           !host->set_output(call, 1, STOKER_U4, 1, dims);
  };
  const auto sevens = [](Host host, Call call) -> int32_t {
    const int64_t dims[] = {3};
    void *a = nullptr, *b = nullptr;
    if (!host->make_output(call, 0, 1, dims, &a) || !host->make_output(call, 1, 1, dims, &b))
      return 1;
    std::memset(a, 7, 3);
    std::memset(b, 0x77, 2);
    return 0;
  };
  const auto packed = run(bools, sevens, {x}, {}, 2);
  ASSERT_TRUE(packed) << packed.status().message();
  for (int i = 0; i < 3; ++i) EXPECT_EQ(static_cast<const char*>((*packed)[0].data())[i], 1);
  EXPECT_EQ(static_cast<const char*>((*packed)[1].data())[1], 7);
}

TEST(CustomOp, StringsGoInAndOut) {
  const auto reverse = [](Host host, Call call) -> int32_t {
    const StokerOpTensor* x = host->input(call, 0);
    void* data = nullptr;
    if (x->data || x->dtype != STOKER_STRING) return host->fail(call, "no strings");
    if (!host->make_output(call, 0, x->rank, x->dims, &data) || data) return 1;
    for (int64_t i = 0; i < x->dims[0]; ++i) {
      const char* text = nullptr;
      size_t bytes = 0;
      if (!host->input_string(call, 0, i, &text, &bytes)) return host->fail(call, "string");
      host->set_string(call, 0, x->dims[0] - 1 - i, text, bytes);
    }
    const char* text = nullptr;
    size_t bytes = 0;
    return host->input_string(call, 0, x->dims[0], &text, &bytes);
  };
  const auto result = run(same_type, reverse, {*Tensor::from_strings({2}, {"cat", ""})});
  ASSERT_TRUE(result) << result.status().message();
  EXPECT_EQ((*result)[0].strings(), (std::vector<std::string>{"", "cat"}));
}

int32_t read_attributes(Host host, Call call) {
  int64_t i = 0;
  double f = 0;
  const int64_t* ints = nullptr;
  const double* floats = nullptr;
  const char* text = nullptr;
  size_t count = 0;
  if (!host->get_int(call, "i", &i) || i != 7 || host->get_int(call, "f", &i) ||
      host->get_int(call, "none", &i) || host->get_int(call, nullptr, &i))
    return host->fail(call, "int");
  if (!host->get_float(call, "f", &f) || f != 0.5) return host->fail(call, "float");
  if (!host->get_ints(call, "ints", &ints, &count) || count != 2 || ints[1] != 4)
    return host->fail(call, "ints");
  if (!host->get_floats(call, "floats", &floats, &count) || count != 1 || floats[0] != 2.5)
    return host->fail(call, "floats");
  if (!host->get_string(call, "s", 0, &text, &count) || std::string(text, count) != "abc" ||
      host->get_string(call, "s", 1, &text, &count))
    return host->fail(call, "string");
  if (!host->get_string(call, "list", 1, &text, &count) || std::string(text, count) != "y" ||
      host->get_string(call, "list", 2, &text, &count))
    return host->fail(call, "strings");
  const StokerOpTensor* t = host->get_tensor(call, "t");
  if (!t || t->dtype != STOKER_I64 || t->rank != 1 || t->dims[0] != 2 ||
      static_cast<const int64_t*>(t->data)[1] != 9)
    return host->fail(call, "tensor");
  return same_type(host, call);
}

TEST(CustomOp, AttributesOfEveryKind) {
  const Attributes more = {{"i", int64_t{7}},
                           {"f", 0.5},
                           {"s", std::string("abc")},
                           {"ints", std::vector<int64_t>{3, 4}},
                           {"floats", std::vector<double>{2.5}},
                           {"list", std::vector<std::string>{"x", "y"}},
                           {"t", Tensor::from<int64_t>({2}, {8, 9})}};
  const auto result = run(read_attributes, zeros, {Tensor::scalar_f32(1)}, more);
  EXPECT_TRUE(result) << result.status().message();
}

// Infers one node on the given input types; fresh sizes are called d1, d2, ...
Result<std::vector<ValueType>> infer(StokerOpCallback callback,
                                     std::vector<InferContext::Input> inputs, size_t outputs) {
  const auto library = library_of({op_of("Op", callback, zeros)});
  const Attributes attributes = attributes_of(*library, "Op");
  InferContext context{attributes, inputs, {}, {}};
  context.outputs.resize(outputs);
  context.shape_values.resize(outputs);
  int symbols = 0;
  context.graph = &symbols;
  context.fresh_symbol = [](void* count) {
    return Dim::symbol("d" + std::to_string(++*static_cast<int*>(count)));
  };
  const Status status = find_op("custom")->infer(context);
  if (!status) return status;
  return context.outputs;
}

TEST(CustomOp, InferencePassesOpenSizesOn) {
  const auto matrix = [](Host host, Call call) -> int32_t {
    const StokerOpTensor *a = host->input(call, 0), *b = host->input(call, 1);
    if (a->dims[1] != b->dims[0] || a->dims[1] >= 0) return host->fail(call, "sizes differ");
    const int64_t dims[] = {a->dims[0], b->dims[1], STOKER_OP_UNKNOWN_DIM, 5};
    return !host->set_output(call, 0, a->dtype, 4, dims) ||
           !host->set_output(call, 1, STOKER_I64, STOKER_OP_UNKNOWN_RANK, nullptr);
  };
  const Dim n = Dim::symbol("N"), k = Dim::symbol("K");
  const auto a = ValueType::tensor(DType::kF16, {n, k + Dim(1)});
  const auto b = ValueType::tensor(DType::kF16, {k + Dim(1), n * Dim(2)});
  const auto types = infer(matrix, {{&a}, {&b}}, 2);
  ASSERT_TRUE(types) << types.status().message();
  EXPECT_EQ(type_text((*types)[0]), "f16[N,2*N,d1,5]");
  EXPECT_EQ(type_text((*types)[1]), "i64[?]");
  const auto unranked = ValueType::unranked(DType::kF32);
  const auto passed = infer(same_type, {{&unranked}}, 1);
  ASSERT_TRUE(passed) << passed.status().message();
  EXPECT_EQ(type_text((*passed)[0]), "f32[?]");
}

TEST(CustomOp, InferenceSeesKnownValues) {
  const auto reshape = [](Host host, Call call) -> int32_t {
    const StokerOpTensor* shape = host->input(call, 1);
    if (!shape->data) return !host->set_output(call, 0, STOKER_F32, -1, nullptr);
    return !host->set_output(call, 0, STOKER_F32, static_cast<int32_t>(shape->dims[0]),
                             static_cast<const int64_t*>(shape->data));
  };
  const auto x = ValueType::tensor(DType::kF32, {Dim(6)});
  const auto shape = ValueType::tensor(DType::kI64, {Dim(2)});
  const Dims known = {Dim(2), Dim(3)}, open = {Dim(2), Dim::symbol("N")};
  const Tensor constant = Tensor::from<int64_t>({2}, {3, 2});
  EXPECT_EQ(type_text((*infer(reshape, {{&x}, {&shape}}, 1))[0]), "f32[?]");
  EXPECT_EQ(type_text((*infer(reshape, {{&x}, {&shape, nullptr, &open}}, 1))[0]), "f32[?]");
  EXPECT_EQ(type_text((*infer(reshape, {{&x}, {&shape, nullptr, &known}}, 1))[0]), "f32[2,3]");
  EXPECT_EQ(type_text((*infer(reshape, {{&x}, {&shape, &constant}}, 1))[0]), "f32[3,2]");
  const auto sequence = ValueType::sequence(DType::kF32);
  expect_in(infer(same_type, {{&sequence}}, 1).status().message(), "take tensors only");
}

TEST(CustomOp, WrongNodesAreRefused) {
  const auto library = library_of({op_of("Op", same_type, zeros)});
  const Op& custom = *find_op("custom");
  const Tensor x = Tensor::scalar_f32(1);
  const auto refusal = [&](const Attributes& attributes, const std::vector<Tensor>& inputs) {
    return evaluate_op(custom, attributes, inputs, 1).status().message();
  };
  expect_in(refusal(attributes_of(*library, "Op"), {}), "takes 1 to 2 inputs, found 0");
  expect_in(refusal(attributes_of(*library, "Op"), {x, x, x}), "takes 1 to 2 inputs, found 3");
  expect_in(refusal(attributes_of(*library, "Other"), {x}), "has no operator test.ops:Other");
  Attributes unknown = attributes_of(*library, "Op");
  unknown.set(kCustomLibrary, std::string("test-ops 1.2 other"));
  expect_in(refusal(unknown, {x}), "'test-ops 1.2 other', which is not loaded: name its file");
  expect_in(refusal({}, {x}), "is missing");
}

std::string description_error(StokerOpLibrary description, uint32_t count = 1,
                              StokerOpDef op = op_of("Op", same_type, zeros)) {
  const StokerOpDef ops[] = {op, op};
  description.ops = ops;
  description.op_count = count;
  const auto library = adopt_op_library(&description, "x", "test");
  return library ? "taken" : library.status().message();
}

TEST(CustomOp, FaultyDescriptionsAreRefused) {
  const StokerOpLibrary good = {STOKER_OP_ABI, 1, "good", "1", nullptr};
  EXPECT_EQ(description_error(good), "taken");
  expect_in(adopt_op_library(nullptr, "x", "test").status().message(), "does not speak version 1");
  StokerOpLibrary bad = good;
  bad.abi = 99;
  expect_in(description_error(bad), "speaks version 99 of the interface, this Stoker version 1");
  bad = good;
  bad.name = nullptr;
  expect_in(description_error(bad), "has no name");
  bad.name = "two words";
  expect_in(description_error(bad), "its name is not");
  bad = good;
  const std::string endless(5000, 'v');
  bad.version = endless.c_str();
  expect_in(description_error(bad), "its version is not 1 to 256 letters");
  expect_in(description_error(good, 0), "describes 0 operators");
  expect_in(description_error(good, UINT32_MAX), "operators");
  expect_in(description_error(good, 2), "test.ops:Op is described twice");
  expect_in(description_error(good, 1, op_of("", same_type, zeros)), "operator 0: its operator's");
  expect_in(description_error(good, 1, op_of("Op", nullptr, zeros)), "has no infer callback");
  expect_in(description_error(good, 1, op_of("Op", zeros, nullptr)), "has no evaluate callback");
  StokerOpDef counts = op_of("Op", same_type, zeros);
  counts.min_outputs = 0;
  expect_in(description_error(good, 1, counts), "1 to 2 inputs and 0 to 2 outputs");
  counts = op_of("Op", same_type, zeros);
  counts.max_inputs = 0;
  expect_in(description_error(good, 1, counts), "1 to 0 inputs");
}

TEST(CustomOp, FilesThatAreNoLibrariesAreRefused) {
  const auto refusal = [](const std::string& path) {
    return load_op_libraries(path).status().message();
  };
  expect_in(refusal("/nonexistent/ops.so"), "operator library '/nonexistent/ops.so': No such file");
  expect_in(refusal("/"), "operator library '/'");
  expect_in(refusal(STOKER_SOURCE_DIR "/README.md"), "cannot be loaded as a shared library");
  EXPECT_TRUE(load_op_libraries("")->empty());
}

}  // namespace
}  // namespace stoker

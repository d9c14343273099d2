// The zoo's models have the published numbers of parameters and of multiply-adds, and load through
// the importer with the shapes they declare. Only the graphs are made, not the weights.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>

#include "onnx/onnx-ml.pb.h"
#include "tests/zoo/structure.h"
#include "zoo/builder.h"
#include "zoo/zoo.h"

namespace stoker {
namespace {

// Every model must be counted in both tables.
template <class Row, size_t kCount>
void expect_complete(const Row (&rows)[kCount]) {
  for (const ZooEntry& entry : zoo_entries()) {
    EXPECT_TRUE(std::ranges::any_of(rows, [&](const Row& row) { return row.name == entry.name; }))
        << entry.name << " is not in the table";
  }
}

struct ParameterRow {
  std::string_view name;
  int64_t count;
};

constexpr ParameterRow kParameters[] = {
    {"mlp", 784 * 512 + 512 + 512 * 256 + 256 + 256 * 10 + 10},
    {"lenet", 61706},              // LeCun et al., 1998, with all of C3 connected
    {"resnet50", 25557032},        // torchvision, weights' meta data
    {"mobilenetv2", 3504872},      // torchvision
    {"efficientnet-b0", 5288548},  // torchvision
    // "YOLOv8n summary (fused): 168 layers, 3151904 parameters, 8.7 GFLOPs"; 16 of them are the
    // fixed numbers 0..15 of its head.
    {"yolov8n", 3151904 - 16},
    {"unet", 31037633},        // milesial/Pytorch-UNet, 3 channels, 1 class, without bilinear
    {"vit-b16", 86567656},     // torchvision
    {"bert-base", 109482240},  // Hugging Face bert-base-uncased (BertModel)
    {"distilbert", 66362880},  // Hugging Face distilbert-base-uncased (DistilBertModel)
    // Hugging Face whisper-tiny: 37,760,640 in both halves, of which the encoder has 8,208,384. The
    // step reads the cached keys and values of the encoder's output, so that their projections of
    // 4 layers, one without and one with a bias, have gone.
    {"whisper-tiny-encoder", 8208384},
    {"whisper-tiny-decoder", 37760640 - 8208384 - 4 * (2 * 384 * 384 + 384)},
    // Zaremba et al.: "66M"; exactly with the two biases a gate that PyTorch and ONNX have.
    {"lstm", 10000 * 1500 + 2 * (8 * 1500 * 1500 + 8 * 1500) + 1500 * 10000 + 10000},
    // No published number at this cut: 1,783,115 rows of 16, and the two MLPs.
    {"dlrm", 1783115 * 16 + (13 * 512 + 512) + (512 * 256 + 256) + (256 * 64 + 64) +
                 (64 * 16 + 16) + (367 * 512 + 512) + (512 * 256 + 256) + (256 + 1)},
    {"llama-135m", 134515008},  // Hugging Face SmolLM2-135M
    {"llama-135m-prefill", 134515008},
    {"llama-1b", 1235814400},  // Hugging Face Llama-3.2-1B
    {"llama-1b-prefill", 1235814400},
};

TEST(ZooCounts, Parameters) {
  expect_complete(kParameters);
  for (const ParameterRow& row : kParameters) {
    const ZooEntry* entry = find_zoo_entry(row.name);
    ASSERT_NE(entry, nullptr) << row.name;
    zoo::ModelBuilder model(entry->name);
    entry->build(model);
    EXPECT_EQ(zoo::parameter_count(model), row.count) << row.name;
  }
}

struct WorkRow {
  std::string_view name;
  double millions;   // of multiply-adds, with the sizes below
  double tolerance;  // relative
};

// Sizes that the counts hold for: batch 1, 128 tokens, or one token behind 63 others.
const Sizes kSizes = {{"N", 1}, {"S", 128}, {"P", 63}, {"P + 1", 64}, {"T", 1500}, {"L", 1}};

// Matrix weights of a decoder times tokens, and the two products of attention.
constexpr double decoder_work(double parameters, double norms, double tokens, double reach,
                              double width, double layers) {
  return (tokens * (parameters - norms) + 2 * tokens * reach * width * layers) / 1e6;
}

// Published counts differ in what they leave out (bias, attention's products, pooling); the
// tolerance covers that. Where none is published, the formula is the model's own arithmetic.
const WorkRow kWork[] = {
    {"mlp", (784 * 512 + 512 * 256 + 256 * 10) / 1e6, 0},
    {"lenet", 0.4165, 0.001},         // convolutions 0.3576, linear 0.0589
    {"resnet50", 4089, 0.005},        // torchvision: convolutions and linear
    {"mobilenetv2", 301, 0.005},      // torchvision
    {"efficientnet-b0", 386, 0.005},  // torchvision
    {"yolov8n", 8700 / 2, 0.015},     // 8.7 GFLOP, two a multiply-add
    // Profilers that count four taps for each output of a 2x2 transposed convolution of stride 2,
    // where there is one, report 54.6 G.
    {"unet",
     (9. * 65536 * (3 * 64 + 64 * 64) + 4 * 9. * 16384 * (64 * 128 + 128 * 128) +
      4 * 9. * 65536 * (128 * 64 + 64 * 64) + 4 * 4. * 256 * 1024 * 512 + 65536. * 64) /
         1e6,
     0},
    {"vit-b16", 17564, 0.005},  // torchvision, attention's products included
    // MobileBERT (Sun et al., 2020), table 3: 22.5 and 11.3 GFLOP at 128 tokens.
    {"bert-base", 22500 / 2, 0.01},
    {"distilbert", 11300 / 2, 0.015},
    {"whisper-tiny-encoder",
     (3000. * 384 * 80 * 3 + 1500. * 384 * 384 * 3 +
      4 * (1500. * (4 * 384 * 384 + 2 * 384 * 1536) + 2 * 1500. * 1500 * 384)) /
         1e6,
     0},
    {"whisper-tiny-decoder",
     (4. * (6 * 384 * 384 + 2 * 384 * 1536 + 2 * (64 + 1500) * 384) + 384. * 51865) / 1e6, 0},
    {"lstm", 128 * (2. * 8 * 1500 * 1500 + 1500 * 10000) / 1e6, 0},
    {"dlrm",
     (13 * 512 + 512 * 256 + 256 * 64 + 64 * 16 + 27 * 27 * 16 + 367 * 512 + 512 * 256 + 256) / 1e6,
     0},
    {"llama-135m", decoder_work(134515008, 61 * 576, 1, 64, 576, 30), 1e-9},
    {"llama-135m-prefill", decoder_work(134515008, 61 * 576, 128, 128, 576, 30), 1e-9},
    {"llama-1b", decoder_work(1235814400, 33 * 2048, 1, 64, 2048, 16), 1e-9},
    {"llama-1b-prefill", decoder_work(1235814400, 33 * 2048, 128, 128, 2048, 16), 1e-9},
};

TEST(ZooCounts, MultiplyAdds) {
  expect_complete(kWork);
  for (const WorkRow& row : kWork) {
    const auto model = import_structure(std::string(row.name), kSizes);
    ASSERT_TRUE(model) << row.name << ": " << model.status().message();
    const auto work = multiply_adds(*model->graph);
    ASSERT_TRUE(work) << row.name << ": " << work.status().message();
    const double millions = static_cast<double>(*work) / 1e6;
    EXPECT_NEAR(millions, row.millions, row.tolerance * row.millions + 1e-6) << row.name;
  }
}

TEST(ZooCounts, GraphsImportWithTheirDeclaredShapes) {
  for (const ZooEntry& entry : zoo_entries()) {
    zoo::ModelBuilder model(entry.name);
    entry.build(model);
    const auto imported = import_structure(std::string(entry.name));
    ASSERT_TRUE(imported) << entry.name << ": " << imported.status().message();
    EXPECT_TRUE(imported->warnings.empty()) << entry.name << ": " << imported->warnings[0];
    const auto& outputs = model.proto().graph().output();
    ASSERT_EQ(imported->graph->outputs.size(), static_cast<size_t>(outputs.size()));
    for (int i = 0; i < outputs.size(); ++i) {
      const ValueType& type = imported->graph->outputs[static_cast<size_t>(i)]->type;
      const auto& declared = outputs[i].type().tensor_type().shape();
      ASSERT_EQ(type.rank(), declared.dim_size()) << entry.name << " " << outputs[i].name();
      for (int axis = 0; axis < type.rank(); ++axis) {
        const Dim& dim = type.dims[static_cast<size_t>(axis)];
        // Where the model declares a number the graph must give it; elsewhere the size is open.
        EXPECT_EQ(dim.is_const(), declared.dim(axis).has_dim_value())
            << entry.name << " " << outputs[i].name() << " axis " << axis << ": " << dim.text();
        if (dim.is_const()) {
          EXPECT_EQ(dim.value(), declared.dim(axis).dim_value())
              << entry.name << " " << outputs[i].name() << " axis " << axis;
        }
      }
    }
  }
}

}  // namespace
}  // namespace stoker

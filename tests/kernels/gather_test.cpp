// gather_rows and gather_panel against the reference gather, bit for bit, and their faults.
// SPDX-License-Identifier: Apache-2.0
#include "tests/kernels/movement_check.h"

namespace stoker::test {
namespace {

TensorDesc operand(std::vector<int64_t> dims, DType dtype) {
  TensorDesc desc;
  desc.dtype = dtype;
  desc.dims = std::move(dims);
  return desc;
}

Desc gather_desc(const std::vector<int64_t>& x, const std::vector<int64_t>& indices, int64_t axis,
                 DType dtype, DType index_dtype) {
  const size_t a = static_cast<size_t>(axis < 0 ? axis + static_cast<int64_t>(x.size()) : axis);
  std::vector<int64_t> y(x.begin(), x.begin() + static_cast<int64_t>(a));
  y.insert(y.end(), indices.begin(), indices.end());
  y.insert(y.end(), x.begin() + static_cast<int64_t>(a) + 1, x.end());
  return Desc{
      GatherParams{axis}, {operand(x, dtype), operand(indices, index_dtype)}, {operand(y, dtype)}};
}

Buffer index_buffer(const Desc& desc, std::mt19937& random) {
  const TensorDesc& x = desc.inputs[0];
  const int64_t axis = desc.as<GatherParams>().axis;
  const int64_t table = x.dims[static_cast<size_t>(axis < 0 ? axis + x.rank() : axis)];
  Buffer buffer(logical_count(desc.inputs[1]) * element_bytes(desc.inputs[1].dtype));
  for (int64_t i = 0; i < logical_count(desc.inputs[1]); ++i) {
    const int64_t index = static_cast<int64_t>(random() % static_cast<uint32_t>(2 * table)) - table;
    if (desc.inputs[1].dtype == DType::kI32)
      buffer.as<int32_t>()[i] = static_cast<int32_t>(index);
    else
      buffer.as<int64_t>()[i] = index;
  }
  return buffer;
}

TEST(GatherRows, AgreesForEveryAxisAndSize) {
  for (const DType dtype : {DType::kU8, DType::kF16, DType::kF32, DType::kI64, DType::kC128}) {
    for (const DType index_dtype : {DType::kI32, DType::kI64}) {
      for (const auto& [x, indices, axis] :
           std::vector<std::tuple<std::vector<int64_t>, std::vector<int64_t>, int64_t>>{
               {{100, 768}, {3, 50}, 0},
               {{7}, {40}, 0},
               {{5, 6, 7}, {2, 3}, 1},
               {{5, 6, 7}, {9}, -1},
               {{5, 6}, {}, 1},
               {{4, 3}, {0}, 0},
               {{0, 6}, {2}, 1},
               {{1, 1}, {1000}, 1}}) {
        SCOPED_TRACE(shape_text(x) + shape_text(indices));
        std::mt19937 random(9);
        const Desc desc = gather_desc(x, indices, axis, dtype, index_dtype);
        std::vector<Buffer> inputs{random_bytes(desc.inputs[0], random),
                                   index_buffer(desc, random)};
        expect_same_bits("gather_rows", desc, inputs);
      }
    }
  }
}

TEST(GatherRows, NamesTheIndexThatIsOutsideOfTheTable) {
  const Desc desc = gather_desc({10, 4}, {3}, 0, DType::kF32, DType::kI64);
  std::mt19937 random(1);
  for (const int64_t bad : {int64_t{10}, int64_t{-11}, INT64_MIN, INT64_MAX}) {
    Buffer indices(24);
    indices.as<int64_t>()[0] = 9;
    indices.as<int64_t>()[1] = bad;
    indices.as<int64_t>()[2] = 0;
    const std::vector<Buffer> inputs{random_bytes(desc.inputs[0], random), indices};
    const Buffer output(3 * 4 * 4);
    for (const IsaLevel level : levels()) {
      const Status status = launch_cut(*find_tactic(level, "gather_rows"), desc, inputs, output, 1);
      EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
      EXPECT_NE(status.message().find(std::to_string(bad)), std::string::npos) << status.message();
      EXPECT_NE(status.message().find("10 entries"), std::string::npos) << status.message();
    }
    const Status reference = launch_cut(*reference_of(Family::kGather), desc, inputs, output, 1);
    EXPECT_NE(reference.message().find(std::to_string(bad)), std::string::npos)
        << reference.message();
  }
}

// The table of a product with its transpose, read in the product's packing.
TEST(GatherPanel, ReadsRowsOfATransposedProductsMatrix) {
  for (const auto& [rows, width] :
       std::vector<std::pair<int64_t, int64_t>>{{1, 1}, {16, 5}, {33, 64}, {1000, 384}, {7, 0}}) {
    for (const DType index_dtype : {DType::kI32, DType::kI64}) {
      SCOPED_TRACE(shape_text({rows, width}));
      std::mt19937 random(3);
      Desc desc = gather_desc({rows, width}, {3, 7}, 0, DType::kF32, index_dtype);
      std::vector<Buffer> inputs{random_bytes(desc.inputs[0], random), index_buffer(desc, random)};
      const Buffer expected(3 * 7 * width * 4);
      ASSERT_TRUE(launch_cut(*reference_of(Family::kGather), desc, inputs, expected, 1));
      Tensor plain = *Tensor::allocate(DType::kF32, {rows, width});
      std::memcpy(plain.data(), inputs[0].data(), static_cast<size_t>(plain.bytes()));
      desc.inputs[0].constant = true;
      desc.inputs[0].packing = Packing::kGemmPanel;
      const Tensor packed = *pack_weight(desc, 0, Packing::kGemmPanel, plain);
      const Tensor back = *unpack_weight(desc, 0, Packing::kGemmPanel, packed);
      EXPECT_EQ(std::memcmp(back.data(), plain.data(), static_cast<size_t>(plain.bytes())), 0);
      // As the product packs it.
      Desc product{GemmParams{.transpose_b = true},
                   {operand({2, width}, DType::kF32), operand({rows, width}, DType::kF32)},
                   {operand({2, rows}, DType::kF32)}};
      product.inputs[1].constant = true;
      product.inputs[1].packing = Packing::kGemmPanel;
      EXPECT_EQ(packing_key(product, 1, Packing::kGemmPanel),
                packing_key(desc, 0, Packing::kGemmPanel));
      const Tensor other = *pack_weight(product, 1, Packing::kGemmPanel, plain);
      ASSERT_EQ(other.bytes(), packed.bytes());
      EXPECT_EQ(std::memcmp(other.data(), packed.data(), static_cast<size_t>(packed.bytes())), 0);
      inputs[0] = Buffer(packed.bytes());
      std::memcpy(inputs[0].data(), packed.data(), static_cast<size_t>(packed.bytes()));
      for (const IsaLevel level : levels()) {
        const Tactic& tactic = *find_tactic(level, "gather_panel");
        ASSERT_TRUE(tactic.supports(desc)) << tactic.supports(desc).message();
        for (const int parts : {1, 3}) {
          const Buffer found(expected.bytes(), 0xcc);
          ASSERT_TRUE(launch_cut(tactic, desc, inputs, found, parts));
          ASSERT_TRUE(found.intact());
          EXPECT_TRUE(same_bytes(found, expected));
        }
      }
    }
  }
}

}  // namespace
}  // namespace stoker::test

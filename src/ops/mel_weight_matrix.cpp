// The weights that turn a spectrum into bands on the mel scale: triangles with a peak of 1.
// SPDX-License-Identifier: Apache-2.0
#include "ops/support.h"

namespace stoker {

namespace {

constexpr const char* kName = "mel_weight_matrix";

Status infer(InferContext& c) {
  constexpr const char* kWhat[] = {"num_mel_bins", "dft_length", "sample_rate", "lower_edge_hertz",
                                   "upper_edge_hertz"};
  for (size_t i = 0; i < 5; ++i) {
    STOKER_TRY(check_input(c, kName, i, kWhat[i], i < 3 ? kIndices : kFloats));
    const auto given = c.elements(i);
    if (i < 2 && given && given->size() != 1)
      return invalid_model("{}: {} has {} elements, expected 1", kName, kWhat[i], given->size());
    if (i < 2 && given && (*given)[0].is_const() && (*given)[0].value() < 0)
      return invalid_model("{}: {} is {}, expected 0 or more", kName, kWhat[i],
                           (*given)[0].value());
  }
  const DType dtype = c.attributes.get_dtype("output_datatype", DType::kF32);
  if (!contains(kNumbers, dtype))
    return invalid_model("{}: output_datatype is {}, expected a number", kName, dtype_name(dtype));
  const auto bands = c.elements(0), length = c.elements(1);
  set_output(c, 0, dtype,
             {length ? Dim::floor_div((*length)[0], Dim(2)) + Dim(1) : c.fresh(),
              bands ? (*bands)[0] : c.fresh()});
  return Status::ok();
}

double to_mel(double hertz) { return 2595 * std::log10(1 + hertz / 700); }
double to_hertz(double mel) { return 700 * (std::pow(10, mel / 2595) - 1); }

// The spectrum bin of every corner of the triangles. The step divides by the number of corners, not
// of the gaps between them: so has the standard's own evaluation.
Result<std::vector<int64_t>> corners(const EvalContext& c, int64_t bands) {
  const double length = Reader(c.inputs[1]).number(0), rate = Reader(c.inputs[2]).number(0);
  const double low = to_mel(Reader(c.inputs[3]).number(0));
  const double step =
      (to_mel(Reader(c.inputs[4]).number(0)) - low) / static_cast<double>(bands + 2);
  std::vector<int64_t> bins;
  for (int64_t i = 0; i < bands + 2; ++i) {
    const double hertz = to_hertz(static_cast<double>(i) * step + low);
    const double bin = std::floor((length + 1) * hertz / rate);
    if (!(bin >= 0 && bin < 0x1p52)) {
      return invalid_argument("{}: corner {} lies at {} hertz, which is no bin at sample rate {}",
                              kName, i, hertz, rate);
    }
    bins.push_back(static_cast<int64_t>(bin));
  }
  return bins;
}

// Height of a triangle at a bin.
double weight(int64_t bin, int64_t left, int64_t center, int64_t right) {
  if (bin < left || bin > std::max(center, right - 1)) return 0;
  if (bin >= center && right > center)
    return static_cast<double>(right - bin) / static_cast<double>(right - center);
  if (center == left) return bin == center ? 1 : 0;
  return static_cast<double>(bin - left) / static_cast<double>(center - left);
}

Status evaluate(const EvalContext& c) {
  for (const TensorView& input : c.inputs) STOKER_TRY(check_count(input, 1, kName, "an input"));
  const TensorView& y = c.outputs[0];
  const int64_t bands = Reader(c.inputs[0]).integer(0), length = Reader(c.inputs[1]).integer(0);
  if (bands < 0 || length < 0 || y.shape != Shape{length / 2 + 1, bands}) {
    return invalid_argument("{}: {} bands of a transform of length {} do not fill {}", kName, bands,
                            length, shape_text(y.shape));
  }
  STOKER_ASSIGN(const std::vector<int64_t> bins, corners(c, bands));
  const Writer write(y);
  for_each_position(y.count(), c.wanted, [&](int64_t i) {
    const int64_t band = i % bands;
    write.number(i, weight(i / bands, bins[band], bins[band + 1], bins[band + 2]));
  });
  return Status::ok();
}

}  // namespace

extern const Op op_mel_weight_matrix;
const Op op_mel_weight_matrix = {
    .name = kName,
    .min_inputs = 5,
    .max_inputs = 5,
    .attributes = {{"output_datatype", AttributeKind::kDType}},
    .infer = infer,
    .evaluate = evaluate,
    .transcendental = true,
};

}  // namespace stoker

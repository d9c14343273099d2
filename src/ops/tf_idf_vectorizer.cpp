// Counts of the n-grams of a pool in every row, also with items skipped between theirs; weighted by
// `mode`. The i-th n-gram of the pool adds to the output column ngram_indexes[i].
// SPDX-License-Identifier: Apache-2.0
#include <unordered_map>

#include "ops/support.h"

namespace stoker {

namespace {

constexpr const char* kName = "tf_idf_vectorizer";
constexpr int64_t kMaxColumns = int64_t{1} << 31;

// The n-grams as a tree: an edge is an item, a node may end the n-gram `gram`.
struct Node {
  int64_t gram = -1;
  std::unordered_map<int64_t, size_t> next;  // by the item's number
};

struct Pool {
  std::vector<Node> nodes = std::vector<Node>(1);
  std::unordered_map<std::string, int64_t> numbers;  // of strings; integers stand for themselves
  std::vector<int64_t> columns;
  std::vector<double> weights;  // empty: all one
  int64_t width = 0, min_length = 0, max_length = 0, max_skip = 0;
};

Status read_sizes(const Attributes& a, Pool& pool) {
  pool.columns = a.get_ints("ngram_indexes");
  pool.weights = a.get_floats("weights");
  pool.min_length = a.get_int("min_gram_length");
  pool.max_length = a.get_int("max_gram_length");
  pool.max_skip = a.get_int("max_skip_count");
  for (const int64_t column : pool.columns) {
    if (column < 0 || column >= kMaxColumns)
      return invalid_model("{}: ngram_indexes holds {}", kName, column);
    pool.width = std::max(pool.width, column + 1);
  }
  if (pool.width == 0) return invalid_model("{}: ngram_indexes is empty", kName);
  if (!pool.weights.empty() && pool.weights.size() != pool.columns.size()) {
    return invalid_model("{}: {} weights for {} n-grams", kName, pool.weights.size(),
                         pool.columns.size());
  }
  if (pool.min_length < 1 || pool.max_length < pool.min_length || pool.max_skip < 0) {
    return invalid_model(
        "{}: n-grams of {} to {} items with up to {} skipped; expected 1 <= min_gram_length <= "
        "max_gram_length and max_skip_count >= 0",
        kName, pool.min_length, pool.max_length, pool.max_skip);
  }
  const std::string mode = a.get_string("mode");
  if (mode == "TF" || mode == "IDF" || mode == "TFIDF") return Status::ok();
  return invalid_model("{}: mode is \"{}\", expected TF, IDF or TFIDF", kName, mode);
}

// The pool's items as numbers.
Result<std::vector<int64_t>> read_items(const Attributes& a, Pool& pool) {
  const bool strings = a.has("pool_strings");
  if (strings == a.has("pool_int64s"))
    return invalid_model("{}: expected one of pool_strings and pool_int64s", kName);
  if (!strings) return a.get_ints("pool_int64s");
  std::vector<int64_t> items;
  for (const std::string& word :
       std::get<std::vector<std::string>>(a.all().find("pool_strings")->second)) {
    const int64_t number = static_cast<int64_t>(pool.numbers.size());
    items.push_back(pool.numbers.emplace(word, number).first->second);
  }
  return items;
}

void add_gram(Pool& pool, std::span<const int64_t> items, int64_t gram) {
  size_t node = 0;
  for (const int64_t item : items) {
    const auto [found, added] = pool.nodes[node].next.emplace(item, pool.nodes.size());
    node = found->second;
    if (added) pool.nodes.emplace_back();
  }
  pool.nodes[node].gram = gram;
}

Result<Pool> read_pool(const Attributes& a) {
  Pool pool;
  STOKER_TRY(read_sizes(a, pool));
  STOKER_ASSIGN(const std::vector<int64_t> items, read_items(a, pool));
  const std::vector<int64_t> starts = a.get_ints("ngram_counts");
  const int64_t total = static_cast<int64_t>(items.size());
  int64_t gram = 0;
  for (size_t k = 0; k < starts.size(); ++k) {
    const int64_t begin = starts[k], end = k + 1 < starts.size() ? starts[k + 1] : total;
    const int64_t length = static_cast<int64_t>(k) + 1;
    if (begin < 0 || begin > end || end > total || (end - begin) % length != 0) {
      return invalid_model("{}: the {}-grams cannot stand at [{}, {}) of a pool of {} items", kName,
                           length, begin, end, total);
    }
    for (int64_t at = begin; at < end; at += length, ++gram) {
      if (gram >= static_cast<int64_t>(pool.columns.size())) {
        return invalid_model("{}: {} ngram_indexes for more n-grams", kName, pool.columns.size());
      }
      if (length < pool.min_length || length > pool.max_length) continue;
      add_gram(pool, std::span(items).subspan(static_cast<size_t>(at), static_cast<size_t>(length)),
               gram);
    }
  }
  return pool;
}

Status infer(InferContext& c) {
  STOKER_TRY(check_input(c, kName, 0, "input", kIndices | kStrings));
  STOKER_ASSIGN(const Pool pool, read_pool(c.attributes));
  const ValueType& x = c.type(0);
  if (c.attributes.has("pool_strings") != (x.dtype == DType::kString)) {
    return invalid_model("{}: input is {}, expected the kind of the pool's items", kName,
                         type_text(x));
  }
  if (!x.ranked) return set_unranked(c, DType::kF32);
  if (x.rank() > 2)
    return invalid_model("{}: input is {}, expected [C] or [N,C]", kName, type_text(x));
  Dims dims = {Dim(pool.width)};
  if (x.rank() == 2) dims.insert(dims.begin(), x.dims[0]);
  set_output(c, 0, DType::kF32, std::move(dims));
  return Status::ok();
}

// The input's items as the pool numbers them; -1 where the pool does not hold a string.
std::vector<int64_t> numbered(const TensorView& x, const Pool& pool) {
  if (x.dtype != DType::kString) return to_ints(x);
  std::vector<int64_t> items;
  for_each_wanted(broadcast_walk(x.shape, {&x}), {}, [&](const int64_t* o) {
    const auto found = pool.numbers.find((*x.strings)[static_cast<size_t>(o[0])]);
    items.push_back(found == pool.numbers.end() ? -1 : found->second);
  });
  return items;
}

// Calls found(gram) for each n-gram that starts at `start`, of at least `shortest` items, `step`
// apart.
template <class Found>
void grams_at(const Pool& pool, std::span<const int64_t> row, size_t start, size_t step,
              int64_t shortest, Found&& found) {
  size_t node = 0;
  int64_t length = 1;
  for (size_t at = start; at < row.size() && length <= pool.max_length; at += step, ++length) {
    const auto next = pool.nodes[node].next.find(row[at]);
    if (next == pool.nodes[node].next.end()) return;
    node = next->second;
    if (length >= shortest && pool.nodes[node].gram >= 0) found(pool.nodes[node].gram);
  }
}

// How often each n-gram occurs. Single items are counted once, not again for every skip.
std::vector<int64_t> count_grams(const Pool& pool, std::span<const int64_t> row) {
  std::vector<int64_t> counts(pool.columns.size(), 0);
  const size_t size = row.size();
  for (int64_t skip = 0; skip <= pool.max_skip; ++skip) {
    const int64_t shortest = skip == 0 ? pool.min_length : std::max<int64_t>(pool.min_length, 2);
    // A step beyond the row leaves single items only.
    if (skip > 0 && (shortest > pool.max_length || static_cast<size_t>(skip) >= size)) break;
    for (size_t start = 0; start < size; ++start) {
      grams_at(pool, row, start, static_cast<size_t>(skip) + 1, shortest,
               [&](int64_t gram) { ++counts[static_cast<size_t>(gram)]; });
    }
  }
  return counts;
}

Status evaluate(const EvalContext& c) {
  const TensorView &x = c.inputs[0], &y = c.outputs[0];
  STOKER_ASSIGN(const Pool pool, read_pool(c.attributes));
  const std::vector<int64_t> items = numbered(x, pool);
  const int64_t rows = x.rank() == 2 ? x.shape[0] : 1;
  if (y.count() != rows * pool.width) {
    return invalid_argument("{}: output has shape {}, expected {} elements", kName,
                            shape_text(y.shape), rows * pool.width);
  }
  const std::string mode = c.attributes.get_string("mode");
  std::vector<double> sums(static_cast<size_t>(y.count()), 0);
  const size_t length = rows == 0 ? 0 : items.size() / static_cast<size_t>(rows);
  for (size_t row = 0; row < static_cast<size_t>(rows); ++row) {
    const auto counts = count_grams(pool, std::span(items).subspan(row * length, length));
    for (size_t gram = 0; gram < counts.size(); ++gram) {
      if (counts[gram] == 0) continue;
      const double weight = mode == "TF" || pool.weights.empty() ? 1 : pool.weights[gram];
      const double count = mode == "IDF" ? 1 : static_cast<double>(counts[gram]);
      const size_t column = static_cast<size_t>(pool.columns[gram]);
      sums[row * static_cast<size_t>(pool.width) + column] += weight * count;
    }
  }
  from_doubles(sums, y);
  return Status::ok();
}

}  // namespace

extern const Op op_tf_idf_vectorizer;
const Op op_tf_idf_vectorizer = {
    .name = "tf_idf_vectorizer",
    .attributes = {{"max_gram_length", AttributeKind::kInt, true},
                   {"max_skip_count", AttributeKind::kInt, true},
                   {"min_gram_length", AttributeKind::kInt, true},
                   {"mode", AttributeKind::kString, true},
                   {"ngram_counts", AttributeKind::kInts, true},
                   {"ngram_indexes", AttributeKind::kInts, true},
                   {"pool_int64s", AttributeKind::kInts},
                   {"pool_strings", AttributeKind::kStrings},
                   {"weights", AttributeKind::kFloats}},
    .infer = infer,
    .evaluate = evaluate,
};

}  // namespace stoker

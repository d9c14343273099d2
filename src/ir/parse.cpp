// The parser of the text form: graphs, symbols, statements. The text may come from anywhere:
// everything is checked, nesting and sizes are bounded, errors name the line.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "ir/literal_parser.h"
#include "ir/text.h"

namespace stoker {
namespace {

constexpr int kMaxDepth = 32;
constexpr size_t kMaxTextBytes = size_t{1} << 30;

struct PendingOutput {
  std::string name;
  bool is_constant = false;
  ValueType type;
  int line = 0;
};

// What stands behind ':' for one output of a node.
struct OutputNote {
  ValueType type;
  std::optional<Tensor> constant;
  std::optional<Dims> elements;
  std::string origin;
};

class Parser : private LiteralParser {
 public:
  using LiteralParser::LiteralParser;

  Result<std::unique_ptr<Graph>> run() {
    lexer_.skip_comments();
    STOKER_ASSIGN(auto graph, graph_block(nullptr, 0));
    lexer_.skip_comments();
    if (!lexer_.at_end()) return lexer_.bad("the end of the text");
    return graph;
  }

 private:
  Result<std::unique_ptr<Graph>> graph_block(Graph* parent, int depth);
  Result<std::vector<PendingOutput>> header(Graph& graph);
  Status input(Graph& graph);
  Status symbol_table(Graph& graph);
  Status constant_line(Graph& graph, const std::string& name);
  Status node_line(Graph& graph, const std::vector<std::string>& names, int depth);
  Status statement(Graph& graph, int depth);
  Status bind_outputs(Graph& graph, const std::vector<PendingOutput>& pending);
  Result<std::vector<Value*>> arguments(Graph& graph);
  Result<OutputNote> output_note();
  Status finish_node(Graph& graph, Node* node, std::vector<OutputNote>& notes);
  Status node_tail(Graph& graph, Node* node);
};

Status Parser::input(Graph& graph) {
  STOKER_TRY(lexer_.expect('%'));
  STOKER_ASSIGN(const std::string name, lexer_.name());
  STOKER_TRY(lexer_.expect(':'));
  STOKER_ASSIGN(ValueType input_type, type());
  if (graph.find_value(name))
    return invalid_argument("line {}: '{}' is defined twice", lexer_.line(), name);
  Value* value = graph.add_input(name, std::move(input_type));
  if (lexer_.take_word("elements")) {
    STOKER_TRY(lexer_.expect('['));
    STOKER_ASSIGN(value->elements, dims_in_brackets());
  }
  return Status::ok();
}

Result<std::vector<PendingOutput>> Parser::header(Graph& graph) {
  STOKER_TRY(lexer_.expect('('));
  if (!lexer_.take(')')) {
    do STOKER_TRY(input(graph));
    while (lexer_.take(','));
    STOKER_TRY(lexer_.expect(')'));
  }
  STOKER_TRY(lexer_.expect('-'));
  STOKER_TRY(lexer_.expect('>'));
  STOKER_TRY(lexer_.expect('('));
  std::vector<PendingOutput> outputs;
  if (!lexer_.take(')')) {
    do {
      PendingOutput output;
      output.is_constant = lexer_.take('@');
      if (!output.is_constant) STOKER_TRY(lexer_.expect('%'));
      STOKER_ASSIGN(output.name, lexer_.name());
      STOKER_TRY(lexer_.expect(':'));
      STOKER_ASSIGN(output.type, type());
      if (lexer_.take_word("elements")) {
        STOKER_TRY(lexer_.expect('['));
        STOKER_TRY(dims_in_brackets().status());
      }
      output.line = lexer_.line();
      outputs.push_back(std::move(output));
    } while (lexer_.take(','));
    STOKER_TRY(lexer_.expect(')'));
  }
  return outputs;
}

Status Parser::symbol_table(Graph& graph) {
  STOKER_TRY(lexer_.expect('{'));
  do {
    Symbol symbol;
    symbol.name = std::string(lexer_.word());
    if (symbol.name.empty() || symbol.name.find('/') != std::string::npos)
      return lexer_.bad("a symbol");
    STOKER_TRY(lexer_.expect(':'));
    if (lexer_.take_word("step")) {
      symbol.kind = Symbol::Kind::kStep;
    } else if (!lexer_.take_word("bind")) {
      return lexer_.bad("'bind' or 'step'");
    }
    const std::string range(lexer_.number());  // "1..64" is one word; "1..*" ends before the star
    const size_t dots = range.find("..");
    if (dots == std::string::npos) return lexer_.bad("a range such as 1..64");
    STOKER_ASSIGN(symbol.min, integer_of<int64_t>(std::string_view(range).substr(0, dots)));
    if (dots + 2 == range.size()) {
      STOKER_TRY(lexer_.expect('*'));
    } else {
      STOKER_ASSIGN(symbol.max, integer_of<int64_t>(std::string_view(range).substr(dots + 2)));
    }
    if (symbol.min > symbol.max) return lexer_.bad("a range whose end is not below its start");
    if (const Symbol* known = graph.find_symbol(symbol.name)) {
      *const_cast<Symbol*>(known) = symbol;
    } else {
      graph.symbols.push_back(symbol);
    }
  } while (lexer_.take(','));
  return lexer_.expect('}');
}

Status Parser::constant_line(Graph& graph, const std::string& name) {
  STOKER_ASSIGN(const ValueType constant_type, type());
  STOKER_ASSIGN(Tensor tensor, tensor_of(constant_type));
  std::string origin;
  if (lexer_.take('#') && lexer_.take_word("origin")) {
    STOKER_ASSIGN(origin, lexer_.string());
  }
  graph.add_constant(name, std::move(tensor), std::move(origin));
  return Status::ok();
}

Result<std::vector<Value*>> Parser::arguments(Graph& graph) {
  std::vector<Value*> values;
  STOKER_TRY(lexer_.expect('('));
  if (lexer_.take(')')) return values;
  do {
    if (lexer_.take_word("_")) {
      values.push_back(nullptr);
      continue;
    }
    const bool is_constant = lexer_.take('@');
    if (!is_constant) STOKER_TRY(lexer_.expect('%'));
    STOKER_ASSIGN(const std::string name, lexer_.name());
    Value* value = graph.find_value(name);
    if (!value) return invalid_argument("line {}: '{}' is not defined above", lexer_.line(), name);
    if (value->is_constant() != is_constant) {
      return invalid_argument("line {}: '{}' is {}", lexer_.line(), name,
                              is_constant ? "not a constant: write %" : "a constant: write @");
    }
    values.push_back(value);
  } while (lexer_.take(','));
  STOKER_TRY(lexer_.expect(')'));
  return values;
}

Result<OutputNote> Parser::output_note() {
  OutputNote note;
  const bool is_constant = lexer_.take_word("const");
  STOKER_ASSIGN(note.type, type());
  if (is_constant) {
    STOKER_ASSIGN(note.constant, tensor_of(note.type));
  }
  if (lexer_.take_word("elements")) {
    STOKER_TRY(lexer_.expect('['));
    STOKER_ASSIGN(note.elements, dims_in_brackets());
  }
  if (lexer_.take_word("origin")) {
    STOKER_ASSIGN(note.origin, lexer_.string());
  }
  return note;
}

Status Parser::node_tail(Graph& graph, Node* node) {
  if (lexer_.take_word("name")) {
    STOKER_ASSIGN(const std::string name, lexer_.string());
    if (name.empty()) return lexer_.bad("a name that is not empty");
    graph.rename_node(node, name);
  }
  if (lexer_.take('#') && lexer_.take_word("onnx")) {
    do {
      STOKER_ASSIGN(node->origins.emplace_back(), lexer_.string());
    } while (lexer_.take(','));
  }
  return Status::ok();
}

// Types as the text says, or inferred where it says none.
Status Parser::finish_node(Graph& graph, Node* node, std::vector<OutputNote>& notes) {
  if (notes.empty()) {
    const Status status = graph.infer(node);
    return status.is_ok() ? status : at_line(status);
  }
  for (size_t i = 0; i < notes.size(); ++i) {
    Value* value = node->outputs[i];
    graph.register_symbols(notes[i].type);
    value->type = std::move(notes[i].type);
    value->constant = std::move(notes[i].constant);
    value->elements = std::move(notes[i].elements);
    value->origin = std::move(notes[i].origin);
  }
  return Status::ok();
}

Status Parser::node_line(Graph& graph, const std::vector<std::string>& names, int depth) {
  const std::string op_name(lexer_.word());
  const Op* op = find_op(op_name);
  if (!op) return invalid_argument("line {}: there is no op '{}'", lexer_.line(), op_name);
  STOKER_ASSIGN(std::vector<Value*> inputs, arguments(graph));
  STOKER_ASSIGN(Attributes attributes, attribute_block());
  std::vector<OutputNote> notes;
  if (lexer_.take(':')) {
    do {
      STOKER_ASSIGN(notes.emplace_back(), output_note());
    } while (lexer_.take(','));
    if (notes.size() != names.size()) {
      return invalid_argument("line {}: {} outputs and {} types", lexer_.line(), names.size(),
                              notes.size());
    }
  }
  Node* node = graph.add_node(*op, std::move(inputs), std::move(attributes),
                              static_cast<int>(names.size()), nullptr, names[0]);
  for (size_t i = 0; i < names.size(); ++i) graph.rename(node->outputs[i], names[i]);
  STOKER_TRY(node_tail(graph, node));
  while (true) {
    lexer_.skip_comments();
    if (!lexer_.sees_word("graph")) break;
    if (depth + 1 >= kMaxDepth) return lexer_.bad("at most 32 nested graphs");
    STOKER_ASSIGN(auto sub, graph_block(&graph, depth + 1));
    node->subgraphs.push_back(std::move(sub));
  }
  return finish_node(graph, node, notes);
}

Status Parser::statement(Graph& graph, int depth) {
  if (lexer_.take_word("symbols")) return symbol_table(graph);
  std::vector<std::string> names;
  bool first_constant = false;
  do {
    const bool is_constant = lexer_.take('@');
    if (!is_constant) STOKER_TRY(lexer_.expect('%'));
    if (names.empty()) first_constant = is_constant;
    STOKER_ASSIGN(std::string name, lexer_.name());
    const bool twice =
        graph.find_value(name) || std::find(names.begin(), names.end(), name) != names.end();
    if (twice) return invalid_argument("line {}: '{}' is defined twice", lexer_.line(), name);
    if (name.empty()) return lexer_.bad("a name that is not empty");
    names.push_back(std::move(name));
  } while (lexer_.take(','));
  STOKER_TRY(lexer_.expect('='));
  if (names.size() == 1 && first_constant && lexer_.take_word("const")) {
    return constant_line(graph, names[0]);
  }
  return node_line(graph, names, depth);
}

Status Parser::bind_outputs(Graph& graph, const std::vector<PendingOutput>& pending) {
  for (const PendingOutput& output : pending) {
    Value* value = graph.find_value(output.name);
    if (!value)
      return invalid_argument("line {}: output '{}' is not defined", output.line, output.name);
    if (!(value->type == output.type)) {
      return invalid_argument("line {}: output '{}' is declared {}, its definition gives {}",
                              output.line, output.name, type_text(output.type),
                              type_text(value->type));
    }
    graph.outputs.push_back(value);
  }
  return Status::ok();
}

Result<std::unique_ptr<Graph>> Parser::graph_block(Graph* parent, int depth) {
  if (!lexer_.take_word("graph")) return lexer_.bad("'graph'");
  STOKER_TRY(lexer_.expect('@'));
  STOKER_ASSIGN(const std::string name, lexer_.name());
  auto graph = std::make_unique<Graph>(name);
  graph->set_parent(parent);
  STOKER_ASSIGN(const auto pending, header(*graph));
  STOKER_TRY(lexer_.expect('{'));
  while (true) {
    lexer_.skip_comments();
    if (lexer_.take('}')) break;
    if (lexer_.at_end()) return lexer_.bad("'}'");
    const int line = lexer_.line();
    STOKER_TRY(statement(*graph, depth));
    if (lexer_.line() == line && !lexer_.at_line_end()) {
      lexer_.skip_blanks();
      if (!lexer_.at_line_end() && lexer_.peek() != '#') return lexer_.bad("the end of the line");
    }
  }
  STOKER_TRY(bind_outputs(*graph, pending));
  return graph;
}

}  // namespace

Result<std::unique_ptr<Graph>> parse_graph(const std::string& text, ConstantLookup lookup) {
  if (text.size() > kMaxTextBytes) {
    return error(StatusCode::kResourceExhausted, "the graph text has {} bytes, at most {} are read",
                 text.size(), kMaxTextBytes);
  }
  return Parser(text, std::move(lookup)).run();
}

}  // namespace stoker

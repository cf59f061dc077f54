#include "nn/formats/onnx_pattern.h"

#include <cmath>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace cairn::nn {
namespace {

// A term of a pattern: an operator with its inputs, a number, or a letter.
struct Term {
  std::string text;
  std::vector<Term> inputs;
};

// Reads a term at `*at` and moves it behind.
Term Parse(std::string_view pattern, size_t* at) {
  const auto skip = [&] {
    while (*at < pattern.size() && (pattern[*at] == ' ' || pattern[*at] == ',')) ++*at;
  };
  Term term;
  skip();
  while (*at < pattern.size() &&
         std::string_view("(), ").find(pattern[*at]) == std::string_view::npos) {
    term.text += pattern[(*at)++];
  }
  if (*at == pattern.size() || pattern[*at] != '(') return term;
  for (++*at; *at < pattern.size() && pattern[*at] != ')'; skip()) {
    term.inputs.push_back(Parse(pattern, at));
  }
  ++*at;
  return term;
}

bool IsNear(double a, double b) { return std::abs(a - b) <= 1e-5 * std::abs(b); }

// Operators with a certain attribute, which patterns call by a name of their own.
bool IsNamed(const std::string& name, const onnx::NodeProto& node) {
  static constexpr std::pair<const char*, const char*> kEquations[] = {
      {"Project", "bsw,whk->bshk"},
      {"Scores", "bhsk,bhtk->bhst"},
      {"Blend", "bhst,bhtv->bhsv"},
      {"Combine", "bhsv,hvo->bso"}};
  const auto attribute = [&node](const char* wanted) -> const onnx::AttributeProto* {
    const bool is_only = node.attribute_size() == 1 && node.attribute(0).name() == wanted;
    return is_only ? &node.attribute(0) : nullptr;
  };
  if (name == "Heads") {
    const onnx::AttributeProto* const order = attribute("perm");
    return node.op_type() == "Transpose" && order != nullptr &&
           std::vector<int64_t>(order->ints().begin(), order->ints().end()) ==
               std::vector<int64_t>{0, 2, 1, 3};
  }
  for (const auto& [known, equation] : kEquations) {
    if (name != known) continue;
    const onnx::AttributeProto* const given = attribute("equation");
    return node.op_type() == "Einsum" && given != nullptr && given->s() == equation;
  }
  return node.op_type() == name;
}

class Matcher {
 public:
  explicit Matcher(const OnnxNames& names) : names_(names) {}

  bool MatchNode(const Term& term, const onnx::NodeProto& node, OnnxMatch* match) const {
    const bool is_operator = IsNamed(term.text, node) && node.domain().empty() &&
                             node.input_size() == static_cast<int>(term.inputs.size());
    if (!is_operator) return false;
    if (MatchInputs(term, node, /*swapped=*/false, match)) return true;
    const bool commutes = term.text == "Add" || term.text == "Mul";
    return commutes && MatchInputs(term, node, /*swapped=*/true, match);
  }

 private:
  bool MatchInputs(const Term& term, const onnx::NodeProto& node, bool swapped,
                   OnnxMatch* match) const {
    OnnxMatch found = *match;
    for (size_t i = 0; i < term.inputs.size(); ++i) {
      const size_t input = swapped ? 1 - i : i;
      if (!MatchValue(term.inputs[i], node.input(static_cast<int>(input)), &found)) return false;
    }
    *match = std::move(found);
    return true;
  }

  bool MatchValue(const Term& term, const std::string& value, OnnxMatch* match) const {
    if (!term.inputs.empty()) {
      const onnx::NodeProto* const node = names_.producer(value);
      return node != nullptr && MatchNode(term, *node, match);
    }
    const std::optional<double> number = names_.scalar(value);
    double expected = 0;
    if (absl::SimpleAtod(term.text, &expected)) return number && IsNear(*number, expected);
    const char letter = term.text[0];
    if (absl::ascii_isupper(letter)) {
      if (!number.has_value()) return false;
      const auto [found, is_new] = match->numbers.emplace(letter, *number);
      return is_new || found->second == *number;
    }
    if (number.has_value()) return false;
    const auto [found, is_new] = match->values.emplace(letter, value);
    return is_new || found->second == value;
  }

  const OnnxNames& names_;
};

struct Known {
  Term term;
  const char* activation;
};

const std::vector<Known>& KnownActivations() {
  static const auto* const known = [] {
    const std::pair<const char*, const char*> patterns[] = {
        {"Mul(x, Sigmoid(x))", "swish"},
        {"Mul(x, Tanh(Softplus(x)))", "mish"},
        {"Sub(x, Tanh(x))", "tanh_shrink"},
        {"Neg(Softplus(Neg(x)))", "log_sigmoid"},
        {"Mul(0.5, Add(x, Sqrt(Add(Mul(x, x), 4))))", "squareplus"},
        {"Min(Max(x, -1), 1)", "hard_tanh"},
        {"Min(Relu(x), 6)", "relu6"},
        // The three factors of x (1 + erf(x / sqrt 2)) / 2, in each order.
        {"Mul(x, Mul(0.5, Add(1, Erf(Mul(x, 0.70710678)))))", "gelu"},
        {"Mul(x, Mul(0.5, Add(1, Erf(Div(x, 1.41421356)))))", "gelu"},
        {"Mul(0.5, Mul(x, Add(1, Erf(Mul(x, 0.70710678)))))", "gelu"},
        {"Mul(0.5, Mul(x, Add(1, Erf(Div(x, 1.41421356)))))", "gelu"},
        {"Mul(Mul(0.5, x), Add(1, Erf(Mul(x, 0.70710678))))", "gelu"},
        {"Mul(Mul(0.5, x), Add(1, Erf(Div(x, 1.41421356))))", "gelu"},
        {"Where(Less(x, T), Mul(Sub(x, T), S), x)", ""},
    };
    auto* const list = new std::vector<Known>;
    for (const auto& [pattern, activation] : patterns) {
      size_t at = 0;
      list->push_back({Parse(pattern, &at), activation});
    }
    return list;
  }();
  return *known;
}

}  // namespace

bool MatchesOnnx(std::string_view pattern, const onnx::NodeProto& node, const OnnxNames& names,
                 OnnxMatch* match) {
  size_t at = 0;
  return Matcher(names).MatchNode(Parse(pattern, &at), node, match);
}

std::optional<OnnxActivation> FindOnnxActivation(const onnx::NodeProto& node,
                                                 const OnnxNames& names) {
  for (const Known& known : KnownActivations()) {
    OnnxMatch match;
    if (!Matcher(names).MatchNode(known.term, node, &match)) continue;
    OnnxActivation found{.x = match.values['x'], .class_name = "Activation"};
    found.activation = known.activation;
    if (found.activation.empty()) {
      found.class_name = "ReLU";
      found.threshold = match.numbers['T'];
      found.slope = match.numbers['S'];
      if (found.threshold < 0 || found.slope < 0) continue;
    }
    return found;
  }
  return std::nullopt;
}

std::optional<OnnxAttention> FindOnnxAttention(const onnx::NodeProto& node,
                                               const OnnxNames& names) {
  if (node.op_type() != "Add" && node.op_type() != "Einsum") return std::nullopt;
  for (const bool use_bias : {true, false}) {
    for (const bool has_mask : {true, false}) {
      const auto project = [&](const char* input, const char* kernel, const char* bias) {
        const std::string product = absl::StrCat("Project(", input, ", ", kernel, ")");
        return use_bias ? absl::StrCat("Heads(Add(", product, ", ", bias, "))")
                        : absl::StrCat("Heads(", product, ")");
      };
      std::string scores = absl::StrCat("Scores(Mul(", project("x", "q", "r"), ", C), ",
                                        project("z", "k", "l"), ")");
      if (has_mask) scores = absl::StrCat("Add(", scores, ", m)");
      std::string pattern =
          absl::StrCat("Combine(Blend(Softmax(", scores, "), ", project("y", "v", "w"), "), o)");
      if (use_bias) pattern = absl::StrCat("Add(", pattern, ", p)");
      OnnxMatch match;
      if (!MatchesOnnx(pattern, node, names, &match)) continue;
      OnnxAttention found{.use_bias = use_bias, .has_mask = has_mask};
      found.scale = match.numbers['C'];
      for (const char letter : std::string("xyzqrklvwopm")) {
        const auto value = match.values.find(letter);
        if (value != match.values.end()) found.inputs.push_back(value->second);
      }
      return found;
    }
  }
  return std::nullopt;
}

}  // namespace cairn::nn

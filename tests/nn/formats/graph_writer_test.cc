// The operators that GraphWriter writes are computed at once, and give the outputs of the reference
// implementation.

#include "nn/formats/graph_writer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "common/random.h"
#include "tests/nn/layers/conformance_cases.h"
#include "tests/nn/reference_model.h"

namespace cairn::nn::testing {
namespace {

constexpr int64_t kBatch = 3;

struct Value {
  Shape shape;  // With the batch, or 1 in its place.
  Doubles numbers;
};

// Calls visit(index) for each element of a shape, in row-major order.
void ForEachIndex(const Shape& shape, const std::function<void(const Shape&)>& visit) {
  Shape index(shape.size(), 0);
  for (int64_t left = ElementCount(shape); left > 0; --left) {
    visit(index);
    for (size_t axis = shape.size(); axis-- > 0;) {
      if (++index[axis] < shape[axis]) break;
      index[axis] = 0;
    }
  }
}

// The element that broadcasting takes for `index`, of a shape with as many axes or more.
double At(const Value& value, const Shape& index) {
  int64_t place = 0;
  const size_t missing = index.size() - value.shape.size();
  for (size_t axis = 0; axis < value.shape.size(); ++axis) {
    place = place * value.shape[axis] + (value.shape[axis] == 1 ? 0 : index[missing + axis]);
  }
  return value.numbers[place];
}

Shape BroadcastShape(const Shape& a, const Shape& b) {
  Shape shape = a.size() < b.size() ? b : a;
  for (const Shape* each : {&a, &b}) {
    const size_t missing = shape.size() - each->size();
    for (size_t axis = 0; axis < each->size(); ++axis) {
      shape[missing + axis] = std::max(shape[missing + axis], (*each)[axis]);
    }
  }
  return shape;
}

// Computes each operator when it is written. Names of values are numbers.
class Calculator final : public GraphWriter {
 public:
  Calculator(const proto::ModelSpec& spec, const Model& model,
             absl::Span<const NamedTensor> weights, std::vector<Value> inputs)
      : GraphWriter("a test", spec, model, weights), inputs_(std::move(inputs)) {}

  static bool Has(const std::string& class_name) { return Writers().contains(class_name); }

  // The numbers of the last node.
  Doubles Calculate() {
    for (size_t i = 0; i < model_.nodes().size(); ++i) {
      node_ = static_cast<int>(i);
      const Written written = (this->*Writers().at(std::string(layer().class_name())))();
      EXPECT_TRUE(written.ok()) << written.status();
      values_.push_back(written.ok() ? *written : Scalar(0));
    }
    return Of(values_.back()).numbers;
  }

 private:
  using Writer = Written (Calculator::*)();
  static const std::map<std::string, Writer>& Writers() {
    static const auto* const writers =
        new std::map<std::string, Writer>{{"Add", &Calculator::Added},
                                          {"BatchNormalization", &Calculator::BatchNormalization},
                                          {"Bidirectional", &Calculator::Recurrent},
                                          {"Concatenate", &Calculator::Concatenated},
                                          {"Dense", &Calculator::Dense},
                                          {"Embedding", &Calculator::Rows},
                                          {"Flatten", &Calculator::Reshaped},
                                          {"GRU", &Calculator::Recurrent},
                                          {"GlobalAveragePooling1D", &Calculator::Mean},
                                          {"InputLayer", &Calculator::Given},
                                          {"LSTM", &Calculator::Recurrent},
                                          {"LayerOutput", &Calculator::LayerOutput},
                                          {"Masking", &Calculator::Masking},
                                          {"MultiHeadAttention", &Calculator::Attention},
                                          {"RNN", &Calculator::Recurrent},
                                          {"Rescaling", &Calculator::Affine},
                                          {"Reshape", &Calculator::Reshaped},
                                          {"SimpleRNN", &Calculator::Recurrent}};
    return *writers;
  }

  const Value& Of(const std::string& name) const { return calculated_[std::stoul(name)]; }
  std::string New(Value value) {
    calculated_.push_back(std::move(value));
    return absl::StrCat(calculated_.size() - 1);
  }
  std::string Elements(const std::string& x, const std::string& y,
                       const std::function<double(double, double)>& function) {
    const Value a = Of(x), b = Of(y);
    Value result = {BroadcastShape(a.shape, b.shape), {}};
    ForEachIndex(result.shape, [&](const Shape& index) {
      result.numbers.push_back(function(At(a, index), At(b, index)));
    });
    return New(std::move(result));
  }
  // The part of an axis that begins at `begin`.
  std::string Part(const std::string& x, size_t axis, int64_t begin, int64_t length) {
    const Value from = Of(x);
    Value result = {from.shape, {}};
    result.shape[axis] = length;
    ForEachIndex(result.shape, [&](Shape index) {
      index[axis] += begin;
      result.numbers.push_back(At(from, index));
    });
    return New(std::move(result));
  }

  std::string Constant(const Shape& shape, const std::vector<float>& values,
                       const std::string& /*weight*/) override {
    return New({shape, {values.begin(), values.end()}});
  }
  std::string Add(const std::string& x, const std::string& y) override {
    return Elements(x, y, std::plus<>());
  }
  std::string Subtract(const std::string& x, const std::string& y) override {
    return Elements(x, y, std::minus<>());
  }
  std::string Multiply(const std::string& x, const std::string& y) override {
    return Elements(x, y, std::multiplies<>());
  }
  std::string Divide(const std::string& x, const std::string& y) override {
    return Elements(x, y, std::divides<>());
  }
  std::string Larger(const std::string& x, const std::string& y) override {
    return Elements(x, y, [](double a, double b) { return std::max(a, b); });
  }
  std::string Product(const std::string& x, const std::string& y) override {
    const std::string rows = std::string("defg").substr(0, Of(x).shape.size() - 1);
    return Einsum(absl::StrCat(rows, "b,bc->", rows, "c").c_str(), x, y);
  }
  std::string Einsum(const char* equation, const std::string& x, const std::string& y) override {
    const std::string text = equation;
    const size_t comma = text.find(','), arrow = text.find("->");
    const std::string axes[] = {text.substr(0, comma), text.substr(comma + 1, arrow - comma - 1),
                                text.substr(arrow + 2)};
    const Value factors[] = {Of(x), Of(y)};
    std::string all = axes[2];
    std::map<char, int64_t> sizes;
    for (int i = 0; i < 2; ++i) {
      for (size_t axis = 0; axis < axes[i].size(); ++axis) {
        sizes[axes[i][axis]] = std::max(sizes[axes[i][axis]], factors[i].shape[axis]);
        if (all.find(axes[i][axis]) == std::string::npos) all += axes[i][axis];
      }
    }
    Shape whole, shape;
    for (const char axis : all) whole.push_back(sizes[axis]);
    for (const char axis : axes[2]) shape.push_back(sizes[axis]);
    Value result = {shape, Doubles(ElementCount(shape), 0.0)};
    const int64_t summed = ElementCount(whole) / ElementCount(shape);
    int64_t count = 0;
    ForEachIndex(whole, [&](const Shape& index) {
      double product = 1;
      for (int i = 0; i < 2; ++i) {
        Shape own;
        for (const char axis : axes[i]) own.push_back(index[all.find(axis)]);
        product *= At(factors[i], own);
      }
      result.numbers[count++ / summed] += product;
    });
    return New(std::move(result));
  }
  std::string Activate(const Activation& activation, const std::string& x) override {
    Value from = Of(x);
    const int64_t width = from.shape.back();
    if (activation.kind == Activation::Kind::kSoftmax) {  // As those that compute the operator do.
      for (auto row = from.numbers.begin(); row != from.numbers.end(); row += width) {
        const double largest = *std::max_element(row, row + width);
        for (auto number = row; number != row + width; ++number) *number -= largest;
      }
    }
    return New({from.shape, ReferenceActivation(activation, width, from.numbers)});
  }
  std::string IsNot(const std::string& x, float value) override {
    return Elements(x, Scalar(value), [](double a, double b) { return a != b ? 1.0 : 0.0; });
  }
  std::string Select(const std::string& mask, const std::string& x, const std::string& y) override {
    const std::string kept = Elements(mask, x, [](double m, double a) { return m != 0 ? a : 0; });
    const std::string other = Elements(mask, y, [](double m, double a) { return m != 0 ? 0 : a; });
    return Add(kept, other);
  }
  std::string Sum(const std::string& x, int axis) override {
    const Value from = Of(x);
    Value result = {from.shape, {}};
    result.shape.erase(result.shape.begin() + axis);
    ForEachIndex(result.shape, [&](Shape index) {
      double sum = 0;
      index.insert(index.begin() + axis, 0);
      for (; index[axis] < from.shape[axis]; ++index[axis]) sum += At(from, index);
      result.numbers.push_back(sum);
    });
    return New(std::move(result));
  }
  std::string WithShape(const std::string& x, const Shape& shape) override {
    Value result = Of(x);
    result.shape = shape;
    result.shape.insert(result.shape.begin(), kBatch);
    EXPECT_EQ(ElementCount(result.shape), static_cast<int64_t>(result.numbers.size()));
    return New(std::move(result));
  }
  std::string Transpose(const std::string& x, const std::vector<int>& order) override {
    const Value from = Of(x);
    Value result;
    for (const int axis : order) result.shape.push_back(from.shape[axis]);
    ForEachIndex(result.shape, [&](const Shape& index) {
      Shape own(index.size());
      for (size_t axis = 0; axis < index.size(); ++axis) own[order[axis]] = index[axis];
      result.numbers.push_back(At(from, own));
    });
    return New(std::move(result));
  }
  std::string Join(const std::vector<std::string>& values, int axis) override {
    const size_t at = axis < 0 ? Of(values[0]).shape.size() + axis : axis;
    Value result = {Of(values[0]).shape, {}};
    result.shape[at] = 0;
    for (const std::string& value : values) result.shape[at] += Of(value).shape[at];
    ForEachIndex(result.shape, [&](Shape index) {
      size_t part = 0;
      for (; index[at] >= Of(values[part]).shape[at]; ++part) {
        index[at] -= Of(values[part]).shape[at];
      }
      result.numbers.push_back(At(Of(values[part]), index));
    });
    return New(std::move(result));
  }
  std::vector<std::string> Split(const std::string& x, int64_t parts) override {
    const int64_t length = Of(x).shape[1] / parts;
    std::vector<std::string> result;
    for (int64_t i = 0; i < parts; ++i) result.push_back(Part(x, 1, i * length, length));
    return result;
  }
  std::vector<std::string> Steps(const std::string& sequence, int64_t count) override {
    std::vector<std::string> steps = Split(sequence, count);
    for (std::string& step : steps) step = Sum(step, 1);
    return steps;
  }
  std::string Sequence(const std::vector<std::string>& steps) override {
    std::vector<std::string> sequences;
    for (const std::string& step : steps) {
      Value sequence = Of(step);
      sequence.shape.insert(sequence.shape.begin() + 1, 1);
      sequences.push_back(New(std::move(sequence)));
    }
    return Join(sequences, 1);
  }
  std::string Reversed(const std::string& sequence) override {
    std::vector<std::string> steps = Split(sequence, Of(sequence).shape[1]);
    std::reverse(steps.begin(), steps.end());
    return Join(steps, 1);
  }
  std::string FloatOf(int node) override { return values_[node]; }
  std::string ToImage(const std::string& x, const Shape& /*image*/) override { return x; }
  std::string FromImage(const std::string& image) override { return image; }
  std::string Convolve(const std::string& image, const Window& /*window*/, int /*variable*/,
                       int64_t /*filters*/, int64_t /*groups*/) override {
    ADD_FAILURE() << "no case has a convolution";
    return image;
  }
  absl::StatusOr<PassResult> Pass(const RecurrentPass& pass, int first_state) override {
    return UnrolledPass(pass, first_state);
  }

  Written Given() {
    const auto& nodes = model_.input_nodes();
    return New(inputs_[std::find(nodes.begin(), nodes.end(), node_) - nodes.begin()]);
  }
  Written Rows() {
    const Value ids = Of(In());
    Value result = {ids.shape, {}};
    const int64_t width = layer().output().shape.back();
    result.shape.push_back(width);
    for (const double id : ids.numbers) {
      const auto row = Values(0).begin() + static_cast<int64_t>(id) * width;
      result.numbers.insert(result.numbers.end(), row, row + width);
    }
    return New(std::move(result));
  }
  Written Reshaped() { return WithShape(In(), layer().output().shape); }
  Written Mean() {
    if (!MaskOf(0).empty()) return MaskedMean();
    return Multiply(Sum(In(), 1), Scalar(1.0f / static_cast<float>(Of(In()).shape[1])));
  }
  Written Added() {
    MergeMasks();
    std::string sum = In(0);
    for (size_t i = 1; i < node().inputs.size(); ++i) sum = Add(sum, In(static_cast<int>(i)));
    return sum;
  }
  Written Concatenated() {
    MergeMasks();
    std::vector<std::string> inputs;
    for (size_t i = 0; i < node().inputs.size(); ++i) inputs.push_back(In(static_cast<int>(i)));
    return Join(inputs, layer().mask_merge() == Layer::MaskMerge::kJoin ? 1 : -1);
  }

  std::vector<Value> calculated_;
  const std::vector<Value> inputs_;
};

std::vector<ConformanceCase> Cases() {
  std::vector<ConformanceCase> cases;
  for (const ConformanceCase& each : AllConformanceCases()) {
    const auto has = [](const TestLayer& layer) { return Calculator::Has(layer.class_name); };
    if (absl::c_all_of(each.layers, has)) cases.push_back(each);
  }
  return cases;
}

Doubles Draw(uint64_t key, int64_t count) {
  Doubles numbers;
  for (int64_t i = 0; i < count; ++i) {
    numbers.push_back(static_cast<float>(2 * RandomUniform(key, i) - 1));
  }
  return numbers;
}

class GraphWriterTest : public ::testing::TestWithParam<ConformanceCase> {};

TEST_P(GraphWriterTest, TheOperatorsComputeTheModelsOutput) {
  const proto::ModelSpec spec = SpecOf(GetParam().layers);
  const auto model = *Model::Create(spec);
  ReferenceBatch batch{.size = kBatch};
  std::vector<NamedTensor> weights;
  for (size_t v = 0; v < model->variables().size(); ++v) {
    const VariableSpec& variable = model->variables()[v];
    Doubles values = Draw(200 + v, variable.element_count());
    if (variable.name.find("variance") != std::string::npos) {
      for (double& value : values) value = static_cast<float>(0.5 + std::fabs(value));
    }
    weights.push_back({variable.name, variable.shape, {values.begin(), values.end()}});
    batch.variables.push_back(std::move(values));
  }
  std::vector<Value> inputs;
  for (size_t i = 0; i < model->inputs().size(); ++i) {
    const TensorSpec& input = model->inputs()[i].spec;
    Value value = {input.shape, Draw(100 + i, kBatch * ElementCount(input.shape))};
    value.shape.insert(value.shape.begin(), kBatch);
    // Ids are 0 to 3.
    for (double& number : value.numbers) {
      if (input.type == proto::INT32) number = std::floor((number + 1) * 1.99);
    }
    batch.inputs.push_back(value.numbers);
    inputs.push_back(std::move(value));
  }
  const Doubles expected = ReferenceOutput(*model, batch);
  const Doubles actual = Calculator(spec, *model, weights, inputs).Calculate();
  ASSERT_EQ(actual.size(), expected.size());
  for (size_t i = 0; i < expected.size(); ++i) {
    ASSERT_NEAR(actual[i], expected[i], 1e-5 * std::max(1.0, std::fabs(expected[i])))
        << "element " << i;
  }
}

TEST(GraphWriterCasesTest, EachLayerThatUsesMasksIsThere) {
  std::set<std::string> masked;
  for (const ConformanceCase& each : Cases()) {
    const auto model = *Model::Create(SpecOf(each.layers));
    for (const Model::Node& node : model->nodes()) {
      const bool has_mask = absl::c_any_of(node.masks, [](int mask) { return mask >= 0; });
      if (has_mask) masked.insert(std::string(node.layer->class_name()));
    }
  }
  for (const char* const name : {"Add", "Bidirectional", "Concatenate", "GRU",
                                 "GlobalAveragePooling1D", "LSTM", "MultiHeadAttention"}) {
    EXPECT_EQ(masked.count(name), 1u) << name;
  }
}

INSTANTIATE_TEST_SUITE_P(Sequences, GraphWriterTest, ::testing::ValuesIn(Cases()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace cairn::nn::testing

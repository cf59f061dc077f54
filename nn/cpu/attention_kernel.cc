#include <algorithm>
#include <cmath>
#include <deque>

#include "common/random.h"
#include "nn/cpu/activation_function.h"
#include "nn/cpu/aligned_buffer.h"
#include "nn/cpu/batched_product.h"
#include "nn/cpu/column_sum.h"
#include "nn/cpu/dense_product.h"
#include "nn/cpu/kernels.h"
#include "nn/layers/attention.h"

namespace cairn::nn {
namespace {

using Part = AttentionLayer::Part;

// Keras takes this instead of minus infinity for masked scores.
constexpr float kMasked = -1e9f;

// One of the four projections: a dense product of rows x inner with inner x columns, and its
// gradients.
class Projection {
 public:
  Projection(int64_t rows, int64_t inner, int64_t columns, const AttentionLayer& layer, Part part,
             const KernelContext& context)
      : rows_(rows),
        columns_(columns),
        kernel_(layer.kernel(part)),
        use_bias_(layer.use_bias()),
        output_(rows * columns),
        product_({.rows = rows, .columns = columns, .inner = inner, .adds_bias = use_bias_},
                 context.dnnl),
        kernel_gradient_({.rows = inner, .columns = columns, .inner = rows, .a_transposed = true},
                         context.dnnl),
        input_gradient_({.rows = rows, .columns = inner, .inner = columns, .b_transposed = true},
                        context.dnnl),
        column_sums_(columns) {
    if (context.options.training) output_gradient_ = AlignedBuffer<float>(rows * columns);
  }

  float* output() const { return output_.get(); }
  float* output_gradient() const { return output_gradient_.get(); }

  void Forward(const float* input, absl::Span<const float* const> variables, float* output) {
    product_.Run(input, variables[kernel_], use_bias_ ? variables[kernel_ + 1] : nullptr, output);
  }

  // Skips gradients that are null. Overwrites input_gradient.
  void Backward(const float* input, const float* gradient, absl::Span<const float* const> variables,
                absl::Span<float* const> variable_gradients, float* input_gradient) {
    if (float* kernel = variable_gradients[kernel_]) {
      kernel_gradient_.Run(input, gradient, nullptr, kernel);
    }
    if (float* bias = use_bias_ ? variable_gradients[kernel_ + 1] : nullptr) {
      SumColumns(rows_, columns_, gradient, column_sums_.get(), bias);
    }
    if (input_gradient != nullptr) {
      input_gradient_.Run(gradient, variables[kernel_], nullptr, input_gradient);
    }
  }

 private:
  const int64_t rows_;
  const int64_t columns_;
  const int kernel_;
  const bool use_bias_;
  AlignedBuffer<float> output_;
  AlignedBuffer<float> output_gradient_;
  DenseProduct product_;
  DenseProduct kernel_gradient_;
  DenseProduct input_gradient_;
  AlignedBuffer<double> column_sums_;
};

class AttentionKernel : public Kernel {
 public:
  AttentionKernel(const AttentionLayer& layer, const KernelContext& context)
      : layer_(layer),
        examples_(context.options.examples),
        heads_(layer.heads()),
        steps_(layer.steps()),
        positions_(layer.positions()),
        scale_(1 / std::sqrt(static_cast<float>(layer.key_width()))),
        scores_(examples_ * heads_ * steps_ * positions_) {
    const int64_t keys = heads_ * layer.key_width();
    const int64_t values = heads_ * layer.value_width();
    AddProjection(Part::kQuery, steps_, keys, context);
    AddProjection(Part::kKey, positions_, keys, context);
    AddProjection(Part::kValue, positions_, values, context);
    projections_.emplace_back(examples_ * steps_, values, layer.output().shape[1], layer,
                              Part::kOutput, context);
    concatenated_heads_ = AlignedBuffer<float>(examples_ * steps_ * values);
    AddProducts(context);
    if (layer.dropout() > 0) {
      dropped_ = AlignedBuffer<float>(examples_ * heads_ * steps_ * positions_);
    }
    if (!context.options.training) return;
    heads_gradient_ = AlignedBuffer<float>(examples_ * steps_ * values);
    scores_gradient_ = AlignedBuffer<float>(examples_ * heads_ * steps_ * positions_);
    // If one input is both value and key, its gradient is a sum of two. The second one needs a
    // buffer.
    if (layer.input(Part::kKey) == layer.input(Part::kValue)) {
      second_gradient_ = AlignedBuffer<float>(examples_ * ElementCount(layer.inputs()[1].shape));
    }
  }

  absl::Status Forward(const ForwardArguments& arguments) override {
    // 1. Project query, key and value.
    for (Part part : {Part::kQuery, Part::kKey, Part::kValue}) {
      Projection& projection = projections_[part];
      projection.Forward(arguments.inputs[layer_.input(part)], arguments.variables,
                         projection.output());
    }
    // 2. Attention probabilities: softmax of the scaled and masked scores.
    products_[kScores].Run(projections_[Part::kQuery].output(), projections_[Part::kKey].output(),
                           scores_.get());
    const int64_t count = examples_ * heads_ * steps_ * positions_;
    for (int64_t i = 0; i < count; ++i) scores_.get()[i] *= scale_;
    SetMasked(arguments, kMasked, scores_.get());
    ApplyActivation({.kind = Activation::Kind::kSoftmax}, examples_ * heads_ * steps_, positions_,
                    scores_.get(), scores_.get());
    if (layer_.zeroes_masked_weights()) SetMasked(arguments, 0, scores_.get());
    // 3. Dropout keeps the probabilities, because the backward pass needs both.
    const bool drops = arguments.training && layer_.dropout() > 0;
    if (drops) Drop(arguments.random_key, scores_.get(), dropped_.get());
    // 4. Weight the values of each head, then project the concatenated heads.
    products_[kHeads].Run(drops ? dropped_.get() : scores_.get(),
                          projections_[Part::kValue].output(), concatenated_heads_.get());
    projections_[Part::kOutput].Forward(concatenated_heads_.get(), arguments.variables,
                                        arguments.output);
    return absl::OkStatus();
  }

  void Backward(const BackwardArguments& arguments) override {
    // The steps of Forward in reverse. First the output projection, which gives the gradient with
    // respect to the concatenated heads.
    projections_[Part::kOutput].Backward(concatenated_heads_.get(), arguments.output_gradient,
                                         arguments.variables, arguments.variable_gradients,
                                         heads_gradient_.get());
    const bool drops = layer_.dropout() > 0;
    const Projection& query = projections_[Part::kQuery];
    const Projection& key = projections_[Part::kKey];
    const Projection& value = projections_[Part::kValue];
    // heads = dropped probabilities x values.
    products_[kValueGradient].Run(drops ? dropped_.get() : scores_.get(), heads_gradient_.get(),
                                  value.output_gradient());
    products_[kScoresGradient].Run(heads_gradient_.get(), value.output(), scores_gradient_.get());
    // Through dropout, softmax, mask and scaling.
    if (drops) Drop(arguments.random_key, scores_gradient_.get(), scores_gradient_.get());
    MultiplyByDerivative({.kind = Activation::Kind::kSoftmax}, examples_ * heads_ * steps_,
                         positions_, nullptr, scores_.get(), scores_gradient_.get());
    SetMasked(arguments, 0, scores_gradient_.get());
    const int64_t count = examples_ * heads_ * steps_ * positions_;
    for (int64_t i = 0; i < count; ++i) scores_gradient_.get()[i] *= scale_;
    // scores = query x key'.
    products_[kQueryGradient].Run(scores_gradient_.get(), key.output(), query.output_gradient());
    products_[kKeyGradient].Run(scores_gradient_.get(), query.output(), key.output_gradient());
    BackwardProjections(arguments);
    const int mask = layer_.mask_input();
    if (mask < 0 || arguments.input_gradients[mask] == nullptr) return;
    std::fill_n(arguments.input_gradients[mask],
                examples_ * ElementCount(layer_.inputs()[mask].shape), 0.0f);
  }

 private:
  enum { kScores, kHeads, kValueGradient, kScoresGradient, kQueryGradient, kKeyGradient };

  void AddProjection(Part part, int64_t rows, int64_t columns, const KernelContext& context) {
    const int64_t inner = layer_.inputs()[layer_.input(part)].shape[1];
    projections_.emplace_back(examples_ * rows, inner, columns, layer_, part, context);
  }

  // Creates the products. Projections have layout (example, step, head, width), scores (example,
  // head, step, position).
  void AddProducts(const KernelContext& context) {
    const auto projected = [this](int64_t rows, int64_t width) {
      return BatchedProduct::Strides{rows * heads_ * width, width, heads_ * width, 1};
    };
    const auto query = projected(steps_, layer_.key_width());
    const auto key = projected(positions_, layer_.key_width());
    const auto value = projected(positions_, layer_.value_width());
    const auto heads = projected(steps_, layer_.value_width());
    const BatchedProduct::Strides scores = {heads_ * steps_ * positions_, steps_ * positions_,
                                            positions_, 1};
    const int64_t k = layer_.key_width();
    const int64_t v = layer_.value_width();
    const auto add = [&](int64_t rows, int64_t columns, int64_t inner,
                         const BatchedProduct::Strides& a, const BatchedProduct::Strides& b,
                         const BatchedProduct::Strides& c) {
      products_.emplace_back(
          BatchedProduct::Options{examples_, heads_, rows, columns, inner, a, b, c}, context.dnnl);
    };
    add(steps_, positions_, k, query, key.Transposed(), scores);
    add(steps_, v, positions_, scores, value, heads);
    if (!context.options.training) return;
    add(positions_, v, steps_, scores.Transposed(), heads, value);
    add(steps_, positions_, v, heads, value.Transposed(), scores);
    add(steps_, k, positions_, scores, key, query);
    add(positions_, k, steps_, scores.Transposed(), query, key);
  }

  // Sets those of the elements, one per score, whose query's step or position is masked, whose
  // position is a later one (if causal), or that the attention mask leaves out. `arguments`: of
  // Forward or Backward.
  template <typename Arguments>
  void SetMasked(const Arguments& arguments, float value, float* elements) const {
    SetMaskedSteps(arguments.masks, value, elements);
    if (layer_.mask_input() < 0) return;
    const auto [of_example, of_head, of_step, of_position] = layer_.mask_strides();
    const float* const mask = arguments.inputs[layer_.mask_input()];
    for (int64_t row = 0; row < examples_ * heads_ * steps_; ++row) {
      const float* const of_row = mask + row / steps_ / heads_ * of_example +
                                  row / steps_ % heads_ * of_head + row % steps_ * of_step;
      for (int64_t position = 0; position < positions_; ++position) {
        if (of_row[position * of_position] == 0) elements[row * positions_ + position] = value;
      }
    }
  }

  void SetMaskedSteps(absl::Span<const int32_t* const> masks, float value, float* elements) const {
    if (masks.empty() && !layer_.is_causal()) return;
    const auto mask_of = [&](size_t input) {
      return input < masks.size() ? masks[input] : nullptr;
    };
    for (int64_t row = 0; row < examples_ * heads_ * steps_; ++row) {
      const int64_t example = row / steps_ / heads_;
      const int64_t step = row % steps_;
      float* const of_row = elements + row * positions_;
      int64_t end = layer_.is_causal() ? std::min(step + 1, positions_) : positions_;
      if (mask_of(0) != nullptr && mask_of(0)[example * steps_ + step] == 0) end = 0;
      std::fill(of_row + end, of_row + positions_, value);
      for (const int32_t* const mask : {mask_of(1), mask_of(2)}) {
        if (mask == nullptr) continue;
        for (int64_t position = 0; position < end; ++position) {
          if (mask[example * positions_ + position] == 0) of_row[position] = value;
        }
      }
    }
  }

  // Dropout. Draws are a function of the key, so the backward pass repeats them.
  void Drop(uint64_t key, const float* from, float* to) const {
    const float rate = static_cast<float>(layer_.dropout());
    const int64_t count = examples_ * heads_ * steps_ * positions_;
    for (int64_t i = 0; i < count; ++i) {
      to[i] = RandomUniform(key, i) < rate ? 0 : from[i] / (1 - rate);
    }
  }

  // The value's projection precedes the key's: the first writes the input's gradient, the second is
  // added if both project the same input.
  void BackwardProjections(const BackwardArguments& arguments) {
    for (Part part : {Part::kQuery, Part::kValue, Part::kKey}) {
      const int input = layer_.input(part);
      float* target = arguments.input_gradients[input];
      const bool is_second = part == Part::kKey && input == layer_.input(Part::kValue);
      float* written = is_second && target != nullptr ? second_gradient_.get() : target;
      projections_[part].Backward(arguments.inputs[input], projections_[part].output_gradient(),
                                  arguments.variables, arguments.variable_gradients, written);
      if (written == target) continue;
      const int64_t count = examples_ * ElementCount(layer_.inputs()[input].shape);
      for (int64_t i = 0; i < count; ++i) target[i] += written[i];
    }
  }

  const AttentionLayer& layer_;
  const int64_t examples_;
  const int64_t heads_;
  const int64_t steps_;
  const int64_t positions_;
  const float scale_;
  // By Part, and by the enumerators above. Deques, because the elements cannot be moved.
  std::deque<Projection> projections_;
  std::deque<BatchedProduct> products_;
  AlignedBuffer<float> scores_;  // Scores, then probabilities.
  AlignedBuffer<float> dropped_;
  AlignedBuffer<float> concatenated_heads_;
  AlignedBuffer<float> heads_gradient_;
  AlignedBuffer<float> scores_gradient_;
  AlignedBuffer<float> second_gradient_;
};

}  // namespace

std::unique_ptr<Kernel> CreateAttentionKernel(const Layer& layer, const KernelContext& context) {
  return std::make_unique<AttentionKernel>(static_cast<const AttentionLayer&>(layer), context);
}

}  // namespace cairn::nn

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "common/random.h"
#include "nn/cpu/activation_function.h"
#include "nn/cpu/aligned_buffer.h"
#include "nn/cpu/dense_product.h"
#include "nn/cpu/kernels.h"
#include "nn/layers/score_attention.h"

namespace cairn::nn {
namespace {

using Score = ScoreAttentionLayer::Score;

// Keras subtracts this from masked scores.
constexpr float kMasked = 1e9f;

// Computes example by example. If there is a Backward, the weights of all examples are kept for it.
class ScoreAttentionKernel : public Kernel {
 public:
  ScoreAttentionKernel(const ScoreAttentionLayer& layer, const KernelContext& context)
      : layer_(layer),
        examples_(context.options.examples),
        steps_(layer.steps()),
        positions_(layer.positions()),
        width_(layer.width()),
        value_width_(layer.value_width()),
        scores_product_(
            {.rows = steps_, .columns = positions_, .inner = width_, .b_transposed = true},
            context.dnnl),
        output_product_({.rows = steps_, .columns = value_width_, .inner = positions_},
                        context.dnnl),
        scores_(steps_ * positions_),
        keeps_weights_(context.options.training),
        weights_((keeps_weights_ ? examples_ : 1) * steps_ * positions_),
        dropped_(steps_ * positions_) {
    if (!context.options.training) return;
    weight_gradient_.emplace(
        DenseProduct::Options{
            .rows = steps_, .columns = positions_, .inner = value_width_, .b_transposed = true},
        context.dnnl);
    value_gradient_.emplace(
        DenseProduct::Options{
            .rows = positions_, .columns = value_width_, .inner = steps_, .a_transposed = true},
        context.dnnl);
    query_gradient_.emplace(
        DenseProduct::Options{.rows = steps_, .columns = width_, .inner = positions_},
        context.dnnl);
    key_gradient_.emplace(
        DenseProduct::Options{
            .rows = positions_, .columns = width_, .inner = steps_, .a_transposed = true},
        context.dnnl);
    query_sum_ = AlignedBuffer<float>(steps_ * width_);
    key_sum_ = AlignedBuffer<float>(positions_ * width_);
    value_sum_ = AlignedBuffer<float>(positions_ * value_width_);
    scale_sum_.resize(layer.score() == Score::kAdditive ? width_ : 1);
  }

  absl::Status Forward(const ForwardArguments& arguments) override {
    masks_ = arguments.masks;
    for (int64_t example = 0; example < examples_; ++example) {
      Load(arguments.inputs, arguments.variables, example);
      float* weights = Weights(keeps_weights_ ? example : 0);
      ComputeScores(scores_.get());
      MaskScores(example);
      ApplyActivation({.kind = Activation::Kind::kSoftmax}, steps_, positions_, scores_.get(),
                      weights);
      const float* used = weights;
      if (arguments.training && layer_.dropout() > 0) {
        for (int64_t i = 0; i < steps_ * positions_; ++i) {
          dropped_.get()[i] = weights[i] * Keep(arguments.random_key, example, i);
        }
        used = dropped_.get();
      }
      float* output = arguments.output + example * steps_ * value_width_;
      output_product_.Run(used, value_, nullptr, output);
      ZeroMaskedSteps(example, output);
    }
    return absl::OkStatus();
  }

  void Backward(const BackwardArguments& arguments) override {
    masks_ = arguments.masks;
    std::fill(scale_sum_.begin(), scale_sum_.end(), 0.0);
    weight_sum_ = 0;
    for (size_t i = 0; i < layer_.inputs().size(); ++i) {
      if (float* input = arguments.input_gradients[i]) {
        std::fill_n(input, examples_ * ElementCount(layer_.inputs()[i].shape), 0.0f);
      }
    }
    for (int64_t example = 0; example < examples_; ++example) {
      Load(arguments.inputs, arguments.variables, example);
      float* gradient = arguments.output_gradient + example * steps_ * value_width_;
      ZeroMaskedSteps(example, gradient);
      BackThroughWeights(arguments.random_key, example, gradient);
      layer_.score() == Score::kDot ? BackThroughDots() : BackThroughSums();
      Add(query_sum_.get(), steps_ * width_, arguments.input_gradients[0], example);
      Add(value_sum_.get(), positions_ * value_width_, arguments.input_gradients[1], example);
      Add(key_sum_.get(), positions_ * width_, arguments.input_gradients[layer_.key_input()],
          example);
    }
    if (layer_.use_scale() && arguments.variable_gradients[0] != nullptr) {
      std::copy(scale_sum_.begin(), scale_sum_.end(), arguments.variable_gradients[0]);
    }
    if (layer_.score() != Score::kConcat) return;
    if (float* weight = arguments.variable_gradients[layer_.weight_variable()]) {
      *weight = static_cast<float>(weight_sum_);
    }
  }

 private:
  float* Weights(int64_t example) const { return weights_.get() + example * steps_ * positions_; }

  void Load(absl::Span<const float* const> inputs, absl::Span<const float* const> variables,
            int64_t example) {
    query_ = inputs[0] + example * steps_ * width_;
    value_ = inputs[1] + example * positions_ * value_width_;
    key_ = inputs[layer_.key_input()] + example * positions_ * width_;
    scale_ = layer_.use_scale() ? variables[0] : nullptr;
    weight_ = layer_.score() == Score::kConcat ? *variables[layer_.weight_variable()] : 1;
  }

  // What the activations are multiplied by, and what their argument is multiplied by.
  float OuterScale(int64_t channel) const {
    return layer_.score() == Score::kAdditive && scale_ != nullptr ? scale_[channel] : weight_;
  }
  float InnerScale() const {
    return layer_.score() == Score::kConcat && scale_ != nullptr ? *scale_ : 1;
  }

  void ComputeScores(float* scores) {
    if (layer_.score() == Score::kDot) {
      scores_product_.Run(query_, key_, nullptr, scores);
      for (int64_t i = 0; scale_ != nullptr && i < steps_ * positions_; ++i) scores[i] *= *scale_;
      return;
    }
    ForEachPair([&](int64_t at, const float* query, const float* key) {
      float sum = 0;
      for (int64_t c = 0; c < width_; ++c) {
        sum += OuterScale(c) * std::tanh(InnerScale() * (query[c] + key[c]));
      }
      scores[at] = sum;
    });
  }

  template <typename Visit>
  void ForEachPair(const Visit& visit) const {
    for (int64_t step = 0; step < steps_; ++step) {
      for (int64_t position = 0; position < positions_; ++position) {
        visit(step * positions_ + position, query_ + step * width_, key_ + position * width_);
      }
    }
  }

  const int32_t* Mask(size_t input) const {
    return masks_.size() > input ? masks_[input] : nullptr;
  }

  void MaskScores(int64_t example) {
    const int32_t* mask = Mask(1);
    for (int64_t step = 0; step < steps_; ++step) {
      for (int64_t position = 0; position < positions_; ++position) {
        const bool is_masked = (mask != nullptr && mask[example * positions_ + position] == 0) ||
                               (layer_.is_causal() && position > step);
        if (is_masked) scores_.get()[step * positions_ + position] -= kMasked;
      }
    }
  }

  void ZeroMaskedSteps(int64_t example, float* rows) const {
    const int32_t* mask = Mask(0);
    for (int64_t step = 0; mask != nullptr && step < steps_; ++step) {
      if (mask[example * steps_ + step] != 0) continue;
      std::fill_n(rows + step * value_width_, value_width_, 0.0f);
    }
  }

  // The factor of a weight: 0 if it is dropped.
  float Keep(uint64_t key, int64_t example, int64_t at) const {
    if (layer_.dropout() == 0) return 1;
    const bool drops = RandomUniform(key, example * steps_ * positions_ + at) < layer_.dropout();
    return drops ? 0 : static_cast<float>(1 / (1 - layer_.dropout()));
  }

  // Computes value_sum_ and, in scores_, the gradient with respect to the scores.
  void BackThroughWeights(uint64_t key, int64_t example, const float* gradient) {
    const float* weights = Weights(example);
    for (int64_t i = 0; i < steps_ * positions_; ++i) {
      dropped_.get()[i] = weights[i] * Keep(key, example, i);
    }
    value_gradient_->Run(dropped_.get(), gradient, nullptr, value_sum_.get());
    weight_gradient_->Run(gradient, value_, nullptr, scores_.get());
    for (int64_t step = 0; step < steps_; ++step) {
      float* row = scores_.get() + step * positions_;
      const float* of_step = weights + step * positions_;
      double along = 0;
      for (int64_t i = 0; i < positions_; ++i) {
        row[i] *= Keep(key, example, step * positions_ + i);
        along += static_cast<double>(row[i]) * of_step[i];
      }
      for (int64_t i = 0; i < positions_; ++i) {
        row[i] = static_cast<float>(of_step[i] * (row[i] - along));
      }
    }
  }

  void BackThroughDots() {
    const int64_t count = steps_ * positions_;
    if (scale_ != nullptr) {
      scores_product_.Run(query_, key_, nullptr, dropped_.get());
      for (int64_t i = 0; i < count; ++i) {
        scale_sum_[0] += static_cast<double>(scores_.get()[i]) * dropped_.get()[i];
        scores_.get()[i] *= *scale_;
      }
    }
    query_gradient_->Run(scores_.get(), key_, nullptr, query_sum_.get());
    key_gradient_->Run(scores_.get(), query_, nullptr, key_sum_.get());
  }

  void BackThroughSums() {
    std::fill_n(query_sum_.get(), steps_ * width_, 0.0f);
    std::fill_n(key_sum_.get(), positions_ * width_, 0.0f);
    ForEachPair([&](int64_t at, const float* query, const float* key) {
      const float gradient = scores_.get()[at];
      float* by_query = query_sum_.get() + (query - query_);
      float* by_key = key_sum_.get() + (key - key_);
      for (int64_t c = 0; c < width_; ++c) {
        const float sum = query[c] + key[c];
        const float value = std::tanh(InnerScale() * sum);
        const float by_argument = gradient * OuterScale(c) * (1 - value * value);
        by_query[c] += by_argument * InnerScale();
        by_key[c] += by_argument * InnerScale();
        if (layer_.score() == Score::kAdditive) {
          scale_sum_[c] += static_cast<double>(gradient) * value;
        } else {
          scale_sum_[0] += static_cast<double>(by_argument) * sum;
          weight_sum_ += static_cast<double>(gradient) * value;
        }
      }
    });
  }

  // Inputs may be the same, so gradients are added.
  static void Add(const float* from, int64_t count, float* gradient, int64_t example) {
    for (int64_t i = 0; gradient != nullptr && i < count; ++i) {
      gradient[example * count + i] += from[i];
    }
  }

  const ScoreAttentionLayer& layer_;
  const int64_t examples_;
  const int64_t steps_;
  const int64_t positions_;
  const int64_t width_;
  const int64_t value_width_;
  DenseProduct scores_product_;
  DenseProduct output_product_;
  std::optional<DenseProduct> weight_gradient_;
  std::optional<DenseProduct> value_gradient_;
  std::optional<DenseProduct> query_gradient_;
  std::optional<DenseProduct> key_gradient_;
  AlignedBuffer<float> scores_;
  const bool keeps_weights_;
  // Before dropout.
  AlignedBuffer<float> weights_;
  AlignedBuffer<float> dropped_;
  AlignedBuffer<float> query_sum_;
  AlignedBuffer<float> key_sum_;
  AlignedBuffer<float> value_sum_;
  std::vector<double> scale_sum_;
  double weight_sum_ = 0;
  // Of the current call.
  absl::Span<const int32_t* const> masks_;
  // Of the current example.
  const float* query_ = nullptr;
  const float* value_ = nullptr;
  const float* key_ = nullptr;
  const float* scale_ = nullptr;
  float weight_ = 1;
};

}  // namespace

std::unique_ptr<Kernel> CreateScoreAttentionKernel(const Layer& layer,
                                                   const KernelContext& context) {
  return std::make_unique<ScoreAttentionKernel>(static_cast<const ScoreAttentionLayer&>(layer),
                                                context);
}

}  // namespace cairn::nn

#include <cmath>
#include <deque>

#include "nn/cuda/activation_tail.h"
#include "nn/cuda/attention_weights.h"
#include "nn/cuda/kernels.h"
#include "nn/cuda/product.h"
#include "nn/layers/attention.h"

namespace cairn::nn::cuda {
namespace {

using Part = AttentionLayer::Part;

// One of the four projections: a dense product of rows x inner with inner x columns, and its
// gradients.
class Projection {
 public:
  Projection(int64_t rows, int64_t inner, int64_t columns, const AttentionLayer& layer, Part part,
             const KernelContext& context)
      : context_(context.cuda),
        rows_(rows),
        inner_(inner),
        columns_(columns),
        kernel_(layer.kernel(part)),
        use_bias_(layer.use_bias()),
        tail_(context.cuda, Activation{}, rows, columns, context.options.training) {}

  void Forward(const float* input, absl::Span<const float* const> variables, float* output) {
    Multiply(context_, {.rows = rows_, .columns = columns_, .inner = inner_}, input,
             variables[kernel_], output);
    tail_.Forward(use_bias_ ? variables[kernel_ + 1] : nullptr, output,
                  /*logits=*/nullptr);
  }

  // Skips gradients that are null. Overwrites `input_gradient`, or adds to it.
  void Backward(const float* input, float* gradient, const BackwardArguments& arguments,
                float* input_gradient, bool adds) {
    float* const bias = use_bias_ ? arguments.variable_gradients[kernel_ + 1] : nullptr;
    tail_.Backward({.before_activation = true}, gradient, bias);
    if (float* kernel = arguments.variable_gradients[kernel_]) {
      Multiply(context_,
               {.rows = inner_, .columns = columns_, .inner = rows_, .a_transposed = true}, input,
               gradient, kernel);
    }
    if (input_gradient == nullptr) return;
    Multiply(
        context_,
        {.rows = rows_, .columns = inner_, .inner = columns_, .b_transposed = true, .adds = adds},
        gradient, arguments.variables[kernel_], input_gradient);
  }

 private:
  Context* const context_;
  const int64_t rows_;
  const int64_t inner_;
  const int64_t columns_;
  const int kernel_;
  const bool use_bias_;
  ActivationTail tail_;
};

// Projections and heads have the layout (example, step, head, width), scores (example, head, step,
// position).
class AttentionKernel final : public Kernel {
 public:
  AttentionKernel(const AttentionLayer& layer, const KernelContext& context)
      : context_(context.cuda),
        layer_(layer),
        examples_(context.options.examples),
        scores_count_(examples_ * layer.heads() * layer.steps() * layer.positions()),
        drops_(layer.dropout() > 0),
        heads_(context.cuda, examples_ * layer.steps() * layer.heads() * layer.value_width()),
        heads_gradient_(context.cuda,
                        context.options.training
                            ? examples_ * layer.steps() * layer.heads() * layer.value_width()
                            : 0),
        scores_(context.cuda, scores_count_),
        dropped_(context.cuda, drops_ ? scores_count_ : 0),
        scores_gradient_(context.cuda, context.options.training ? scores_count_ : 0) {
    const int64_t keys = layer.heads() * layer.key_width();
    const int64_t values = layer.heads() * layer.value_width();
    AddProjection(Part::kQuery, layer.steps(), keys, context);
    AddProjection(Part::kKey, layer.positions(), keys, context);
    AddProjection(Part::kValue, layer.positions(), values, context);
    projections_.emplace_back(examples_ * layer.steps(), values, layer.output().shape[1], layer,
                              Part::kOutput, context);
    AddProducts(context);
  }

  absl::Status Forward(const ForwardArguments& arguments) override {
    for (Part part : {Part::kQuery, Part::kKey, Part::kValue}) {
      projections_[part].Forward(arguments.inputs[layer_.input(part)], arguments.variables,
                                 outputs_[part].data());
    }
    products_[kScores].Run();
    const bool drops = arguments.training && drops_;
    // Dropout keeps the weights, because the backward pass needs both.
    ComputeAttentionWeights(context_, ScoresOf(arguments), scores_.data(), scores_.data(),
                            drops ? dropped_.data() : nullptr);
    products_[drops ? kDroppedHeads : kHeads].Run();
    projections_[Part::kOutput].Forward(heads_.data(), arguments.variables, arguments.output);
    return absl::OkStatus();
  }

  // The steps of Forward in reverse.
  void Backward(const BackwardArguments& arguments) override {
    projections_[Part::kOutput].Backward(heads_.data(), arguments.output_gradient, arguments,
                                         heads_gradient_.data(), /*adds=*/false);
    products_[kValueGradient].Run();
    products_[kScoresGradient].Run();
    BackThroughAttentionWeights(context_, ScoresOf(arguments), scores_.data(),
                                /*scores=*/nullptr, scores_gradient_.data(),
                                /*row_sums=*/nullptr);
    products_[kQueryGradient].Run();
    products_[kKeyGradient].Run();
    // The value's projection precedes the key's: the first writes the input's gradient, the second
    // is added if both project the same input.
    for (Part part : {Part::kQuery, Part::kValue, Part::kKey}) {
      const int input = layer_.input(part);
      projections_[part].Backward(arguments.inputs[input], gradients_[part].data(), arguments,
                                  arguments.input_gradients[input],
                                  part == Part::kKey && input == layer_.input(Part::kValue));
    }
    const int mask = layer_.mask_input();
    if (mask < 0 || arguments.input_gradients[mask] == nullptr) return;
    context_->Zero(arguments.input_gradients[mask],
                   examples_ * ElementCount(layer_.inputs()[mask].shape) * sizeof(float));
  }

 private:
  // kDroppedHeads is kHeads with the weights after dropout.
  enum {
    kScores,
    kHeads,
    kDroppedHeads,
    kValueGradient,
    kScoresGradient,
    kQueryGradient,
    kKeyGradient
  };

  void AddProjection(Part part, int64_t rows, int64_t columns, const KernelContext& context) {
    const int64_t inner = layer_.inputs()[layer_.input(part)].shape[1];
    const int64_t count = examples_ * rows * columns;
    projections_.emplace_back(examples_ * rows, inner, columns, layer_, part, context);
    outputs_.emplace_back(context_, count);
    gradients_.emplace_back(context_, context.options.training ? count : 0);
  }

  void AddProducts(const KernelContext& context) {
    using Matrices = BatchedProduct::Matrices;
    const int64_t heads = layer_.heads();
    const int64_t steps = layer_.steps();
    const int64_t positions = layer_.positions();
    const int64_t k = layer_.key_width();
    const int64_t v = layer_.value_width();
    const auto projected = [&](const DeviceArray<float>& data, int64_t rows, int64_t width) {
      return Matrices{data.data(), rows * heads * width, width, heads * width};
    };
    const auto scores_of = [&](const DeviceArray<float>& data) {
      return Matrices{data.data(), heads * steps * positions, steps * positions, positions};
    };
    const auto add = [&](int64_t rows, int64_t columns, int64_t inner, const Matrices& a,
                         const Matrices& b, const Matrices& c) {
      products_.emplace_back(
          BatchedProduct::Options{examples_, heads, rows, columns, inner, a, b, c}, context_);
    };
    const Matrices query = projected(outputs_[Part::kQuery], steps, k);
    const Matrices key = projected(outputs_[Part::kKey], positions, k);
    const Matrices value = projected(outputs_[Part::kValue], positions, v);
    const Matrices all_heads = projected(heads_, steps, v);
    const Matrices weights = scores_of(scores_);
    const Matrices used = drops_ ? scores_of(dropped_) : weights;
    add(steps, positions, k, query, key.Transposed(), weights);
    add(steps, v, positions, weights, value, all_heads);
    add(steps, v, positions, used, value, all_heads);
    if (!context.options.training) return;
    const Matrices by_heads = projected(heads_gradient_, steps, v);
    const Matrices by_scores = scores_of(scores_gradient_);
    add(positions, v, steps, used.Transposed(), by_heads,
        projected(gradients_[Part::kValue], positions, v));
    add(steps, positions, v, by_heads, value.Transposed(), by_scores);
    add(steps, k, positions, by_scores, key, projected(gradients_[Part::kQuery], steps, k));
    add(positions, k, steps, by_scores.Transposed(), query,
        projected(gradients_[Part::kKey], positions, k));
  }

  // The scores of ForwardArguments or BackwardArguments.
  template <typename Arguments>
  AttentionScores ScoresOf(const Arguments& arguments) const {
    using Masked = AttentionScores::Masked;
    AttentionScores scores{
        .rows = examples_ * layer_.heads() * layer_.steps(),
        .heads = layer_.heads(),
        .steps = layer_.steps(),
        .positions = layer_.positions(),
        .scale = 1 / std::sqrt(static_cast<float>(layer_.key_width())),
        .is_causal = layer_.is_causal(),
        .step_mask = MaskOf(arguments.masks, 0),
        .position_masks = {MaskOf(arguments.masks, 1), MaskOf(arguments.masks, 2)},
        .masked = layer_.zeroes_masked_weights() ? Masked::kZeroed : Masked::kReplaced,
        .dropout = layer_.dropout(),
        .random_key = arguments.random_key};
    if (layer_.mask_input() < 0) return scores;
    scores.score_mask = arguments.inputs[layer_.mask_input()];
    scores.score_mask_strides = layer_.mask_strides();
    return scores;
  }

  Context* const context_;
  const AttentionLayer& layer_;
  const int64_t examples_;
  const int64_t scores_count_;
  const bool drops_;
  // By Part. Deques, because the elements cannot be moved.
  std::deque<Projection> projections_;
  std::deque<DeviceArray<float>> outputs_;
  std::deque<DeviceArray<float>> gradients_;
  // Concatenated.
  DeviceArray<float> heads_;
  DeviceArray<float> heads_gradient_;
  DeviceArray<float> scores_;  // Scores, then weights.
  DeviceArray<float> dropped_;
  DeviceArray<float> scores_gradient_;
  std::deque<BatchedProduct> products_;
};

}  // namespace

std::unique_ptr<Kernel> CreateAttentionKernel(const Layer& layer, const KernelContext& context) {
  return std::make_unique<AttentionKernel>(static_cast<const AttentionLayer&>(layer), context);
}

}  // namespace cairn::nn::cuda

#include "nn/cuda/attention_weights.h"
#include "nn/cuda/kernels.h"
#include "nn/cuda/loops.h"
#include "nn/cuda/product.h"
#include "nn/layers/score_attention.h"

namespace cairn::nn::cuda {
namespace {

using Score = ScoreAttentionLayer::Score;

// The scores that are sums of tanh, as device code needs them: the sum of Outer(c) * tanh(Inner() *
// (query + key)) over all channels c.
struct TanhScores {
  bool is_additive = false;
  const float* scale = nullptr;   // Null: 1.
  const float* weight = nullptr;  // Null: 1.
  int64_t examples = 0;
  int64_t steps = 0;
  int64_t positions = 0;
  int64_t width = 0;

  __device__ float Outer(int64_t channel) const {
    if (is_additive && scale != nullptr) return scale[channel];
    return weight == nullptr ? 1 : *weight;
  }
  __device__ float Inner() const { return !is_additive && scale != nullptr ? *scale : 1; }
};

void ComputeTanhScores(Context* context, const TanhScores& of, const float* query, const float* key,
                       float* scores) {
  ForEachRow(context, of.examples * of.steps * of.positions, of.width,
             [=] __device__(int64_t score, const RowBlock& block) {
               const int64_t row = score / of.positions;
               const int64_t position = row / of.steps * of.positions + score % of.positions;
               const float inner = of.Inner();
               double sum = 0;
               for (int64_t c = block.first(); c < of.width; c += block.step()) {
                 const float argument = query[row * of.width + c] + key[position * of.width + c];
                 sum += of.Outer(c) * tanhf(inner * argument);
               }
               sum = block.Sum(sum);
               if (block.first() == 0) scores[score] = static_cast<float>(sum);
             });
}

// The query or the key, and how the gradient with respect to the scores of an example is indexed by
// it.
struct TanhSide {
  const float* values = nullptr;
  int64_t rows = 0;
  int64_t step = 0;
};

// The gradient with respect to one side. Added to `gradient` if `adds`. Each thread sums one
// element over the rows of the other side.
void BackThroughTanhScores(Context* context, const TanhScores& of, const TanhSide& side,
                           const TanhSide& other, const float* by_scores, bool adds,
                           float* gradient) {
  ForEach(context, of.examples * side.rows * of.width, [=] __device__(int64_t i) {
    const int64_t c = i % of.width;
    const int64_t row = i / of.width % side.rows;
    const int64_t example = i / of.width / side.rows;
    const float* const by_row = by_scores + example * of.steps * of.positions + row * side.step;
    const float* const others = other.values + example * other.rows * of.width + c;
    const float inner = of.Inner();
    double sum = 0;
    for (int64_t k = 0; k < other.rows; ++k) {
      const float value = tanhf(inner * (side.values[i] + others[k * of.width]));
      sum += by_row[k * other.step] * (1 - value * value);
    }
    const float by_side = static_cast<float>(sum * of.Outer(c) * inner);
    gradient[i] = adds ? gradient[i] + by_side : by_side;
  });
}

// The gradients of the scale and of concat_score_weight; null if not needed. `sums` has room for
// two numbers a channel.
void SumTanhVariables(Context* context, const TanhScores& of, const float* query, const float* key,
                      const float* by_scores, double* sums, float* scale_gradient,
                      float* weight_gradient) {
  const int64_t width = of.width;
  SumColumns<2>(
      context, of.examples * of.steps, width,
      [=] __device__(int64_t row, int64_t c, ColumnSums<2> * terms) {
        const float* const keys = key + row / of.steps * of.positions * of.width + c;
        for (int64_t position = 0; position < of.positions; ++position) {
          const float argument = query[row * of.width + c] + keys[position * of.width];
          const float value = tanhf(of.Inner() * argument);
          const double gradient = by_scores[row * of.positions + position];
          terms->values[0] += gradient * value;
          terms->values[1] += gradient * of.Outer(c) * (1 - value * value) * argument;
        }
      },
      [=] __device__(int64_t c, const ColumnSums<2>& totals) {
        if (of.is_additive) scale_gradient[c] = static_cast<float>(totals.values[0]);
        sums[c] = totals.values[0];
        sums[width + c] = totals.values[1];
      });
  if (of.is_additive) return;
  ForEachRow(context, 2, width, [=] __device__(int64_t variable, const RowBlock& block) {
    double sum = 0;
    for (int64_t c = block.first(); c < width; c += block.step()) sum += sums[variable * width + c];
    sum = block.Sum(sum);
    float* const gradient = variable == 0 ? weight_gradient : scale_gradient;
    if (block.first() == 0 && gradient != nullptr) *gradient = static_cast<float>(sum);
  });
}

void AddUp(Context* context, int64_t count, const double* terms, float* to) {
  ForEachRow(context, 1, count, [=] __device__(int64_t, const RowBlock& block) {
    double sum = 0;
    for (int64_t i = block.first(); i < count; i += block.step()) sum += terms[i];
    sum = block.Sum(sum);
    if (block.first() == 0) *to = static_cast<float>(sum);
  });
}

void ZeroMaskedRows(Context* context, int64_t rows, int64_t width, const int32_t* mask,
                    float* values) {
  if (mask == nullptr) return;
  ForEach(context, rows * width, [=] __device__(int64_t i) {
    if (mask[i / width] == 0) values[i] = 0;
  });
}

// Attention and AdditiveAttention.
class ScoreAttentionKernel final : public Kernel {
 public:
  ScoreAttentionKernel(const ScoreAttentionLayer& layer, const KernelContext& context)
      : context_(context.cuda),
        layer_(layer),
        examples_(context.options.examples),
        steps_(layer.steps()),
        positions_(layer.positions()),
        width_(layer.width()),
        value_width_(layer.value_width()),
        has_trained_dots_(layer.score() == Score::kDot && layer.use_scale()),
        drops_(layer.dropout() > 0),
        scores_(context.cuda, examples_ * steps_ * positions_),
        weights_(context.cuda, context.options.training && has_trained_dots_
                                   ? examples_ * steps_ * positions_
                                   : 0),
        dropped_(context.cuda, drops_ ? examples_ * steps_ * positions_ : 0),
        gradient_(context.cuda, context.options.training ? examples_ * steps_ * positions_ : 0),
        sums_(context.cuda, !context.options.training ? 0
                            : has_trained_dots_       ? examples_ * steps_
                                                      : 2 * width_) {
    if (context.options.training) {
      context.cuda->ReserveScratch(ColumnScratchBytes<2>(examples_ * steps_, width_));
    }
  }

  absl::Status Forward(const ForwardArguments& arguments) override {
    const float* const query = arguments.inputs[0];
    const float* const value = arguments.inputs[1];
    const float* const key = arguments.inputs[layer_.key_input()];
    if (layer_.score() == Score::kDot) {
      Multiply(context_,
               {.rows = steps_,
                .columns = positions_,
                .inner = width_,
                .b_transposed = true,
                .batches = examples_,
                .a_batch_stride = steps_ * width_,
                .b_batch_stride = positions_ * width_,
                .c_batch_stride = steps_ * positions_},
               query, key, scores_.data());
    } else {
      ComputeTanhScores(context_, Tanhs(arguments.variables), query, key, scores_.data());
    }
    const bool drops = arguments.training && drops_;
    AttentionScores scores = Scores(arguments.variables, arguments.random_key);
    scores.position_masks[0] = MaskOf(arguments.masks, 1);
    ComputeAttentionWeights(context_, scores, scores_.data(), weights(),
                            drops ? dropped_.data() : nullptr);
    Multiply(context_,
             {.rows = steps_,
              .columns = value_width_,
              .inner = positions_,
              .batches = examples_,
              .a_batch_stride = steps_ * positions_,
              .b_batch_stride = positions_ * value_width_,
              .c_batch_stride = steps_ * value_width_},
             drops ? dropped_.data() : weights(), value, arguments.output);
    ZeroMaskedRows(context_, examples_ * steps_, value_width_, MaskOf(arguments.masks, 0),
                   arguments.output);
    return absl::OkStatus();
  }

  void Backward(const BackwardArguments& arguments) override {
    ZeroMaskedRows(context_, examples_ * steps_, value_width_, MaskOf(arguments.masks, 0),
                   arguments.output_gradient);
    if (float* value = arguments.input_gradients[1]) {
      Multiply(context_,
               {.rows = positions_,
                .columns = value_width_,
                .inner = steps_,
                .a_transposed = true,
                .batches = examples_,
                .a_batch_stride = steps_ * positions_,
                .b_batch_stride = steps_ * value_width_,
                .c_batch_stride = positions_ * value_width_},
               drops_ ? dropped_.data() : weights(), arguments.output_gradient, value);
    }
    Multiply(context_,
             {.rows = steps_,
              .columns = positions_,
              .inner = value_width_,
              .b_transposed = true,
              .batches = examples_,
              .a_batch_stride = steps_ * value_width_,
              .b_batch_stride = positions_ * value_width_,
              .c_batch_stride = steps_ * positions_},
             arguments.output_gradient, arguments.inputs[1], gradient_.data());
    float* const scale = has_trained_dots_ ? arguments.variable_gradients[0] : nullptr;
    BackThroughAttentionWeights(context_, Scores(arguments.variables, arguments.random_key),
                                weights(), scores_.data(), gradient_.data(),
                                scale == nullptr ? nullptr : sums_.data());
    if (scale != nullptr) AddUp(context_, examples_ * steps_, sums_.data(), scale);
    layer_.score() == Score::kDot ? BackThroughDots(arguments) : BackThroughTanhs(arguments);
  }

 private:
  // Trained dots keep the scores for the backward pass; other scores become weights in place.
  float* weights() const { return weights_.data() == nullptr ? scores_.data() : weights_.data(); }
  // The key's gradient is added to the value's if they are the same input.
  bool adds_key() const { return layer_.key_input() == 1; }

  AttentionScores Scores(absl::Span<const float* const> variables, uint64_t random_key) const {
    return {.rows = examples_ * steps_,
            .steps = steps_,
            .positions = positions_,
            .trained_scale = has_trained_dots_ ? variables[0] : nullptr,
            .is_causal = layer_.is_causal(),
            .dropout = layer_.dropout(),
            .random_key = random_key};
  }

  TanhScores Tanhs(absl::Span<const float* const> variables) const {
    const bool has_weight = layer_.score() == Score::kConcat;
    return {.is_additive = layer_.score() == Score::kAdditive,
            .scale = layer_.use_scale() ? variables[0] : nullptr,
            .weight = has_weight ? variables[layer_.weight_variable()] : nullptr,
            .examples = examples_,
            .steps = steps_,
            .positions = positions_,
            .width = width_};
  }

  void BackThroughDots(const BackwardArguments& arguments) {
    if (float* query = arguments.input_gradients[0]) {
      Multiply(context_,
               {.rows = steps_,
                .columns = width_,
                .inner = positions_,
                .batches = examples_,
                .a_batch_stride = steps_ * positions_,
                .b_batch_stride = positions_ * width_,
                .c_batch_stride = steps_ * width_},
               gradient_.data(), arguments.inputs[layer_.key_input()], query);
    }
    if (float* key = arguments.input_gradients[layer_.key_input()]) {
      Multiply(context_,
               {.rows = positions_,
                .columns = width_,
                .inner = steps_,
                .a_transposed = true,
                .batches = examples_,
                .a_batch_stride = steps_ * positions_,
                .b_batch_stride = steps_ * width_,
                .c_batch_stride = positions_ * width_,
                .adds = adds_key()},
               gradient_.data(), arguments.inputs[0], key);
    }
  }

  void BackThroughTanhs(const BackwardArguments& arguments) {
    const TanhScores scores = Tanhs(arguments.variables);
    const TanhSide query = {arguments.inputs[0], steps_, positions_};
    const TanhSide key = {arguments.inputs[layer_.key_input()], positions_, 1};
    if (float* gradient = arguments.input_gradients[0]) {
      BackThroughTanhScores(context_, scores, query, key, gradient_.data(), /*adds=*/false,
                            gradient);
    }
    if (float* gradient = arguments.input_gradients[layer_.key_input()]) {
      BackThroughTanhScores(context_, scores, key, query, gradient_.data(), adds_key(), gradient);
    }
    float* const scale = layer_.use_scale() ? arguments.variable_gradients[0] : nullptr;
    float* const weight =
        scores.is_additive ? nullptr : arguments.variable_gradients[layer_.weight_variable()];
    if (scale == nullptr && weight == nullptr) return;
    SumTanhVariables(context_, scores, query.values, key.values, gradient_.data(), sums_.data(),
                     scale, weight);
  }

  Context* const context_;
  const ScoreAttentionLayer& layer_;
  const int64_t examples_;
  const int64_t steps_;
  const int64_t positions_;
  const int64_t width_;
  const int64_t value_width_;
  // The scores are dot products with a scale, which is a variable.
  const bool has_trained_dots_;
  const bool drops_;
  DeviceArray<float> scores_;
  DeviceArray<float> weights_;
  DeviceArray<float> dropped_;
  DeviceArray<float> gradient_;  // With respect to the weights, then the scores.
  DeviceArray<double> sums_;
};

}  // namespace

std::unique_ptr<Kernel> CreateScoreAttentionKernel(const Layer& layer,
                                                   const KernelContext& context) {
  return std::make_unique<ScoreAttentionKernel>(static_cast<const ScoreAttentionLayer&>(layer),
                                                context);
}

}  // namespace cairn::nn::cuda

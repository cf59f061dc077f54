#ifndef CAIRN_NN_LAYERS_SCORE_ATTENTION_H_
#define CAIRN_NN_LAYERS_SCORE_ATTENTION_H_

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "nn/layer.h"
#include "nn/layer_config.h"

namespace cairn::nn {

// Attention (Luong et al. 2015) and AdditiveAttention (Bahdanau et al. 2015): softmax(scores)
// value. The query has shape (steps, width), the value (positions, value width); the key is a third
// input (positions, width) or the value itself. The score of a step q and a position k is
//
//   dot:      scale * sum(q k)
//   concat:   concat_score_weight * sum(tanh(scale * (q + k)))
//   additive: sum(scale * tanh(q + k)), with a scale for each channel
//
// Masked positions, and later ones if causal, have a score that is 1e9 lower, as in Keras. The
// output of a masked step is zero.
class ScoreAttentionLayer : public Layer {
 public:
  enum class Score { kDot, kConcat, kAdditive };

  static absl::StatusOr<std::unique_ptr<const Layer>> Create(LayerConfig& config);

  Score score() const { return arguments_.score; }
  // If true, the first variable is the scale.
  bool use_scale() const { return arguments_.use_scale; }
  // The index of concat_score_weight.
  int weight_variable() const { return arguments_.use_scale ? 1 : 0; }
  double dropout() const { return inference_only() ? 0 : arguments_.dropout; }
  bool is_causal() const { return arguments_.is_causal; }

  // The index of the key among the inputs.
  int key_input() const { return inputs().size() == 3 ? 2 : 1; }
  int64_t steps() const { return inputs()[0].shape[0]; }
  int64_t positions() const { return inputs()[1].shape[0]; }
  int64_t width() const { return inputs()[0].shape[1]; }
  int64_t value_width() const { return inputs()[1].shape[1]; }

  bool uses_mask() const override { return true; }
  bool passes_mask() const override { return true; }

 private:
  struct Arguments {
    Score score = Score::kDot;
    bool use_scale = false;
    double dropout = 0;
    bool is_causal = false;
  };
  ScoreAttentionLayer(Base base, TensorSpec output, std::vector<LayerVariable> variables,
                      const Arguments& arguments)
      : Layer(std::move(base), std::move(output), std::move(variables)), arguments_(arguments) {}

  const Arguments arguments_;
};

}  // namespace cairn::nn

#endif  // CAIRN_NN_LAYERS_SCORE_ATTENTION_H_

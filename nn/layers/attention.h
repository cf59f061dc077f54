#ifndef CAIRN_NN_LAYERS_ATTENTION_H_
#define CAIRN_NN_LAYERS_ATTENTION_H_

#include <array>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "nn/layer.h"
#include "nn/layer_config.h"

namespace cairn::nn {

// MultiHeadAttention (Vaswani et al. 2017, https://arxiv.org/abs/1706.03762). The query has shape
// (steps, width), the value (positions, width); the key is a third input or the value itself. Each
// head computes softmax(query key' / sqrt(key width)) value. The heads are concatenated and
// projected by a dense product. The scores of masked steps and positions, and of later positions if
// causal, are replaced by -1e9 before the softmax, as in Keras: they have no gradient, and where
// all positions are masked, the weights are equal, or zero if zeroes_masked_weights(). Keras's
// attention_mask is the last input, which has no gradient: scores with a zero in it are masked,
// too.
class AttentionLayer : public Layer {
 public:
  static absl::StatusOr<std::unique_ptr<const Layer>> Create(LayerConfig& config);

  // The four projections. kernel(part) is the index of a projection's kernel in variables(); its
  // bias follows if use_bias(). Kernels have shape (width, heads, head width), that of kOutput
  // (heads, value width, output width).
  enum Part { kQuery, kKey, kValue, kOutput };
  int kernel(Part part) const { return part * (arguments_.use_bias ? 2 : 1); }
  bool use_bias() const { return arguments_.use_bias; }
  int64_t heads() const { return arguments_.heads; }
  int64_t key_width() const { return arguments_.key_width; }
  int64_t value_width() const { return arguments_.value_width; }
  double dropout() const { return inference_only() ? 0 : arguments_.dropout; }
  bool is_causal() const { return arguments_.is_causal; }
  // Keras computes these layers by its Softmax layer, in inference too.
  bool zeroes_masked_weights() const { return arguments_.dropout > 0 || arguments_.shows_weights; }

  // The index of the input that kQuery, kKey or kValue is computed from.
  int input(Part part) const {
    if (part == kQuery) return 0;
    return part == kKey && sequences() == 3 ? 2 : 1;
  }
  // The index of the attention mask; -1 if there is none. Its shape is that of the scores of an
  // example, (heads, steps, positions), with an axis of length 1 where it is the same for all.
  int mask_input() const { return arguments_.has_mask ? sequences() : -1; }
  Shape mask_shape() const { return WithHeads(inputs()[mask_input()].shape); }
  // How many elements of the attention mask lie between two examples, heads, steps and positions; 0
  // where it is the same for all.
  std::array<int64_t, 4> mask_strides() const {
    std::array<int64_t, 4> strides;
    const Shape shape = mask_shape();
    int64_t elements_behind = 1;
    for (int axis = 2; axis >= 0; --axis) {
      strides[axis + 1] = shape[axis] == 1 ? 0 : elements_behind;
      elements_behind *= shape[axis];
    }
    strides[0] = elements_behind;
    return strides;
  }
  int64_t steps() const { return inputs()[0].shape[0]; }
  int64_t positions() const { return inputs()[1].shape[0]; }

  bool uses_mask() const override { return true; }
  bool passes_mask() const override { return true; }
  bool removes_masks() const override { return true; }
  bool is_sequence(int input) const override { return input != mask_input(); }

 private:
  struct Arguments {
    int64_t heads = 1;
    int64_t key_width = 1;
    int64_t value_width = 1;
    double dropout = 0;
    bool use_bias = true;
    bool is_causal = false;
    bool has_mask = false;
    bool shows_weights = false;
  };
  AttentionLayer(Base base, TensorSpec output, std::vector<LayerVariable> variables,
                 const Arguments& arguments)
      : Layer(std::move(base), std::move(output), std::move(variables)), arguments_(arguments) {}
  static Arguments ReadArguments(LayerConfig& config);
  // The shape of an attention mask of 2 or 3 axes, with that of the heads.
  static Shape WithHeads(Shape mask) {
    if (mask.size() == 2) mask.insert(mask.begin(), 1);
    return mask;
  }
  int sequences() const {
    return static_cast<int>(inputs().size()) - (arguments_.has_mask ? 1 : 0);
  }

  const Arguments arguments_;
};

}  // namespace cairn::nn

#endif  // CAIRN_NN_LAYERS_ATTENTION_H_

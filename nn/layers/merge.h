#ifndef CAIRN_NN_LAYERS_MERGE_H_
#define CAIRN_NN_LAYERS_MERGE_H_

#include <memory>
#include <utility>

#include "absl/status/statusor.h"
#include "nn/layer.h"
#include "nn/layer_config.h"

namespace cairn::nn {

// Add, Subtract, Multiply, Average, Maximum and Minimum: combine inputs element by element.
// Subtract takes exactly two inputs, the others two or more. Axes of length 1 are broadcast.
class MergeLayer : public Layer {
 public:
  enum class Kind { kAdd, kSubtract, kMultiply, kAverage, kMaximum, kMinimum };

  static absl::StatusOr<std::unique_ptr<const Layer>> Create(LayerConfig& config);

  Kind kind() const { return kind_; }
  MaskMerge mask_merge() const override {
    const bool is_linear =
        kind_ == Kind::kAdd || kind_ == Kind::kSubtract || kind_ == Kind::kAverage;
    return is_linear ? MaskMerge::kUnion : MaskMerge::kEqual;
  }

 private:
  MergeLayer(Base base, TensorSpec output, Kind kind)
      : Layer(std::move(base), std::move(output), {}), kind_(kind) {}

  const Kind kind_;
};

}  // namespace cairn::nn

#endif  // CAIRN_NN_LAYERS_MERGE_H_

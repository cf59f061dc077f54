#ifndef CAIRN_NN_LAYERS_MASKING_H_
#define CAIRN_NN_LAYERS_MASKING_H_

#include <cstdint>
#include <memory>
#include <utility>

#include "absl/status/statusor.h"
#include "nn/layer.h"
#include "nn/layer_config.h"

namespace cairn::nn {

// Masking: masks the steps of a sequence whose features all equal the mask value. Their output is
// zero.
class MaskingLayer : public Layer {
 public:
  static absl::StatusOr<std::unique_ptr<const Layer>> Create(LayerConfig& config);

  float mask_value() const { return mask_value_; }
  int64_t steps() const { return output().shape[0]; }
  int64_t width() const { return output().shape[1]; }

  bool makes_mask() const override { return true; }
  bool computes_mask() const override { return true; }

 private:
  MaskingLayer(Base base, TensorSpec output, float mask_value)
      : Layer(std::move(base), std::move(output), {}), mask_value_(mask_value) {}

  const float mask_value_;
};

}  // namespace cairn::nn

#endif  // CAIRN_NN_LAYERS_MASKING_H_

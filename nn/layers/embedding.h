#ifndef CAIRN_NN_LAYERS_EMBEDDING_H_
#define CAIRN_NN_LAYERS_EMBEDDING_H_

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "nn/layer.h"
#include "nn/layer_config.h"

namespace cairn::nn {

// Embedding: looks up a row of the table for each id. Ids are int32, or floats, which are truncated
// as in Keras.
class EmbeddingLayer : public Layer {
 public:
  static absl::StatusOr<std::unique_ptr<const Layer>> Create(LayerConfig& config);

  int64_t rows() const { return variables()[0].spec.shape[0]; }
  int64_t width() const { return variables()[0].spec.shape[1]; }
  // True with Keras's mask_zero: id 0 marks a masked step.
  bool makes_mask() const override { return masks_zero_; }

 private:
  EmbeddingLayer(Base base, TensorSpec output, std::vector<LayerVariable> variables,
                 bool masks_zero)
      : Layer(std::move(base), std::move(output), std::move(variables)), masks_zero_(masks_zero) {}

  const bool masks_zero_;
};

}  // namespace cairn::nn

#endif  // CAIRN_NN_LAYERS_EMBEDDING_H_

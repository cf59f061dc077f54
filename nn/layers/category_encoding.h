#ifndef CAIRN_NN_LAYERS_CATEGORY_ENCODING_H_
#define CAIRN_NN_LAYERS_CATEGORY_ENCODING_H_

#include <cstdint>
#include <memory>
#include <utility>

#include "absl/status/statusor.h"
#include "nn/layer.h"
#include "nn/layer_config.h"

namespace cairn::nn {

// CategoryEncoding: encodes integers in [0, tokens) as vectors of length `tokens`. one_hot encodes
// each integer on its own; multi_hot and count encode all integers of the last axis as one vector,
// with ones or with counts.
class CategoryEncodingLayer : public Layer {
 public:
  static absl::StatusOr<std::unique_ptr<const Layer>> Create(LayerConfig& config);

  enum class Mode { kOneHot, kMultiHot, kCount };
  Mode mode() const { return mode_; }
  int64_t tokens() const { return output().shape.back(); }
  // The number of integers per vector.
  int64_t group() const { return group_; }

 private:
  CategoryEncodingLayer(Base base, TensorSpec output, Mode mode, int64_t group)
      : Layer(std::move(base), std::move(output), {}), mode_(mode), group_(group) {}

  const Mode mode_;
  const int64_t group_;
};

}  // namespace cairn::nn

#endif  // CAIRN_NN_LAYERS_CATEGORY_ENCODING_H_

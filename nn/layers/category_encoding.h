#ifndef CAIRN_NN_LAYERS_CATEGORY_ENCODING_H_
#define CAIRN_NN_LAYERS_CATEGORY_ENCODING_H_

#include <cstdint>
#include <memory>
#include <utility>

#include "absl/status/statusor.h"
#include "nn/layer.h"
#include "nn/layer_config.h"

namespace cairn::nn {

// Whole numbers from 0 to tokens - 1 as vectors of that length: each number its own (one_hot), or
// the numbers of the last axis together, as ones (multi_hot) or how often each is there (count).
class CategoryEncodingLayer : public Layer {
 public:
  static absl::StatusOr<std::unique_ptr<const Layer>> Create(LayerConfig& config);

  enum class Mode { kOneHot, kMultiHot, kCount };
  Mode mode() const { return mode_; }
  int64_t tokens() const { return output().shape.back(); }
  // How many numbers make one vector.
  int64_t group() const { return group_; }

 private:
  CategoryEncodingLayer(Base base, TensorSpec output, Mode mode, int64_t group)
      : Layer(std::move(base), std::move(output), {}), mode_(mode), group_(group) {}

  const Mode mode_;
  const int64_t group_;
};

}  // namespace cairn::nn

#endif  // CAIRN_NN_LAYERS_CATEGORY_ENCODING_H_

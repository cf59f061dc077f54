#ifndef CAIRN_NN_LAYERS_INPUT_H_
#define CAIRN_NN_LAYERS_INPUT_H_

#include <memory>
#include <utility>

#include "absl/status/statusor.h"
#include "nn/layer.h"
#include "nn/layer_config.h"

namespace cairn::nn {

// InputLayer: an input of the model. It has no inputs, variables or kernel. One of dtype string has
// indices of texts: see StringLookupLayer.
class InputLayer : public Layer {
 public:
  static absl::StatusOr<std::unique_ptr<const Layer>> Create(LayerConfig& config);

  bool is_text() const { return is_text_; }

 private:
  InputLayer(Base base, TensorSpec output, bool is_text)
      : Layer(std::move(base), std::move(output), {}), is_text_(is_text) {}

  const bool is_text_;
};

// True for an input of texts.
inline bool IsText(const Layer& layer) {
  return layer.class_name() == "InputLayer" && static_cast<const InputLayer&>(layer).is_text();
}

}  // namespace cairn::nn

#endif  // CAIRN_NN_LAYERS_INPUT_H_

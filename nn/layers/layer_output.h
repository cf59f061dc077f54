#ifndef CAIRN_NN_LAYERS_LAYER_OUTPUT_H_
#define CAIRN_NN_LAYERS_LAYER_OUTPUT_H_

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "nn/layer.h"
#include "nn/tensor.h"
#include "proto/model.pb.h"

namespace cairn::nn {

// The class name of LayerOutputLayer.
inline constexpr char kLayerOutput[] = "LayerOutput";

// The shapes of the outputs of a layer that has several, as an LSTM with return_state. Empty if it
// has one.
std::vector<Shape> OutputsOf(const Layer& layer);

// LayerOutput, one output of a layer that has several. The tensor of such a layer is all of its
// outputs, flat, one after the other. Only LayerOutputs take it, so every other tensor of a model
// is one output. No layer of Keras: readers of models add it (nn/formats/called_layers.h).
// Its argument `output` counts as Keras does.
class LayerOutputLayer : public Layer {
 public:
  // `of` is the layer that the input comes from.
  static absl::StatusOr<std::unique_ptr<const Layer>> Create(const proto::LayerSpec& spec,
                                                             const Layer& of);

  int64_t index() const { return index_; }
  // Where the output begins in an example of the input.
  int64_t offset() const { return offset_; }

  // In Keras states have no masks.
  bool passes_mask() const override { return index_ == 0; }

 private:
  LayerOutputLayer(Base base, TensorSpec output, int64_t index, int64_t offset)
      : Layer(std::move(base), std::move(output), {}), index_(index), offset_(offset) {}

  const int64_t index_;
  const int64_t offset_;
};

}  // namespace cairn::nn

#endif  // CAIRN_NN_LAYERS_LAYER_OUTPUT_H_

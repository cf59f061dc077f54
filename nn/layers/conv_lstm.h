#ifndef CAIRN_NN_LAYERS_CONV_LSTM_H_
#define CAIRN_NN_LAYERS_CONV_LSTM_H_

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "nn/layer.h"
#include "nn/layer_config.h"
#include "nn/layers/recurrent.h"
#include "nn/layers/window.h"

namespace cairn::nn {

// ConvLSTM1D and ConvLSTM2D: an LSTM over a sequence of images, whose products with the kernel and
// the recurrent kernel are convolutions (Shi et al. 2015, without peepholes). In one dimension an
// image has one row.
class ConvLstmLayer : public Layer {
 public:
  static absl::StatusOr<std::unique_ptr<const Layer>> Create(LayerConfig& config);

  // (height, width, channels) of one step. The state has the shape of output_image().
  const Shape& input_image() const { return arguments_.input; }
  const Shape& output_image() const { return arguments_.output; }
  // The window over the input, and the one over the state, which keeps its size.
  const Window& window() const { return arguments_.window; }
  const Window& recurrent_window() const { return arguments_.recurrent_window; }
  // The cell of a pixel: its units are the filters.
  const RecurrentPass& cell() const { return arguments_.cell; }
  bool returns_sequences() const { return arguments_.returns_sequences; }
  // The variables are the kernel (height, width, channels, 4 * filters), the recurrent kernel and,
  // if cell().use_bias, the bias.

  bool refuses_mask() const override { return true; }

 private:
  struct Arguments {
    Shape input;
    Shape output;
    Window window;
    Window recurrent_window;
    RecurrentPass cell;
    bool returns_sequences = false;
  };
  ConvLstmLayer(Base base, TensorSpec output, std::vector<LayerVariable> variables,
                Arguments arguments)
      : Layer(std::move(base), std::move(output), std::move(variables)),
        arguments_(std::move(arguments)) {}

  const Arguments arguments_;
};

}  // namespace cairn::nn

#endif  // CAIRN_NN_LAYERS_CONV_LSTM_H_

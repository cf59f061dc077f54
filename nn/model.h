#ifndef CAIRN_NN_MODEL_H_
#define CAIRN_NN_MODEL_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "nn/layer.h"
#include "nn/tensor.h"
#include "nn/variable_spec.h"
#include "proto/model.pb.h"

namespace cairn::nn {

// A checked model: layers, how they are connected, shapes and variables. Holds no values and
// allocates nothing that grows with them. Immutable, thread-safe.
class Model {
 public:
  struct Input {
    std::string name;
    // Of one example. FLOAT32 or INT32 (also for inputs that Keras has as int64 or uint8).
    TensorSpec spec;
  };

  struct Node {
    std::unique_ptr<const Layer> layer;
    // Positions in nodes(), all smaller than this one's.
    std::vector<int> inputs;
    // The layer's variables are variables()[first_variable, ...) in the layer's order.
    int first_variable = 0;
  };

  // INVALID_ARGUMENT names the layer and says what is wrong with it: unknown class, unknown or
  // ill-typed argument (with the list of known ones), inputs that do not fit, shapes too large.
  static absl::StatusOr<std::unique_ptr<Model>> Create(const proto::ModelSpec& spec);

  // In the order in which a batch brings them.
  const std::vector<Input>& inputs() const { return inputs_; }
  // Of one example.
  const Shape& output_shape() const { return nodes_[output_].layer->output().shape; }
  // Layer by layer, within a layer in Keras's order.
  const std::vector<VariableSpec>& variables() const { return variables_; }

  // The layers in an order in which they can be computed.
  const std::vector<Node>& nodes() const { return nodes_; }
  // Positions in nodes(): of the inputs, in the order of inputs(), and of the output.
  const std::vector<int>& input_nodes() const { return input_nodes_; }
  int output_node() const { return output_; }

 private:
  Model() = default;
  absl::Status AddLayer(const proto::LayerSpec& spec, std::vector<int> inputs);
  absl::Status AddInputs(const proto::ModelSpec& spec);
  absl::Status ExpectAllUsed() const;

  std::vector<Node> nodes_;
  std::vector<VariableSpec> variables_;
  std::vector<Input> inputs_;
  std::vector<int> input_nodes_;
  int output_ = 0;
};

}  // namespace cairn::nn

#endif  // CAIRN_NN_MODEL_H_

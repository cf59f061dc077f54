#ifndef CAIRN_NN_MODEL_H_
#define CAIRN_NN_MODEL_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
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

  struct Output {
    // The layer's.
    std::string name;
    // Of one example; float32.
    Shape shape;
    // A position in nodes().
    int node = 0;
  };

  struct Node {
    std::unique_ptr<const Layer> layer;
    // Positions in nodes(), all smaller than this one's.
    std::vector<int> inputs;
    // By input, if the layer uses masks: the node whose words say which steps count (zero: it does
    // not), or -1. Else empty.
    std::vector<int> masks;
    // The node whose variables this one uses too, being another call of its layer; or -1.
    int owner = -1;
    // The layer's variables are variables()[first_variable, ...) in the layer's order.
    int first_variable = 0;
  };

  // INVALID_ARGUMENT names the layer and says what is wrong with it: unknown class, unknown or
  // ill-typed argument (with the list of known ones), inputs that do not fit, shapes too large.
  static absl::StatusOr<std::unique_ptr<Model>> Create(const proto::ModelSpec& spec);

  // In the order in which a batch brings them.
  const std::vector<Input>& inputs() const { return inputs_; }
  // In the order in which Keras lists them; at least one.
  const std::vector<Output>& outputs() const { return outputs_; }
  // Of one example of the first output.
  const Shape& output_shape() const { return outputs_[0].shape; }
  // Layer by layer, within a layer in Keras's order.
  const std::vector<VariableSpec>& variables() const { return variables_; }

  // The layers in an order in which they can be computed.
  const std::vector<Node>& nodes() const { return nodes_; }
  // Positions in nodes(): of the inputs, in the order of inputs(), and of the first output.
  const std::vector<int>& input_nodes() const { return input_nodes_; }
  int output_node() const { return outputs_[0].node; }

 private:
  using NodesByName = absl::flat_hash_map<std::string, int>;

  Model() = default;
  absl::Status ConnectMasks(Node* node);
  absl::Status AddVariables(const proto::LayerSpec& spec, const NodesByName& nodes, Node* node);
  absl::Status ShareVariables(const proto::LayerSpec& spec, const NodesByName& nodes,
                              Node* node) const;
  absl::Status AddLayer(const proto::LayerSpec& spec, const NodesByName& nodes,
                        std::vector<int> inputs);
  absl::Status AddInputs(const proto::ModelSpec& spec);
  absl::Status AddOutputs(const proto::ModelSpec& spec, const NodesByName& nodes);
  absl::Status ExpectAllUsed() const;

  std::vector<Node> nodes_;
  std::vector<VariableSpec> variables_;
  std::vector<Input> inputs_;
  std::vector<int> input_nodes_;
  std::vector<Output> outputs_;
  // By node: where the mask of its output lies, as Node::masks.
  std::vector<int> masks_;
};

}  // namespace cairn::nn

#endif  // CAIRN_NN_MODEL_H_

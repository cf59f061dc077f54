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

// A validated model: its layers, their connections, shapes and variables. Holds no values; its size
// does not depend on theirs. Immutable and thread-safe.
class Model {
 public:
  struct Input {
    std::string name;
    // Shape and type of one example: FLOAT32 or INT32. Keras's int64 and uint8 inputs are INT32
    // here.
    TensorSpec spec;
  };

  struct Output {
    // The name of the layer that computes the output.
    std::string name;
    // The shape of one example; the type is float32.
    Shape shape;
    // An index into nodes().
    int node = 0;
  };

  // One call of a layer. A layer that is called several times has one node per call.
  struct Node {
    std::unique_ptr<const Layer> layer;
    // Indices into nodes(), all smaller than this node's.
    std::vector<int> inputs;
    // By input, if the layer uses masks or merges different ones: the node whose output is the mask
    // (zero: the step is masked) or whose kernel writes it, or -1. Empty otherwise.
    std::vector<int> masks;
    // Whether the kernel writes the mask of the output: it computes or merges masks.
    bool writes_mask = false;
    // The node that owns the variables, if this node is a further call of its layer; otherwise -1.
    int owner = -1;
    // The layer's variables start at variables()[first_variable], in the layer's order.
    int first_variable = 0;
    // Of the batch's statistic in this call, if the layer has moving averages: WeightOfCall in
    // nn/moving_average.h. 0: the call uses the moving averages.
    double statistic_weight = 1;
  };

  // Validates a model. INVALID_ARGUMENT names the layer and the problem: an unknown class, an
  // unknown or invalid argument (with the list of known ones), inputs of the wrong shape, or a
  // tensor that is too large.
  static absl::StatusOr<std::unique_ptr<Model>> Create(const proto::ModelSpec& spec);
  // The same for a model that is only written to a file: it may have the layers of
  // nn/layers/preparation.h, which no device computes.
  static absl::StatusOr<std::unique_ptr<Model>> CreateForExport(const proto::ModelSpec& spec);

  // By node: the node whose output is, or whose kernel writes, the mask of its output, or -1.
  const std::vector<int>& masks() const { return masks_; }
  // The inputs in the order of Executor::Batch::inputs.
  const std::vector<Input>& inputs() const { return inputs_; }
  // The outputs in Keras's order; at least one.
  const std::vector<Output>& outputs() const { return outputs_; }
  // The shape of one example of the first output.
  const Shape& output_shape() const { return outputs_[0].shape; }
  // All variables, layer by layer; within a layer in Keras's order.
  const std::vector<VariableSpec>& variables() const { return variables_; }

  // The nodes in topological order.
  const std::vector<Node>& nodes() const { return nodes_; }
  // Indices into nodes(): those of the inputs, in the order of inputs(), and that of the first
  // output.
  const std::vector<int>& input_nodes() const { return input_nodes_; }
  int output_node() const { return outputs_[0].node; }

 private:
  using NodesByName = absl::flat_hash_map<std::string, int>;
  // As CreateLayer.
  using LayerCreator = absl::StatusOr<std::unique_ptr<const Layer>> (*)(const proto::LayerSpec&,
                                                                        std::vector<TensorSpec>);

  explicit Model(LayerCreator create_layer) : create_layer_(create_layer) {}
  static absl::StatusOr<std::unique_ptr<Model>> Create(const proto::ModelSpec& spec,
                                                       LayerCreator create_layer);
  absl::Status ConnectMasks(Node* node);
  // Merges the masks of the node's inputs and returns that of its output, or -1.
  absl::StatusOr<int> MergeMasks(Node* node) const;
  int MaskLeft(const Node& node, int mask) const;
  absl::Status AddVariables(const proto::LayerSpec& spec, const NodesByName& nodes, Node* node);
  absl::Status ShareVariables(const proto::LayerSpec& spec, const NodesByName& nodes,
                              Node* node) const;
  void WeighStatistics();
  absl::Status AddLayer(const proto::LayerSpec& spec, const NodesByName& nodes,
                        std::vector<int> inputs);
  absl::Status AddInputs(const proto::ModelSpec& spec);
  absl::Status AddOutputs(const proto::ModelSpec& spec, const NodesByName& nodes);
  absl::Status ExpectAllUsed() const;

  const LayerCreator create_layer_;
  std::vector<Node> nodes_;
  std::vector<VariableSpec> variables_;
  std::vector<Input> inputs_;
  std::vector<int> input_nodes_;
  std::vector<Output> outputs_;
  std::vector<int> masks_;
  // By node: the mask that is left for the layers with removes_masks().
  std::vector<int> masks_left_;
};

}  // namespace cairn::nn

#endif  // CAIRN_NN_MODEL_H_

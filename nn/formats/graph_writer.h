#ifndef CAIRN_NN_FORMATS_GRAPH_WRITER_H_
#define CAIRN_NN_FORMATS_GRAPH_WRITER_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "nn/formats/imported_model.h"
#include "nn/layers/activation_layer.h"
#include "nn/layers/recurrent.h"
#include "nn/layers/window.h"
#include "nn/model.h"
#include "nn/tensor.h"
#include "proto/model.pb.h"

namespace cairn::nn {

// What the writers of ONNX and SavedModel share: the layer that is written, and the layers and
// masks whose operators differ in nothing but their names. A value is the name of an operator's
// output.
//
// A mask is a value of shape (batch, steps): 1 for a valid step, 0 for a masked one.
class GraphWriter {
 protected:
  using Written = absl::StatusOr<std::string>;

  // `format` begins the reasons of refusals: "an ONNX export".
  GraphWriter(const char* format, const proto::ModelSpec& spec, const Model& model,
              absl::Span<const NamedTensor> weights)
      : spec_(spec), model_(model), weights_(weights), format_(format) {}
  ~GraphWriter() = default;

  // Operators on floats, with broadcasting. Axis 0 is the batch.
  //
  // `weight` is the name of a variable whose values these are, or "".
  virtual std::string Constant(const Shape& shape, const std::vector<float>& values,
                               const std::string& weight) = 0;
  virtual std::string Add(const std::string& x, const std::string& y) = 0;
  virtual std::string Subtract(const std::string& x, const std::string& y) = 0;
  virtual std::string Multiply(const std::string& x, const std::string& y) = 0;
  virtual std::string Divide(const std::string& x, const std::string& y) = 0;
  virtual std::string Larger(const std::string& x, const std::string& y) = 0;
  // The product of matrices.
  virtual std::string Product(const std::string& x, const std::string& y) = 0;
  virtual std::string Einsum(const char* equation, const std::string& x, const std::string& y) = 0;
  virtual std::string Activate(const Activation& activation, const std::string& x) = 0;
  // 1 where x is not `value`, else 0.
  virtual std::string IsNot(const std::string& x, float value) = 0;
  // x where the mask is 1, else y.
  virtual std::string Select(const std::string& mask, const std::string& x,
                             const std::string& y) = 0;
  // The sum over an axis, which is dropped.
  virtual std::string Sum(const std::string& x, int axis) = 0;
  // The value with another shape of an example.
  virtual std::string WithShape(const std::string& x, const Shape& shape) = 0;
  virtual std::string Transpose(const std::string& x, const std::vector<int>& order) = 0;
  virtual std::string Join(const std::vector<std::string>& values, int axis) = 0;
  // `parts` equal parts of axis 1.
  virtual std::vector<std::string> Split(const std::string& x, int64_t parts) = 0;
  // The `count` steps of a sequence, without their axis, and the sequence of some steps.
  virtual std::vector<std::string> Steps(const std::string& sequence, int64_t count) = 0;
  virtual std::string Sequence(const std::vector<std::string>& steps) = 0;
  // The sequence in the opposite order.
  virtual std::string Reversed(const std::string& sequence) = 0;

  // The output of a node, as floats.
  virtual std::string FloatOf(int node) = 0;
  // An image in the order of axes that Convolve takes, and the output of the layer from one.
  virtual std::string ToImage(const std::string& x, const Shape& image) = 0;
  virtual std::string FromImage(const std::string& image) = 0;
  // `filters` are those of all groups.
  virtual std::string Convolve(const std::string& image, const Window& window, int variable,
                               int64_t filters, int64_t groups) = 0;

  // One direction of a recurrent layer.
  struct PassResult {
    std::string output;               // All steps in the order of computation, or the last one.
    std::vector<std::string> states;  // The last ones, if the layer returns states.
  };
  // `first_state` counts the states of the passes before it.
  virtual absl::StatusOr<PassResult> Pass(const RecurrentPass& pass, int first_state) = 0;
  // Operators for each step.
  absl::StatusOr<PassResult> UnrolledPass(const RecurrentPass& pass, int first_state);

  // The shape and type of an input of the model in the file. Whole numbers that are looked up or
  // hashed have 64 bits.
  TensorSpec InputSpec(int node) const;

  // The layer that is written.
  const Model::Node& node() const { return model_.nodes()[node_]; }
  const Layer& layer() const { return *node().layer; }
  template <typename T>
  const T& As() const {
    return static_cast<const T&>(layer());
  }
  // INVALID_ARGUMENT: the format `reason`.
  absl::Status Refuse(absl::string_view reason) const;

  std::string In(int input = 0) { return FloatOf(node().inputs[input]); }
  std::string Scalar(float value) { return Constant({}, {value}, ""); }
  const std::vector<float>& Values(int variable) const;
  // The name of a variable, which a constant has that is nothing but its values.
  const std::string& WeightName(int variable) const;
  std::string Weight(int variable);
  std::string WithBias(const std::string& x, int variable);

  // The mask of an input, or "" if no step is masked or the layer does not use masks.
  std::string MaskOf(int input);

  Written Affine();
  Written Attention();
  Written BatchNormalization();
  Written Convolution();
  Written Dense();
  Written LayerOutput();
  Written Masking();
  Written Recurrent();
  Written SeparableConvolution();
  // The mean over all positions but the masked ones; 0 if all are masked.
  Written MaskedMean();
  // Adds the mask of a layer of several inputs whose masks differ.
  void MergeMasks();

  const proto::ModelSpec& spec_;
  const Model& model_;
  const absl::Span<const NamedTensor> weights_;
  int node_ = 0;                     // The layer that is written.
  std::vector<std::string> values_;  // By node: its output.

 private:
  std::string ScaleAndShift(const std::string& x, const std::vector<double>& scales,
                            const std::vector<double>& offsets);
  // Of an attention layer whose inputs have masks: 1 for each score, or 0 if it is masked, with a
  // shape that extends to that of the scores: (batch, heads, steps, positions). Empty without
  // masks.
  std::string OpenScores();
  // A constant of shape (steps, positions).
  std::string EarlierOr(float earlier, float later);

  const char* const format_;
  std::map<int, std::vector<std::string>> outputs_;  // By recurrent layer: what it returns.
  std::map<int, std::string> masks_;                 // By node: the mask that it has or writes.
};

}  // namespace cairn::nn

#endif  // CAIRN_NN_FORMATS_GRAPH_WRITER_H_

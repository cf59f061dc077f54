#ifndef CAIRN_NN_LAYER_H_
#define CAIRN_NN_LAYER_H_

#include <string>
#include <utility>
#include <vector>

#include "nn/activation.h"
#include "nn/regularizer.h"
#include "nn/tensor.h"
#include "nn/variable_spec.h"

namespace cairn::nn {

// A variable of a layer with its weight penalty.
struct LayerVariable {
  VariableSpec spec;
  Regularizer regularizer;
};

// The description of one layer: its validated arguments, its input and output shapes, and its
// variables. It computes nothing; a device creates a Kernel for it. Subclasses (nn/layers) add the
// arguments that their kernels need. Immutable and thread-safe.
class Layer {
 public:
  // The arguments that every layer has, as its factory received them.
  struct Base {
    std::string name;
    std::string class_name;
    bool trainable = true;
    bool inference_only = false;
    Regularizer activity_regularizer;
    std::vector<TensorSpec> inputs;
  };

  virtual ~Layer() = default;
  Layer(const Layer&) = delete;
  Layer& operator=(const Layer&) = delete;

  const std::string& name() const { return name_; }
  // Keras's class name.
  const std::string& class_name() const { return class_name_; }
  // If false, the layer's variables are kFrozen, and batch normalization runs in inference mode.
  bool trainable() const { return trainable_; }
  // If true, the layer was called with training=False: it runs in inference mode even during
  // training.
  bool inference_only() const { return inference_only_; }
  // The penalty of the layer's output. An example adds it to the loss of a batch like its own loss:
  // the loss has the mean over the batch.
  const Regularizer& activity_regularizer() const { return activity_regularizer_; }

  const std::vector<TensorSpec>& inputs() const { return inputs_; }
  const TensorSpec& output() const { return output_; }
  // The variables in Keras's order.
  const std::vector<LayerVariable>& variables() const { return variables_; }

  // The activation applied to the layer's result; linear by default.
  virtual Activation activation() const { return {}; }
  // True if the output has the same bytes as the only input and differs in shape only. Such a layer
  // has no kernel.
  virtual bool is_view() const { return false; }

  // Keras's masking: a mask tells which steps of a sequence are valid. An Embedding with mask_zero
  // creates a mask, which is its input, and Masking. It propagates through layers that pass it to
  // those that use it; other layers drop it.
  virtual bool makes_mask() const { return false; }
  // True if the kernel writes the mask that the layer makes: one word for each step of the output.
  virtual bool computes_mask() const { return false; }
  virtual bool passes_mask() const { return false; }
  // How a layer of several inputs makes one mask of theirs. Its kernel writes the mask.
  enum class MaskMerge {
    kNone,   // It does not: passes_mask() passes that of the first input.
    kUnion,  // A step is valid if it is valid in one input. No mask if an input has none.
    kJoin,   // The steps of the inputs follow each other. Inputs without a mask are valid.
    kEqual,  // All inputs must have the same mask, or none: Keras leaves the masked steps of an
             // input out of these layers, so that their values depend on the masks.
  };
  virtual MaskMerge mask_merge() const { return MaskMerge::kNone; }
  virtual bool uses_mask() const { return false; }
  // True if Keras uses a mask here and this layer does not: a model in which it has one is
  // rejected.
  virtual bool refuses_mask() const { return false; }
  // True if the layer takes the masks that Keras's tensors have at run time, and removes them from
  // its inputs, so that the next such layer does not have them. Others have those of the graph.
  virtual bool removes_masks() const { return false; }
  // False for an input whose mask means nothing to the layer.
  virtual bool is_sequence(int /*input*/) const { return true; }

 protected:
  Layer(Base base, TensorSpec output, std::vector<LayerVariable> variables)
      : name_(std::move(base.name)),
        class_name_(std::move(base.class_name)),
        trainable_(base.trainable),
        inference_only_(base.inference_only),
        activity_regularizer_(base.activity_regularizer),
        inputs_(std::move(base.inputs)),
        output_(std::move(output)),
        variables_(std::move(variables)) {}

 private:
  const std::string name_;
  const std::string class_name_;
  const bool trainable_;
  const bool inference_only_;
  const Regularizer activity_regularizer_;
  const std::vector<TensorSpec> inputs_;
  const TensorSpec output_;
  const std::vector<LayerVariable> variables_;
};

}  // namespace cairn::nn

#endif  // CAIRN_NN_LAYER_H_

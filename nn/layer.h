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

struct LayerVariable {
  VariableSpec spec;
  Regularizer regularizer;
};

// One layer of a model, described: its arguments, checked, the shapes that follow from them and
// its variables. Computes nothing: each device has a Kernel for it. Immutable, thread-safe.
// Subclasses (nn/layers) add the arguments that their kernels need.
class Layer {
 public:
  // The name and the inputs, as its factory got them.
  struct Base {
    std::string name;
    std::string class_name;
    bool trainable = true;
    bool infers = false;
    std::vector<TensorSpec> inputs;
  };

  virtual ~Layer() = default;
  Layer(const Layer&) = delete;
  Layer& operator=(const Layer&) = delete;

  const std::string& name() const { return name_; }
  // Keras's name of the class.
  const std::string& class_name() const { return class_name_; }
  // False: its variables are kFrozen (and batch normalisation infers).
  bool trainable() const { return trainable_; }
  // True: it was called with training=False and computes as in inference even in training.
  bool infers() const { return infers_; }

  const std::vector<TensorSpec>& inputs() const { return inputs_; }
  const TensorSpec& output() const { return output_; }
  // In Keras's order.
  const std::vector<LayerVariable>& variables() const { return variables_; }

  // What the layer applies last.
  virtual Activation activation() const { return {}; }
  // True if the output is the only input's bytes under another shape: nothing needs computing.
  virtual bool is_view() const { return false; }

  // Masks, as Keras's: which steps of a sequence count. What an Embedding with mask_zero says goes
  // along the graph through the layers that pass it, up to those that use it or drop it.
  virtual bool makes_mask() const { return false; }
  virtual bool passes_mask() const { return false; }
  virtual bool uses_mask() const { return false; }

 protected:
  Layer(Base base, TensorSpec output, std::vector<LayerVariable> variables)
      : name_(std::move(base.name)),
        class_name_(std::move(base.class_name)),
        trainable_(base.trainable),
        infers_(base.infers),
        inputs_(std::move(base.inputs)),
        output_(std::move(output)),
        variables_(std::move(variables)) {}

 private:
  const std::string name_;
  const std::string class_name_;
  const bool trainable_;
  const bool infers_;
  const std::vector<TensorSpec> inputs_;
  const TensorSpec output_;
  const std::vector<LayerVariable> variables_;
};

}  // namespace cairn::nn

#endif  // CAIRN_NN_LAYER_H_

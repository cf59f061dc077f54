#ifndef CAIRN_NN_LOSS_H_
#define CAIRN_NN_LOSS_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "nn/activation.h"
#include "nn/tensor.h"

namespace cairn::proto {
class Loss;
}

namespace cairn::nn {

// Keras's losses: the mean over examples (and positions in an example) of a distance between the
// model's output and labels. Probabilities are clipped to [1e-7, 1 - 1e-7]. Immutable, thread-safe.
class Loss {
 public:
  // A batch of outputs, `examples` times `shape`, with its labels: int32 or float as label_type().
  struct Batch {
    int64_t examples = 0;
    const Shape* shape = nullptr;
    const float* output = nullptr;
    const void* labels = nullptr;
    // One for each example, not negative; null: all 1. An example's loss and gradient are
    // multiplied by its weight; what they are divided by stays the number of examples (Keras's
    // "sum_over_batch_size" with sample weights).
    const float* weights = nullptr;
    // The output came from fused_activation().
    bool fused = false;
    // What the gradient is divided by; 0: the examples, which makes it the mean loss's.
    int64_t gradient_divisor = 0;
    // What the gradient, but not the loss, is multiplied by: this output's share of the model's
    // loss.
    float gradient_scale = 1;
    // For metrics: what Compute has returned for this batch.
    double loss_sum = 0;

    float weight(int64_t example) const { return weights == nullptr ? 1.0f : weights[example]; }
  };

  virtual ~Loss() = default;

  // Keras's full name.
  const std::string& name() const { return name_; }
  // INT32 for class numbers, else FLOAT32.
  proto::DataType label_type() const { return label_type_; }

  // Shapes of one example. INVALID_ARGUMENT shows both and what is wanted. A last axis of 1 may be
  // absent from or present in the labels.
  virtual absl::Status ValidateShapes(const Shape& output, const Shape& labels) const = 0;
  // How many label values belong to one example of a valid output shape.
  virtual int64_t LabelCount(const Shape& output) const = 0;

  // The activation whose derivative cancels with this loss's: computed together they are exact
  // where the clipped form has no gradient (as Keras does with TensorFlow). kLinear if none.
  virtual Activation::Kind fused_activation() const { return Activation::Kind::kLinear; }

  // Returns the sum over examples of weight times the example's loss. Unless `gradient` is null it
  // receives that sum's derivative, divided by the batch's divisor, by the output or, if
  // batch.fused, by what the activation was applied to. INVALID_ARGUMENT: a class number that is
  // out of range.
  virtual absl::StatusOr<double> Compute(const Batch& batch, float* gradient) const = 0;

 protected:
  Loss(std::string name, proto::DataType label_type)
      : name_(std::move(name)), label_type_(label_type) {}

 private:
  const std::string name_;
  const proto::DataType label_type_;
};

// The loss of that name (Keras's, or its short form, or its class's) with its arguments.
// INVALID_ARGUMENT names an unknown loss, an argument that it does not have, or a value out of
// range, and says what is known.
absl::StatusOr<std::unique_ptr<Loss>> CreateLoss(const proto::Loss& config);

// The names that CreateLoss knows, without their other forms.
std::vector<std::string> LossNames();

}  // namespace cairn::nn

#endif  // CAIRN_NN_LOSS_H_

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

// The formula and the arguments of a loss as numbers, for devices that compute losses themselves.
// They cannot call Loss::Compute, which reads host memory.
struct LossSpec {
  enum class Kind {
    kOther,  // Only Loss::Compute computes it.
    // The mean of a distance of each output from its label.
    kBinaryCrossentropy,
    kBinaryFocalCrossentropy,
    kHinge,
    kHuber,
    kLogCosh,
    kMeanAbsoluteError,
    kMeanAbsolutePercentageError,
    kMeanSquaredError,
    kMeanSquaredLogarithmicError,
    kPoisson,
    kSquaredHinge,
    kWasserstein,
    // The mean of a distance of the outputs along the last axis from the labels there.
    kCategoricalCrossentropy,  // Sparse, too.
    kCategoricalFocalCrossentropy,
    kCategoricalHinge,
    kCosineSimilarity,
    kGeneralizedCrossentropy,
    kKlDivergence,
  };

  Kind kind = Kind::kOther;
  // The sum over examples and positions in place of the mean.
  bool is_sum = false;
  bool from_logits = false;
  float label_smoothing = 0;
  bool has_ignored_class = false;
  int64_t ignored_class = 0;
  // Of focal losses.
  double alpha = 0;
  double gamma = 0;
  bool balances_classes = false;
  float delta = 0;  // Huber's.
  double q = 0;     // Of kGeneralizedCrossentropy.
};

// A loss function: the mean over examples (and over positions within an example) of a distance
// between the model's output and the labels. Formulas and names are Keras 3's
// (keras/src/losses/losses.py). Probabilities are clipped to [1e-7, 1 - 1e-7]. Immutable and
// thread-safe.
class Loss {
 public:
  // The outputs of a batch, (examples, shape...), with labels of label_type(), float or int32.
  struct Batch {
    int64_t examples = 0;
    const Shape* shape = nullptr;
    const float* output = nullptr;
    const void* labels = nullptr;
    // One non-negative weight per example; null: all 1. The weight multiplies the example's loss
    // and gradient. The divisor remains the number of examples, as with Keras's reduction
    // "sum_over_batch_size".
    const float* weights = nullptr;
    // The input of the activation that computed the output, a softmax or a sigmoid, if the loss, or
    // a loss that is a metric, takes it (TakesLogitsOf). Then that loss's Compute returns the
    // gradient with respect to it. Null otherwise.
    const float* logits = nullptr;
    bool is_softmax = false;  // Else it is a sigmoid.
    // The divisor of the gradient. 0: the number of examples, which gives the gradient of the mean.
    int64_t gradient_divisor = 0;
    // A factor of the gradient, but not of the loss: the weight of this output in the model's loss.
    float gradient_scale = 1;
    // For metrics: the result of Compute for this batch.
    double loss_sum = 0;

    // That of the output, if there are logits.
    Activation::Kind activation() const {
      return is_softmax ? Activation::Kind::kSoftmax : Activation::Kind::kSigmoid;
    }
    float weight(int64_t example) const { return weights == nullptr ? 1.0f : weights[example]; }
  };

  virtual ~Loss() = default;

  // Keras's full name of the loss.
  const std::string& name() const { return name_; }
  // INT32 for class labels, otherwise FLOAT32.
  proto::DataType label_type() const { return label_type_; }
  virtual LossSpec spec() const { return {}; }

  // Checks the output's shape (of one example), whatever the labels are. INVALID_ARGUMENT names the
  // shape and the expected one.
  virtual absl::Status ValidateOutput(const Shape&) const { return absl::OkStatus(); }
  // Checks the shapes of one example's output and labels. A last axis of length 1 may be present or
  // absent in the labels. INVALID_ARGUMENT names both shapes and the expected one.
  virtual absl::Status ValidateShapes(const Shape& output, const Shape& labels) const = 0;
  // The number of label values per example for a valid output shape.
  virtual int64_t LabelCount(const Shape& output) const = 0;

  // True if the loss of an output with this activation is computed of the activation's input, so
  // that nothing is clipped. Keras does so in `fit` and `evaluate` (keras/src/backend/tensorflow/
  // nn.py, _get_logits): a crossentropy takes the logits of a softmax as well as of a sigmoid, and
  // with `from_logits`, too.
  virtual bool TakesLogitsOf(Activation::Kind) const { return false; }

  // Returns the sum over examples of weight x loss. If `gradient` is not null, writes the
  // derivative of that sum divided by the batch's divisor, with respect to the output or, if given,
  // the logits. INVALID_ARGUMENT: a class label is out of range.
  virtual absl::StatusOr<double> Compute(const Batch& batch, float* gradient) const = 0;

 protected:
  Loss(std::string name, proto::DataType label_type)
      : name_(std::move(name)), label_type_(label_type) {}

 private:
  const std::string name_;
  const proto::DataType label_type_;
};

// Creates the loss called config.name(), which is Keras's name, its short form or the class name.
// INVALID_ARGUMENT: an unknown loss, an argument that the loss does not have, or a value out of
// range; the message lists the known ones.
absl::StatusOr<std::unique_ptr<Loss>> CreateLoss(const proto::Loss& config);

// The names that CreateLoss accepts, without short forms.
std::vector<std::string> LossNames();

}  // namespace cairn::nn

#endif  // CAIRN_NN_LOSS_H_

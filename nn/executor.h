#ifndef CAIRN_NN_EXECUTOR_H_
#define CAIRN_NN_EXECUTOR_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "common/span_recorder.h"
#include "nn/device.h"
#include "nn/device_buffer.h"
#include "nn/kernel.h"
#include "nn/loss.h"
#include "nn/model.h"
#include "nn/objective/objective.h"
#include "nn/plan/fusion.h"
#include "nn/plan/gradient_flow.h"

namespace cairn::nn {

// One model on one device: its variables' values and gradients, and the passes over a batch. All
// tensors' memory is laid out up front; kernels are made at the first batch of each size.
// Results depend on values, batch and thread count only. Belongs to one thread.
class Executor {
 public:
  struct Options {
    // The largest batch.
    int64_t batch_size = 0;
    // Of the host.
    int threads = 1;
    // False: no gradients, no memory for them; Backward must not be called.
    bool training = true;
  };

  struct Batch {
    // 1 to Options::batch_size.
    int64_t size = 0;
    // One contiguous array per model input, float or int32 as the input says. Borrowed until
    // Backward has returned.
    std::vector<const void*> inputs;
    // One contiguous array per output of the model, as its loss's label_type(); none to compute the
    // outputs only (no loss, no metrics). Borrowed until Forward has returned.
    std::vector<const void*> labels;
    // One for each example and every loss, as Loss::Batch::weights; null: all 1. Metrics do not see
    // them.
    const float* weights = nullptr;
    // Makes the batch's random draws: a pure function of (random_key, layer name, element).
    uint64_t random_key = 0;
  };

  struct Sums {
    int64_t examples = 0;
    // The model's mean loss times the examples, without the penalty.
    double loss_sum = 0;
    // The regularizers' sum. What Keras reports as loss is loss_sum / examples + penalty.
    double penalty = 0;
    // The states of the objective's measures, in their order.
    std::vector<std::vector<double>> metrics;
  };

  // `objective` is for this model, or null: then batches have no labels. Everything pointed to must
  // outlive the executor. INVALID_ARGUMENT: options out of range. UNIMPLEMENTED: the device lacks a
  // layer. RESOURCE_EXHAUSTED: no memory.
  static absl::StatusOr<std::unique_ptr<Executor>> Create(const Model* model,
                                                          const Objective* objective,
                                                          const Options& options, Device* device);
  ~Executor();
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;

  // Parameters, zero at first; written by the caller between steps. `variable` is a position in
  // Model::variables(). The span stays where it is as long as the executor lives.
  absl::Span<float> values(int variable);
  // Valid from its on_gradient call until the next Backward; for moving statistics it is the
  // batch's mean or biased variance. Empty for frozen variables.
  absl::Span<const float> gradient(int variable) const;

  // `training` as Keras's: dropout drops and batch normalisation uses the batch's statistics.
  // INVALID_ARGUMENT: an id or a class number out of range.
  absl::StatusOr<Sums> Forward(const Batch& batch, bool training);

  // Computes the gradient of mean loss + penalties for the batch of the last Forward, which had
  // labels and was a training one; at most once for each Forward. Calls `on_gradient` for each
  // variable that is not frozen the moment its gradient is complete, from the last layer to the
  // first; the pass does not read that variable's values afterwards, so others may write them.
  void Backward(absl::FunctionRef<void(int variable)> on_gradient);

  const Objective& objective() const { return objective_; }

  // From now on the time of every layer is recorded: that of node i of the model under
  // `first_name` + i (forward) and `first_name` + nodes + i (backward), that of the loss under
  // `first_name` + 2 nodes; of two layers that run as one the first has the time. Null: nothing is
  // recorded, and no clock is read.
  void set_recorder(SpanRecorder* recorder, uint32_t first_name) {
    recorder_ = recorder;
    first_name_ = first_name;
  }

  // One of Model::outputs() for the last Forward's batch: its size times the output's shape.
  absl::Span<const float> output(int index = 0) const;

 private:
  // A layer's place in the passes: where it reads and writes. The pointers of model inputs change
  // with each batch; the others stay. The first of a pair has both layers' variables and, like the
  // second, its output.
  struct Stage {
    std::vector<const float*> inputs;
    float* output = nullptr;
    std::vector<const float*> variables;
    std::vector<const int32_t*> masks;
    float* output_gradient = nullptr;
    std::vector<float*> input_gradients;
    std::vector<float*> variable_gradients;
    uint64_t random_key = 0;
    // The loss gives the gradient of what the layer's activation was applied to.
    bool fuses_loss = false;
  };
  // The kernels for batches of one size, by node; null for views and the second of a pair.
  struct Plan {
    int64_t batch_size = 0;
    int64_t last_use = 0;
    std::vector<std::unique_ptr<Kernel>> kernels;
  };

  Executor(const Model* model, const Objective* objective, const Options& options, Device* device);

  absl::Status AllocateVariables();
  absl::Status BindVariables();
  void JoinPairs();
  absl::Status AllocateOutputs();
  absl::Status AllocateGradients();
  absl::StatusOr<float*> Allocate(int64_t count);
  absl::StatusOr<Plan*> FindPlan(int64_t batch_size);
  Device::KernelOptions KernelOptions(int node, int64_t batch_size) const;
  void BindInputs(const Batch& batch);
  absl::Status ComputeLoss(const Batch& batch, bool training, Sums* sums);
  absl::StatusOr<Loss::Batch> ComputeTerm(const Batch& batch, int output, bool with_gradient) const;
  double Penalty() const;
  uint32_t SpanName(int node, bool backward) const {
    return first_name_ + node + (backward ? static_cast<uint32_t>(stages_.size()) : 0);
  }
  void RunBackward(int node);
  void AddSlots(int node);
  void FinishGradients(int node, absl::FunctionRef<void(int variable)> on_gradient);

  const Model* const model_;
  const Objective no_objective_;
  const Objective& objective_;
  const Options options_;
  Device* const device_;
  const GradientFlow flow_;
  const Fusion fusion_;

  std::vector<DeviceBuffer> memory_;
  std::vector<float*> values_;     // By variable.
  std::vector<float*> gradients_;  // By variable; null if frozen or not training.
  std::vector<Stage> stages_;      // By node.
  std::vector<Plan> plans_;
  int64_t forward_count_ = 0;

  // The last Forward's.
  int64_t batch_size_ = 0;
  Plan* plan_ = nullptr;
  bool can_run_backward_ = false;

  SpanRecorder* recorder_ = nullptr;
  uint32_t first_name_ = 0;
};

}  // namespace cairn::nn

#endif  // CAIRN_NN_EXECUTOR_H_

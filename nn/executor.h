#ifndef CAIRN_NN_EXECUTOR_H_
#define CAIRN_NN_EXECUTOR_H_

#include <atomic>
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
#include "nn/objective.h"
#include "nn/plan/fusion.h"
#include "nn/plan/gradient_flow.h"
#include "nn/regularizer.h"

namespace cairn::nn {

// Runs one model on one device. Holds the values and gradients of its variables and computes the
// forward and backward pass of a batch:
//
//   executor->Forward(batch, /*training=*/true);
//   executor->Backward([&](int variable) { Send(executor->gradient(variable)); });
//
// All tensors are allocated by Create. Kernels are created at the first batch of each size. Results
// depend only on values, batch and number of threads. Used by one thread, except values().
//
// If the device rounds the inputs of products to float16, the loss is scaled: its gradient is
// multiplied by a power of two, and the gradients of variables are divided by it. The factor is
// 2^15; after a gradient that is not finite the batch is computed again with 2^10, 2^5, and 1.
//
// Only the device touches tensors. If its memory is not the host's, batches and changed values are
// copied to it before the forward pass, and results and gradients to the host when they are
// complete. The host does not wait in between: Step submits the work of both passes first.
class Executor {
 public:
  struct Options {
    // The largest batch size, at most 2^20.
    int64_t batch_size = 0;
    // Number of host threads, at least 1.
    int threads = 1;
    Precision precision = Precision::kFloat32;
    // If false, no memory for gradients is allocated and Backward must not be called.
    bool training = true;
    // By variable: false computes no gradient for it. Its layer still runs in training mode, unlike
    // a frozen one. Empty: all variables that are not frozen have gradients.
    std::vector<bool> trained = {};
    // The executor only holds the values and gradients of the variables, for other executors that
    // share them. Forward must not be called.
    bool variables_only = false;
    // The values of variable i are those of variable shared_variables[i] of this executor, which is
    // on the same device and outlives this one. Null: the executor has its own.
    Executor* values_of = nullptr;
    std::vector<int> shared_variables = {};
  };

  struct Batch {
    // Number of examples, from 1 to Options::batch_size.
    int64_t size = 0;
    // One contiguous row-major array per model input, float or int32 as the input's type says.
    // Borrowed until Backward returns.
    std::vector<const void*> inputs;
    // One contiguous array per model output, of the label_type() of its loss. Empty to compute
    // outputs only, without loss and metrics. Borrowed as inputs are.
    std::vector<const void*> labels;
    // One weight per example, applied to every loss (see Loss::Batch::weights). Null: all weights
    // are 1. Only weighted metrics see them.
    const float* weights = nullptr;
    // Seed of the batch's random draws. A draw is a pure function of (random_key, layer name,
    // element).
    uint64_t random_key = 0;
  };

  struct BatchResults {
    int64_t examples = 0;
    // The batch's loss summed over examples, with the penalties of outputs and without those of
    // variables.
    double loss_sum = 0;
    // The sum of all regularization penalties of variables. Keras reports loss_sum / examples +
    // penalty as the loss.
    double penalty = 0;
    // The state of each of the objective's metrics, in the order of Objective::metrics().
    std::vector<std::vector<double>> metrics;
  };

  // Creates an executor. `objective` belongs to `model`, or is null if batches have no labels. All
  // pointers must outlive the executor.
  //
  // Errors: INVALID_ARGUMENT for options out of range, UNIMPLEMENTED if the device lacks a kernel,
  // RESOURCE_EXHAUSTED if memory is short.
  static absl::StatusOr<std::unique_ptr<Executor>> Create(const Model* model,
                                                          const Objective* objective,
                                                          const Options& options, Device* device);
  ~Executor();
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;

  // The values of a variable, initially zero. `variable` is an index into Model::variables(). The
  // caller may write them until the next Forward, which computes with what was written; call it
  // again to write after that. The memory stays valid as long as the executor lives. Thread-safe.
  absl::Span<float> values(int variable);
  // The gradient of a variable, valid from its on_gradient call until the next Backward. For a
  // moving statistic it is the batch's mean or biased variance. Empty for frozen variables.
  absl::Span<const float> gradient(int variable) const;
  // With Options::variables_only: where the caller writes what gradient() returns.
  absl::Span<float> mutable_gradient(int variable);

  // Computes the outputs and, if the batch has labels, loss and metrics. `training` has Keras's
  // meaning: dropout is active and batch normalization uses the batch's statistics.
  // INVALID_ARGUMENT: an id or a class label is out of range.
  absl::StatusOr<BatchResults> Forward(const Batch& batch, bool training);

  // Computes the gradient of mean loss + penalty for the batch of the last Forward, which must have
  // had labels and training = true. May be called once per Forward. Calls `on_gradient` for each
  // variable that is not frozen as soon as its gradient is complete, from the last layer to the
  // first. The rest of the pass does not read that variable's values, so the callback may let them
  // be overwritten. Where the loss is scaled, that is after the last gradient. After an error of
  // the device no further gradient is reported.
  absl::Status Backward(absl::FunctionRef<void(int variable)> on_gradient);

  // Forward with training = true, then Backward, of a batch with labels. `on_results` is called
  // before the first gradient; if it returns false, no gradient is reported.
  absl::Status Step(const Batch& batch,
                    absl::FunctionRef<bool(const BatchResults& results)> on_results,
                    absl::FunctionRef<void(int variable)> on_gradient);

  const Objective& objective() const { return objective_; }

  // Records the time of every layer from now on. With n nodes in the model, span name `first_name`
  // + i is the forward time of node i, `first_name` + n + i its backward time, and `first_name` +
  // 2n the time of the loss. The first layer of a fused pair gets the time of both. A null recorder
  // stops recording; no clock is read then.
  void set_recorder(SpanRecorder* recorder, uint32_t first_name) {
    recorder_ = recorder;
    first_name_ = first_name;
  }

  // The values of model output `index` for the last Forward: batch size x the output's shape. Valid
  // until the next call or the next Forward.
  absl::StatusOr<absl::Span<const float>> output(int index = 0);

 private:
  // The buffers that a node's kernel reads and writes. Pointers that depend on model inputs change
  // with each batch; the others are fixed. The first node of a fused pair holds the variables of
  // both layers and writes the output of the second.
  struct Stage {
    std::vector<const float*> inputs;
    float* output = nullptr;
    float* logits = nullptr;           // ForwardArguments::logits.
    float* logits_gradient = nullptr;  // BackwardArguments::logits_gradient.
    std::vector<const float*> variables;
    std::vector<const int32_t*> masks;
    int32_t* mask_output = nullptr;
    float* output_gradient = nullptr;
    std::vector<float*> input_gradients;
    std::vector<float*> variable_gradients;
    uint64_t random_key = 0;
    // The loss computes the gradient with respect to the input of this layer's activation, so the
    // kernel skips the activation's derivative.
    bool fuses_loss = false;
    // The loss or a metric takes the logits.
    bool keeps_logits = false;
    // The loss takes the logits, and the output has other consumers, too.
    bool splits_gradient = false;
  };
  // A variable whose regularization penalty belongs to the loss.
  struct Penalty {
    int variable = 0;
    Regularizer regularizer;
  };
  // Host copies of a variable, if the device's memory is not the host's.
  struct HostVariable {
    HostBuffer<float> values;
    std::atomic<bool> values_changed = false;  // Since they were copied to the device.
    HostBuffer<float> gradient;
  };
  // A gradient that is on its way to the host.
  struct PendingGradient {
    int variable = 0;
    int64_t copy = 0;
  };
  // Device copies of a batch's arrays, if the device's memory is not the host's.
  struct StagedBatch {
    std::vector<float*> inputs;
    std::vector<float*> labels;
    float* weights = nullptr;
  };
  // The kernels for one batch size, by node. Null for views and for the second node of a fused
  // pair.
  struct Plan {
    int64_t batch_size = 0;
    int64_t last_use = 0;
    std::vector<std::unique_ptr<Kernel>> kernels;
  };

  Executor(const Model* model, const Objective* objective, const Options& options, Device* device);

  bool IsTrained(size_t variable) const {
    return options_.trained.empty() || options_.trained[variable];
  }
  absl::Status AllocateVariables();
  absl::Status BindVariables();
  void BindFusedVariables();
  absl::Status AllocateOutputs();
  absl::Status AllocateGradients();
  absl::Status CreateLossKernels();
  absl::Status AllocateBatch();
  absl::StatusOr<float*> Allocate(int64_t count);
  absl::StatusOr<Plan*> FindPlan(int64_t batch_size);
  Device::KernelOptions KernelOptions(int node, int64_t batch_size) const;
  absl::Status UploadValues();
  absl::StatusOr<const float*> Upload(const void* array, int64_t count, float* staged);
  absl::Status BindInputs(const Batch& batch);
  absl::Status BindLabels(const Batch& batch);
  ForwardArguments ForwardArgumentsOf(int node) const;
  float FirstLossScale() const;
  absl::Status StartForward(const Batch& batch, bool training, float loss_scale);
  Loss::Batch LossBatch(int output) const;
  absl::Status ComputeLoss();
  absl::Status StartResults();
  absl::StatusOr<BatchResults> TakeResults();
  absl::Status FindInvalid();
  absl::Status StartBackward(absl::FunctionRef<void(int variable)> on_gradient);
  absl::Status WaitForGradients(bool* finite);
  absl::Status ScaleUntilFinite();
  absl::Status TakeGradients(absl::FunctionRef<void(int variable)> on_gradient);
  uint32_t SpanName(int node, bool backward) const {
    return first_name_ + node + (backward ? static_cast<uint32_t>(stages_.size()) : 0);
  }
  absl::Status RunBackward(int node);
  absl::Status AddActivityGradient(int node);
  absl::Status AccumulateInputGradients(int node);
  absl::Status FinishGradients(int node, absl::FunctionRef<void(int variable)> on_gradient);

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
  std::vector<std::unique_ptr<LossKernel>> loss_kernels_;  // By output.
  std::vector<Penalty> penalties_;
  // A number that is not 0 if a kernel refuses the batch (ForwardArguments::invalid). Then for each
  // output what its loss kernel writes, the penalties of variables, and those of layers' outputs.
  double* device_results_ = nullptr;
  bool invalid_is_zero_ = false;
  HostBuffer<double> host_results_;
  // Empty if the host and the device share memory.
  std::vector<HostVariable> host_variables_;  // By variable.
  StagedBatch staged_;
  std::vector<float> host_output_;
  int64_t forward_count_ = 0;

  // State of the last Forward.
  Batch batch_;
  int64_t batch_size_ = 0;
  float loss_scale_ = 1;
  Plan* plan_ = nullptr;
  bool training_ = false;
  std::vector<const float*> labels_;  // By output, where the device reads them. Empty: no loss.
  const float* weights_ = nullptr;
  int64_t results_copy_ = 0;
  bool can_run_backward_ = false;
  std::vector<PendingGradient> pending_gradients_;

  SpanRecorder* recorder_ = nullptr;
  uint32_t first_name_ = 0;
};

}  // namespace cairn::nn

#endif  // CAIRN_NN_EXECUTOR_H_

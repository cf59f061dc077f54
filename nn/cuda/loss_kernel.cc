#include "nn/cuda/loss_kernel.h"

#include <algorithm>
#include <utility>

#include "common/status_macros.h"
#include "nn/cuda/loss_terms.h"
#include "nn/cuda/metric_states.h"
#include "nn/tensor.h"

namespace cairn::nn::cuda {
namespace {

// Copies from the GPU, and waits for them.
absl::Status Fetch(Context* context, const void* memory, int64_t count,
                   std::vector<float>* values) {
  values->resize(count);
  return context->copies().FromDevice(values->data(), memory, count * sizeof(float));
}

class DeviceLossKernel final : public LossKernel {
 public:
  DeviceLossKernel(const Loss& loss, std::vector<const Metric*> metrics, Context* context)
      : loss_(loss), metrics_(std::move(metrics)), context_(context), label_statistic_(context, 1) {
    size_t scratch = LossScratchBytes();
    for (const Metric* metric : metrics_) {
      scratch = std::max(scratch, StateScratchBytes(metric->spec()));
    }
    context->ReserveScratch(scratch);
  }

  absl::Status Compute(const Loss::Batch& batch, float* gradient, double* results,
                       double* invalid) override {
    const int64_t width = batch.shape->empty() ? 1 : batch.shape->back();
    const int64_t elements = ElementCount(*batch.shape);
    ComputeLoss(context_, {.spec = loss_.spec(),
                           .sparse = loss_.label_type() == proto::INT32,
                           .logits = batch.logits,
                           .is_softmax = batch.is_softmax,
                           .examples = batch.examples,
                           .elements = elements,
                           .width = width,
                           .output = batch.output,
                           .labels = batch.labels,
                           .weights = batch.weights,
                           .gradient = gradient,
                           .gradient_scale = batch.gradient_scale,
                           .gradient_divisor = batch.gradient_divisor == 0 ? batch.examples
                                                                           : batch.gradient_divisor,
                           .loss = results,
                           .invalid = invalid,
                           .label_statistic = label_statistic_.data()});
    const MeasuredBatch measured = {.examples = batch.examples,
                                    .elements = elements,
                                    .width = width,
                                    .logits = batch.logits,
                                    .is_softmax = batch.is_softmax,
                                    .output = batch.output,
                                    .labels = batch.labels,
                                    .weights = batch.weights,
                                    .loss = results};
    ++results;
    for (const Metric* metric : metrics_) {
      ComputeState(context_, metric->spec(), measured, label_statistic_.data(), results);
      results += metric->state_size();
    }
    return context_->TakeError();
  }

  // The loss on the host returns the error.
  absl::Status FindInvalid(const Loss::Batch& batch) override {
    const int64_t outputs = batch.examples * ElementCount(*batch.shape);
    const int64_t labels = batch.examples * loss_.LabelCount(*batch.shape);
    std::vector<float> host_output, host_labels;
    CAIRN_RETURN_IF_ERROR(Fetch(context_, batch.output, outputs, &host_output));
    CAIRN_RETURN_IF_ERROR(Fetch(context_, batch.labels, labels, &host_labels));
    Loss::Batch copied = batch;
    copied.output = host_output.data();
    copied.labels = host_labels.data();
    copied.logits = nullptr;
    copied.weights = nullptr;
    return loss_.Compute(copied, nullptr).status();
  }

 private:
  const Loss& loss_;
  const std::vector<const Metric*> metrics_;
  Context* const context_;
  DeviceArray<double> label_statistic_;
};

class HostLossKernel final : public LossKernel {
 public:
  HostLossKernel(const Loss& loss, std::vector<const Metric*> metrics, Context* context)
      : loss_(loss), metrics_(std::move(metrics)), context_(context), results_(1) {
    for (const Metric* metric : metrics_) results_.resize(results_.size() + metric->state_size());
  }

  absl::Status Compute(const Loss::Batch& batch, float* gradient, double* results,
                       double* /*invalid*/) override {
    const int64_t outputs = batch.examples * ElementCount(*batch.shape);
    CAIRN_RETURN_IF_ERROR(Fetch(context_, batch.output, outputs, &output_));
    // Class labels have the size of floats.
    CAIRN_RETURN_IF_ERROR(
        Fetch(context_, batch.labels, batch.examples * loss_.LabelCount(*batch.shape), &labels_));
    Loss::Batch copied = batch;
    copied.output = output_.data();
    copied.labels = labels_.data();
    if (batch.logits != nullptr) {
      CAIRN_RETURN_IF_ERROR(Fetch(context_, batch.logits, outputs, &logits_));
      copied.logits = logits_.data();
    }
    if (batch.weights != nullptr) {
      CAIRN_RETURN_IF_ERROR(Fetch(context_, batch.weights, batch.examples, &weights_));
      copied.weights = weights_.data();
    }
    gradient_.resize(gradient == nullptr ? 0 : outputs);
    CAIRN_ASSIGN_OR_RETURN(copied.loss_sum,
                           loss_.Compute(copied, gradient == nullptr ? nullptr : gradient_.data()));
    MeasureBatch(copied);
    context_->Upload(gradient, gradient_);
    context_->Upload(results, results_);
    return context_->TakeError();
  }

 private:
  void MeasureBatch(const Loss::Batch& batch) {
    results_.assign(results_.size(), 0.0);
    results_[0] = batch.loss_sum;
    size_t place = 1;
    for (const Metric* metric : metrics_) {
      metric->Accumulate(batch, absl::MakeSpan(results_).subspan(place, metric->state_size()));
      place += metric->state_size();
    }
  }

  const Loss& loss_;
  const std::vector<const Metric*> metrics_;
  Context* const context_;
  // The loss, then the state of each metric.
  std::vector<double> results_;
  // Copies of the batch.
  std::vector<float> output_;
  std::vector<float> logits_;
  std::vector<float> labels_;
  std::vector<float> weights_;
  std::vector<float> gradient_;
};

}  // namespace

std::unique_ptr<LossKernel> CreateLossKernel(const Loss& loss, std::vector<const Metric*> metrics,
                                             Context* context) {
  const bool on_device = CanComputeLoss(loss.spec()) &&
                         std::all_of(metrics.begin(), metrics.end(), [](const Metric* metric) {
                           return CanComputeMetric(metric->spec());
                         });
  if (on_device) return std::make_unique<DeviceLossKernel>(loss, std::move(metrics), context);
  return std::make_unique<HostLossKernel>(loss, std::move(metrics), context);
}

}  // namespace cairn::nn::cuda

#include "nn/cuda/loss_kernel.h"

#include <utility>

#include "common/status_macros.h"
#include "nn/tensor.h"

namespace cairn::nn::cuda {
namespace {

class HostLossKernel final : public LossKernel {
 public:
  HostLossKernel(const Loss& loss, std::vector<const Metric*> metrics, Device* device)
      : loss_(loss), metrics_(std::move(metrics)), device_(device), results_(1) {
    for (const Metric* metric : metrics_) results_.resize(results_.size() + metric->state_size());
  }

  absl::Status Compute(const Loss::Batch& batch, float* gradient, double* results) override {
    const int64_t outputs = batch.examples * ElementCount(*batch.shape);
    CAIRN_RETURN_IF_ERROR(Fetch(batch.output, outputs, &output_));
    // Class labels have the size of floats.
    CAIRN_RETURN_IF_ERROR(
        Fetch(batch.labels, batch.examples * loss_.LabelCount(*batch.shape), &labels_));
    Loss::Batch copied = batch;
    copied.output = output_.data();
    copied.labels = labels_.data();
    if (batch.weights != nullptr) {
      CAIRN_RETURN_IF_ERROR(Fetch(batch.weights, batch.examples, &weights_));
      copied.weights = weights_.data();
    }
    gradient_.resize(gradient == nullptr ? 0 : outputs);
    CAIRN_ASSIGN_OR_RETURN(copied.loss_sum,
                           loss_.Compute(copied, gradient == nullptr ? nullptr : gradient_.data()));
    MeasureBatch(copied);
    CAIRN_RETURN_IF_ERROR(
        device_->CopyToDevice(gradient, gradient_.data(), gradient_.size() * sizeof(float)));
    return device_->CopyToDevice(results, results_.data(), results_.size() * sizeof(double));
  }

 private:
  absl::Status Fetch(const void* memory, int64_t count, std::vector<float>* values) {
    values->resize(count);
    return device_->CopyFromDevice(values->data(), memory, count * sizeof(float));
  }

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
  Device* const device_;
  // The loss, then the state of each metric.
  std::vector<double> results_;
  // Copies of the batch.
  std::vector<float> output_;
  std::vector<float> labels_;
  std::vector<float> weights_;
  std::vector<float> gradient_;
};

}  // namespace

std::unique_ptr<LossKernel> CreateLossKernel(const Loss& loss, std::vector<const Metric*> metrics,
                                             Device* device) {
  return std::make_unique<HostLossKernel>(loss, std::move(metrics), device);
}

}  // namespace cairn::nn::cuda

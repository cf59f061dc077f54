#include <algorithm>
#include <numeric>
#include <vector>

#include "nn/cuda/id_reader.h"
#include "nn/cuda/kernels.h"
#include "nn/cuda/loops.h"
#include "nn/layers/embedding.h"

namespace cairn::nn::cuda {
namespace {

void CopyRows(Context* context, int64_t count, int64_t width, const int64_t* ids,
              const float* table, float* output) {
  const Divisor columns = width;
  ForEach(context, count * width, [=] __device__(int64_t i) {
    const int64_t place = i / columns;
    output[i] = table[ids[place] * width + (i - place * width)];
  });
}

// Adds the gradients of each row that occurs, in the order of the batch. The places of segment s
// are order[begins[s]] to order[begins[s + 1]].
void AddRows(Context* context, int64_t segments, int64_t width, const int64_t* ids,
             const int64_t* begins, const int64_t* order, const float* gradient, float* table) {
  const Divisor columns = width;
  ForEach(context, segments * width, [=] __device__(int64_t i) {
    const int64_t segment = i / columns;
    const int64_t column = i - segment * width;
    float sum = 0;
    for (int64_t k = begins[segment]; k < begins[segment + 1]; ++k) {
      sum += gradient[order[k] * width + column];
    }
    table[ids[order[begins[segment]]] * width + column] = sum;
  });
}

// The host sorts the ids: the sum of a row's gradients needs an order.
class EmbeddingKernel final : public Kernel {
 public:
  EmbeddingKernel(const EmbeddingLayer& layer, const KernelContext& context)
      : context_(context.cuda),
        layer_(layer),
        count_(context.options.examples * ElementCount(layer.inputs()[0].shape)),
        reader_(layer, context.options.examples, layer.rows(), "rows", context.cuda),
        order_(context.cuda, count_),
        begins_(context.cuda, count_ + 1),
        host_order_(count_) {}

  absl::Status Forward(const ForwardArguments& arguments) override {
    absl::Status status = reader_.Read(arguments.inputs[0]);
    if (!status.ok()) return status;
    CopyRows(context_, count_, layer_.width(), reader_.ids(), arguments.variables[0],
             arguments.output);
    return absl::OkStatus();
  }

  void Backward(const BackwardArguments& arguments) override {
    float* const gradient = arguments.variable_gradients[0];
    if (gradient == nullptr) return;
    SortIds();
    context_->Upload(order_.data(), host_order_);
    context_->Upload(begins_.data(), host_begins_);
    context_->Zero(gradient, layer_.rows() * layer_.width() * sizeof(float));
    AddRows(context_, static_cast<int64_t>(host_begins_.size()) - 1, layer_.width(), reader_.ids(),
            begins_.data(), order_.data(), arguments.output_gradient, gradient);
  }

 private:
  void SortIds() {
    const std::vector<int64_t>& ids = reader_.host_ids();
    std::iota(host_order_.begin(), host_order_.end(), 0);
    std::stable_sort(host_order_.begin(), host_order_.end(),
                     [&ids](int64_t a, int64_t b) { return ids[a] < ids[b]; });
    host_begins_.clear();
    for (int64_t k = 0; k < count_; ++k) {
      const bool is_first = k == 0 || ids[host_order_[k]] != ids[host_order_[k - 1]];
      if (is_first) host_begins_.push_back(k);
    }
    host_begins_.push_back(count_);
  }

  Context* const context_;
  const EmbeddingLayer& layer_;
  const int64_t count_;
  IdReader reader_;
  // Places of the batch, sorted by id, and where each id's places begin.
  DeviceArray<int64_t> order_;
  DeviceArray<int64_t> begins_;
  std::vector<int64_t> host_order_;
  std::vector<int64_t> host_begins_;
};

}  // namespace

std::unique_ptr<Kernel> CreateEmbeddingKernel(const Layer& layer, const KernelContext& context) {
  return std::make_unique<EmbeddingKernel>(static_cast<const EmbeddingLayer&>(layer), context);
}

}  // namespace cairn::nn::cuda

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <vector>

#include "absl/strings/str_cat.h"
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

// The ids are copied to the host, which checks and sorts them: the sum of a row's gradients needs
// an order. The GPU waits meanwhile.
class EmbeddingKernel final : public Kernel {
 public:
  EmbeddingKernel(const EmbeddingLayer& layer, const KernelContext& context)
      : context_(context.cuda),
        layer_(layer),
        ids_are_floats_(layer.inputs()[0].type == proto::FLOAT32),
        count_(context.options.examples * ElementCount(layer.inputs()[0].shape)),
        ids_(context.cuda, count_),
        order_(context.cuda, count_),
        begins_(context.cuda, count_ + 1),
        words_(count_),
        host_ids_(count_),
        host_order_(count_) {}

  absl::Status Forward(const ForwardArguments& arguments) override {
    absl::Status status = ReadIds(arguments.inputs[0]);
    if (!status.ok()) return status;
    context_->Upload(ids_.data(), host_ids_);
    CopyRows(context_, count_, layer_.width(), ids_.data(), arguments.variables[0],
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
    AddRows(context_, static_cast<int64_t>(host_begins_.size()) - 1, layer_.width(), ids_.data(),
            begins_.data(), order_.data(), arguments.output_gradient, gradient);
  }

 private:
  absl::Status ReadIds(const float* input) {
    absl::Status status =
        context_->copies().FromDevice(words_.data(), input, count_ * sizeof(float));
    if (!status.ok()) return status;
    for (int64_t i = 0; i < count_; ++i) {
      int32_t id;
      std::memcpy(&id, &words_[i], sizeof(id));
      const double number = ids_are_floats_ ? std::trunc(words_[i]) : id;
      if (!(number >= 0 && number < static_cast<double>(layer_.rows()))) {
        return absl::InvalidArgumentError(
            absl::StrCat("layer '", layer_.name(), "' (", layer_.class_name(), "): id ",
                         ids_are_floats_ ? absl::StrCat(words_[i]) : absl::StrCat(id),
                         " is not one of the rows 0 to ", layer_.rows() - 1));
      }
      host_ids_[i] = static_cast<int64_t>(number);
    }
    return absl::OkStatus();
  }

  void SortIds() {
    std::iota(host_order_.begin(), host_order_.end(), 0);
    std::stable_sort(host_order_.begin(), host_order_.end(),
                     [this](int64_t a, int64_t b) { return host_ids_[a] < host_ids_[b]; });
    host_begins_.clear();
    for (int64_t k = 0; k < count_; ++k) {
      const bool is_first = k == 0 || host_ids_[host_order_[k]] != host_ids_[host_order_[k - 1]];
      if (is_first) host_begins_.push_back(k);
    }
    host_begins_.push_back(count_);
  }

  Context* const context_;
  const EmbeddingLayer& layer_;
  const bool ids_are_floats_;
  const int64_t count_;
  DeviceArray<int64_t> ids_;
  // Places of the batch, sorted by id, and where each id's places begin.
  DeviceArray<int64_t> order_;
  DeviceArray<int64_t> begins_;
  std::vector<float> words_;
  std::vector<int64_t> host_ids_;
  std::vector<int64_t> host_order_;
  std::vector<int64_t> host_begins_;
};

}  // namespace

std::unique_ptr<Kernel> CreateEmbeddingKernel(const Layer& layer, const KernelContext& context) {
  return std::make_unique<EmbeddingKernel>(static_cast<const EmbeddingLayer&>(layer), context);
}

}  // namespace cairn::nn::cuda

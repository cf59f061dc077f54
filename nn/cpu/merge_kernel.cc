#include <algorithm>
#include <cstring>
#include <vector>

#include "common/simd.h"
#include "nn/cpu/aligned_buffer.h"
#include "nn/cpu/kernels.h"
#include "nn/cpu/merged_mask.h"
#include "nn/layers/axis_mapping.h"
#include "nn/layers/merge.h"

namespace cairn::nn {
namespace {

using Kind = MergeLayer::Kind;

CAIRN_SIMD void Combine(Kind kind, int64_t count, const float* from, float* to) {
  switch (kind) {
    case Kind::kAdd:
    case Kind::kAverage:
      for (int64_t i = 0; i < count; ++i) to[i] += from[i];
      return;
    case Kind::kSubtract:
      for (int64_t i = 0; i < count; ++i) to[i] -= from[i];
      return;
    case Kind::kMultiply:
      for (int64_t i = 0; i < count; ++i) to[i] *= from[i];
      return;
    case Kind::kMaximum:
      for (int64_t i = 0; i < count; ++i) to[i] = to[i] >= from[i] ? to[i] : from[i];
      return;
    case Kind::kMinimum:
      for (int64_t i = 0; i < count; ++i) to[i] = to[i] <= from[i] ? to[i] : from[i];
      return;
  }
}

CAIRN_SIMD void Scale(int64_t count, float factor, const float* from, float* to) {
  for (int64_t i = 0; i < count; ++i) to[i] = factor * from[i];
}

CAIRN_SIMD void MultiplyInto(int64_t count, const float* from, float* to) {
  for (int64_t i = 0; i < count; ++i) to[i] *= from[i];
}

// Inputs that have the output's shape are used directly; others are broadcast into a buffer first.
class MergeKernel : public Kernel {
 public:
  MergeKernel(const MergeLayer& layer, const KernelContext& context)
      : layer_(layer),
        kind_(layer.kind()),
        examples_(context.options.examples),
        count_(examples_ * ElementCount(layer.output().shape)),
        views_(layer.inputs().size()),
        inputs_(layer.inputs().size()) {
    for (size_t i = 0; i < views_.size(); ++i) {
      const Shape& shape = layer.inputs()[i].shape;
      if (shape == layer.output().shape) continue;
      views_[i].count = ElementCount(shape);
      views_[i].sources = SourcesOf(BroadcastMappings(shape, layer.output().shape));
      views_[i].values = AlignedBuffer<float>(count_);
    }
    if (!context.options.training) return;
    const bool broadcasts = std::any_of(views_.begin(), views_.end(),
                                        [](const View& view) { return !view.sources.empty(); });
    if (broadcasts) gradient_ = AlignedBuffer<float>(count_);
    if (kind_ == Kind::kMaximum || kind_ == Kind::kMinimum) winners_.resize(count_);
  }

  absl::Status Forward(const ForwardArguments& arguments) override {
    ExpandInputs(arguments.inputs);
    std::memcpy(arguments.output, inputs_[0], count_ * sizeof(float));
    for (size_t i = 1; i < inputs_.size(); ++i) {
      Combine(kind_, count_, inputs_[i], arguments.output);
    }
    if (kind_ == Kind::kAverage) {
      Scale(count_, 1.0f / static_cast<float>(inputs_.size()), arguments.output, arguments.output);
    }
    WriteMergedMask(layer_, examples_, arguments);
    return absl::OkStatus();
  }

  void Backward(const BackwardArguments& arguments) override {
    if (kind_ == Kind::kMaximum || kind_ == Kind::kMinimum) FindWinners(arguments.output);
    for (size_t i = 0; i < inputs_.size(); ++i) {
      float* target = arguments.input_gradients[i];
      if (target == nullptr) continue;
      const bool is_broadcast = !views_[i].sources.empty();
      WriteGradient(i, arguments.output_gradient, is_broadcast ? gradient_.get() : target);
      if (is_broadcast) SumInto(views_[i], target);
    }
  }

 private:
  struct View {
    int64_t count = 0;
    std::vector<int64_t> sources;  // Empty if the input has the output's shape.
    AlignedBuffer<float> values;
  };

  void ExpandInputs(absl::Span<const float* const> inputs) {
    for (size_t i = 0; i < views_.size(); ++i) {
      inputs_[i] = inputs[i];
      const View& view = views_[i];
      if (view.sources.empty()) continue;
      float* to = view.values.get();
      for (int64_t example = 0; example < examples_; ++example) {
        for (int64_t source : view.sources) *to++ = inputs[i][example * view.count + source];
      }
      inputs_[i] = view.values.get();
    }
  }

  // Maximum and Minimum: the gradient goes to the first input that equals the output.
  void FindWinners(const float* output) {
    for (int64_t e = 0; e < count_; ++e) {
      winners_[e] = 0;
      while (inputs_[winners_[e]][e] != output[e] &&
             winners_[e] + 1 < static_cast<int>(inputs_.size())) {
        ++winners_[e];
      }
    }
  }

  // Writes the gradient with respect to input i in the output's shape, before undoing the
  // broadcast.
  void WriteGradient(size_t i, const float* gradient, float* to) const {
    switch (kind_) {
      case Kind::kAdd:
        return Scale(count_, 1, gradient, to);
      case Kind::kAverage:
        return Scale(count_, 1.0f / static_cast<float>(inputs_.size()), gradient, to);
      case Kind::kSubtract:
        return Scale(count_, i == 0 ? 1 : -1, gradient, to);
      case Kind::kMultiply:
        Scale(count_, 1, gradient, to);
        for (size_t other = 0; other < inputs_.size(); ++other) {
          if (other != i) MultiplyInto(count_, inputs_[other], to);
        }
        return;
      case Kind::kMaximum:
      case Kind::kMinimum:
        for (int64_t e = 0; e < count_; ++e) {
          to[e] = winners_[e] == static_cast<int>(i) ? gradient[e] : 0;
        }
        return;
    }
  }

  // Undoes the broadcast: sums the gradient over the broadcast axes.
  void SumInto(const View& view, float* target) const {
    std::fill_n(target, examples_ * view.count, 0.0f);
    const float* from = gradient_.get();
    for (int64_t example = 0; example < examples_; ++example) {
      for (int64_t source : view.sources) target[example * view.count + source] += *from++;
    }
  }

  const MergeLayer& layer_;
  const Kind kind_;
  const int64_t examples_;
  const int64_t count_;
  std::vector<View> views_;
  std::vector<const float*> inputs_;
  std::vector<int> winners_;
  AlignedBuffer<float> gradient_;
};

}  // namespace

std::unique_ptr<Kernel> CreateMergeKernel(const Layer& layer, const KernelContext& context) {
  if (context.options.next != nullptr) return CreateAddReluKernel(layer, context);
  return std::make_unique<MergeKernel>(static_cast<const MergeLayer&>(layer), context);
}

}  // namespace cairn::nn

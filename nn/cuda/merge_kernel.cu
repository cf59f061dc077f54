#include <memory>
#include <vector>

#include "nn/cuda/gather.h"
#include "nn/cuda/kernels.h"
#include "nn/cuda/loops.h"
#include "nn/cuda/merged_mask.h"
#include "nn/layers/axis_mapping.h"
#include "nn/layers/merge.h"

namespace cairn::nn::cuda {
namespace {

using Kind = MergeLayer::Kind;

// An input in the output's shape. `sources` is null if it has that shape.
struct Operand {
  const float* values = nullptr;
  const int64_t* sources = nullptr;
  int64_t inputs = 0;
  Divisor outputs;

  __device__ float At(int64_t i) const {
    if (sources == nullptr) return values[i];
    const int64_t example = i / outputs;
    return values[example * inputs + sources[i - example * outputs]];
  }
};

// Combines input `index` with those before it, which `to` has. `winners` has the first input of the
// largest or smallest elements; null if it is not needed.
void Combine(Context* context, Kind kind, int64_t count, int index, const Operand& from, float* to,
             int32_t* winners) {
  ForEach(context, count, [=] __device__(int64_t i) {
    const float value = from.At(i);
    bool wins = index == 0;
    if (index == 0) {
      to[i] = value;
    } else if (kind == Kind::kAdd || kind == Kind::kAverage) {
      to[i] += value;
    } else if (kind == Kind::kSubtract) {
      to[i] -= value;
    } else if (kind == Kind::kMultiply) {
      to[i] *= value;
    } else {
      wins = kind == Kind::kMaximum ? value > to[i] : value < to[i];
      if (wins) to[i] = value;
    }
    if (winners != nullptr && wins) winners[i] = index;
  });
}

// The commonest merge: two inputs of the output's shape.
void AddTwo(Context* context, int64_t count, const float* a, const float* b, float* to) {
  MapColumns<2, 1>(
      context, 1, count, {{a, b}, {to}},
      [=] __device__(int64_t, const float* from, float* sum) { sum[0] = from[0] + from[1]; });
}

void Scale(Context* context, int64_t count, float factor, const float* from, float* to) {
  MapColumns<1, 1>(context, 1, count, {{from}, {to}},
                   [=] __device__(int64_t, const float* value, float* result) {
                     result[0] = factor * value[0];
                   });
}

void MultiplyInto(Context* context, int64_t count, const Operand& from, float* to) {
  ForEach(context, count, [=] __device__(int64_t i) { to[i] *= from.At(i); });
}

void SelectWon(Context* context, int64_t count, int index, const int32_t* winners,
               const float* gradient, float* to) {
  ForEach(context, count,
          [=] __device__(int64_t i) { to[i] = winners[i] == index ? gradient[i] : 0; });
}

class MergeKernel final : public Kernel {
 public:
  MergeKernel(const MergeLayer& layer, const KernelContext& context)
      : context_(context.cuda),
        layer_(layer),
        kind_(layer.kind()),
        examples_(context.options.examples),
        count_(examples_ * ElementCount(layer.output().shape)),
        winners_(context.cuda, context.options.training && SelectsOne() ? count_ : 0) {
    for (const TensorSpec& input : layer.inputs()) {
      if (input.shape == layer.output().shape) {
        broadcasts_.push_back(nullptr);
        continue;
      }
      broadcasts_.push_back(std::make_unique<Gather>(
          context.cuda, SourcesOf(BroadcastMappings(input.shape, layer.output().shape)),
          ElementCount(input.shape)));
      if (context.options.training) context.cuda->ReserveScratch(count_ * sizeof(float));
    }
  }

  absl::Status Forward(const ForwardArguments& arguments) override {
    size_t first = 0;
    if ((kind_ == Kind::kAdd || kind_ == Kind::kAverage) && broadcasts_.size() > 1 &&
        broadcasts_[0] == nullptr && broadcasts_[1] == nullptr) {
      AddTwo(context_, count_, arguments.inputs[0], arguments.inputs[1], arguments.output);
      first = 2;
    }
    for (size_t i = first; i < broadcasts_.size(); ++i) {
      Combine(context_, kind_, count_, static_cast<int>(i), OperandOf(i, arguments.inputs),
              arguments.output, winners_.data());
    }
    if (kind_ == Kind::kAverage) {
      Scale(context_, count_, Share(), arguments.output, arguments.output);
    }
    WriteMergedMask(context_, layer_, examples_, arguments);
    return absl::OkStatus();
  }

  void Backward(const BackwardArguments& arguments) override {
    for (size_t i = 0; i < broadcasts_.size(); ++i) {
      float* const target = arguments.input_gradients[i];
      if (target == nullptr) continue;
      const Gather* const broadcast = broadcasts_[i].get();
      float* const to = broadcast == nullptr ? target : context_->scratch<float>();
      WriteGradient(i, arguments, to);
      if (broadcast != nullptr) broadcast->Backward(examples_, to, target);
    }
  }

 private:
  bool SelectsOne() const { return kind_ == Kind::kMaximum || kind_ == Kind::kMinimum; }
  float Share() const { return 1.0f / static_cast<float>(broadcasts_.size()); }

  Operand OperandOf(size_t i, absl::Span<const float* const> inputs) const {
    const Gather* const broadcast = broadcasts_[i].get();
    if (broadcast == nullptr) return {.values = inputs[i]};
    return {.values = inputs[i],
            .sources = broadcast->sources(),
            .inputs = broadcast->inputs(),
            .outputs = broadcast->outputs()};
  }

  // Writes the gradient with respect to input i in the output's shape, before the broadcast is
  // undone.
  void WriteGradient(size_t i, const BackwardArguments& arguments, float* to) const {
    const float* const gradient = arguments.output_gradient;
    if (SelectsOne()) {
      SelectWon(context_, count_, static_cast<int>(i), winners_.data(), gradient, to);
      return;
    }
    float factor = 1;
    if (kind_ == Kind::kAverage) factor = Share();
    if (kind_ == Kind::kSubtract && i > 0) factor = -1;
    Scale(context_, count_, factor, gradient, to);
    for (size_t other = 0; kind_ == Kind::kMultiply && other < broadcasts_.size(); ++other) {
      if (other != i) MultiplyInto(context_, count_, OperandOf(other, arguments.inputs), to);
    }
  }

  Context* const context_;
  const MergeLayer& layer_;
  const Kind kind_;
  const int64_t examples_;
  const int64_t count_;
  // By input; null if it has the output's shape.
  std::vector<std::unique_ptr<Gather>> broadcasts_;
  DeviceArray<int32_t> winners_;
};

}  // namespace

std::unique_ptr<Kernel> CreateMergeKernel(const Layer& layer, const KernelContext& context) {
  return std::make_unique<MergeKernel>(static_cast<const MergeLayer&>(layer), context);
}

}  // namespace cairn::nn::cuda

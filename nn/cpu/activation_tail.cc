#include "nn/cpu/activation_tail.h"

#include "common/simd.h"
#include "nn/cpu/activation_function.h"
#include "nn/cpu/channel_loops.h"

namespace cairn::nn {
namespace {

CAIRN_SIMD void AddToRows(int64_t rows, int64_t width, const float* addend, float* values) {
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t c = 0; c < width; ++c) values[row * width + c] += addend[c];
  }
}

}  // namespace

ActivationTail::ActivationTail(const Activation& activation, int64_t rows, int64_t width,
                               bool training)
    : activation_(activation), width_(width), pieces_(rows, width) {
  if (!training) return;
  column_sums_.resize(pieces_.count * width);
  if (!activation.differentiates_from_output()) {
    before_activation_ = AlignedBuffer<float>(rows * width);
  }
}

float* ActivationTail::Target(float* output, float* logits) const {
  if (logits != nullptr) return logits;
  return before_activation_.get() == nullptr ? output : before_activation_.get();
}

void ActivationTail::Forward(const float* bias, float* output, float* logits) {
  float* const products = Target(output, logits);
  pieces_.Run([&](int64_t begin, int64_t end) {
    float* const first = products + begin * width_;
    if (bias != nullptr) AddToRows(end - begin, width_, bias, first);
    ApplyActivation(activation_, end - begin, width_, first, output + begin * width_);
  });
}

void ActivationTail::Backward(const BackwardArguments& arguments, float* gradient,
                              float* bias_gradient) {
  // One piece of rows at a time: the column sums read what the activation's derivative has just
  // written, while it is in the cache.
  RunInParallel(pieces_.count, [&](int64_t piece) {
    const int64_t first = pieces_.begin(piece) * width_;
    const int64_t rows = pieces_.end(piece) - pieces_.begin(piece);
    if (!arguments.before_activation) {
      const float* const x =
          before_activation_.get() == nullptr ? nullptr : before_activation_.get() + first;
      MultiplyByDerivative(activation_, rows, width_, x, arguments.output + first,
                           gradient + first);
    }
    if (arguments.logits_gradient != nullptr) {
      AddToRows(1, rows * width_, arguments.logits_gradient + first, gradient + first);
    }
    if (bias_gradient == nullptr) return;
    SumChannels(rows, width_, gradient + first, column_sums_.data() + piece * width_);
  });
  if (bias_gradient == nullptr) return;
  for (int64_t c = 0; c < width_; ++c) {
    // The pieces are added in a fixed order, so the sum does not depend on the number of threads.
    double sum = 0;
    for (int64_t piece = 0; piece < pieces_.count; ++piece) {
      sum += column_sums_[piece * width_ + c];
    }
    bias_gradient[c] = static_cast<float>(sum);
  }
}

}  // namespace cairn::nn

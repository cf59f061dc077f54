#include "ps_server/blocks/gradient_accumulator.h"

#include <utility>

#include "common/check.h"
#include "common/simd.h"

namespace cairn::ps {

namespace {

CAIRN_SIMD void Multiply(int64_t count, float factor, float* values) {
  for (int64_t i = 0; i < count; ++i) values[i] *= factor;
}

CAIRN_SIMD void Divide(int64_t count, float divisor, float* values) {
  for (int64_t i = 0; i < count; ++i) values[i] /= divisor;
}

CAIRN_SIMD void AddMultiple(int64_t count, float factor, const float* __restrict addend,
                            float* __restrict sum) {
  for (int64_t i = 0; i < count; ++i) sum[i] += factor * addend[i];
}

}  // namespace

void GradientAccumulator::Start(int64_t batches) {
  batches_ = batches;
  next_ = 0;
  waiting_.clear();
  sum_ = BlockBuffer();
  first_examples_ = 0;
  gradients_ = 0;
  examples_ = 0;
}

bool GradientAccumulator::Has(int64_t position) const {
  return position < next_ || waiting_.contains(position);
}

void GradientAccumulator::Add(int64_t position, int64_t examples, BlockBuffer gradient) {
  CAIRN_CHECK(position >= 0 && position < batches_ && !Has(position));
  Contribution contribution{examples, std::move(gradient)};
  if (position != next_) {
    waiting_.emplace(position, std::move(contribution));
    return;
  }
  Fold(std::move(contribution));
  while (!waiting_.empty() && waiting_.begin()->first == next_) {
    Fold(std::move(waiting_.extract(waiting_.begin()).mapped()));
  }
}

void GradientAccumulator::Fold(Contribution contribution) {
  ++next_;
  const bool counts = contribution.gradient || absent_ == Absent::kZero;
  if (counts) examples_ += contribution.examples;
  if (!contribution.gradient) return;
  ++gradients_;
  if (gradients_ == 1) {
    sum_ = std::move(contribution.gradient);
    first_examples_ = contribution.examples;
    return;
  }
  const int64_t count = sum_.count();
  if (gradients_ == 2) Multiply(count, static_cast<float>(first_examples_), sum_.data());
  AddMultiple(count, static_cast<float>(contribution.examples), contribution.gradient.data(),
              sum_.data());
}

BlockBuffer GradientAccumulator::TakeMean() {
  CAIRN_CHECK(complete());
  // A lone gradient that has all the weight is the mean already.
  if (gradients_ == 1 && examples_ != first_examples_) {
    Multiply(sum_.count(), static_cast<float>(first_examples_), sum_.data());
  }
  if (gradients_ > 0 && examples_ != first_examples_) {
    Divide(sum_.count(), static_cast<float>(examples_), sum_.data());
  }
  return std::move(sum_);
}

}  // namespace cairn::ps

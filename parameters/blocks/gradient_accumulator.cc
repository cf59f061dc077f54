#include "parameters/blocks/gradient_accumulator.h"

#include <utility>

#include "common/check.h"
#include "common/simd.h"

namespace cairn::parameters {

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

int64_t BytesOf(const BlockBuffer& gradient) {
  return gradient ? gradient.count() * static_cast<int64_t>(sizeof(float)) : 0;
}

}  // namespace

void GradientAccumulator::Clear() {
  for (const auto& [position, contribution] : waiting_) Release(contribution.gradient);
  waiting_.clear();
}

bool GradientAccumulator::TryReserve(const BlockBuffer& gradient) {
  return budget_ == nullptr || budget_->TryReserve(BytesOf(gradient));
}

void GradientAccumulator::Release(const BlockBuffer& gradient) {
  if (budget_ != nullptr) budget_->Release(BytesOf(gradient));
}

void GradientAccumulator::Start(int64_t batches) {
  Clear();
  batches_ = batches;
  next_ = 0;
  sum_ = BlockBuffer();
  first_examples_ = 0;
  gradients_ = 0;
  examples_ = 0;
}

bool GradientAccumulator::Has(int64_t position) const {
  return position < next_ || waiting_.contains(position);
}

bool GradientAccumulator::TryAdd(int64_t position, int64_t examples, BlockBuffer gradient) {
  CAIRN_CHECK(position >= 0 && position < batches_ && !Has(position));
  if (position != next_) {
    if (!TryReserve(gradient)) return false;
    waiting_.emplace(position, Contribution{examples, std::move(gradient)});
    return true;
  }
  Reduce({examples, std::move(gradient)});
  while (!waiting_.empty() && waiting_.begin()->first == next_) {
    Contribution contribution = std::move(waiting_.extract(waiting_.begin()).mapped());
    Release(contribution.gradient);
    Reduce(std::move(contribution));
  }
  return true;
}

// Float addition is not associative: the order of the sum is the order of the batches, whatever the
// order in which they arrived.
void GradientAccumulator::Reduce(Contribution contribution) {
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

}  // namespace cairn::parameters

#include "worker/data/reader_count.h"

#include <algorithm>

namespace cairn::worker {
namespace {

// Some times what it costs to wake a thread and to wait for it.
constexpr int64_t kPieceNanoseconds = 200'000;

}  // namespace

int ReaderCount::threads() const {
  const int64_t batch = batch_.value();
  if (batch < 0) return most_;
  // In half of the step: batches and steps vary.
  const int64_t goal = std::max(step_.value() / 2, kPieceNanoseconds);
  return static_cast<int>(std::clamp<int64_t>((batch + goal - 1) / goal, 1, most_));
}

void ReaderCount::AddBatch(int64_t nanoseconds) { batch_.Add(nanoseconds); }

void ReaderCount::AddStep(int64_t nanoseconds) { step_.Add(nanoseconds); }

void ReaderCount::Average::Add(int64_t nanoseconds) {
  const int64_t before = value_;
  value_ = before < 0 ? nanoseconds : before + (nanoseconds - before) / 4;
}

}  // namespace cairn::worker

#include "nn/plan/span_planner.h"

#include <algorithm>

#include "common/check.h"

namespace cairn::nn {

int64_t SpanPlanner::Acquire(int64_t count) {
  constexpr int64_t kAlignment = 16;
  // Every span, even an empty one, has its own offset, because the offset identifies it in Release.
  const int64_t length = std::max<int64_t>(1, (count + kAlignment - 1) / kAlignment) * kAlignment;
  int64_t place = 0;
  for (const auto& [begin, used_length] : used_) {
    if (begin - place >= length) break;
    place = begin + used_length;
  }
  used_.emplace(place, length);
  size_ = std::max(size_, place + length);
  return place;
}

void SpanPlanner::Release(int64_t place) { CAIRN_CHECK(used_.erase(place) == 1); }

}  // namespace cairn::nn

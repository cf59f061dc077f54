#ifndef CAIRN_NN_PLAN_SPAN_PLANNER_H_
#define CAIRN_NN_PLAN_SPAN_PLANNER_H_

#include <cstdint>
#include <map>

namespace cairn::nn {

// Assigns offsets in one block of memory to spans whose order of acquisition and release is known
// in advance (first fit). Offsets and sizes count floats; offsets are multiples of 16 (64 bytes).
class SpanPlanner {
 public:
  // Returns the offset of a span of `count` floats that is live from now on: the lowest gap that is
  // large enough.
  int64_t Acquire(int64_t count);
  // Ends the life of the span at `place`, which Acquire returned.
  void Release(int64_t place);

  // The size of the memory block.
  int64_t size() const { return size_; }

 private:
  // Length of each live span, by offset.
  std::map<int64_t, int64_t> used_;
  int64_t size_ = 0;
};

}  // namespace cairn::nn

#endif  // CAIRN_NN_PLAN_SPAN_PLANNER_H_

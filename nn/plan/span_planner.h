#ifndef CAIRN_NN_PLAN_SPAN_PLANNER_H_
#define CAIRN_NN_PLAN_SPAN_PLANNER_H_

#include <cstdint>
#include <map>

namespace cairn::nn {

// Plans who lies where in one piece of memory, when the order in which spans are needed and done
// with is known beforehand. Places are counted in floats and begin at multiples of 16 (64 bytes).
// Takes the lowest gap that is large enough.
class SpanPlanner {
 public:
  // The place of a span that is needed from now on.
  int64_t Acquire(int64_t count);
  // From now on nobody needs the span at `place`, which Acquire gave.
  void Release(int64_t place);

  // How much memory the plan needs.
  int64_t size() const { return size_; }

 private:
  // By place: the lengths of the spans in use.
  std::map<int64_t, int64_t> used_;
  int64_t size_ = 0;
};

}  // namespace cairn::nn

#endif  // CAIRN_NN_PLAN_SPAN_PLANNER_H_

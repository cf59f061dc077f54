#ifndef CAIRN_PARAMETERS_BLOCKS_GRADIENT_BUDGET_H_
#define CAIRN_PARAMETERS_BLOCKS_GRADIENT_BUDGET_H_

#include <atomic>
#include <cstdint>

namespace cairn::parameters {

// How many bytes of gradients may wait for their turn on this ps: gradients of synchronous updates
// that arrived before those of a lower batch, so that they cannot be added to the sum yet.
// Thread-safe.
class GradientBudget {
 public:
  explicit GradientBudget(int64_t bytes_max) : bytes_max_(bytes_max) {}
  GradientBudget(const GradientBudget&) = delete;
  GradientBudget& operator=(const GradientBudget&) = delete;

  // False: the budget is used up, and nothing was reserved.
  bool TryReserve(int64_t bytes) {
    if (bytes_.fetch_add(bytes) + bytes <= bytes_max_) return true;
    bytes_.fetch_sub(bytes);
    return false;
  }
  void Release(int64_t bytes) { bytes_.fetch_sub(bytes); }

  int64_t bytes() const { return bytes_; }

 private:
  const int64_t bytes_max_;
  std::atomic<int64_t> bytes_ = 0;
};

}  // namespace cairn::parameters

#endif  // CAIRN_PARAMETERS_BLOCKS_GRADIENT_BUDGET_H_

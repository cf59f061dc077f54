#ifndef CAIRN_WORKER_DATA_MIXTURE_H_
#define CAIRN_WORKER_DATA_MIXTURE_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"

namespace cairn::worker {

// Interleaves the examples of several sources in proportion to their weights: an exact map from the
// number of an example to a source and its example, in constant memory and in time that grows with
// the number of sources. A pass has as many examples as the weights allow without repeating one of
// a source. Among the first n of a pass each source has its share of n, up to rounding, in its own
// order. The next pass continues in each source where the one before it ended, and begins anew at
// its end. Immutable, thread-safe.
class Mixture {
 public:
  // `sizes` has the positive number of examples of each source, and `weights` the positive weights,
  // or is empty: in proportion to the sizes, so that a pass has each example once.
  // InvalidArgument: a source has no example in a pass.
  static absl::StatusOr<Mixture> Create(std::vector<int64_t> sizes, std::vector<double> weights);

  // Of a pass.
  int64_t examples() const { return examples_; }

  struct Place {
    int source = 0;
    int64_t example = 0;
  };
  // The example with this number, counted through all passes.
  Place At(int64_t number) const;

 private:
  std::vector<int64_t> sizes_;
  std::vector<int64_t> counts_;  // Of the examples of each source in a pass.
  int64_t examples_ = 0;
};

}  // namespace cairn::worker

#endif  // CAIRN_WORKER_DATA_MIXTURE_H_

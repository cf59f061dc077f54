#ifndef CAIRN_COLLECTIVES_ALL_REDUCE_H_
#define CAIRN_COLLECTIVES_ALL_REDUCE_H_

#include "absl/status/status.h"
#include "collectives/links.h"
#include "collectives/tensor.h"

namespace cairn::collectives {

// How the values of the ranks become one: `op`, then a multiplication by `factor` (1 for integers).
// The rank that reduces a slice does both, so that no rank does them for the whole tensor.
struct Reduction {
  ReduceOp op = ReduceOp::kSum;
  double factor = 1;
};

// All-reduce of M bytes by n ranks, in place. All algorithms are a reduce-scatter and an
// all-gather: each rank sends and receives 2 M (n-1)/n bytes, the least that is possible.

// Direct exchange: each rank reduces one slice of all ranks, and sends it to all. Works in segments
// of 128 KiB of each slice, whose results are sent together with the next segment's values: one
// step more than a slice has segments, with 2 (n-1) messages in each; n segments of memory. Values
// are combined in the order of ranks, so all slices have the bits of a loop over the ranks.
absl::Status DirectAllReduce(Links* links, const Operation& operation, const Tensor& tensor,
                             const Reduction& reduction);

// The first half of it: slice `rank` of `input`, reduced, is written to `output`.
absl::Status DirectReduceScatter(Links* links, const Operation& operation, const Tensor& input,
                                 const Reduction& reduction, void* output);

// The same exchange with the same bits through shared memory; requires links->shared(). Each rank
// copies M (n-1)/n bytes in and as many out, and reduces M/n bytes directly from the others'
// memory.
absl::Status SharedAllReduce(Links* links, const Operation& operation, const Tensor& tensor,
                             const Reduction& reduction);
absl::Status SharedReduceScatter(Links* links, const Operation& operation, const Tensor& input,
                                 const Reduction& reduction, void* output);

// Ring: each rank sends to the next only. 2 (n-1) steps; one message of M/n bytes in each; 256 KiB
// of memory. Slice i is combined in the order of ranks i+1, i+2, ... i, so its bits are the same in
// each run with the same n. Patarasu and Yuan, Bandwidth optimal all-reduce algorithms for clusters
// of workstations, 2009.
absl::Status RingAllReduce(Links* links, const Operation& operation, const Tensor& tensor,
                           const Reduction& reduction);

// The first of the elements of slice `index` of `slices`.
inline size_t SliceBegin(size_t count, int slices, int index) {
  const size_t each = count / static_cast<size_t>(slices);
  const size_t more = count % static_cast<size_t>(slices);
  const auto i = static_cast<size_t>(index);
  return each * i + (i < more ? i : more);
}

}  // namespace cairn::collectives

#endif  // CAIRN_COLLECTIVES_ALL_REDUCE_H_

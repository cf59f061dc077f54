#ifndef CAIRN_COLLECTIVES_ALL_REDUCE_H_
#define CAIRN_COLLECTIVES_ALL_REDUCE_H_

#include "absl/status/status.h"
#include "collectives/links.h"
#include "collectives/tensor.h"

namespace cairn::collectives {

// All-reduce of M bytes by n ranks, in place. Both algorithms are a reduce-scatter and an
// all-gather: each rank sends and receives 2 M (n-1)/n bytes, the least that is possible.

// Direct exchange: each rank reduces one slice of all ranks, and sends it to all. 2 steps for any
// n; n-1 messages of M/n bytes in each, those of the first step in segments of 256 KiB; n segments
// of memory. Values are combined in the order of ranks, so all slices have the bits of a loop over
// the ranks.
absl::Status DirectAllReduce(Links* links, const Operation& operation, const Tensor& tensor,
                             ReduceOp op);

// Ring: each rank sends to the next only. 2 (n-1) steps; one message of M/n bytes in each; 256 KiB
// of memory. Slice i is combined in the order of ranks i+1, i+2, ... i, so its bits are the same in
// each run with the same n. Patarasu and Yuan, Bandwidth optimal all-reduce algorithms for clusters
// of workstations, 2009.
absl::Status RingAllReduce(Links* links, const Operation& operation, const Tensor& tensor,
                           ReduceOp op);

// The first of the elements of slice `index` of `slices`.
inline size_t SliceBegin(size_t count, int slices, int index) {
  const size_t each = count / static_cast<size_t>(slices);
  const size_t more = count % static_cast<size_t>(slices);
  const auto i = static_cast<size_t>(index);
  return each * i + (i < more ? i : more);
}

// The first half of DirectAllReduce: slice `rank` of `input`, reduced, is written to `output`.
absl::Status DirectReduceScatter(Links* links, const Operation& operation, const Tensor& input,
                                 ReduceOp op, void* output);

}  // namespace cairn::collectives

#endif  // CAIRN_COLLECTIVES_ALL_REDUCE_H_

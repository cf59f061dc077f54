#ifndef CAIRN_COLLECTIVES_GROUP_H_
#define CAIRN_COLLECTIVES_GROUP_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "collectives/tensor.h"

// Collective operations of a group of processes, for programs that train in parallel:
//
//   GroupOptions options = *GroupOptions::FromTfConfig(tf_config);  // Of the environment.
//   std::unique_ptr<Group> group = *Group::Join(options);
//   group->Broadcast(weights, /*root=*/0);
//   while (...) {
//     ...
//     group->AllReduce(gradients, ReduceOp::kAverage);
//   }
//
// examples/collectives/ has a whole program.

namespace cairn::collectives {

enum class Algorithm {
  kAuto,    // Direct for up to 16 ranks, else ring.
  kDirect,  // See all_reduce.h.
  kRing,
};

enum class SharedMemory {
  // All-reduce (direct) and reduce-scatter use it if all addresses have the same host, and the
  // ranks are processes of one user on one machine in one network namespace; at most 16. Else
  // sockets. The bits are the same.
  kAuto,
  kOff,  // On one rank: off on all.
};

struct GroupOptions {
  std::vector<std::string> addresses;  // HOST:PORT of each rank; at most 1,024.
  int rank = 0;
  Algorithm algorithm = Algorithm::kAuto;
  SharedMemory shared_memory = SharedMemory::kAuto;
  // All ranks must have joined within this time.
  absl::Duration join_timeout = absl::Seconds(60);
  // Ranks may have different numbers of batches: one that has no more calls Join, and the others go
  // on. Must be the same on all ranks. Each AllReduce first exchanges a message with each rank.
  bool uneven = false;
  // A rank that neither sends nor reads for so long is lost.
  absl::Duration timeout = absl::Minutes(5);
  // Small tensors of one AllReduce travel together, in a buffer of at most this size.
  size_t fusion_bytes = size_t{128} << 20;
  // Gets a line that names the operation, the tensor and the missing ranks when an operation has
  // waited for `stall`, and again after each further one. Null: standard error.
  std::function<void(const std::string&)> on_stall = nullptr;
  absl::Duration stall = absl::Seconds(60);
  // A Chrome trace of the operations, written when the group is destroyed; empty: none. QUEUE is
  // the time from Enqueue to the ReduceReady that found the tensor ready on all ranks.
  std::string timeline_file;

  // The ranks are TF_CONFIG's workers, and this process is its task. InvalidArgument: see
  // cluster::ParseTfConfig; the task is no worker.
  static absl::StatusOr<GroupOptions> FromTfConfig(std::string_view tf_config);
};

// A rank's view of its group. Every rank must call the same operations in the same order, with
// tensors of the same types and sizes. Not thread-safe.
//
// Errors of operations: Unavailable: a rank was lost, which the message names; FailedPrecondition:
// ranks called different operations; DeadlineExceeded: a rank hangs; InvalidArgument: the arguments
// are wrong on this rank, and nothing was sent. After all but the last the group is over: all
// operations on all ranks fail, and Reform makes the next group.
class Group {
 public:
  // Enters the group. Returns when all ranks have done so. InvalidArgument: bad options, or another
  // rank has other addresses. DeadlineExceeded: names the missing ranks. AlreadyExists: the port is
  // in use.
  static absl::StatusOr<std::unique_ptr<Group>> Join(const GroupOptions& options);
  ~Group();
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;

  int rank() const;
  int size() const;
  // Among the ranks whose addresses have this rank's host.
  int local_rank() const;
  int local_size() const;
  // See SharedMemory.
  bool uses_shared_memory() const;

  struct Scale {
    double before = 1;  // The factor of each rank's values; 1 for integers.
    double after = 1;   // The factor of the result; 1 for integers.
  };

  // Replaces each tensor by its reduction over all ranks.
  absl::Status AllReduce(absl::Span<const Tensor> tensors, ReduceOp op, Scale scale = {1, 1});

  // All-reduces in any order, for ranks whose gradients become ready in different orders. Enqueue
  // sends nothing. `tensor` needs a name that is not in the queue; its memory must stay valid.
  absl::Status Enqueue(const Tensor& tensor, ReduceOp op, Scale scale = {1, 1});
  // Reduces the tensors that all ranks have enqueued by now, in rank 0's order, and returns their
  // names; the others stay in the queue. All ranks call it together. InvalidArgument, on all ranks:
  // a tensor has another type, size, operator or scale on some rank; nothing was reduced, and all
  // queues are empty.
  absl::StatusOr<std::vector<std::string>> ReduceReady();
  // The names of the tensors in the queue, in their order.
  std::vector<std::string> enqueued() const;

  // Copies `root`'s tensor to all ranks.
  absl::Status Broadcast(const Tensor& tensor, int root);
  // The concatenation of all ranks' tensors, which may have different numbers of elements, in the
  // order of ranks. `counts` (may be null) gets these numbers.
  absl::StatusOr<std::vector<char>> AllGather(const Tensor& tensor,
                                              std::vector<size_t>* counts = nullptr);
  // Reduces `input` and returns this rank's slice: the first count % size ranks have one element
  // more than the others.
  absl::StatusOr<std::vector<char>> ReduceScatter(const Tensor& input, ReduceOp op,
                                                  Scale scale = {1, 1});
  // Sends the first counts[0] elements to rank 0, the next counts[1] to rank 1 and so on; returns
  // what the ranks sent to this one, in their order. `received` (may be null) gets the numbers.
  absl::StatusOr<std::vector<char>> AllToAll(const Tensor& tensor, absl::Span<const size_t> counts,
                                             std::vector<size_t>* received = nullptr);
  // Returns when all ranks have called it.
  absl::Status Barrier();

  // For a rank without more data: takes part in the AllReduce calls of the others, with values that
  // do not change the result (zeros for a sum), until all ranks have called Join. An average is
  // still divided by the number of all ranks. Returns the last rank to join, which has seen the
  // most data; of several that joined after the same AllReduce, the highest. Then the next epoch
  // can begin. InvalidArgument: GroupOptions::uneven is not set. FailedPrecondition: another rank
  // called another operation than AllReduce, before all had joined.
  absl::StatusOr<int> Join();

  // After an error: the group of the ranks that call Reform within `window`, in their old order. If
  // one of them dies meanwhile, the others look again, which takes three windows more, and two
  // more if it hangs; they give up after GroupOptions::join_timeout.
  // InvalidArgument: a `min_size` or `window` of 0 or less. Unavailable: fewer than `min_size` did
  // (the result is never two groups of at least `min_size` if that is more than half of the size),
  // or the others went on without this rank.
  absl::StatusOr<std::unique_ptr<Group>> Reform(int min_size = 1,
                                                absl::Duration window = absl::Seconds(5)) const;

 private:
  class Impl;
  explicit Group(std::unique_ptr<Impl> impl);
  const std::unique_ptr<Impl> impl_;
};

}  // namespace cairn::collectives

#endif  // CAIRN_COLLECTIVES_GROUP_H_

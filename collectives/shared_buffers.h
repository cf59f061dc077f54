#ifndef CAIRN_COLLECTIVES_SHARED_BUFFERS_H_
#define CAIRN_COLLECTIVES_SHARED_BUFFERS_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "cluster/shared_memory/shared_memory.h"

namespace cairn::collectives {

// Buffers and progress counters in memory that all ranks of a group map; they are processes of one
// host. Rank 0 creates the memory and hands it out over a local socket:
//
//   rank 0:                                  the others:
//   auto host = SharedBuffersHost::Open(n);
//   (tells the others host->token())
//                                            auto guest = SharedBuffersGuest::Call(token);
//   (learns that all have called)
//   host->HandOut();
//   (tells the others)
//                                            auto buffers = guest->Receive(rank, n);
//
// A reduction advances in steps. In each, a rank copies its input for the others into its buffers,
// then reduces its own part of all inputs into its result buffer, which the others copy. After each
// of these stages it advances a counter, for which the others wait. The memory is sealed and its
// pages are allocated, so using it never raises a signal, whatever the other ranks do. The contents
// are data only: no sizes or offsets are read from them.
class SharedBuffers {
 public:
  // More ranks use sockets.
  static constexpr int kRanksMax = 16;

  enum Stage { kCopied, kReduced };
  static constexpr int kStages = 2;

  // Buffers are reused after this number of steps. A rank can be two steps ahead of another one.
  static constexpr uint32_t kBuffers = 3;

  // Of all memory for a group of `ranks`.
  static size_t BytesFor(int ranks);
  // `memory` must have BytesFor(ranks) bytes.
  SharedBuffers(std::shared_ptr<cluster::SharedMemory> memory, int rank, int ranks);

  // Of one part: what a rank reduces in one step. A multiple of the sizes of all types.
  static size_t PartBytes(int ranks);
  size_t part_bytes() const { return PartBytes(ranks_); }

  // The input of `from` that `to` reduces in a step.
  char* input(int from, int to, uint32_t step) const;
  // What `rank` has reduced in a step.
  char* result(int rank, uint32_t step) const;

  // What this rank is in: the lower 32 bits of the numbers of an operation. Set it before the
  // first step of the operation.
  struct Position {
    uint32_t sequence = 0;
    uint32_t signature = 0;
    bool operator==(const Position&) const = default;
  };
  void SetPosition(Position position);
  Position PositionOf(int rank) const;

  // Says that this rank has finished `stage` of all steps before `steps`, and wakes all that wait
  // for it.
  void Advance(Stage stage, uint32_t steps);
  // Whether `rank` has done so. Counters wrap around.
  bool HasReached(int rank, Stage stage, uint32_t steps) const;
  // Waits until it has, at most for about `limit`. Returns HasReached.
  bool WaitFor(int rank, Stage stage, uint32_t steps, absl::Duration limit);

 private:
  struct Counter {
    std::atomic<uint32_t> steps;  // A futex.
    // Waiters; a rank that dies while it waits stays counted, which costs a system call in Advance.
    std::atomic<uint32_t> waiters;
  };
  // Each rank writes its own.
  struct alignas(128) Slot {
    Counter counters[kStages];
    std::atomic<uint64_t> position;
  };
  static_assert(std::atomic<uint32_t>::is_always_lock_free &&
                std::atomic<uint64_t>::is_always_lock_free);

  Slot* slot(int rank) const;

  const std::shared_ptr<cluster::SharedMemory> memory_;
  const int rank_;
  const int ranks_;
  const int spins_;
};

// Rank 0's side of the setup. Errors mean that the group uses sockets.
class SharedBuffersHost {
 public:
  static absl::StatusOr<std::unique_ptr<SharedBuffersHost>> Open(int ranks);
  ~SharedBuffersHost();
  SharedBuffersHost(const SharedBuffersHost&) = delete;
  SharedBuffersHost& operator=(const SharedBuffersHost&) = delete;

  // Names the socket.
  uint64_t token() const { return memory_->token(); }
  // Sends the memory to all processes of this user that have called; never waits.
  void HandOut() const;
  std::unique_ptr<SharedBuffers> buffers() const;

 private:
  SharedBuffersHost(int listener, int ranks, std::shared_ptr<cluster::SharedMemory> memory)
      : listener_(listener), ranks_(ranks), memory_(std::move(memory)) {}

  const int listener_;
  const int ranks_;
  const std::shared_ptr<cluster::SharedMemory> memory_;
};

// The other ranks' side.
class SharedBuffersGuest {
 public:
  // Fails on another host, in another network namespace and if rank 0 is another user's.
  static absl::StatusOr<std::unique_ptr<SharedBuffersGuest>> Call(uint64_t token);
  ~SharedBuffersGuest();
  SharedBuffersGuest(const SharedBuffersGuest&) = delete;
  SharedBuffersGuest& operator=(const SharedBuffersGuest&) = delete;

  // After HandOut. Waits for a second at most.
  absl::StatusOr<std::unique_ptr<SharedBuffers>> Receive(int rank, int ranks) const;

 private:
  SharedBuffersGuest(int socket, uint64_t token) : socket_(socket), token_(token) {}

  const int socket_;
  const uint64_t token_;
};

}  // namespace cairn::collectives

#endif  // CAIRN_COLLECTIVES_SHARED_BUFFERS_H_

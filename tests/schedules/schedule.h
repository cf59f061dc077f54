#ifndef CAIRN_TESTS_SCHEDULES_SCHEDULE_H_
#define CAIRN_TESTS_SCHEDULES_SCHEDULE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/time/time.h"

namespace rocksdb {
class Env;
}
namespace cairn::storage {
class Journal;
}

namespace cairn::schedules {

// The journal of one simulated cluster after another, in memory.
class MemoryJournal {
 public:
  MemoryJournal();
  ~MemoryJournal();
  // Empty.
  storage::Journal* Fresh();

 private:
  std::unique_ptr<rocksdb::Env> env_;
  std::unique_ptr<storage::Journal> journal_;
  int uses_ = 0;
};

struct Outcome {
  // What must never happen and did; empty: nothing.
  std::string violation;
  int faults = 0;
  int rollbacks = 0;
  int64_t events = 0;
  int64_t duplicates = 0;  // Pushes of batches that were applied already.
  // Generations that continued from the replicas of other ps, without a rollback.
  int64_t continued = 0;
  int64_t lost_writes = 0;  // Of files and journal, with the power.
};

// Simulates one small job from its submission to its end. The code of every decision is the real
// one: the coordinator's scheduler with its journal, the work state of the workers, and the blocks
// of the ps with ledgers, updates and consistency. What computes, waits and sends is simulated:
// time, trainers, disks, streams (in order, with delays, which break) and requests to ps (in any
// order, late, lost, doubled). Processes die, are stopped for a while, and have parts that hang;
// faults end after a few seconds. Machines lose their power, one or all, and what is not synced.
// Mode, sizes, delays and faults depend only on the seed.
//
// Every gradient is a unit vector of its own, so the weights tell how often each batch counted:
//
//   - at the end each batch has counted exactly once on each block
//   - a checkpoint contains exactly the batches that its manifest lists, each once
//   - a batch is computed only on values that its job's consistency allows
//   - the job finishes: nothing waits for ever
//   - at the end each ps has the same in its replicas, if the job has some
Outcome RunSchedule(uint64_t seed, MemoryJournal* journal);

// Planted faults, to see that the simulator finds them.
struct Planted {
  bool ledger_off = false;  // The ps apply a repeated push again.
  // A ps acknowledges updates of the others' blocks, and does not keep them.
  bool replicas_off = false;
  bool journal_not_synced = false;
  bool snapshots_not_synced = false;
};
Outcome RunSchedule(uint64_t seed, MemoryJournal* journal, const Planted& planted);

// A synchronous job without faults, in which times are known.
struct StepTimeCase {
  int workers = 1;
  int ps = 1;
  int64_t model_bytes = 0;
  int64_t block_bytes = 0;
  double bytes_per_second = 0;  // Of each process, in each direction.
  absl::Duration latency;
  absl::Duration step;  // To compute a batch.
};
struct StepTime {
  std::string violation;  // Empty: none.
  absl::Duration measured;
  // What the slowest link permits: it carries all gradients of an update, and then all values. The
  // values exist when the last gradient has arrived.
  absl::Duration bound;
};
// With one batch per worker and update. The mean of some updates.
StepTime SimulateStepTime(const StepTimeCase& timed, MemoryJournal* journal);

}  // namespace cairn::schedules

#endif  // CAIRN_TESTS_SCHEDULES_SCHEDULE_H_

#ifndef CAIRN_TESTS_SCHEDULES_SIMULATED_WORLD_H_
#define CAIRN_TESTS_SCHEDULES_SIMULATED_WORLD_H_

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <queue>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "coordinator/event_time.h"
#include "tests/schedules/schedule.h"
#include "tests/schedules/simulated_disk.h"

namespace cairn::schedules {

// The job's numbers.
struct JobShape {
  std::string mode;
  uint32_t blocks = 3;  // Each has one row.
  int64_t width = 0;    // Weights of a row. Batch b changes weight b % width.
  int64_t per_epoch = 0;
  int64_t total = 0;
  int64_t group = 1;  // Batches per update.
  int64_t window = -1;
  bool replicated = false;  // Every ps has replicas of the blocks of the others.

  // The first batch of the update that a batch belongs to.
  int64_t UpdateBegin(int64_t batch) const {
    const int64_t in_epoch = batch % per_epoch;
    return batch - in_epoch + in_epoch / group * group;
  }
};

// Probabilities of what the network and the disks do.
struct Disturbances {
  double slow = 0;
  double loss = 0;
  double doubling = 0;
  double disk_failures = 0;
};

// Known durations instead of random ones. Each process has a link in each direction; a message
// occupies the sender's outgoing and then the receiver's incoming link.
struct Timing {
  absl::Duration step;     // To compute a batch.
  absl::Duration latency;  // Of each message.
  double bytes_per_second = 0;
  int64_t block_bytes = 0;  // Of a gradient or the values of a block. Other messages: 100 bytes.
};

// One direction of a process's connection to the network.
struct Link {
  absl::Duration free_at;
};

// What the processes of one schedule share: chance, time, the job, the disks of the ps, and the
// outcome. All chance comes from one sequence of draws, so their order determines the schedule.
class SimulatedWorld {
 public:
  explicit SimulatedWorld(uint64_t seed) : seed_(seed) {}

  // ---- chance
  uint64_t Below(uint64_t bound);
  bool Chance(double probability);
  // Of a message.
  absl::Duration Delay();
  // To read a batch, and to compute it.
  absl::Duration ReadingTime();
  absl::Duration ComputingTime();

  // Numbers the processes that start.
  uint64_t NewInstance() { return ++last_instance_; }

  // ---- time
  absl::Duration now() const { return now_; }
  coordinator::EventTime event_time() const { return {now_, absl::ToInt64Seconds(now_)}; }
  void At(absl::Duration at, std::function<void()> run);
  void After(absl::Duration delay, std::function<void()> run) { At(now_ + delay, std::move(run)); }
  // A message about a block arrives after its delay, and after those before it on both links.
  // `has_values`: it has a gradient or values.
  void Transfer(Link* from, Link* to, bool has_values, std::function<void()> arrive);
  // Runs the next event at its time.
  void RunNext();

  // Records the first violation; empty: none.
  void Violate(const std::string& what);

  JobShape job;
  Disturbances disturbances;
  std::optional<Timing> timing;
  bool answer_when_buffered = false;             // Of pushes.
  std::vector<SnapshotDisk> disks;               // By ps.
  std::map<int64_t, absl::Duration> applied_at;  // By the first batch of an update, its last push.
  Outcome outcome;

 private:
  struct Event {
    absl::Duration at;
    uint64_t number = 0;
    mutable std::function<void()> run;
    bool operator<(const Event& other) const {
      return at != other.at ? at > other.at : number > other.number;
    }
  };

  const uint64_t seed_;
  uint64_t draws_ = 0;
  uint64_t last_instance_ = 0;
  absl::Duration now_ = absl::Seconds(100);
  uint64_t last_event_ = 0;
  std::priority_queue<Event> events_;
};

}  // namespace cairn::schedules

#endif  // CAIRN_TESTS_SCHEDULES_SIMULATED_WORLD_H_

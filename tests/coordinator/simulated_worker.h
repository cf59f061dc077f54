#ifndef CAIRN_TESTS_COORDINATOR_SIMULATED_WORKER_H_
#define CAIRN_TESTS_COORDINATOR_SIMULATED_WORKER_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "proto/coordinator.pb.h"
#include "tests/coordinator/simulated_ps.h"

namespace cairn::coordinator {

// A model of a worker, written from the protocol. It computes a batch by pushing it, block by
// block; a step of the simulation may come between any two pushes.
class SimulatedWorker {
 public:
  // The cluster must outlive the worker. `examples`: the number of training examples that it finds.
  SimulatedWorker(uint32_t index, const SimulatedPs::Cluster* cluster, int64_t examples = 100)
      : index_(index), ps_(*cluster), examples_(examples) {}

  void Restart(uint64_t instance_id);
  proto::Join MakeJoin() const;
  void Handle(const proto::Command& command);
  // Does a little work: at most one push. May send messages.
  void Step(bool connected, std::vector<proto::TaskMessage>* messages);
  void Disconnected();

  // From now on it reports that it cannot read the data of the job of this name.
  void RefuseDataOf(std::string job_name) { refused_job_ = std::move(job_name); }
  // What it reports as the loss of a batch, in place of the batch's number.
  void set_loss(std::function<double(int64_t batch)> loss) { loss_ = std::move(loss); }
  // The batches of which the loss or a gradient is not finite.
  void set_not_finite(std::function<bool(int64_t batch)> not_finite, bool data_not_finite = false) {
    not_finite_ = std::move(not_finite);
    data_not_finite_ = data_not_finite;
  }
  // The work at which its process ends, `batch` being that of kTraining or kEvaluation.
  enum class Work { kInspection, kStart, kTraining, kEvaluation };
  void set_ends_at(std::function<bool(Work work, int64_t batch)> ends_at) {
    ends_at_ = std::move(ends_at);
  }
  // Its process has come to an end: restart it.
  bool ended() const { return ended_; }
  // While it hangs it computes and reports nothing, but its process lives: heartbeats are sent.
  void set_hangs(bool hangs) { hangs_ = hangs; }
  bool hangs() const { return hangs_; }

 private:
  bool hangs_ = false;

  bool MayStart(int64_t batch) const;
  bool IsApplied(int64_t batch) const;
  void Push();
  void Compute(int64_t batch);
  proto::BatchRecord* AddRecord(int64_t batch);
  void Report(bool urgent, std::vector<proto::TaskMessage>* messages);
  void Evaluate();
  void Forget();

  const uint32_t index_;
  const SimulatedPs::Cluster& ps_;
  const int64_t examples_;
  uint64_t instance_id_ = 0;
  std::string refused_job_;
  std::function<double(int64_t)> loss_ = [](int64_t batch) { return static_cast<double>(batch); };

  std::function<bool(int64_t)> not_finite_ = [](int64_t) { return false; };
  bool data_not_finite_ = false;
  std::function<bool(Work, int64_t)> ends_at_ = [](Work, int64_t) { return false; };
  bool ended_ = false;

  std::optional<proto::StartJob> job_;
  std::set<int64_t> waiting_;
  std::optional<int64_t> batch_;  // Being pushed.
  int pushed_ = 0;                // The number of its blocks pushed so far.
  std::set<int64_t> rejected_;    // Batches in batch_ and unapplied_.
  std::set<int64_t> unapplied_;   // Pushed to all blocks, not applied yet.
  int64_t blocked_on_ = -1;
  std::deque<proto::WorkPaused> pauses_;
  uint64_t cut_ = 0;
  std::deque<int64_t> validation_;
  proto::WorkReport report_;
  std::deque<proto::TaskMessage> answers_;
  int steps_since_report_ = 0;
};

}  // namespace cairn::coordinator

#endif  // CAIRN_TESTS_COORDINATOR_SIMULATED_WORKER_H_

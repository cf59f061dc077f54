#ifndef CAIRN_COORDINATOR_DURABLE_JOB_H_
#define CAIRN_COORDINATOR_DURABLE_JOB_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "coordinator/moment.h"
#include "coordinator/outbox.h"
#include "job/job_plan.h"
#include "proto/job.pb.h"
#include "proto/journal.pb.h"
#include "storage/job_records.h"

namespace cairn::coordinator {

// What of a job outlives this process: its records, which are journalled (synced) as they change,
// before anybody hears of the change. Not thread-safe.
class DurableJob {
 public:
  explicit DurableJob(storage::JobRecords records) : records_(std::move(records)) {}

  uint64_t id() const { return records_.record.job_id(); }
  const proto::JobRecord& record() const { return records_.record; }
  const proto::Job& job() const { return records_.record.job(); }
  const std::optional<proto::JobPlan>& plan() const { return records_.plan; }
  // On how many ps a snapshot should lie.
  int64_t copies() const { return job::CopiesWanted(job()); }
  bool over() const;
  // Waits for its turn; or had it before the coordinator started again.
  bool ready() const;
  bool fails_without_checkpoint() const { return job().on_lost_checkpoint() == "fail"; }

  void SetPhase(proto::JobRecord::Phase phase, Outbox* outbox);
  void End(proto::JobRecord::Phase phase, const std::string& error, Moment now, Outbox* outbox);
  void SetPlan(proto::JobPlan plan, Outbox* outbox);

  // Its owner may change it, and then calls SaveRun.
  proto::RunRecord& run() { return records_.run; }
  const proto::RunRecord& run() const { return records_.run; }
  void SaveRun(Outbox* outbox) const;
  // An event worth a line to whoever follows; journalled with the next SaveRun.
  void Note(std::string line);

  // The next generation, from `checkpoint` (0: the initial values). Its number is in the journal
  // before any ps hears of it, so that no later coordinator uses it again.
  void BeginGeneration(uint64_t checkpoint, Outbox* outbox);

  // As they were when nothing trained last.
  const std::vector<proto::Manifest>& manifests() const { return records_.manifests; }
  void set_manifests(std::vector<proto::Manifest> manifests) {
    records_.manifests = std::move(manifests);
  }
  void set_evaluations(std::vector<proto::EvaluationRecord> evaluations) {
    records_.evaluations = std::move(evaluations);
  }
  // That is not known to be damaged. 0: there is none.
  uint64_t NewestCheckpoint() const;
  // Every batch below is in the checkpoint (0: the initial values).
  int64_t LowWaterOf(uint64_t checkpoint) const;
  // It cannot be loaded, and is not tried again; nothing of it is deleted.
  void MarkDamaged(uint64_t checkpoint, const std::string& why, Outbox* outbox);

  proto::JobState State() const { return storage::StateFromRecords(records_); }
  proto::JobStatus Status() const { return storage::StatusFromRecords(records_); }

 private:
  storage::JobRecords records_;
};

}  // namespace cairn::coordinator

#endif  // CAIRN_COORDINATOR_DURABLE_JOB_H_

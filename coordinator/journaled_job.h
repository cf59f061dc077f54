#ifndef CAIRN_COORDINATOR_JOURNALED_JOB_H_
#define CAIRN_COORDINATOR_JOURNALED_JOB_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "coordinator/event_time.h"
#include "coordinator/outbox.h"
#include "coordinator/shared_plan.h"
#include "job/job_plan.h"
#include "proto/job.pb.h"
#include "proto/journal.pb.h"
#include "storage/job_records.h"

namespace cairn::coordinator {

// The records of a job that survive a restart. Every change is journaled (synced) before any other
// process is told of it. Not thread-safe.
class JournaledJob {
 public:
  explicit JournaledJob(storage::JobRecords records) : records_(std::move(records)) {}

  uint64_t id() const { return records_.record.job_id(); }
  const proto::JobRecord& record() const { return records_.record; }
  const proto::Job& job() const { return records_.record.job(); }
  const std::optional<proto::JobPlan>& plan() const { return records_.plan; }
  // The plan, for other processes. Requires a plan.
  const SharedPlanPtr& shared_plan();
  // The number of ps that should store each snapshot.
  int64_t copies() const { return job::CopiesWanted(job()); }
  bool over() const;
  // It failed before it began.
  bool refused() const { return storage::WasRefused(records_); }
  // Waits for its turn, or had its turn before the coordinator restarted.
  bool ready() const;
  bool fails_without_checkpoint() const { return job().on_lost_checkpoint() == "fail"; }

  // It has not ended any more, and waits for its turn.
  void Reopen(Outbox* outbox);
  void SetState(proto::JobState state, Outbox* outbox);
  void End(proto::JobState state, const std::string& error, EventTime now, Outbox* outbox);
  void SetPlan(proto::JobPlan plan, Outbox* outbox);

  // The owner may modify it and then calls SaveRun.
  proto::RunRecord& run() { return records_.run; }
  const proto::RunRecord& run() const { return records_.run; }
  void SaveRun(Outbox* outbox) const;
  // Adds a line about an event, for clients that follow the job. Journaled with the next SaveRun.
  void Note(std::string line, EventTime now);

  // Begins the next generation from `checkpoint` (0: the initial values). Its number is journaled
  // before any ps is told, so no later coordinator uses it again.
  void BeginGeneration(uint64_t checkpoint, Outbox* outbox);

  // Begins the next generation from what the members of a replicated job have in memory. The newest
  // checkpoint of the generations that they continue is `base`.
  void BeginGenerationFromReplicas(uint64_t base, Outbox* outbox);

  // As of the last time that the job was not training.
  const std::vector<proto::Manifest>& manifests() const { return records_.manifests; }
  void set_manifests(std::vector<proto::Manifest> manifests) {
    records_.manifests = std::move(manifests);
  }
  void set_evaluations(std::vector<proto::EvaluationRecord> evaluations) {
    records_.evaluations = std::move(evaluations);
  }
  // The newest checkpoint not marked as damaged; 0 if there is none.
  uint64_t NewestCheckpoint() const;
  // Every batch below it is in `checkpoint` (0: the initial values).
  int64_t LowWaterOf(uint64_t checkpoint) const;
  // Marks a checkpoint that cannot be loaded. It is not tried again, but nothing of it is deleted.
  void MarkDamaged(uint64_t checkpoint, const std::string& why, Outbox* outbox);

  proto::JobState State() const { return storage::StateFromRecords(records_); }
  proto::JobStatus Status() const { return storage::StatusFromRecords(records_); }

 private:
  void NextGeneration(uint64_t base, Outbox* outbox);

  storage::JobRecords records_;
  SharedPlanPtr shared_plan_;  // Of records_.plan; null until it is needed.
};

}  // namespace cairn::coordinator

#endif  // CAIRN_COORDINATOR_JOURNALED_JOB_H_

#include "coordinator/journaled_job.h"

#include <utility>

#include "common/failpoint.h"
#include "common/logging.h"
#include "coordinator/note.h"

namespace cairn::coordinator {
bool JournaledJob::over() const {
  return record().state() == proto::FINISHED || record().state() == proto::FAILED ||
         record().state() == proto::CANCELLED;
}

bool JournaledJob::ready() const {
  return record().state() == proto::QUEUED || record().state() == proto::RUNNING;
}

void JournaledJob::SetState(proto::JobState state, Outbox* outbox) {
  records_.record.set_state(state);
  outbox->PutSynced(storage::JobKey(id()), record());
  outbox->AfterWrite([] { return CAIRN_FAILPOINT("coordinator.set_state"); });
}

void JournaledJob::End(proto::JobState state, const std::string& error, EventTime now,
                       Outbox* outbox) {
  records_.record.set_error(error);
  if (records_.record.state() == proto::UPLOADING) records_.record.set_lacks_weights(true);
  records_.record.set_ended_unix_seconds(now.unix_seconds);
  SetState(state, outbox);
  SaveRun(outbox);
  outbox->AfterWrite([] { return CAIRN_FAILPOINT("coordinator.end_job"); });
  CAIRN_LOG_INFO("job over", "job", id(), "state", storage::StateName(state), "error", error);
}

void JournaledJob::Reopen(Outbox* outbox) {
  records_.record.clear_error();
  records_.record.clear_ended_unix_seconds();
  SetState(proto::QUEUED, outbox);
  if (run().last_checkpoint_failures() == 0) return;
  run().clear_last_checkpoint_failures();
  SaveRun(outbox);
}

void JournaledJob::SetPlan(proto::JobPlan plan, Outbox* outbox) {
  records_.plan = std::move(plan);
  shared_plan_.reset();
  outbox->PutSynced(storage::PlanKey(id()), *records_.plan);
  outbox->AfterWrite([] { return CAIRN_FAILPOINT("coordinator.set_plan"); });
}

const SharedPlanPtr& JournaledJob::shared_plan() {
  if (shared_plan_ == nullptr) shared_plan_ = SharePlan(*records_.plan);
  return shared_plan_;
}

void JournaledJob::SaveRun(Outbox* outbox) const {
  outbox->PutSynced(storage::RunKey(id()), records_.run);
}

void JournaledJob::Note(std::string line, EventTime now) {
  AddNote(id(), std::move(line), now, &run());
}

void JournaledJob::BeginGeneration(uint64_t checkpoint, Outbox* outbox) {
  run().set_from_replicas(false);
  // What members still have of earlier generations is another history of the job.
  run().set_replicas_since(run().generation() + 1);
  NextGeneration(checkpoint, outbox);
}

void JournaledJob::BeginGenerationFromReplicas(uint64_t base, Outbox* outbox) {
  run().set_from_replicas(true);
  NextGeneration(base, outbox);
}

void JournaledJob::NextGeneration(uint64_t base, Outbox* outbox) {
  run().set_generation(run().generation() + 1);
  run().set_base_checkpoint(base);
  run().clear_replica_version();
  run().set_restored(false);
  run().clear_kept_cut();
  SaveRun(outbox);
  outbox->AfterWrite([] { return CAIRN_FAILPOINT("coordinator.begin_generation"); });
}

int64_t JournaledJob::LowWaterOf(uint64_t checkpoint) const {
  for (const proto::Manifest& manifest : manifests()) {
    if (manifest.checkpoint() == checkpoint) return manifest.ledger().low_water();
  }
  return 0;
}

uint64_t JournaledJob::NewestCheckpoint() const {
  for (size_t i = manifests().size(); i-- > 0;) {
    if (manifests()[i].damaged().empty()) return manifests()[i].checkpoint();
  }
  return 0;
}

void JournaledJob::MarkDamaged(uint64_t checkpoint, const std::string& why, Outbox* outbox) {
  for (proto::Manifest& manifest : records_.manifests) {
    if (manifest.checkpoint() != checkpoint) continue;
    manifest.set_damaged(why);
    outbox->PutSynced(storage::ManifestKey(id(), checkpoint), manifest);
    outbox->AfterWrite([] { return CAIRN_FAILPOINT("coordinator.mark_damaged"); });
  }
}

}  // namespace cairn::coordinator

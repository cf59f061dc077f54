#include "coordinator/journaled_job.h"

#include <utility>

#include "common/logging.h"
#include "coordinator/note.h"

namespace cairn::coordinator {
bool JournaledJob::over() const {
  return record().phase() == proto::JobRecord::FINISHED_PHASE ||
         record().phase() == proto::JobRecord::FAILED_PHASE ||
         record().phase() == proto::JobRecord::CANCELLED_PHASE;
}

bool JournaledJob::ready() const {
  return record().phase() == proto::JobRecord::QUEUED_PHASE ||
         record().phase() == proto::JobRecord::STARTED_PHASE;
}

void JournaledJob::SetPhase(proto::JobRecord::Phase phase, Outbox* outbox) {
  records_.record.set_phase(phase);
  outbox->PutSynced(storage::JobKey(id()), record());
}

void JournaledJob::End(proto::JobRecord::Phase phase, const std::string& error, EventTime now,
                       Outbox* outbox) {
  records_.record.set_error(error);
  records_.record.set_ended_unix_seconds(now.unix_seconds);
  SetPhase(phase, outbox);
  SaveRun(outbox);
  CAIRN_LOG_INFO("job over", "job", id(), "phase", proto::JobRecord::Phase_Name(phase), "error",
                 error);
}

void JournaledJob::SetPlan(proto::JobPlan plan, Outbox* outbox) {
  records_.plan = std::move(plan);
  outbox->PutSynced(storage::PlanKey(id()), *records_.plan);
}

void JournaledJob::SaveRun(Outbox* outbox) const {
  outbox->PutSynced(storage::RunKey(id()), records_.run);
}

void JournaledJob::Note(std::string line, EventTime now) {
  AddNote(id(), std::move(line), now, &run());
}

void JournaledJob::BeginGeneration(uint64_t checkpoint, Outbox* outbox) {
  run().set_generation(run().generation() + 1);
  run().set_base_checkpoint(checkpoint);
  run().set_restored(false);
  run().clear_held_cut();
  SaveRun(outbox);
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
  }
}

}  // namespace cairn::coordinator

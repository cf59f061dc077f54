#include "tests/benchmarks/light_ps.h"

#include <utility>

#include "proto/job.pb.h"

namespace cairn::benchmarks {

void SharedLedger::Apply(int64_t batch) {
  MutexLock lock(&mutex_);
  const auto is_new = ledger_.TestAndSet(batch);
  if (is_new.ok() && !*is_new) ++duplicates_;
}

proto::LedgerState SharedLedger::State() {
  MutexLock lock(&mutex_);
  return ledger_.ToProto();
}

int64_t SharedLedger::duplicates() {
  MutexLock lock(&mutex_);
  return duplicates_;
}

LightPs::LightPs(const std::string& coordinator, uint32_t index, SharedLedger* ledger)
    : index_(index),
      ledger_(*ledger),
      session_(coordinator, {.make_join =
                                 [this] {
                                   proto::Join join;
                                   join.set_role(proto::PS);
                                   join.set_index(index_);
                                   join.set_job_id(job_id_);
                                   join.set_generation(generation_);
                                   return join;
                                 },
                             .handle =
                                 [this](const proto::Command& command, absl::Duration,
                                        LightSession::Messages* messages) {
                                   proto::TaskMessage answer;
                                   Handle(command, &answer);
                                   if (answer.message_case() != 0) messages->push_back(answer);
                                 }}) {}

proto::LedgerReply LightPs::Ledger() {
  proto::LedgerReply reply;
  reply.set_job_id(job_id_);
  reply.set_generation(generation_);
  reply.set_blocks(1);
  *reply.mutable_applied_on_all() = ledger_.State();
  *reply.mutable_applied_on_any() = reply.applied_on_all();
  return reply;
}

void LightPs::Handle(const proto::Command& command, proto::TaskMessage* answer) {
  if (command.has_restore()) {
    job_id_ = command.restore().plan().job_id();
    generation_ = command.restore().generation();
    proto::RestoreReply* reply = answer->mutable_restored();
    reply->set_job_id(job_id_);
    reply->set_generation(generation_);
    reply->set_checkpoint(command.restore().checkpoint());
    *reply->mutable_ledger() = Ledger();
  } else if (command.has_make_cut()) {
    proto::CutReply* reply = answer->mutable_cut();
    reply->set_job_id(command.make_cut().job_id());
    reply->set_cut(command.make_cut().cut());
    reply->set_generation(command.make_cut().generation());
    *reply->mutable_ledger() = Ledger();
  } else if (command.has_persist()) {
    proto::PersistReply* reply = answer->mutable_persisted();
    reply->set_job_id(command.persist().job_id());
    reply->set_cut(command.persist().cut());
    reply->set_generation(command.persist().generation());
    reply->mutable_part()->set_ps(index_);
    reply->mutable_part()->set_blocks(1);
  } else if (command.has_ledger_query()) {
    *answer->mutable_ledger() = Ledger();
    answer->mutable_ledger()->set_query(command.ledger_query().query());
  } else if (command.has_list_snapshots()) {
    answer->mutable_snapshots()->set_job_id(command.list_snapshots().job_id());
  }
}

}  // namespace cairn::benchmarks

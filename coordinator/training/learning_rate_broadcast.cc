#include "coordinator/training/learning_rate_broadcast.h"

#include <algorithm>
#include <utility>

#include "cluster/partition_map.h"
#include "storage/job_records.h"

namespace cairn::coordinator {

LearningRateBroadcast::LearningRateBroadcast(const proto::JobPlan* plan,
                                             const proto::RunRecord* run)
    : plan_(*plan),
      run_(*run),
      members_(cluster::MembersOf(plan->partition())),
      told_(plan->partition().ps_count()),
      known_(plan->partition().ps_count(), Changes()) {}

int LearningRateBroadcast::Changes() const {
  return run_.rates_size() + run_.rate_halved_at_size();
}

void LearningRateBroadcast::Announce(Outbox* outbox) {
  const int changes = Changes();
  for (const uint32_t ps : members_) {
    if (known_[ps] >= changes || told_[ps] >= changes) continue;
    told_[ps] = changes;
    proto::Command command;
    proto::SetRates* set = command.mutable_set_rates();
    set->set_job_id(plan_.job_id());
    set->set_generation(run_.generation());
    *set->mutable_rates() = storage::RatesOf(run_);
    outbox->Send(PsTask(ps), std::move(command));
  }
}

void LearningRateBroadcast::Reply(uint32_t ps, const proto::RatesReply& reply) {
  if (ps >= known_.size() || reply.job_id() != plan_.job_id() ||
      reply.generation() != run_.generation()) {
    return;
  }
  known_[ps] = std::max(known_[ps], static_cast<int>(reply.changes()));
}

bool LearningRateBroadcast::complete() const {
  return std::all_of(members_.begin(), members_.end(),
                     [this](uint32_t ps) { return known_[ps] >= Changes(); });
}

}  // namespace cairn::coordinator

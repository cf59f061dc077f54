#include "coordinator/callbacks/planned_rates.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <utility>

#include "common/check.h"
#include "job/callback_kinds.h"
#include "nn/optimizer.h"
#include "nn/optimizers/learning_rate.h"

namespace cairn::coordinator {
namespace {

using Rates = google::protobuf::RepeatedPtrField<proto::RateChange>;

// The job's callback of this kind; nullptr if it has none.
const proto::Callback* Find(const proto::Job& job, const char* kind) {
  for (const proto::Callback& callback : job.callbacks()) {
    if (job::IsCallback(callback.name(), kind)) return &callback;
  }
  return nullptr;
}

// The rate of an epoch, numbered from 0, by a learning_rate_scheduler.
std::function<double(int64_t epoch)> FunctionOf(const proto::Callback& scheduler) {
  if (!scheduler.has_schedule()) {
    return [&table = scheduler.schedule_epochs()](int64_t epoch) {
      return table[static_cast<int>(std::min<int64_t>(epoch, table.size() - 1))];
    };
  }
  proto::Optimizer config;
  *config.mutable_learning_rate_schedule() = scheduler.schedule();
  auto schedule = nn::LearningRate::Create(config, 0);
  CAIRN_CHECK(schedule.ok());  // The job was validated.
  return [schedule = *std::move(schedule)](int64_t epoch) { return schedule.At(epoch); };
}

// The warm-up of an epoch to `rate`: that of its first update, and the growth from one update to
// the next.
proto::RateChange WarmUp(const proto::JobPlan& plan, const proto::Callback& warmup, int64_t epoch,
                         double rate) {
  const int64_t per_update = std::max<int64_t>(1, plan.batches_per_update());
  const int64_t updates = (plan.batches_per_epoch() - 1) / per_update + 1;
  const auto size = static_cast<double>(warmup.has_size() ? warmup.size() : per_update);
  const double growth = (size - 1) / static_cast<double>(job::WarmupEpochsOf(warmup));
  const double part = 1 / static_cast<double>(updates);
  proto::RateChange change;
  change.set_learning_rate(rate / size * ((static_cast<double>(epoch) + part) * growth + 1));
  change.set_increment(rate / size * part * growth);
  change.set_increment_batches(per_update);
  return change;
}

bool SameRate(const proto::RateChange& a, const proto::RateChange& b) {
  return a.increment() == 0 && b.increment() == 0 && a.learning_rate() == b.learning_rate();
}

}  // namespace

float InitialRate(const proto::Job& job) {
  const auto optimizer = nn::CreateOptimizer(job.optimizer());
  return optimizer.ok() ? (*optimizer)->learning_rate(0) : 0;
}

Rates PlannedRates(const proto::JobPlan& plan) {
  const proto::Job& job = plan.job();
  const proto::Callback* const scheduler = Find(job, "learning_rate_scheduler");
  const proto::Callback* const warmup = Find(job, "learning_rate_warmup");
  const bool scaled = job.scale_learning_rate();
  Rates rates;
  if (scheduler == nullptr && warmup == nullptr && !scaled &&
      Find(job, "reduce_lr_on_plateau") == nullptr) {
    return rates;
  }
  const bool has_initial = warmup != nullptr && warmup->has_initial_lr();
  const double full = has_initial ? warmup->initial_lr() : InitialRate(job);
  const double factor = scaled ? static_cast<double>(plan.batches_per_update()) : 1;
  const auto rate_of =
      scheduler != nullptr ? FunctionOf(*scheduler) : [full](int64_t /*epoch*/) { return full; };
  const int64_t warm_end = warmup != nullptr ? job::WarmupEpochsOf(*warmup) : 0;
  const int64_t per_epoch = std::max<int64_t>(1, plan.batches_per_epoch());
  for (int64_t batch = 0; batch < plan.total_batches(); batch += per_epoch) {
    const int64_t epoch = job.initial_epoch() + batch / per_epoch;
    proto::RateChange change;
    if (epoch < warm_end) {
      change = WarmUp(plan, *warmup, epoch, full * factor);
    } else {
      // The optimizer's rates are floats.
      change.set_learning_rate(static_cast<float>(rate_of(epoch) * factor));
    }
    change.set_from_batch(batch);
    change.set_planned(true);
    if (rates.empty() || !SameRate(*rates.rbegin(), change)) *rates.Add() = std::move(change);
    if (epoch >= warm_end && scheduler == nullptr) break;  // The rate stays.
  }
  return rates;
}

}  // namespace cairn::coordinator

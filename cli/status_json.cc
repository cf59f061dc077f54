#include "cli/status_json.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/ascii.h"
#include "common/nonfinite_text.h"

namespace cairn::cli {
namespace {

using nlohmann::ordered_json;

ordered_json BestJson(const proto::BestCheckpoint& best) {
  ordered_json out;
  out["checkpoint"] = best.checkpoint();
  out["monitor"] = best.monitor();
  out["value"] = NumberJson(best.value());
  out["epoch"] = best.epoch();
  out["is_result"] = best.is_result();
  return out;
}

// A loss that is not finite is a text, because as a number it would be null.
ordered_json NonfiniteJson(const proto::NonFiniteLoss& loss, bool of_batch) {
  ordered_json out;
  out["epoch"] = loss.epoch();
  if (of_batch) out["batch"] = loss.batch();
  if (std::isfinite(loss.loss())) {
    out["loss"] = loss.loss();  // A gradient is not finite.
  } else {
    out["loss"] = NonfiniteText(loss.loss());
  }
  if (loss.data_not_finite()) out["data_not_finite"] = true;
  return out;
}

void AddNonfiniteLosses(const proto::JobStatus& status, ordered_json* json) {
  if (status.has_nonfinite_loss()) {
    (*json)["nonfinite_loss"] = NonfiniteJson(status.nonfinite_loss(), /*of_batch=*/true);
  }
  if (status.has_nonfinite_validation()) {
    (*json)["nonfinite_validation"] =
        NonfiniteJson(status.nonfinite_validation(), /*of_batch=*/false);
  }
}

ordered_json DamagedJson(const proto::DamagedRecords& damaged) {
  return {{"count", damaged.count()}, {"first_error", damaged.first_error()}};
}

// What was left out: batches, and records of the data.
void AddLeftOut(const proto::JobStatus& status, ordered_json* json) {
  (*json)["batches_rejected"] = status.batches_rejected();
  if (status.has_train_damaged()) (*json)["train_damaged"] = DamagedJson(status.train_damaged());
  if (status.has_validation_damaged()) {
    (*json)["validation_damaged"] = DamagedJson(status.validation_damaged());
  }
}

void AddProgress(const proto::JobStatus& status, ordered_json* json) {
  ordered_json& out = *json;
  out["epoch"] = status.epoch();
  out["epochs"] = status.epochs();
  out["batch"] = status.batch_in_epoch();
  out["batches_per_epoch"] = status.batches_per_epoch();
  out["batches_done"] = status.batches_done();
  out["total_batches"] = status.total_batches();
  out["loss"] = NumberJson(status.loss());
  for (const auto& metric : status.metrics()) out[metric.name()] = NumberJson(metric.value());
  AddNonfiniteLosses(status, &out);
  AddLeftOut(status, &out);
  out["examples_per_second"] = NumberJson(status.examples_per_second());
  out["eta_seconds"] = NumberJson(status.eta_seconds());
  out["evaluating"] = status.evaluating();
  if (status.learning_rate() > 0) out["learning_rate"] = NumberJson(status.learning_rate());
  out["stopped_early"] = status.stopped_early();
  ordered_json best = ordered_json::array();
  for (const auto& each : status.best()) best.push_back(BestJson(each));
  out["best"] = best;
  ordered_json evaluations = ordered_json::array();
  for (const auto& evaluation : status.evaluations()) {
    evaluations.push_back(EvaluationJson(evaluation, status.metric_names()));
  }
  out["evaluations"] = evaluations;
}

void AddFaults(const proto::JobStatus& status, ordered_json* json) {
  ordered_json& out = *json;
  out["workers_live"] = status.workers_live();
  out["ps_live"] = status.ps_live();
  out["generation"] = status.generation();
  out["rollbacks"] = status.rollbacks();
  out["nonfinite_rollbacks"] = status.nonfinite_rollbacks();
  out["duplicates_refused"] = status.duplicates_refused();
  out["workers_lost"] = status.workers_lost();
  out["workers_joined"] = status.workers_joined();
  out["last_checkpoint"] = status.last_checkpoint();
  out["checkpoints_skipped"] = status.checkpoints_skipped();
  out["checkpoints_failed"] = status.checkpoints_failed();
  if (!status.checkpoint_error().empty()) out["checkpoint_error"] = status.checkpoint_error();
  out["copies_failed"] = status.copies_failed();
  if (!status.copy_error().empty()) out["copy_error"] = status.copy_error();
  if (!status.warning().empty()) out["warning"] = status.warning();
  ordered_json notes = ordered_json::array();
  for (const proto::Note& note : status.notes()) {
    notes.push_back({{"unix_seconds", note.unix_seconds()}, {"note", note.text()}});
  }
  out["notes"] = notes;
}

}  // namespace

bool HasEnded(proto::JobState state) {
  return state == proto::FINISHED || state == proto::FAILED || state == proto::CANCELLED;
}

std::string StateText(const proto::JobStatus& status) {
  return storage::WasRefused(status) ? "rejected" : StateName(status.state());
}

ordered_json NumberJson(double value) {
  return std::isfinite(value) ? ordered_json(value) : ordered_json(nullptr);
}

ordered_json StatusJson(const proto::JobStatus& status) {
  ordered_json out;
  out["job"] = status.job_id();
  out["name"] = status.name();
  out["state"] = StateName(status.state());
  if (!status.error().empty()) out["error"] = status.error();
  if (!status.waiting_for().empty()) out["waiting_for"] = status.waiting_for();
  if (status.state() == proto::QUEUED) out["queue_place"] = status.queue_place();
  AddProgress(status, &out);
  AddFaults(status, &out);
  out["parameters"] = status.parameters();
  out["submitted_unix_seconds"] = status.submitted_unix_seconds();
  out["ended_unix_seconds"] = status.ended_unix_seconds();
  return out;
}

ordered_json FoundStatusJson(const proto::JobStatus& status, bool cluster_up) {
  ordered_json out = StatusJson(status);
  out["cluster_up"] = cluster_up;
  return out;
}

ordered_json CheckpointJson(const proto::Manifest& manifest) {
  uint64_t bytes = 0;
  for (const auto& part : manifest.parts()) bytes += part.bytes();
  ordered_json out;
  out["checkpoint"] = manifest.checkpoint();
  out["job"] = manifest.job_id();
  out["applied_batches"] = manifest.applied_batches();
  out["reason"] = manifest.reason();
  out["generation"] = manifest.generation();
  out["unix_seconds"] = manifest.unix_seconds();
  out["bytes"] = bytes;
  out["copies"] = CopiesOf(manifest);
  if (!manifest.damaged().empty()) out["damaged"] = manifest.damaged();
  return out;
}

int CopiesOf(const proto::Manifest& manifest) {
  int copies = manifest.parts().empty() ? 0 : 2;
  for (const auto& part : manifest.parts()) {
    if (part.blocks() > 0) copies = std::min(copies, 1 + part.copies_size());
  }
  return copies;
}

bool HasJoined(const proto::Member& member) { return member.incarnation() > 0; }

std::string MemberState(const proto::Member& member, uint64_t term) {
  if (member.live()) return "live";
  return HasJoined(member) || term > 1 ? "away" : "not yet";
}

ordered_json MemberJson(const proto::Member& member, uint64_t term) {
  const auto if_live = [&member](const ordered_json& value) {
    return member.live() ? value : ordered_json(nullptr);
  };
  ordered_json out;
  out["role"] = absl::AsciiStrToLower(proto::Role_Name(member.role()));
  out["index"] = member.index();
  out["live"] = member.live();
  out["state"] = MemberState(member, term);
  out["address"] = member.address();
  out["pid"] = member.pid();
  out["device"] = member.device();
  if (!member.activity().empty()) out["activity"] = member.activity();
  out["incarnation"] = member.incarnation();
  out["lease_age_seconds"] =
      HasJoined(member) ? NumberJson(member.lease_age_seconds()) : ordered_json(nullptr);
  out["named"] = member.named();
  out["host"] = member.host();
  out["memory_bytes"] = if_live(member.memory_bytes());
  out["memory_limit_bytes"] = if_live(member.memory_limit_bytes());
  if (member.role() == proto::PS) out["disk_free_bytes"] = if_live(member.disk_free_bytes());
  out["messages_refused"] = member.messages_refused();
  out["requests_per_second"] = if_live(NumberJson(member.requests_per_second()));
  out["batches_per_second"] = if_live(NumberJson(member.batches_per_second()));
  out["examples_per_second"] = if_live(NumberJson(member.examples_per_second()));
  return out;
}

ordered_json EvaluationJson(const proto::EvaluationRecord& evaluation,
                            const google::protobuf::RepeatedPtrField<std::string>& metric_names) {
  ordered_json out;
  out["epoch"] = evaluation.epoch();
  out["evaluation"] = true;
  out["loss"] = NumberJson(evaluation.loss());
  const int metrics = std::min(evaluation.metrics_size(), metric_names.size());
  for (int i = 0; i < metrics; ++i) out[metric_names[i]] = NumberJson(evaluation.metrics(i));
  out["examples"] = evaluation.examples();
  return out;
}

}  // namespace cairn::cli

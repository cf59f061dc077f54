#ifndef CAIRN_COMMON_FAILPOINT_H_
#define CAIRN_COMMON_FAILPOINT_H_

#include <atomic>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"

// A named point of the code at which a test makes the process die, fail or wait:
//
//   CAIRN_RETURN_IF_ERROR(CAIRN_FAILPOINT("journal.write"));
//   CAIRN_FAILPOINT("worker.before_push").IgnoreError();  // It may die or wait there.
//
// Armed by a daemon's flag --failpoint, which needs --unsafe_testing. A point that is not armed
// costs one relaxed load. The name must be in kFailpoints; otherwise the code does not compile.
#define CAIRN_FAILPOINT(name)                                     \
  ([]() -> ::absl::Status {                                       \
    constexpr int kIndex = ::cairn::FailpointIndex(name);         \
    if (!::cairn::AnyFailpointArmed()) return ::absl::OkStatus(); \
    return ::cairn::HitFailpoint(kIndex);                         \
  }())

namespace cairn {

// All failpoints: the part of the system, and what is about to happen.
inline constexpr std::string_view kFailpoints[] = {
    // storage/
    "journal.open",
    "journal.sync",
    "journal.write",
    "journal.synced",
    "journal.read",
    "snapshot.open",
    "snapshot.read_block",
    "snapshot.delete",
    "snapshot.sync_deletion",
    "snapshot.create",
    "snapshot.add",
    "snapshot.published",
    "snapshot.close",
    "snapshot.read_back",
    "snapshot.rename",
    "snapshot.sync_directory",
    "snapshot_store.clean_up",
    "cluster_file.write",
    "cluster_file.rename",
    "cluster_file.sync_directory",
    // ps_server/
    "ps.restored",
    "ps.restore",
    "ps.stop_job",
    "ps.job_stopped",
    "ps.job_deleted",
    "ps.ledgers_queried",
    "ps.cut_made",
    "ps.persist",
    "ps.persisted",
    "ps.delete_checkpoint",
    "ps.checkpoint_deleted",
    "ps.set_rates",
    "ps.rates_set",
    "ps.profile",
    "ps.snapshots_listed",
    "ps.copy_snapshot",
    "ps.snapshot_copied",
    "ps.pull_reply",
    "ps.push_reply",
    "ps.pull",
    "ps.pull_cut",
    "ps.pull_checkpoint",
    "ps.push",
    "ps.upload",
    "ps.fetch",
    "ps.make_cut",
    "ps.drop_cut",
    "ps.welcome",
    "ps.offer_replicas",
    "ps.replicate",
    "ps.receive_reduced",
    "upload.store",
    "upload.stored",
    "upload.read",
    "copy.finish",
    "fetch.received",
    "fetch.send",
    "block.ledger_tested",
    "block.values_changed",
    "block.batch_marked",
    "block.update_applied",
    // cluster/
    "session.join",
    "session.send",
    "session.receive",
    "ps_client.send",
    "ps_client.receive",
    "shared_memory.allocate",
    "shared_memory.adopt",
    "shared_memory.find",
    "shared_memory.offer",
    // worker/
    "worker.read_batch",
    "worker.evaluate",
    "worker.evaluated",
    "worker.inspect",
    "worker.load",
    "worker.inspected",
    "worker.start_generation",
    "worker.push",
    "worker.applied",
    "worker.pull",
    "worker.pulled",
    "worker.load_cut",
    "worker.gradient",
    "worker.end_step",
    "worker.pushed",
    "worker.forward",
    "worker.report",
    "spool.write",
    // coordinator/: decisions, when they are in the journal and nobody was told
    "coordinator.begin_training",
    "coordinator.choose_replicas",
    "coordinator.begin_deletion",
    "coordinator.confirm_deletion",
    "coordinator.end_deletion",
    "coordinator.set_state",
    "coordinator.end_job",
    "coordinator.set_plan",
    "coordinator.begin_generation",
    "coordinator.mark_damaged",
    "coordinator.choose_checkpoint",
    "coordinator.begin_term",
    "coordinator.welcome",
    "coordinator.accept_job",
    "coordinator.delete_expired",
    "coordinator.begin_cut",
    "coordinator.make_cut",
    "coordinator.drop_torn_cut",
    "coordinator.keep_cut",
    "coordinator.add_manifest",
    "coordinator.checkpoint_failed",
    "coordinator.finish_evaluation",
    "coordinator.release_cut",
    "coordinator.finish_copies",
    "coordinator.decide_epoch",
    "coordinator.choose_best",
    "coordinator.grant",
    "control_loop.event",
    "control_loop.write",
    "control_loop.written",
    "control_loop.commands_sent",
    "control_loop.replies_sent",
};

consteval int FailpointIndex(std::string_view name) {
  int index = 0;
  for (const std::string_view known : kFailpoints) {
    if (known == name) return index;
    ++index;
  }
  throw "the failpoint is not in kFailpoints";
}

// Arms a failpoint. `text` is NAME=ACTION[@FIRST[-LAST]]: the action is taken at these hits of the
// point, counted from 1; default: at the first. Actions: crash (SIGKILL), error, hang (until it is
// disarmed), sleep:MILLISECONDS. InvalidArgument: what is wrong with `text`, and what is known.
absl::Status ArmFailpoint(std::string_view text);
// From now on the armed failpoints are those of this file, one on each line. The file may change,
// appear and vanish at any time; writers must replace it by a rename. Hits are counted from its
// last change.
void ArmFailpointsOfFile(const std::string& path);
// Disarms all, and forgets the hits.
void DisarmFailpoints();
// The number of times that the armed action of a point was taken.
int FailpointFired(std::string_view name);

// Implementation of the macro.
namespace failpoint_internal {
inline std::atomic<bool> any_armed = false;
}  // namespace failpoint_internal
inline bool AnyFailpointArmed() {
  return failpoint_internal::any_armed.load(std::memory_order_relaxed);
}
absl::Status HitFailpoint(int index);

}  // namespace cairn

#endif  // CAIRN_COMMON_FAILPOINT_H_

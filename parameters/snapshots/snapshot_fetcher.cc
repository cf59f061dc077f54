#include "parameters/snapshots/snapshot_fetcher.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/failpoint.h"
#include "common/status_macros.h"

namespace cairn::parameters {

namespace {

// More blocks never fit into one reply, because each record has at least one byte.
constexpr size_t kBlocksPerRequest = 1024;

absl::Status Stopped() { return absl::CancelledError("the parameter server stops"); }

}  // namespace

void SnapshotFetcher::SetCluster(std::vector<std::string> addresses, uint64_t cluster_id) {
  // Destroyed, and its calls cancelled, after the lock is released.
  std::shared_ptr<cluster::PsClient> old;
  MutexLock lock(&mutex_);
  if (addresses == options_.addresses && cluster_id == options_.cluster_id) return;
  old = std::exchange(client_, nullptr);
  options_.addresses = std::move(addresses);
  options_.cluster_id = cluster_id;
  options_.sender = sender_;
}

cluster::PsClientOptions SnapshotFetcher::client_options() const {
  MutexLock lock(&mutex_);
  return options_;
}

void SnapshotFetcher::Stop() {
  MutexLock lock(&mutex_);
  stopped_ = true;
  if (client_ != nullptr) client_->CancelAll();
}

absl::StatusOr<std::shared_ptr<cluster::PsClient>> SnapshotFetcher::ClientFor(uint32_t from) {
  MutexLock lock(&mutex_);
  if (stopped_) return Stopped();
  if (from >= options_.addresses.size()) {
    return absl::UnavailableError(absl::StrCat("ps ", from, " does not exist; the number of ps is ",
                                               options_.addresses.size()));
  }
  if (client_ == nullptr) client_ = std::make_shared<cluster::PsClient>(options_);
  return client_;
}

absl::Status SnapshotFetcher::Fetch(const Source& source, absl::Span<const uint32_t> blocks,
                                    Visit visit) {
  while (!blocks.empty()) {
    CAIRN_ASSIGN_OR_RETURN(const std::shared_ptr<cluster::PsClient> client, ClientFor(source.from));
    CAIRN_ASSIGN_OR_RETURN(
        std::vector<cluster::FetchedRecord> records,
        FetchOnce(client.get(), source, blocks.first(std::min(blocks.size(), kBlocksPerRequest))));
    CAIRN_RETURN_IF_ERROR(CAIRN_FAILPOINT("fetch.received"));
    for (cluster::FetchedRecord& record : records) {
      CAIRN_RETURN_IF_ERROR(visit(
          record.block,
          storage::BlockRecord(std::move(record.bytes), /*skipped_bytes=*/0, record.header_bytes)));
    }
    blocks.remove_prefix(records.size());
  }
  return absl::OkStatus();
}

SnapshotFetcher::Records SnapshotFetcher::FetchOnce(cluster::PsClient* client, const Source& source,
                                                    absl::Span<const uint32_t> blocks) {
  CAIRN_RETURN_IF_ERROR(CAIRN_FAILPOINT("fetch.send"));
  proto::FetchHeader header;
  header.set_job_id(source.job_id);
  header.set_checkpoint(source.checkpoint);
  *header.mutable_part() = source.part;
  header.mutable_blocks()->Assign(blocks.begin(), blocks.end());
  if (source.replica_version.has_value()) {
    header.mutable_replica()->set_version(*source.replica_version);
  }
  Mutex mutex;
  ConditionVariable answered;
  std::optional<Records> answer;
  cluster::PsClient::Group group;
  {
    // Under the lock that Stop takes, so that Stop either cancels this call or prevents it.
    MutexLock lock(&mutex_);
    if (stopped_) return Stopped();
    group = ++last_group_;
    client->Fetch(
        static_cast<int>(source.from), std::move(header),
        [&](Records records) {
          MutexLock lock(&mutex);
          answer = std::move(records);
          answered.NotifyAll();
        },
        group);
  }
  // Wait for the reply, or cancel the call after the timeout and wait for the callback, which
  // refers to local variables.
  const auto give_up =
      std::chrono::steady_clock::now() + absl::ToChronoMilliseconds(reply_timeout_);
  bool timed_out = false;
  MutexLock lock(&mutex);
  while (!answer.has_value()) {
    const auto left = give_up - std::chrono::steady_clock::now();
    if (left.count() > 0) {
      answered.WaitFor(&mutex, left);
    } else if (!timed_out) {
      timed_out = true;
      client->Cancel(group);
    } else {
      answered.Wait(&mutex);
    }
  }
  if (timed_out && !answer->ok()) {
    return absl::UnavailableError(absl::StrCat("ps ", source.from, " has not answered for ",
                                               absl::FormatDuration(reply_timeout_)));
  }
  // ParameterService reports damaged snapshots as INTERNAL, because DATA_LOSS is transient on the
  // data plane.
  if (absl::IsInternal(answer->status())) return absl::DataLossError(answer->status().message());
  return *std::move(answer);
}

}  // namespace cairn::parameters

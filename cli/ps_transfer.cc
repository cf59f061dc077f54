#include "cli/ps_transfer.h"

#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "cluster/partition_map.h"
#include "cluster/ps_client.h"
#include "common/mutex.h"
#include "common/status_macros.h"

namespace cairn::cli {
namespace {

constexpr int64_t kRequestBytesMax = int64_t{2} << 20;
constexpr int kRequestsInFlight = 8;
constexpr std::chrono::seconds kSilenceMax(30);
// If another ps has a copy.
constexpr std::chrono::seconds kSilenceMaxWithCopy(5);

// Counts calls that have not ended, and keeps the first error.
class Outstanding {
 public:
  explicit Outstanding(const std::vector<std::string>& addresses,
                       std::chrono::seconds silence_max = kSilenceMax)
      : addresses_(addresses), silence_max_(silence_max), running_(addresses.size()) {}

  // Waits until fewer than `limit` calls run. False: a call has failed, or none has ended for
  // `silence_max`.
  bool WaitBelow(int limit) {
    MutexLock lock(&mutex_);
    while (status_.ok() && all_running_ >= limit) {
      const int64_t ended_before = ended_;
      if (!changed_.WaitFor(&mutex_, silence_max_) && ended_ == ended_before) status_ = Silence();
    }
    return status_.ok();
  }

  void Begin(uint32_t ps) {
    MutexLock lock(&mutex_);
    ++running_[ps];
    ++all_running_;
  }

  void End(uint32_t ps, const absl::Status& status) {
    MutexLock lock(&mutex_);
    --running_[ps];
    --all_running_;
    ++ended_;
    if (status_.ok()) status_ = status;
    changed_.NotifyAll();
  }

  void WaitForAll() {
    MutexLock lock(&mutex_);
    while (all_running_ > 0) changed_.Wait(&mutex_);
  }

  absl::Status status() const {
    MutexLock lock(&mutex_);
    return status_;
  }

 private:
  absl::Status Silence() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    std::vector<std::string> silent;
    for (size_t ps = 0; ps < running_.size(); ++ps) {
      if (running_[ps] > 0) silent.push_back(absl::StrCat("ps ", ps, " (", addresses_[ps], ")"));
    }
    return absl::UnavailableError(absl::StrCat("no answer for ", silence_max_.count(), " s from ",
                                               absl::StrJoin(silent, ", "),
                                               "; cairn cluster shows who is there"));
  }

  const std::vector<std::string>& addresses_;  // By ps, like running_.
  const std::chrono::seconds silence_max_;
  mutable Mutex mutex_;
  ConditionVariable changed_;
  std::vector<int> running_ ABSL_GUARDED_BY(mutex_);
  int all_running_ ABSL_GUARDED_BY(mutex_) = 0;
  int64_t ended_ ABSL_GUARDED_BY(mutex_) = 0;
  absl::Status status_ ABSL_GUARDED_BY(mutex_);
};

absl::Status CheckSizes(const PsEndpoints& ps, const proto::PartitionMap& partition) {
  CAIRN_RETURN_IF_ERROR(cluster::ValidatePartitionMap(partition));
  if (ps.addresses.size() == partition.ps_count()) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat("the job lives on ", partition.ps_count(),
                                                    " ps, the cluster has ", ps.addresses.size()));
}

cluster::PsClientOptions ClientOptions(const PsEndpoints& ps) {
  cluster::PsClientOptions options;
  options.addresses = ps.addresses;
  options.cluster_id = ps.cluster_id;
  options.sender = "cairn";
  return options;
}

// Groups the blocks of one ps into requests and calls `send(blocks)` for each, until it returns
// false.
void ForEachRequest(const proto::PartitionMap& partition, uint32_t ps,
                    const std::function<bool(std::vector<uint32_t>)>& send) {
  std::vector<uint32_t> blocks;
  int64_t bytes = 0;
  for (const uint32_t block : cluster::BlocksOfPs(partition, ps)) {
    const int64_t block_bytes = cluster::BlockBytes(partition, block);
    if (!blocks.empty() && bytes + block_bytes > kRequestBytesMax) {
      if (!send(std::exchange(blocks, {}))) return;
      bytes = 0;
    }
    blocks.push_back(block);
    bytes += block_bytes;
  }
  if (!blocks.empty()) send(std::move(blocks));
}

proto::UploadHeader MakeUploadHeader(uint64_t job_id, const proto::PartitionMap& partition,
                                     const std::vector<uint32_t>& blocks) {
  proto::UploadHeader header;
  header.set_job_id(job_id);
  for (const uint32_t id : blocks) {
    const auto& block = partition.blocks(id);
    const auto& variable = partition.variables(block.variable());
    proto::UploadedBlock* uploaded = header.add_blocks();
    uploaded->set_block(id);
    uploaded->set_variable(variable.name());
    *uploaded->mutable_variable_shape() = variable.shape();
    uploaded->set_row_begin(block.row_begin());
    uploaded->set_row_end(block.row_end());
  }
  return header;
}

}  // namespace

absl::Status UploadVariables(const PsEndpoints& ps, uint64_t job_id,
                             const proto::PartitionMap& partition,
                             const std::vector<std::vector<float>>& variables) {
  CAIRN_RETURN_IF_ERROR(CheckSizes(ps, partition));
  Outstanding outstanding(ps.addresses);
  // gRPC may use the memory for longer than the call lasts. So each request shares the ownership of
  // a copy.
  const auto values = std::make_shared<const std::vector<std::vector<float>>>(variables);
  cluster::PsClient client(ClientOptions(ps));
  const auto upload = [&](uint32_t index, std::vector<uint32_t> blocks) {
    if (!outstanding.WaitBelow(kRequestsInFlight)) return false;
    std::vector<cluster::FramePiece> pieces;
    for (const uint32_t block : blocks) {
      const auto& variable = (*values)[partition.blocks(block).variable()];
      pieces.push_back(cluster::FramePiece::OfFloats(
          absl::MakeConstSpan(variable).subspan(cluster::BlockOffset(partition, block),
                                                cluster::BlockElements(partition, block)),
          values));
    }
    outstanding.Begin(index);
    client.Upload(
        static_cast<int>(index), MakeUploadHeader(job_id, partition, blocks), std::move(pieces),
        [&outstanding, index](const auto& reply) { outstanding.End(index, reply.status()); });
    return true;
  };
  for (uint32_t index = 0; index < partition.ps_count(); ++index) {
    ForEachRequest(partition, index,
                   [&](std::vector<uint32_t> blocks) { return upload(index, std::move(blocks)); });
  }
  outstanding.WaitBelow(1);
  return outstanding.status();
}

namespace {

using Variables = std::vector<std::vector<float>>;

// The ps that may have a part of a checkpoint, the most likely first.
std::vector<uint32_t> HoldersOf(const proto::SnapshotPart& part, uint32_t ps_count) {
  std::vector<uint32_t> holders = {part.ps()};
  holders.insert(holders.end(), part.copies().begin(), part.copies().end());
  for (uint32_t ps = 0; ps < ps_count; ++ps) {
    if (std::find(holders.begin(), holders.end(), ps) == holders.end()) holders.push_back(ps);
  }
  std::erase_if(holders, [&](uint32_t ps) { return ps >= ps_count; });
  return holders;
}

// Reads one part of a checkpoint from the ps `holder` into `variables`.
absl::Status DownloadPart(const PsEndpoints& ps, cluster::PsClient* client, uint32_t holder,
                          const proto::PullHeader& what, const proto::PartitionMap& partition,
                          Variables* variables) {
  const bool has_copy = what.part().copies_size() > 0;
  Outstanding outstanding(ps.addresses, has_copy ? kSilenceMaxWithCopy : kSilenceMax);
  const uint64_t group = holder + 1;
  ForEachRequest(partition, what.part().ps(), [&](std::vector<uint32_t> blocks) {
    if (!outstanding.WaitBelow(kRequestsInFlight)) return false;
    proto::PullHeader header = what;
    std::vector<absl::Span<float>> destinations;
    for (const uint32_t block : blocks) {
      header.add_blocks(block);
      auto& variable = (*variables)[partition.blocks(block).variable()];
      destinations.push_back(absl::MakeSpan(variable).subspan(
          cluster::BlockOffset(partition, block), cluster::BlockElements(partition, block)));
    }
    outstanding.Begin(holder);
    client->Pull(
        static_cast<int>(holder), std::move(header), std::move(destinations),
        [&outstanding, holder](const auto& reply) { outstanding.End(holder, reply.status()); },
        group);
    return true;
  });
  outstanding.WaitBelow(1);
  const absl::Status result = outstanding.status();
  // The next attempt writes to the same memory, so all calls of this one must have ended.
  client->Cancel(group);
  outstanding.WaitForAll();
  return result;
}

}  // namespace

absl::StatusOr<Variables> DownloadVariables(const PsEndpoints& ps, uint64_t job_id,
                                            const proto::PartitionMap& partition,
                                            const proto::Manifest& checkpoint) {
  CAIRN_RETURN_IF_ERROR(cluster::ValidatePartitionMap(partition));
  Variables variables;
  for (const auto& variable : partition.variables()) {
    variables.emplace_back(cluster::VariableElements(variable));
  }
  cluster::PsClient client(ClientOptions(ps));
  proto::PullHeader header;
  header.set_job_id(job_id);
  header.set_checkpoint(checkpoint.checkpoint());
  for (const proto::SnapshotPart& part : checkpoint.parts()) {
    *header.mutable_part() = part;
    absl::Status status = absl::NotFoundError("the cluster has no ps");
    for (const uint32_t holder : HoldersOf(part, static_cast<uint32_t>(ps.addresses.size()))) {
      const absl::Status here = DownloadPart(ps, &client, holder, header, partition, &variables);
      // Returns the first error other than NotFound, or else NotFound.
      if (here.ok() || absl::IsNotFound(status)) status = here;
      if (status.ok()) break;
    }
    CAIRN_RETURN_IF_ERROR(status);
  }
  return variables;
}

}  // namespace cairn::cli

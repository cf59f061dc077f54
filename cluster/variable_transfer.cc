#include "cluster/variable_transfer.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "absl/functional/function_ref.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "cluster/partition_map.h"
#include "cluster/ps_client.h"
#include "common/mutex.h"
#include "common/status_macros.h"

namespace cairn::cluster {
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
  CAIRN_RETURN_IF_ERROR(ValidatePartitionMap(partition));
  if (ps.addresses.size() == partition.ps_count()) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat("the job lives on ", partition.ps_count(),
                                                    " ps, the cluster has ", ps.addresses.size()));
}

PsClientOptions ClientOptions(const PsEndpoints& ps) {
  PsClientOptions options;
  options.addresses = ps.addresses;
  options.cluster_id = ps.cluster_id;
  options.sender = ps.sender;
  return options;
}

// Groups the blocks of one ps into requests and calls `send(blocks)` for each, until it returns
// false.
void ForEachRequest(const proto::PartitionMap& partition, uint32_t ps,
                    const std::function<bool(std::vector<uint32_t>)>& send) {
  std::vector<uint32_t> blocks;
  int64_t bytes = 0;
  for (const uint32_t block : BlocksOfPs(partition, ps)) {
    const int64_t block_bytes = BlockBytes(partition, block);
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

namespace {

// Returns what is uploaded of a block, and may add to its description.
using PieceOfBlock = absl::FunctionRef<FramePiece(uint32_t block, proto::UploadedBlock* uploaded)>;

absl::Status Upload(const PsEndpoints& ps, uint64_t job_id, const proto::PartitionMap& partition,
                    PieceOfBlock piece_of) {
  CAIRN_RETURN_IF_ERROR(CheckSizes(ps, partition));
  Outstanding outstanding(ps.addresses);
  PsClient client(ClientOptions(ps));
  const auto upload = [&](uint32_t index, std::vector<uint32_t> blocks) {
    if (!outstanding.WaitBelow(kRequestsInFlight)) return false;
    proto::UploadHeader header = MakeUploadHeader(job_id, partition, blocks);
    std::vector<FramePiece> pieces;
    for (size_t i = 0; i < blocks.size(); ++i) {
      pieces.push_back(piece_of(blocks[i], header.mutable_blocks(static_cast<int>(i))));
    }
    outstanding.Begin(index);
    client.Upload(
        static_cast<int>(index), std::move(header), std::move(pieces),
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

}  // namespace

absl::Status UploadVariables(const PsEndpoints& ps, uint64_t job_id,
                             const proto::PartitionMap& partition,
                             const std::vector<std::vector<float>>& variables) {
  // gRPC may use the memory for longer than the call lasts. So each request shares the ownership of
  // a copy.
  const auto values = std::make_shared<const std::vector<std::vector<float>>>(variables);
  return Upload(ps, job_id, partition, [&](uint32_t block, proto::UploadedBlock*) {
    const auto& variable = (*values)[partition.blocks(static_cast<int>(block)).variable()];
    return FramePiece::OfFloats(absl::MakeConstSpan(variable).subspan(
                                    BlockOffset(partition, block), BlockElements(partition, block)),
                                values);
  });
}

absl::Status UploadStates(const PsEndpoints& ps, uint64_t job_id,
                          const proto::PartitionMap& partition,
                          const std::vector<VariableState>& variables) {
  return Upload(ps, job_id, partition, [&](uint32_t block, proto::UploadedBlock* uploaded) {
    const VariableState& variable = variables[partition.blocks(static_cast<int>(block)).variable()];
    const int64_t begin = BlockOffset(partition, block);
    const int64_t end = begin + BlockElements(partition, block);
    auto bytes = std::make_shared<std::vector<float>>(variable.values.begin() + begin,
                                                      variable.values.begin() + end);
    for (const std::vector<float>& slot : variable.slot_values) {
      bytes->insert(bytes->end(), slot.begin() + begin, slot.begin() + end);
    }
    uploaded->set_version(variable.version);
    for (const std::string& slot : variable.slots) uploaded->add_slots(slot);
    return FramePiece::OfFloats(*bytes, bytes);
  });
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

// Checks that the checkpoint has the part of every ps that had blocks. Otherwise the caller would
// take the memory of the missing rows for their values.
absl::Status CheckParts(const proto::PartitionMap& partition, const proto::Manifest& checkpoint) {
  std::vector<bool> has_part(partition.ps_count());
  for (const proto::SnapshotPart& part : checkpoint.parts()) {
    if (part.ps() < has_part.size()) has_part[part.ps()] = true;
  }
  for (const proto::PartitionMap::Block& block : partition.blocks()) {
    if (has_part[block.ps()]) continue;
    return absl::DataLossError(absl::StrCat(
        "checkpoint ", checkpoint.checkpoint(), " does not have rows ", block.row_begin(), " to ",
        block.row_end(), " of ", partition.variables(static_cast<int>(block.variable())).name(),
        ": the part of ps ", block.ps(), " is missing"));
  }
  return absl::OkStatus();
}

// Reads one part of a checkpoint from the ps `holder` into `variables`.
absl::Status DownloadPart(const PsEndpoints& ps, PsClient* client, uint32_t holder,
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
      destinations.push_back(absl::MakeSpan(variable).subspan(BlockOffset(partition, block),
                                                              BlockElements(partition, block)));
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
  CAIRN_RETURN_IF_ERROR(ValidatePartitionMap(partition));
  CAIRN_RETURN_IF_ERROR(CheckParts(partition, checkpoint));
  Variables variables;
  for (const auto& variable : partition.variables()) {
    variables.emplace_back(VariableElements(variable));
  }
  PsClient client(ClientOptions(ps));
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

absl::Status AddBlockState(const proto::PartitionMap& partition, uint32_t block,
                           std::string_view header_bytes, std::string_view payload,
                           std::vector<VariableState>* variables) {
  const auto& placed = partition.blocks(static_cast<int>(block));
  const auto& variable = partition.variables(static_cast<int>(placed.variable()));
  VariableState& state = (*variables)[placed.variable()];
  proto::BlockHeader header;
  const bool is_the_block =
      header.ParseFromArray(header_bytes.data(), static_cast<int>(header_bytes.size())) &&
      header.variable() == variable.name() && header.row_begin() == placed.row_begin() &&
      header.row_end() == placed.row_end() && header.version() >= 0;
  const auto bytes = static_cast<size_t>(BlockBytes(partition, block));
  if (!is_the_block || payload.size() / bytes != static_cast<size_t>(header.slots_size()) + 1 ||
      payload.size() % bytes != 0) {
    return absl::DataLossError(absl::StrCat("block ", block, " of the checkpoint is not rows ",
                                            placed.row_begin(), " to ", placed.row_end(), " of ",
                                            variable.name()));
  }
  if (state.values.empty()) {
    state.version = header.version();
    state.slots.assign(header.slots().begin(), header.slots().end());
    state.values.resize(VariableElements(variable));
    state.slot_values.assign(state.slots.size(), std::vector<float>(state.values.size()));
  } else if (state.version != header.version() ||
             !std::equal(state.slots.begin(), state.slots.end(), header.slots().begin(),
                         header.slots().end())) {
    return absl::DataLossError(absl::StrCat("block ", block, " of the checkpoint has version ",
                                            header.version(), " of ", variable.name(),
                                            ", others have version ", state.version));
  }
  const int64_t offset = BlockOffset(partition, block);
  std::memcpy(state.values.data() + offset, payload.data(), bytes);
  for (size_t slot = 0; slot < state.slots.size(); ++slot) {
    std::memcpy(state.slot_values[slot].data() + offset, payload.data() + (slot + 1) * bytes,
                bytes);
  }
  return absl::OkStatus();
}

namespace {

// The reply to one Fetch. The call may outlive the one who waits.
struct Fetched {
  Mutex mutex;
  ConditionVariable changed;
  std::optional<absl::StatusOr<std::vector<FetchedRecord>>> reply ABSL_GUARDED_BY(mutex);
};

absl::StatusOr<std::vector<FetchedRecord>> FetchOnce(const PsEndpoints& ps, PsClient* client,
                                                     uint32_t holder, proto::FetchHeader header) {
  const auto silence_max = header.part().copies_size() > 0 ? kSilenceMaxWithCopy : kSilenceMax;
  const auto fetched = std::make_shared<Fetched>();
  client->Fetch(static_cast<int>(holder), std::move(header), [fetched](auto reply) {
    MutexLock lock(&fetched->mutex);
    fetched->reply = std::move(reply);
    fetched->changed.NotifyAll();
  });
  {
    MutexLock lock(&fetched->mutex);
    while (!fetched->reply.has_value()) {
      if (!fetched->changed.WaitFor(&fetched->mutex, silence_max)) break;
    }
    if (fetched->reply.has_value()) return *std::move(fetched->reply);
  }
  client->CancelAll();
  return absl::UnavailableError(absl::StrCat("no answer for ", silence_max.count(), " s from ps ",
                                             holder, " (", ps.addresses[holder],
                                             "); cairn cluster shows who is there"));
}

// Reads one part of a checkpoint, a few MiB at a time.
absl::Status FetchPart(const PsEndpoints& ps, PsClient* client, uint32_t holder,
                       const proto::FetchHeader& what, const proto::PartitionMap& partition,
                       std::vector<VariableState>* variables) {
  const std::vector<uint32_t> blocks = BlocksOfPs(partition, what.part().ps());
  for (size_t next = 0; next < blocks.size();) {
    proto::FetchHeader header = what;
    header.mutable_blocks()->Assign(blocks.begin() + static_cast<int64_t>(next), blocks.end());
    CAIRN_ASSIGN_OR_RETURN(const auto records, FetchOnce(ps, client, holder, std::move(header)));
    if (records.empty()) return absl::DataLossError("a ps sent no block");
    for (const FetchedRecord& record : records) {
      if (next >= blocks.size() || record.block != blocks[next] ||
          record.header_bytes > record.bytes.size()) {
        return absl::DataLossError("a ps sent other blocks than those that were requested");
      }
      const std::string_view bytes = record.bytes;
      CAIRN_RETURN_IF_ERROR(AddBlockState(partition, record.block,
                                          bytes.substr(0, record.header_bytes),
                                          bytes.substr(record.header_bytes), variables));
      ++next;
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::vector<VariableState>> DownloadStates(const PsEndpoints& ps, uint64_t job_id,
                                                          const proto::PartitionMap& partition,
                                                          const proto::Manifest& checkpoint) {
  CAIRN_RETURN_IF_ERROR(ValidatePartitionMap(partition));
  CAIRN_RETURN_IF_ERROR(CheckParts(partition, checkpoint));
  std::vector<VariableState> variables(partition.variables_size());
  PsClient client(ClientOptions(ps));
  proto::FetchHeader header;
  header.set_job_id(job_id);
  header.set_checkpoint(checkpoint.checkpoint());
  for (const proto::SnapshotPart& part : checkpoint.parts()) {
    *header.mutable_part() = part;
    absl::Status status = absl::NotFoundError("the cluster has no ps");
    for (const uint32_t holder : HoldersOf(part, static_cast<uint32_t>(ps.addresses.size()))) {
      const absl::Status here = FetchPart(ps, &client, holder, header, partition, &variables);
      // Returns the first error other than NotFound, or else NotFound.
      if (here.ok() || absl::IsNotFound(status)) status = here;
      if (status.ok()) break;
    }
    CAIRN_RETURN_IF_ERROR(status);
  }
  return variables;
}

}  // namespace cairn::cluster

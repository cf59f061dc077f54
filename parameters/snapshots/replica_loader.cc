#include "parameters/snapshots/replica_loader.h"

#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/logging.h"
#include "common/status_macros.h"
#include "parameters/snapshots/snapshot.h"

namespace cairn::parameters {
namespace {

absl::Status CheckVersion(const BlockSpec& block, const BlockState& state, int64_t version) {
  if (!block.pushed() || state.ledger == PushLedger::AllBelow(version)) return absl::OkStatus();
  return absl::DataLossError(absl::StrCat(block.name, " came in version ", state.ledger.low_water(),
                                          ", expected ", version));
}

}  // namespace

absl::StatusOr<std::vector<BlockState>> ReplicaLoader::Load(const JobLayout& layout,
                                                            const proto::ReplicaSource& source,
                                                            const ReplicaSet* kept,
                                                            const std::atomic<bool>& stop) const {
  const std::vector<BlockSpec>& blocks = layout.blocks();
  std::vector<BlockState> states(blocks.size());
  std::vector<int> missing;  // Positions.
  for (size_t position = 0; position < blocks.size(); ++position) {
    absl::Status status = absl::NotFoundError("nothing is in memory");
    if (kept != nullptr && kept->job_id() == layout.job_id()) {
      absl::StatusOr<ReplicaSet::Found> found = kept->Find(blocks[position].id, source.version());
      status = found.status();
      if (found.ok()) states[position] = std::move(found->state);
    }
    if (absl::IsNotFound(status)) {
      missing.push_back(static_cast<int>(position));
    } else if (!status.ok()) {
      return status;
    }
  }
  if (missing.empty()) return states;
  std::vector<uint32_t> ids;
  for (const int position : missing) ids.push_back(blocks[position].id);
  absl::Status result = absl::UnavailableError(
      absl::StrCat("no member has ", blocks[missing.front()].name, " in memory"));
  for (const uint32_t holder : source.holders()) {
    if (holder == ps_) continue;
    if (stop) return absl::CancelledError("the load was replaced by another one");
    auto position = missing.begin();
    const absl::Status fetched =
        fetcher_.Fetch({holder, layout.job_id(), 0, {}, source.version()}, ids,
                       [&](uint32_t, storage::BlockRecord record) -> absl::Status {
                         if (stop)
                           return absl::CancelledError("the load was replaced by another one");
                         const BlockSpec& block = blocks[*position];
                         CAIRN_ASSIGN_OR_RETURN(
                             BlockState state, ReadState(layout, block, std::move(record), &pool_));
                         CAIRN_RETURN_IF_ERROR(CheckVersion(block, state, source.version()));
                         states[*position++] = std::move(state);
                         return absl::OkStatus();
                       });
    if (fetched.ok()) {
      CAIRN_LOG_INFO("loaded blocks from a member's memory", "job", layout.job_id(), "blocks",
                     missing.size(), "from", holder, "version", source.version());
      return states;
    }
    CAIRN_LOG_WARNING("blocks could not be loaded from a member's memory", "from", holder, "error",
                      fetched);
    result = fetched;
  }
  return result;
}

absl::Status ReplicaLoader::FetchUploads(const JobLayout& layout, const proto::PartitionMap& places,
                                         UploadStore* own, std::vector<BlockState>* states) const {
  std::map<uint32_t, std::vector<int>> of_owners;  // Positions.
  const std::vector<BlockSpec>& blocks = layout.blocks();
  for (size_t position = 0; position < blocks.size(); ++position) {
    const uint32_t id = blocks[position].id;
    if (id >= static_cast<uint32_t>(places.blocks_size())) {
      return absl::InvalidArgumentError(absl::StrCat(blocks[position].name, " is not among ",
                                                     places.blocks_size(), " uploaded blocks"));
    }
    of_owners[places.blocks(static_cast<int>(id)).ps()].push_back(static_cast<int>(position));
  }
  for (const auto& [owner, positions] : of_owners) {
    if (owner == ps_) {
      for (const int position : positions) {
        CAIRN_ASSIGN_OR_RETURN(const StoredBlock stored,
                               own->Read(layout.job_id(), blocks[position].id));
        CAIRN_RETURN_IF_ERROR(CopyUploaded(layout, blocks[position], stored, &(*states)[position]));
      }
      continue;
    }
    std::vector<uint32_t> ids;
    for (const int position : positions) ids.push_back(blocks[position].id);
    auto position = positions.begin();
    CAIRN_RETURN_IF_ERROR(
        fetcher_.Fetch({owner, layout.job_id(), 0, {}}, ids,
                       [&](uint32_t id, storage::BlockRecord record) -> absl::Status {
                         const BlockSpec& block = blocks[*position];
                         CAIRN_ASSIGN_OR_RETURN(const StoredBlock stored,
                                                StoredBlock::Parse(id, std::move(record)));
                         return CopyUploaded(layout, block, stored, &(*states)[*position++]);
                       }));
  }
  return absl::OkStatus();
}

}  // namespace cairn::parameters

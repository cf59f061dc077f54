#include "parameters/snapshots/checkpoint_loader.h"

#include <algorithm>
#include <map>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/logging.h"
#include "common/status_macros.h"
#include "parameters/snapshots/snapshot.h"
#include "storage/disk_progress.h"

namespace cairn::parameters {

// The blocks to load from one part, and their destination.
struct CheckpointLoader::Target {
  const JobLayout& layout;
  uint64_t checkpoint = 0;
  std::vector<int> positions;  // In layout.blocks(), ascending.
  std::vector<BlockState>* states = nullptr;
  const std::atomic<bool>* stop = nullptr;

  absl::Status Add(int position, storage::BlockRecord record, BufferPool* pool) const;
};

namespace {

// Groups the blocks of this ps by the part that has them; returns their positions.
absl::StatusOr<std::map<uint32_t, std::vector<int>>> PositionsOfParts(
    const JobLayout& layout, const proto::PartitionMap& source) {
  std::map<uint32_t, std::vector<int>> positions;
  for (size_t position = 0; position < layout.blocks().size(); ++position) {
    const uint32_t id = layout.blocks()[position].id;
    if (id >= static_cast<uint32_t>(source.blocks_size())) {
      return absl::InvalidArgumentError(absl::StrCat(layout.blocks()[position].name,
                                                     " is not in a checkpoint of ",
                                                     source.blocks_size(), " blocks"));
    }
    positions[source.blocks(static_cast<int>(id)).ps()].push_back(static_cast<int>(position));
  }
  return positions;
}

proto::SnapshotSource FindSource(const proto::Restore& command, uint32_t part) {
  for (const proto::SnapshotSource& source : command.parts()) {
    if (source.part().ps() == part) return source;
  }
  proto::SnapshotSource unknown;  // No checksum: any snapshot that is found.
  unknown.mutable_part()->set_ps(part);
  return unknown;
}

// Whether this ps is to read the part itself. A ps that lists no holder may find the part anyway.
bool ReadsLocally(const proto::SnapshotSource& source, uint32_t ps) {
  const auto& holders = source.holders();
  return holders.empty() || std::find(holders.begin(), holders.end(), ps) != holders.end();
}

}  // namespace

absl::Status CheckpointLoader::Target::Add(int position, storage::BlockRecord record,
                                           BufferPool* pool) const {
  if (*stop) return absl::CancelledError("the load was replaced by another one");
  // A block from another ps is progress of this one, too.
  storage::disk_progress.fetch_add(1, std::memory_order_relaxed);
  CAIRN_ASSIGN_OR_RETURN((*states)[position],
                         ReadState(layout, layout.blocks()[position], std::move(record), pool));
  return absl::OkStatus();
}

bool CheckpointLoader::IsTransient(const absl::Status& status) {
  return absl::IsUnavailable(status) || absl::IsDeadlineExceeded(status) ||
         absl::IsResourceExhausted(status) || absl::IsCancelled(status) || absl::IsNotFound(status);
}

absl::StatusOr<std::vector<BlockState>> CheckpointLoader::Load(
    const JobLayout& layout, const proto::Restore& command, const std::atomic<bool>& stop) const {
  const proto::PartitionMap& source =
      command.has_source() ? command.source() : layout.plan().partition();
  CAIRN_ASSIGN_OR_RETURN(const auto positions_of_parts, PositionsOfParts(layout, source));
  std::vector<BlockState> states(layout.blocks().size());
  for (const auto& [part, positions] : positions_of_parts) {
    const Target target{layout, command.checkpoint(), positions, &states, &stop};
    CAIRN_RETURN_IF_ERROR(LoadPart(FindSource(command, part), target));
  }
  return states;
}

absl::Status CheckpointLoader::LoadPart(const proto::SnapshotSource& source,
                                        const Target& target) const {
  // The nearest place first: the own disk and the directories beside it, then the ps that hold
  // copies. Lack of memory is the same everywhere, so the search ends.
  absl::Status result = absl::NotFoundError("this ps is not to read it");
  if (ReadsLocally(source, ps_)) result = LoadLocally(source.part(), target);
  if (result.ok() || absl::IsResourceExhausted(result) || *target.stop) return result;
  for (const uint32_t holder : source.holders()) {
    if (holder == ps_) continue;
    if (!absl::IsNotFound(result)) {
      CAIRN_LOG_WARNING("a part of a checkpoint could not be read; trying another place", "part",
                        source.part().ps(), "next", holder, "error", result);
    }
    const absl::Status fetched = LoadFromPs(holder, source.part(), target);
    if (fetched.ok()) {
      CAIRN_LOG_INFO("loaded blocks from another ps", "blocks", target.positions.size(), "part",
                     source.part().ps(), "from", holder);
      return fetched;
    }
    // Prefer a transient error, so that the coordinator repeats the restore: this part may be
    // intact on a ps that did not answer.
    if (IsTransient(fetched) || absl::IsNotFound(result)) result = fetched;
  }
  return result;
}

absl::Status CheckpointLoader::LoadLocally(const proto::SnapshotPart& part,
                                           const Target& target) const {
  CAIRN_ASSIGN_OR_RETURN(const std::unique_ptr<storage::SnapshotReader> snapshot,
                         catalog_.Open(target.layout.job_id(), target.checkpoint, part));
  for (const int position : target.positions) {
    const BlockSpec& block = target.layout.blocks()[position];
    CAIRN_ASSIGN_OR_RETURN(storage::BlockRecord record, snapshot->ReadBlock(block.id));
    CAIRN_RETURN_IF_ERROR(target.Add(position, std::move(record), &pool_));
  }
  return absl::OkStatus();
}

absl::Status CheckpointLoader::LoadFromPs(uint32_t holder, const proto::SnapshotPart& part,
                                          const Target& target) const {
  std::vector<uint32_t> ids;
  for (const int position : target.positions) {
    ids.push_back(target.layout.blocks()[position].id);
  }
  auto position = target.positions.begin();
  return fetcher_.Fetch({holder, target.layout.job_id(), target.checkpoint, part}, ids,
                        [&](uint32_t, storage::BlockRecord record) {
                          return target.Add(*position++, std::move(record), &pool_);
                        });
}

}  // namespace cairn::parameters

#ifndef CAIRN_PARAMETERS_SNAPSHOTS_REPLICA_LOADER_H_
#define CAIRN_PARAMETERS_SNAPSHOTS_REPLICA_LOADER_H_

#include <atomic>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "parameters/blocks/block_buffer.h"
#include "parameters/blocks/job_layout.h"
#include "parameters/blocks/update_rule.h"
#include "parameters/replica_set.h"
#include "parameters/snapshots/snapshot_fetcher.h"
#include "parameters/snapshots/upload_store.h"
#include "proto/coordinator.pb.h"

namespace cairn::parameters {

// Loads blocks from the memory of the members of a replicated job. Thread-safe.
class ReplicaLoader {
 public:
  // `ps` is the index of this ps. The other arguments must outlive the loader.
  ReplicaLoader(uint32_t ps, SnapshotFetcher* fetcher, BufferPool* pool)
      : ps_(ps), fetcher_(*fetcher), pool_(*pool) {}

  // Returns the states of layout.blocks() in source.version: from `kept`, what this ps has in
  // memory (null: nothing), and otherwise from the holders, one after the other. Blocks. Errors:
  // see CheckpointLoader::IsTransient. Unavailable: no holder has a block.
  absl::StatusOr<std::vector<BlockState>> Load(const JobLayout& layout,
                                               const proto::ReplicaSource& source,
                                               const ReplicaSet* kept,
                                               const std::atomic<bool>& stop) const;

  // The initial values of layout.blocks(), with `states` from MakeInitialStates. `places`: which ps
  // they were uploaded to; those on this ps are read from `own`. Blocks. InvalidArgument: `places`
  // lacks a block.
  absl::Status FetchUploads(const JobLayout& layout, const proto::PartitionMap& places,
                            UploadStore* own, std::vector<BlockState>* states) const;

 private:
  const uint32_t ps_;
  SnapshotFetcher& fetcher_;
  BufferPool& pool_;
};

}  // namespace cairn::parameters

#endif  // CAIRN_PARAMETERS_SNAPSHOTS_REPLICA_LOADER_H_

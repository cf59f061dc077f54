#ifndef CAIRN_PS_SERVER_SNAPSHOTS_SNAPSHOT_FRAMES_H_
#define CAIRN_PS_SERVER_SNAPSHOTS_SNAPSHOT_FRAMES_H_

#include "absl/status/statusor.h"
#include "cluster/frame.h"
#include "proto/parameter_server.pb.h"
#include "ps_server/snapshots/snapshot_catalog.h"

namespace cairn::ps {

// Encodes the reply to a fetch: the records of the first of the requested blocks, until they have
// at least 4 MiB. Blocks. Errors: see SnapshotCatalog::Open and SnapshotReader::ReadBlock.
// InvalidArgument: no block is requested.
absl::StatusOr<cluster::Frame> ReadRecords(const proto::FetchHeader& header,
                                           const SnapshotCatalog& catalog);

}  // namespace cairn::ps

#endif  // CAIRN_PS_SERVER_SNAPSHOTS_SNAPSHOT_FRAMES_H_

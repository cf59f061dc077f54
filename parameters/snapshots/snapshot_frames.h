#ifndef CAIRN_PARAMETERS_SNAPSHOTS_SNAPSHOT_FRAMES_H_
#define CAIRN_PARAMETERS_SNAPSHOTS_SNAPSHOT_FRAMES_H_

#include "absl/status/statusor.h"
#include "cluster/frame.h"
#include "parameters/snapshots/snapshot_catalog.h"
#include "proto/parameter_server.pb.h"

namespace cairn::parameters {

// Encodes the reply to a fetch: the records of the first of the requested blocks, until they have
// at least 4 MiB. Blocks. Errors: see SnapshotCatalog::Open and SnapshotReader::ReadBlock.
// InvalidArgument: no block is requested.
absl::StatusOr<cluster::Frame> ReadRecords(const proto::FetchHeader& header,
                                           const SnapshotCatalog& catalog);

}  // namespace cairn::parameters

#endif  // CAIRN_PARAMETERS_SNAPSHOTS_SNAPSHOT_FRAMES_H_

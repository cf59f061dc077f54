#ifndef CAIRN_PARAMETERS_SNAPSHOTS_SNAPSHOT_FRAMES_H_
#define CAIRN_PARAMETERS_SNAPSHOTS_SNAPSHOT_FRAMES_H_

#include "absl/status/statusor.h"
#include "cluster/frame.h"
#include "parameters/parameter_store.h"
#include "parameters/snapshots/snapshot_catalog.h"
#include "parameters/snapshots/upload_store.h"
#include "proto/parameter_server.pb.h"

namespace cairn::parameters {

// Encodes the reply to a fetch: the records of the first of the requested blocks, until they have
// at least 4 MiB. Blocks. Errors: see SnapshotCatalog::Open and SnapshotReader::ReadBlock.
// InvalidArgument: no block is requested.
absl::StatusOr<cluster::Frame> ReadRecords(const proto::FetchHeader& header,
                                           const SnapshotCatalog& catalog);

// The same, of initial values that were uploaded to this ps. Errors: see UploadStore::ReadRecord.
absl::StatusOr<cluster::Frame> ReadUploaded(const proto::FetchHeader& header, UploadStore* uploads);

// The same, of blocks and replicas in memory. NotFound: this ps does not have one in that version.
absl::StatusOr<cluster::Frame> ReadReplicas(const proto::FetchHeader& header,
                                            const ParameterStore& store);

}  // namespace cairn::parameters

#endif  // CAIRN_PARAMETERS_SNAPSHOTS_SNAPSHOT_FRAMES_H_

#ifndef CAIRN_WORKER_DATA_ZIP_PARTS_H_
#define CAIRN_WORKER_DATA_ZIP_PARTS_H_

#include <vector>

#include "absl/status/statusor.h"
#include "proto/job.pb.h"
#include "worker/data/dataset.h"

namespace cairn::worker {

// The examples of one source of a zip.
struct ZippedPart {
  DatasetPart part;
  // The records of the source that were skipped, and are not in the dataset.
  proto::DamagedRecords damaged;
};

// Puts the parts of the examples together. An example that is damaged in one source is left out as
// a whole. InvalidArgument: sources have different numbers of examples, nobody knows which examples
// are damaged, places are no places of records, or none is left.
absl::StatusOr<Dataset> ZipParts(std::vector<ZippedPart> parts);

}  // namespace cairn::worker

#endif  // CAIRN_WORKER_DATA_ZIP_PARTS_H_

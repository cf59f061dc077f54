#ifndef CAIRN_CLI_PS_TRANSFER_H_
#define CAIRN_CLI_PS_TRANSFER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "proto/checkpoint.pb.h"
#include "proto/job.pb.h"

namespace cairn::cli {

struct PsEndpoints {
  std::vector<std::string> addresses;  // By index.
  uint64_t cluster_id = 0;
};

// Transfers the values of whole variables between this process and the ps, without the coordinator.
// Both functions block until the transfer is done. Unavailable: no request has ended for 30 s (5 s
// if another ps has a copy of the requested part).

// `variables` contains the elements of each variable of `partition`, in its order.
absl::Status UploadVariables(const PsEndpoints& ps, uint64_t job_id,
                             const proto::PartitionMap& partition,
                             const std::vector<std::vector<float>>& variables);

// Reads a checkpoint from the disks of the ps. `partition` names the ps of each block when the
// checkpoint was written, possibly in a cluster of another size. A part is requested from the ps
// that wrote it, then from those that have copies, then from all others. NotFound: no ps has the
// part.
absl::StatusOr<std::vector<std::vector<float>>> DownloadVariables(
    const PsEndpoints& ps, uint64_t job_id, const proto::PartitionMap& partition,
    const proto::Manifest& checkpoint);

}  // namespace cairn::cli

#endif  // CAIRN_CLI_PS_TRANSFER_H_

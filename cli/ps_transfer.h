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

// Values of whole variables between this process and the ps, directly. Both block until all is
// done, or until a ps has not answered for half a minute (Unavailable); 5 s where another has a
// copy of what is asked for.

// `variables` has for each of partition.variables its elements.
absl::Status UploadVariables(const PsEndpoints& ps, uint64_t job_id,
                             const proto::PartitionMap& partition,
                             const std::vector<std::vector<float>>& variables);

// From a checkpoint on the ps's disks. `partition`: where its blocks were when it was written,
// which may be a cluster of another size: a part is asked of the ps that wrote it, of those that
// have copies, then of all others. NotFound: none of them has it.
absl::StatusOr<std::vector<std::vector<float>>> DownloadVariables(
    const PsEndpoints& ps, uint64_t job_id, const proto::PartitionMap& partition,
    const proto::Manifest& checkpoint);

}  // namespace cairn::cli

#endif  // CAIRN_CLI_PS_TRANSFER_H_

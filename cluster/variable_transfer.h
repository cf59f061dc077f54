#ifndef CAIRN_CLUSTER_VARIABLE_TRANSFER_H_
#define CAIRN_CLUSTER_VARIABLE_TRANSFER_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "proto/checkpoint.pb.h"
#include "proto/job.pb.h"

namespace cairn::cluster {

struct PsEndpoints {
  std::vector<std::string> addresses;  // By index.
  uint64_t cluster_id = 0;
  std::string sender = "cairn";  // As in Envelope.
};

// A variable with the state of its optimizer.
struct VariableState {
  std::vector<float> values;
  // The number of its updates.
  int64_t version = 0;
  std::vector<std::string> slots;               // Their names.
  std::vector<std::vector<float>> slot_values;  // Of each slot, one for each of `values`.
};

// Transfers the values of whole variables between this process and the ps, without the coordinator.
// The functions block until the transfer is done. Unavailable: no request has ended for 30 s (5 s
// if another ps has a copy of the requested part).

// `variables` contains the elements of each variable of `partition`, in its order.
absl::Status UploadVariables(const PsEndpoints& ps, uint64_t job_id,
                             const proto::PartitionMap& partition,
                             const std::vector<std::vector<float>>& variables);

// Reads a checkpoint from the disks of the ps. `partition` names the ps of each block when the
// checkpoint was written, possibly in a cluster of another size. A part is requested from the ps
// that wrote it, then from those that have copies, then from all others. NotFound: no ps has the
// part. DataLoss: the checkpoint lacks the part of a ps that had blocks.
absl::StatusOr<std::vector<std::vector<float>>> DownloadVariables(
    const PsEndpoints& ps, uint64_t job_id, const proto::PartitionMap& partition,
    const proto::Manifest& checkpoint);

// As UploadVariables and DownloadVariables, with the states of the optimizer. The values of a
// variable are those that training continues with, also where their average is the trained model
// (use_ema).
absl::Status UploadStates(const PsEndpoints& ps, uint64_t job_id,
                          const proto::PartitionMap& partition,
                          const std::vector<VariableState>& variables);
absl::StatusOr<std::vector<VariableState>> DownloadStates(const PsEndpoints& ps, uint64_t job_id,
                                                          const proto::PartitionMap& partition,
                                                          const proto::Manifest& checkpoint);

// Copies a block of a snapshot, `header` (a proto::BlockHeader) and `payload`, into its variable.
// `variables` has one element for each variable of the partition, empty at first. DataLoss: it is
// another block, or does not fit the other blocks of the variable.
absl::Status AddBlockState(const proto::PartitionMap& partition, uint32_t block,
                           std::string_view header, std::string_view payload,
                           std::vector<VariableState>* variables);

}  // namespace cairn::cluster

#endif  // CAIRN_CLUSTER_VARIABLE_TRANSFER_H_

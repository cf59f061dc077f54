#ifndef CAIRN_PARAMETERS_UPDATE_REPLICATOR_H_
#define CAIRN_PARAMETERS_UPDATE_REPLICATOR_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "cluster/ps_client.h"
#include "common/mutex.h"
#include "parameters/blocks/job_layout.h"
#include "parameters/job_blocks.h"

namespace cairn::parameters {

// Sends the reduced updates of one generation of a job to all other ps that take part in the job
// (cluster::MembersOf), which have replicas of the blocks. An update that does not arrive is sent
// again until the generation ends: an absent member stops the training, until the coordinator
// declares it lost. Thread-safe.
class UpdateReplicator final : public JobBlocks::Replicator {
 public:
  // `ps`: this ps, which gets nothing. `peers`: of the ps of the cluster.
  UpdateReplicator(uint32_t ps, std::shared_ptr<const JobLayout> layout, uint64_t generation,
                   const cluster::PsClientOptions& peers);
  ~UpdateReplicator() override;

  void Send(std::vector<ReducedBlock> blocks,
            absl::AnyInvocable<void(const absl::Status&)> done) override;
  void Stop() override;

 private:
  const std::shared_ptr<const JobLayout> layout_;
  const uint64_t generation_;
  const std::vector<uint32_t> peers_;
  Mutex mutex_;
  // Null after Stop.
  std::shared_ptr<cluster::PsClient> client_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace cairn::parameters

#endif  // CAIRN_PARAMETERS_UPDATE_REPLICATOR_H_

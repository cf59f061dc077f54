#ifndef CAIRN_TESTS_WORKER_TEST_PS_H_
#define CAIRN_TESTS_WORKER_TEST_PS_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "cluster/data_server.h"
#include "cluster/ps_client.h"
#include "parameters/blocks/block_buffer.h"
#include "parameters/blocks/gradient_budget.h"
#include "parameters/owner_threads.h"
#include "parameters/parameter_service.h"
#include "parameters/parameter_store.h"
#include "proto/coordinator.pb.h"
#include "proto/job.pb.h"
#include "worker/strategy/create_strategy.h"

namespace cairn::worker {

// The cluster id of TestPs and its clients.
inline constexpr uint64_t kTestClusterId = 99;

// The parameter store and data server of a real ps in the test's process, without disk and
// coordinator.
class TestPs {
 public:
  explicit TestPs(uint32_t index, int64_t gradient_memory = int64_t{1} << 30);
  ~TestPs();

  std::string address() const;
  const std::shared_ptr<cluster::DataServer>& server() const { return server_; }
  // Loads the initial values of the plan's job under this generation. `all`: the addresses of all
  // ps, for a job with replicas.
  void Restore(const proto::JobPlan& plan, uint64_t generation,
               const std::vector<std::string>& all = {});
  parameters::ParameterStore& store() { return store_; }
  // The values of all blocks of the job, in order.
  std::vector<float> Values();

 private:
  const uint32_t index_;
  parameters::BufferPool pool_;
  parameters::GradientBudget gradient_budget_;
  parameters::OwnerThreads owners_;
  parameters::ParameterStore store_;
  parameters::ParameterService service_;
  std::shared_ptr<cluster::DataServer> server_;
};

// As many ps as the plan has, with its job in generation 1, and a client connected to them.
struct TestCluster {
  // `gradient_memory`: bytes of each ps (see GradientBudget).
  explicit TestCluster(const proto::JobPlan& plan, int64_t gradient_memory = int64_t{1} << 30);
  std::vector<std::string> addresses() const;
  // The cluster as "worker 0" sees it.
  ClusterInfo info() const { return {kTestClusterId, "worker 0", addresses()}; }

  std::vector<std::unique_ptr<TestPs>> ps;
  std::shared_ptr<cluster::PsClient> client;
};

}  // namespace cairn::worker

#endif  // CAIRN_TESTS_WORKER_TEST_PS_H_

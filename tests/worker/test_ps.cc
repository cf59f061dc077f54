#include "tests/worker/test_ps.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/check.h"
#include "job/strategy.h"
#include "nn/model.h"
#include "parameters/blocks/job_layout.h"
#include "parameters/initial_values.h"
#include "parameters/job_blocks.h"
#include "parameters/update_replicator.h"

namespace cairn::worker {

TestPs::TestPs(uint32_t index, int64_t gradient_memory)
    : index_(index),
      gradient_budget_(gradient_memory),
      owners_(1, 1024),
      store_(index),
      service_({.ps = index, .store = &store_, .pool = &pool_}) {
  service_.set_cluster_id(kTestClusterId);
  cluster::DataServerOptions options;
  options.address = "127.0.0.1:0";
  auto server = cluster::DataServer::Start(options, [this](std::unique_ptr<cluster::RawCall> call) {
    service_.Handle(std::move(call));
  });
  CAIRN_CHECK(server.ok());
  server_ = *std::move(server);
}

TestPs::~TestPs() {
  store_.Drop(absl::UnavailableError("the test is over"));
  server_->Shutdown();
}

std::string TestPs::address() const { return absl::StrCat("127.0.0.1:", server_->port()); }

void TestPs::Restore(const proto::JobPlan& plan, uint64_t generation,
                     const std::vector<std::string>& all) {
  using parameters::JobLayout;
  const auto model = nn::Model::Create(plan.model());
  CAIRN_CHECK(model.ok());
  const auto blocks = [&](JobLayout::Part part, const parameters::JobBlocks::Options& options) {
    auto layout = JobLayout::Create(plan, (*model)->variables(), index_, part);
    CAIRN_CHECK(layout.ok());
    auto states = parameters::MakeInitialStates(**layout, nullptr, &pool_);
    CAIRN_CHECK(states.ok());
    return parameters::JobBlocks::Create(*layout, {generation, 0}, *std::move(states), &owners_,
                                         &pool_, options);
  };
  parameters::JobBlocks::Options own = {.block = {.gradient_budget = &gradient_budget_}};
  if (!job::KeepsReplicas(plan.job().strategy())) {
    return store_.Install(blocks(JobLayout::Part::kOwned, own));
  }
  cluster::PsClientOptions others;
  others.addresses = all;
  others.cluster_id = kTestClusterId;
  auto layout = JobLayout::Create(plan, (*model)->variables(), index_);
  CAIRN_CHECK(layout.ok());
  own.replicator =
      std::make_shared<parameters::UpdateReplicator>(index_, *layout, generation, others);
  store_.Install(blocks(JobLayout::Part::kOwned, own),
                 blocks(JobLayout::Part::kReplicas, {.block = {.is_replica = true}}));
}

std::vector<float> TestPs::Values() {
  std::vector<float> values;
  for (const parameters::BlockState& state : store_.current()->Capture()) {
    values.insert(values.end(), state.values.data(), state.values.data() + state.values.count());
  }
  return values;
}

TestCluster::TestCluster(const proto::JobPlan& plan, int64_t gradient_memory) {
  for (uint32_t i = 0; i < plan.partition().ps_count(); ++i) {
    ps.push_back(std::make_unique<TestPs>(i, gradient_memory));
  }
  for (const auto& one : ps) one->Restore(plan, 1, addresses());
  cluster::PsClientOptions options;
  options.addresses = addresses();
  options.cluster_id = kTestClusterId;
  options.sender = "worker 0";
  client = std::make_shared<cluster::PsClient>(options);
}

std::vector<std::string> TestCluster::addresses() const {
  std::vector<std::string> result;
  for (const auto& one : ps) result.push_back(one->address());
  return result;
}

}  // namespace cairn::worker

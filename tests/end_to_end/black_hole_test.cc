// Peers that do not answer: a network that drops all packets, and a stopped process.

#include <signal.h>

#include "cli/drill/fault_proxy.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/end_to_end/counting_job.h"
#include "tests/end_to_end/test_cluster.h"

namespace cairn::testing {
namespace {

using nlohmann::json;
using std::chrono::seconds;

class BlackHole : public ::testing::Test {
 protected:
  // Far more batches than are trained before the test cancels the job.
  void Submit() {
    CountingJob job;
    job.batches = 1000000;
    job.checkpoint_every = 500;
    const CommandResult result =
        cluster_.Cairn({"submit", WriteCountingJob(job, cluster_.folder("job"))});
    ASSERT_EQ(result.exit_code, 0) << result.output << result.errors;
  }

  int64_t Number(const char* name) {
    const json status = cluster_.Status("count");
    return status.value(name, int64_t{-1});
  }
  bool StatusReaches(const char* name, int64_t number) {
    return WaitUntil(seconds(120), [&] { return Number(name) >= number; });
  }
  bool Trains() { return StatusReaches("batches_done", Number("batches_done") + 100); }

  TestCluster cluster_{/*ps_count=*/2, /*worker_count=*/1};
};

TEST_F(BlackHole, AWorkerBehindOneIsGivenUpAfterItsLeaseAndJoinsAgain) {
  cluster_.StartAll();
  cli::FaultProxy network;
  const auto link = network.AddLink(cluster_.coordinator_address());
  ASSERT_TRUE(link.ok()) << link.status();
  Process::Options options;
  options.arguments = {ProgramPath("worker/worker"), "--coordinator", link->address};
  options.output_file = cluster_.folder("far.log");
  Process far(options);
  ASSERT_NO_FATAL_FAILURE(Submit());
  ASSERT_TRUE(StatusReaches("workers_live", 2)) << cluster_.Logs();
  ASSERT_TRUE(Trains()) << cluster_.Logs();
  const int64_t joined = Number("workers_joined");

  const cli::LinkFault hold = {cli::LinkFault::Kind::kHold};
  network.SetFault(link->id, hold, hold);
  ASSERT_TRUE(StatusReaches("workers_lost", 1)) << cluster_.Logs();
  EXPECT_EQ(Number("workers_live"), 1);
  EXPECT_TRUE(Trains()) << cluster_.Logs();

  network.SetFault(link->id, {}, {});
  EXPECT_TRUE(StatusReaches("workers_live", 2)) << ReadFile(options.output_file);
  EXPECT_GE(Number("workers_joined"), joined + 1) << "and its old leases are others'";
  EXPECT_EQ(Number("rollbacks"), 0);
  EXPECT_TRUE(Trains()) << cluster_.Logs();
}

TEST_F(BlackHole, AStoppedPsIsLostAfterItsLeaseAndTheJobGoesOnWhenItIsBack) {
  cluster_.StartAll();
  ASSERT_NO_FATAL_FAILURE(Submit());
  ASSERT_TRUE(StatusReaches("last_checkpoint", 1)) << cluster_.Logs();
  cluster_.task("ps", 1).Signal(SIGSTOP);
  ASSERT_TRUE(StatusReaches("rollbacks", 1)) << cluster_.Logs();
  cluster_.task("ps", 1).Signal(SIGCONT);
  EXPECT_TRUE(StatusReaches("ps_live", 2)) << cluster_.Logs();
  EXPECT_TRUE(Trains()) << cluster_.Logs();
  EXPECT_EQ(Number("rollbacks"), 1);
}

}  // namespace
}  // namespace cairn::testing

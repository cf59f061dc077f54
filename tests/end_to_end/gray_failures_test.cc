// Parts that hang or err inside live processes: reads of data, writes of snapshots, the inspection;
// a worker that is only slow. The job must go on without what hangs, and count every batch once.

#include <cerrno>
#include <csignal>
#include <fstream>
#include <iostream>
#include <thread>

#include "absl/strings/str_cat.h"
#include "cli/drill/fault_proxy.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/end_to_end/counting_job.h"
#include "tests/end_to_end/test_cluster.h"

namespace cairn::testing {
namespace {

using nlohmann::json;
using std::chrono::seconds;
using std::chrono::steady_clock;

constexpr char kAsync[] = R"({"parameter_server": {"mode": "async"}})";
constexpr char kStale[] = R"({"parameter_server": {"mode": "stale", "window": 3}})";
constexpr char kSync[] = R"({"parameter_server": {"mode": "sync", "batches_per_update": 4}})";

class GrayFailures : public ::testing::TestWithParam<const char*> {
 protected:
  explicit GrayFailures(const char* progress_timeout = "2") {
    cluster_.AddFlags("chief", {"--progress_timeout", progress_timeout});
    // Every batch is read from the file.
    cluster_.AddFlags("worker", {"--data_memory", "0"});
  }

  void Submit(int64_t epochs, int64_t checkpoint_every = 0) {
    job_.strategy = GetParam();
    job_.batches_per_epoch = 500;
    job_.batches = epochs * job_.batches_per_epoch;
    job_.checkpoint_every = checkpoint_every;
    job_.distinct = true;
    job_.batches_per_update = GetParam() == kSync ? 4 : 1;
    const CommandResult result =
        cluster_.Cairn({"submit", WriteCountingJob(job_, cluster_.folder("job"))});
    ASSERT_EQ(result.exit_code, 0) << result.output << result.errors;
  }

  json Status() { return cluster_.Status("count"); }
  int64_t Number(const char* name) { return Status().value(name, int64_t{-1}); }
  bool Reaches(const char* name, int64_t number) {
    return WaitUntil(seconds(60), [&] { return Number(name) >= number; });
  }
  bool Fired(const FaultyFiles& files, int count = 1) {
    return WaitUntil(seconds(60), [&] { return files.fired() >= count; });
  }
  // What `cairn cluster` says about a worker.
  std::string ActivityOf(int worker) {
    return cluster_.Member("worker", worker).value("activity", "");
  }
  static double RateOf(const json& member) {
    const auto rate = member.find("batches_per_second");
    return rate != member.end() && rate->is_number() ? rate->get<double>() : 0;
  }

  void ExpectExactEnd() {
    const json status = cluster_.WaitForEnd("count", seconds(240));
    ASSERT_EQ(status.value("state", ""), "finished") << status << cluster_.Logs();
    const CommandResult exported =
        cluster_.Cairn({"export", "count", "--output", cluster_.folder("export")});
    ASSERT_EQ(exported.exit_code, 0) << exported.errors;
    EXPECT_EQ(SumIsNot(job_, cluster_.folder("export")), "");
  }

  CountingJob job_;
  TestCluster cluster_{/*ps_count=*/2, /*worker_count=*/2};
};

TEST_P(GrayFailures, AWorkerWhoseReadHangs) {
  FaultyFiles& files = cluster_.FilesOf("worker", 0);
  cluster_.StartAll();
  ASSERT_NO_FATAL_FAILURE(Submit(/*epochs=*/20));
  ASSERT_TRUE(Reaches("batches_done", 200)) << cluster_.Logs();

  files.Set({{"read", "/x.npy"}});
  ASSERT_TRUE(Fired(files));
  ASSERT_TRUE(WaitUntil(seconds(60), [&] {
    return ActivityOf(0).find("stuck in reading") != std::string::npos;
  })) << ActivityOf(0);
  // More than both workers had on hand: past the end of the epoch, with its checkpoint.
  EXPECT_TRUE(Reaches("batches_done", Number("batches_done") + 1500))
      << Status() << cluster_.Logs();

  files.Clear();
  EXPECT_TRUE(WaitUntil(seconds(60), [&] {
    return ActivityOf(0).find("stuck") == std::string::npos;
  })) << ActivityOf(0);
  ExpectExactEnd();
  EXPECT_EQ(Number("rollbacks"), 0);
}

// The worker reaches the coordinator, and every task reaches the ps except this worker.
TEST_P(GrayFailures, AWorkerThatIsCutOffFromOnePs) {
  cli::FaultProxy network;
  const std::string ps = absl::StrCat("127.0.0.1:", cluster_.port("ps", 1));
  const auto link = network.AddLink(ps);
  ASSERT_TRUE(link.ok()) << link.status();
  cluster_.Start("worker", 0,
                 {"--unsafe_testing", "--route", absl::StrCat(ps, "=", link->address)});
  cluster_.StartAll();
  ASSERT_NO_FATAL_FAILURE(Submit(/*epochs=*/40));
  ASSERT_TRUE(Reaches("batches_done", 200)) << cluster_.Logs();
  // Connections that are refused, then bytes that vanish.
  for (const auto kind : {cli::LinkFault::Kind::kClose, cli::LinkFault::Kind::kHold}) {
    network.SetFault(link->id, {kind}, {kind});
    ASSERT_TRUE(WaitUntil(seconds(60),
                          [&] {
                            return ActivityOf(0).find("stuck without an answer from ps 1") !=
                                   std::string::npos;
                          }))
        << ActivityOf(0) << Status() << cluster_.Logs();
    EXPECT_EQ(ActivityOf(1).find("stuck"), std::string::npos) << ActivityOf(1);
    // Past the end of an epoch, with its checkpoint.
    EXPECT_TRUE(Reaches("batches_done", Number("batches_done") + 1500))
        << Status() << cluster_.Logs();
    network.SetFault(link->id, {}, {});
    EXPECT_TRUE(WaitUntil(seconds(60), [&] {
      return ActivityOf(0).find("stuck") == std::string::npos;
    })) << ActivityOf(0);
  }
  ExpectExactEnd();
  EXPECT_EQ(Number("rollbacks"), 0);
  EXPECT_GT(network.effects(), 0);
}

// A slow worker is neither stuck nor lost. Where the workers share each update, all train at its
// speed.
TEST_P(GrayFailures, AWorkerThatIsTenTimesAsSlow) {
  const auto slow_steps = [&](int worker, const std::string& sleep) {
    cluster_.Start("worker", worker,
                   {"--unsafe_testing", "--failpoint", "worker.forward=sleep:" + sleep});
  };
  cluster_.Start("chief", 0);
  slow_steps(0, "500@1-12");
  slow_steps(1, "50@1-120");
  cluster_.StartAll();
  ASSERT_NO_FATAL_FAILURE(Submit(/*epochs=*/2));
  bool is_called_stuck = false, shows_its_rate = false;
  EXPECT_TRUE(WaitUntil(seconds(60), [&] {
    const json slow = cluster_.Member("worker", 0), fast = cluster_.Member("worker", 1);
    is_called_stuck |= slow.dump().find("stuck") != std::string::npos;
    const double rate = RateOf(slow);
    shows_its_rate |= rate > 0 && rate < RateOf(fast) / 2;
    return cluster_.LogOf("worker", 0).find("name=worker.forward hit=8") != std::string::npos;
  })) << cluster_.Logs();
  EXPECT_FALSE(is_called_stuck);
  EXPECT_TRUE(shows_its_rate || GetParam() != kAsync);
  ExpectExactEnd();
  EXPECT_EQ(Status().dump().find("stuck"), std::string::npos) << Status();
  EXPECT_EQ(Number("workers_lost"), 0);
  EXPECT_EQ(Number("rollbacks"), 0);
}

TEST_P(GrayFailures, ReadsThatFailForAMoment) {
  FaultyFiles& first = cluster_.FilesOf("worker", 0);
  FaultyFiles& second = cluster_.FilesOf("worker", 1);
  cluster_.StartAll();
  ASSERT_NO_FATAL_FAILURE(Submit(/*epochs=*/10));
  ASSERT_TRUE(Reaches("batches_done", 200)) << cluster_.Logs();
  for (FaultyFiles* files : {&first, &second}) files->Set({{"read", "/x.npy", EIO}});
  ASSERT_TRUE(Fired(first, 5) && Fired(second, 5));
  for (FaultyFiles* files : {&first, &second}) files->Clear();
  ExpectExactEnd();
  EXPECT_EQ(Number("workers_lost"), 0);
}

// A supervisor starts the workers again each time. The job ends with the reason, and continues once
// the reason is gone.
TEST_P(GrayFailures, WorkAtWhichEachWorkersProcessEnds) {
  const std::string points = cluster_.folder("failpoints");
  const auto arm = [&](const std::string& line) { std::ofstream(points) << line << "\n"; };
  cluster_.AddFlags("worker", {"--unsafe_testing", "--failpoint_file", points});
  const std::pair<const char*, const char*> deaths[] = {
      {"worker.inspect", "data to inspect"},
      {"worker.load", "the start of worker "},
      {"worker.forward", "batch 1 of epoch 1 and later ones"},
  };
  arm("worker.inspect=crash");
  cluster_.StartAll();
  ASSERT_NO_FATAL_FAILURE(Submit(/*epochs=*/2));
  for (const auto& [point, work] : deaths) {
    SCOPED_TRACE(point);
    arm(absl::StrCat(point, "=crash"));
    if (point != deaths[0].first) {
      const CommandResult resumed = cluster_.Cairn({"resume", "count"});
      ASSERT_EQ(resumed.exit_code, 0) << resumed.errors;
    }
    const bool failed = WaitUntil(seconds(120), [&] {
      cluster_.StartAll();
      return Status().value("state", "") == "failed";
    });
    ASSERT_TRUE(failed) << Status() << cluster_.Logs();
    const std::string error = Status().value("error", "");
    EXPECT_NE(error.find(" processes of workers (worker "), std::string::npos) << error;
    EXPECT_NE(error.find(work), std::string::npos) << error;
  }
  arm("");
  cluster_.StartAll();
  const CommandResult resumed = cluster_.Cairn({"resume", "count"});
  ASSERT_EQ(resumed.exit_code, 0) << resumed.errors;
  ExpectExactEnd();
}

TEST_P(GrayFailures, AnInspectorThatHangs) {
  FaultyFiles& files = cluster_.FilesOf("worker", 0);
  cluster_.StartAll();
  // The first worker inspects.
  ASSERT_TRUE(WaitUntil(seconds(60), [&] { return !ActivityOf(0).empty(); }));
  files.Set({{"read", "/x.npy"}});
  ASSERT_NO_FATAL_FAILURE(Submit(/*epochs=*/2));
  ASSERT_TRUE(Fired(files));
  const auto begin = steady_clock::now();
  ASSERT_TRUE(Reaches("batches_done", 1)) << Status() << cluster_.Logs();
  // At most --progress_timeout and 5 s on a machine that does nothing else.
  const std::chrono::duration<double> took = steady_clock::now() - begin;
  std::cout << "the job trains " << took.count() << " s after its inspector hangs\n";
  ExpectExactEnd();
  files.Clear();
}

TEST_P(GrayFailures, APsWhoseWritesHang) {
  FaultyFiles& files = cluster_.FilesOf("ps", 1);
  cluster_.StartAll();
  ASSERT_NO_FATAL_FAILURE(Submit(/*epochs=*/20, /*checkpoint_every=*/300));
  ASSERT_TRUE(Reaches("last_checkpoint", 1)) << cluster_.Logs();

  files.Set({{"write", "/ps-1/"}, {"sync", "/ps-1/"}});
  ASSERT_TRUE(Fired(files));
  ASSERT_TRUE(Reaches("checkpoints_failed", 1)) << Status() << cluster_.Logs();
  EXPECT_TRUE(Reaches("batches_done", Number("batches_done") + 1500))
      << Status() << cluster_.Logs();
  EXPECT_NE(Status().value("checkpoint_error", "").find("ps 1"), std::string::npos) << Status();

  files.Clear();
  ExpectExactEnd();
  EXPECT_EQ(Number("rollbacks"), 0);
}

// A rollback while the disk of a ps does not answer: its part is loaded from the copy.
TEST_P(GrayFailures, APsWhoseReadsHangWhileItLoads) {
  FaultyFiles& files = cluster_.FilesOf("ps", 1);
  cluster_.StartAll();
  ASSERT_NO_FATAL_FAILURE(Submit(/*epochs=*/20, /*checkpoint_every=*/300));
  ASSERT_TRUE(Reaches("last_checkpoint", 3)) << cluster_.Logs();

  files.Set({{"read", "/ps-1/job-"}});
  cluster_.task("ps", 0).Kill();
  cluster_.Start("ps", 0);
  ASSERT_TRUE(Fired(files));
  ASSERT_TRUE(Reaches("generation", 2)) << Status() << cluster_.Logs();
  const int64_t before = Number("batches_done");
  EXPECT_TRUE(Reaches("batches_done", before + 1000)) << Status() << cluster_.Logs();
  EXPECT_NE(Status().dump().find("the disk of ps 1 does not answer"), std::string::npos)
      << Status();

  files.Clear();
  ExpectExactEnd();
  EXPECT_EQ(Number("rollbacks"), 1);
}

TEST_P(GrayFailures, APsWhoseDeletionsHang) {
  FaultyFiles& files = cluster_.FilesOf("ps", 0);
  cluster_.StartAll();
  ASSERT_NO_FATAL_FAILURE(Submit(/*epochs=*/20, /*checkpoint_every=*/100));
  ASSERT_TRUE(Reaches("last_checkpoint", 1)) << cluster_.Logs();
  files.Set({{"unlink", "/ps-0/"}});
  ASSERT_TRUE(Fired(files)) << "old checkpoints are deleted";
  EXPECT_TRUE(Reaches("batches_done", Number("batches_done") + 1500))
      << Status() << cluster_.Logs();
  files.Clear();
  ExpectExactEnd();
}

// Faults that do not depend on the mode.
using GrayFailuresOfDaemons = GrayFailures;

// A checkpoint is asked for while another one is being written, by a ps whose disk is slow: it
// takes 6 s, and its progress keeps it from being given up.
TEST_P(GrayFailuresOfDaemons, ACheckpointAskedForWhileASlowPsWritesOne) {
  cluster_.StartAll();
  cluster_.task("ps", 1).Kill();
  cluster_.Start("ps", 1,
                 {"--unsafe_testing", "--failpoint", "snapshot.add=sleep:300@1-1000000000"});
  CountingJob job = EndlessCountingJob();
  job.more = R"({"partitioner": {"fixed_shards": 40}, "checkpoint": {"every_epochs": 10000}})";
  ASSERT_EQ(cluster_.Cairn({"submit", WriteCountingJob(job, cluster_.folder("job"))}).exit_code, 0);
  ASSERT_TRUE(Reaches("batches_done", 100)) << cluster_.Logs();
  const auto ask = [&](int64_t* checkpoint) {
    return std::thread([this, checkpoint] {
      const CommandResult asked = cluster_.Cairn({"checkpoint", "count", "--json"});
      EXPECT_EQ(asked.exit_code, 0) << asked.errors;
      if (asked.exit_code == 0) *checkpoint = asked.lines().back().at("checkpoint");
    });
  };
  int64_t first = 0, second = 0;
  std::thread first_client = ask(&first);
  EXPECT_TRUE(WaitUntil(seconds(60), [&] {
    return cluster_.LogOf("ps", 1).find("failpoint name=snapshot.add") != std::string::npos;
  }));
  std::thread second_client = ask(&second);
  const int64_t done = Number("batches_done");
  EXPECT_TRUE(Reaches("batches_done", done + 300)) << "training goes on";
  first_client.join();
  second_client.join();
  EXPECT_GT(first, 0) << cluster_.Logs();
  EXPECT_GT(second, first) << "it has what was trained meanwhile";
  EXPECT_EQ(Number("checkpoints_failed"), 0) << Status();
  const auto cairn = [&](const std::vector<std::string>& command) {
    return cluster_.Cairn(command);
  };
  EXPECT_EQ(CountAtCheckpoint(cairn, cluster_.folder("export"), job.rows), "");
}

// As when the reader of a pipe stops, or the disk of the logs.
TEST_P(GrayFailuresOfDaemons, LogsThatHang) {
  const std::vector<std::pair<std::string, int>> tasks = {{"chief", 0}, {"ps", 1}, {"worker", 0}};
  for (const auto& [type, index] : tasks) cluster_.FilesOf(type, index);
  cluster_.StartAll();
  ASSERT_NO_FATAL_FAILURE(Submit(/*epochs=*/10, /*checkpoint_every=*/300));
  ASSERT_TRUE(Reaches("last_checkpoint", 1)) << cluster_.Logs();

  for (const auto& [type, index] : tasks) {
    cluster_.FilesOf(type, index).Set({{"write", type + std::to_string(index) + ".log"}});
  }
  // All tasks log the rollback.
  cluster_.task("ps", 0).Kill();
  cluster_.Start("ps", 0);
  for (const auto& [type, index] : tasks) ASSERT_TRUE(Fired(cluster_.FilesOf(type, index))) << type;
  ExpectExactEnd();
  EXPECT_EQ(Number("rollbacks"), 1);
  for (const auto& [type, index] : tasks) {
    EXPECT_TRUE(cluster_.task(type, index).running()) << type;
    cluster_.FilesOf(type, index).Clear();
  }
}

// Jobs with a csv_logger whose file is on a file server that goes away.
class CsvFileThatHangs : public GrayFailures {
 protected:
  CsvFileThatHangs() : GrayFailures(/*progress_timeout=*/"10") {}

  std::string log() { return cluster_.folder("log.csv"); }
  FaultyFiles& files() { return cluster_.FilesOf("chief", 0); }

  // Writes the job and its data to a folder, whose data a running job must not read.
  CommandResult SubmitLogged(const std::string& log, const std::string& folder = "job") {
    CountingJob job = EndlessCountingJob();
    job.batches_per_epoch = 500;
    job.more = absl::StrCat(R"({"callbacks": [{"name": "csv_logger", "filename": ")", log,
                            R"("}], "checkpoint": {"every_epochs": 100}})");
    return cluster_.Cairn({"submit", WriteCountingJob(job, cluster_.folder(folder))});
  }
  void Hang(const std::string& operation) {
    const int fired = files().fired();
    files().Set({{operation, "/log.csv"}});
    ASSERT_TRUE(Fired(files(), fired + 1)) << operation;
  }
  // The number of epochs in the file; -1 unless it has each once, in order, to its end.
  int Epochs() {
    std::ifstream file(log());
    std::string line;
    if (!std::getline(file, line) || line != "epoch,loss,val_loss\r") return -1;
    int epochs = 0;
    for (; std::getline(file, line); ++epochs) {
      if (line.rfind(absl::StrCat(epochs, ","), 0) != 0 || line.back() != '\r') return -1;
    }
    return epochs;
  }
};

// The job goes on, also if the coordinator dies meanwhile.
TEST_P(CsvFileThatHangs, StopsNothingAndGetsEachLineOnce) {
  files();
  cluster_.StartAll();
  const CommandResult submitted = SubmitLogged(log());
  ASSERT_EQ(submitted.exit_code, 0) << submitted.errors;
  ASSERT_TRUE(WaitUntil(seconds(60), [&] { return Epochs() >= 1; })) << cluster_.Logs();
  for (const char* operation : {"open", "stat", "write"}) {
    ASSERT_NO_FATAL_FAILURE(Hang(operation));
    EXPECT_TRUE(Reaches("batches_done", Number("batches_done") + 2000))
        << operation << Status() << cluster_.Logs();
    EXPECT_NE(Status().dump().find("/log.csv: has not answered for"), std::string::npos)
        << Status();
    EXPECT_TRUE(cluster_.task("chief", 0).running()) << cluster_.LogOf("chief", 0);
    if (operation == std::string("stat")) {
      cluster_.task("chief", 0).Kill();
      cluster_.Start("chief", 0);
      EXPECT_TRUE(Reaches("batches_done", Number("batches_done") + 2000)) << cluster_.Logs();
    }
    files().Clear();
    const int64_t epochs = Number("batches_done") / 500;
    EXPECT_TRUE(WaitUntil(seconds(60), [&] { return Epochs() >= epochs; }))
        << operation << ": " << Epochs() << " of " << epochs << Status();
  }
  EXPECT_EQ(Number("rollbacks"), 0);
}

TEST_P(CsvFileThatHangs, DoesNotKeepAJobFromBeingCancelledAndResumed) {
  files();
  cluster_.StartAll();
  ASSERT_EQ(SubmitLogged(log()).exit_code, 0);
  ASSERT_TRUE(WaitUntil(seconds(60), [&] { return Epochs() >= 1; })) << cluster_.Logs();
  ASSERT_NO_FATAL_FAILURE(Hang("write"));
  ASSERT_TRUE(WaitUntil(seconds(60), [&] {
    return Status().dump().find("has not answered") != std::string::npos;
  })) << Status();
  // Clients that need the file are told at once.
  const CommandResult refused = SubmitLogged(log(), "refused");
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_NE(refused.errors.find("/log.csv: has not answered for"), std::string::npos)
      << refused.errors;
  const CommandResult cancelled = cluster_.Cairn({"cancel", "1"});
  ASSERT_EQ(cancelled.exit_code, 0) << cancelled.errors;
  const CommandResult early = cluster_.Cairn({"resume", "1"});
  EXPECT_NE(early.exit_code, 0);
  EXPECT_NE(early.errors.find("/log.csv: has not answered for"), std::string::npos) << early.errors;
  // The write lands after the end of the job. It is no change by others.
  const int before = Epochs();
  files().Clear();
  ASSERT_TRUE(WaitUntil(seconds(60), [&] { return Epochs() > before; }));
  EXPECT_TRUE(WaitUntil(seconds(10), [&] {
    return cluster_.Cairn({"resume", "1"}).exit_code == 0;
  })) << cluster_.Cairn({"resume", "1"}).errors;
  const int resumed = Epochs();
  EXPECT_TRUE(WaitUntil(seconds(60), [&] { return Epochs() >= resumed + 3; })) << cluster_.Logs();
}

// Every worker opens its files while the file server is away.
TEST_P(GrayFailuresOfDaemons, FilesThatCannotBeOpenedForAMoment) {
  const std::vector<FaultyFiles*> all = {&cluster_.FilesOf("worker", 0),
                                         &cluster_.FilesOf("worker", 1)};
  cluster_.StartAll();
  ASSERT_NO_FATAL_FAILURE(Submit(/*epochs=*/10));
  ASSERT_TRUE(Reaches("batches_done", 200)) << cluster_.Logs();
  for (const char* operation : {"open", "stat"}) {
    for (const int worker : {0, 1}) {
      const int fired = all[worker]->fired();
      all[worker]->Set({{operation, "/x.npy", EIO}});
      cluster_.task("worker", worker).Kill();
      cluster_.Start("worker", worker);
      ASSERT_TRUE(Fired(*all[worker], fired + 3)) << operation;
    }
    for (FaultyFiles* files : all) files->Clear();
  }
  ExpectExactEnd();
}

// A supervisor starts it again as long as its disk does not answer.
TEST_P(GrayFailuresOfDaemons, ACoordinatorWhoseDiskHangsOrErrs) {
  FaultyFiles& files = cluster_.FilesOf("chief", 0);
  cluster_.StartAll();
  ASSERT_NO_FATAL_FAILURE(Submit(/*epochs=*/10));
  ASSERT_TRUE(Reaches("batches_done", 200)) << cluster_.Logs();
  Process& coordinator = cluster_.task("chief", 0);

  files.Set({{"write", "/state/coordinator/"}, {"sync", "/state/coordinator/"}});
  EXPECT_EQ(coordinator.Wait(seconds(60)).value_or(-1), 129) << cluster_.LogOf("chief", 0);
  EXPECT_NE(cluster_.LogOf("chief", 0).find("the disk of the journal hangs"), std::string::npos);
  for (const char* operation : {"open", "read", "write"}) {
    files.Set({{operation, "/state/coordinator/", EIO}});
    cluster_.Start("chief", 0);
    EXPECT_EQ(coordinator.Wait(seconds(60)).value_or(-1), 129)
        << operation << cluster_.LogOf("chief", 0);
  }
  files.Clear();
  cluster_.Start("chief", 0);
  ExpectExactEnd();
  EXPECT_EQ(Number("rollbacks"), 0);
}

class StoppedWorker : public GrayFailures {
 protected:
  StoppedWorker() : GrayFailures("600") { cluster_.AddFlags("chief", {"--lease_seconds", "600"}); }
};

// It keeps its lease for ten minutes, but not the batches that others wait for at the end of an
// epoch.
TEST_P(StoppedWorker, HoldsUpNoEpoch) {
  cluster_.StartAll();
  ASSERT_NO_FATAL_FAILURE(Submit(/*epochs=*/10));
  ASSERT_TRUE(Reaches("batches_done", 200)) << cluster_.Logs();
  cluster_.task("worker", 0).Signal(SIGSTOP);
  EXPECT_TRUE(Reaches("batches_done", Number("batches_done") + 1500))
      << Status() << cluster_.Logs();
  // What it has computed meanwhile does not count again.
  cluster_.task("worker", 0).Signal(SIGCONT);
  ExpectExactEnd();
  EXPECT_EQ(Number("workers_lost"), 0);
  EXPECT_EQ(Number("rollbacks"), 0);
  EXPECT_EQ(cluster_.Member("worker", 0).value("messages_refused", 0), 0);
}

INSTANTIATE_TEST_SUITE_P(Async, StoppedWorker, ::testing::Values(kAsync));
INSTANTIATE_TEST_SUITE_P(Async, GrayFailuresOfDaemons, ::testing::Values(kAsync));
INSTANTIATE_TEST_SUITE_P(Async, CsvFileThatHangs, ::testing::Values(kAsync));

INSTANTIATE_TEST_SUITE_P(
    Modes, GrayFailures, ::testing::Values(kAsync, kStale, kSync), [](const auto& info) {
      return std::string(info.param == kAsync ? "Async" : info.param == kStale ? "Stale" : "Sync");
    });

}  // namespace
}  // namespace cairn::testing

// Starting daemons with valid and invalid arguments.

#include <signal.h>

#include <map>
#include <set>

#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/cluster/ask.h"
#include "tests/common/free_port.h"
#include "tests/end_to_end/counting_job.h"
#include "tests/end_to_end/test_cluster.h"

namespace cairn::testing {
namespace {

using nlohmann::json;
using std::chrono::seconds;

struct DaemonResult {
  int exit_code;
  std::string last_line;
};

// Runs a daemon that is expected to exit.
DaemonResult RunDaemon(const std::string& program, const std::vector<std::string>& flags,
                       const std::string& tf_config) {
  TemporaryFolder folder;
  Process::Options options;
  options.arguments = {ProgramPath(program + "/" + program), "--state", folder.path("state")};
  options.arguments.insert(options.arguments.end(), flags.begin(), flags.end());
  options.environment = {{"TF_CONFIG", tf_config}};
  options.output_file = folder.path("log");
  Process process(options);
  const int exit_code = process.Wait(seconds(20)).value_or(-1);
  process.Kill();
  std::string text = ReadFile(options.output_file);
  while (!text.empty() && text.back() == '\n') text.pop_back();
  const size_t line = text.rfind('\n');
  return {exit_code, line == std::string::npos ? text : text.substr(line + 1)};
}

struct BadConfig {
  const char* tf_config;
  const char* named;  // A part of the message.
};

constexpr BadConfig kBadConfigs[] = {
    {"{", "JSON"},
    {"[]", "object"},
    {R"({"task": {"type": "ps", "index": 0}})", "cluster"},
    {R"({"cluster": {"chief": ["a:1"], "ps": ["b:2"], "worker": ["c:3"]}})", "task"},
    {R"({"cluster": {"chief": ["a:1"], "ps": ["b:2"], "worker": ["c:3"]}, "task": {"type": "boss", "index": 0}})",
     "boss"},
    {R"({"cluster": {"chief": ["a:1"], "ps": ["b:2"], "worker": ["c:3"]}, "task": {"type": "ps"}})",
     "index"},
    {R"({"cluster": {"chief": ["a:1"], "ps": ["b:2"], "worker": ["c:3"]}, "task": {"type": "ps", "index": -1}})",
     "-1"},
    {R"({"cluster": {"chief": ["a:1"], "ps": ["b:2"], "worker": ["c:3"]}, "task": {"type": "ps", "index": 7}})",
     "7"},
    {R"({"cluster": {"chief": ["a"], "ps": ["b:2"], "worker": ["c:3"]}, "task": {"type": "ps", "index": 0}})",
     "port"},
    {R"({"cluster": {"chief": ["a:99999"], "ps": ["b:2"], "worker": ["c:3"]}, "task": {"type": "ps", "index": 0}})",
     "99999"},
    {R"({"cluster": {"chief": ["a:1"], "ps": ["a:1"], "worker": ["c:3"]}, "task": {"type": "ps", "index": 0}})",
     "a:1"},
    {R"({"cluster": {"chief": ["a:1", "b:1"], "ps": ["b:2"], "worker": ["c:3"]}, "task": {"type": "ps", "index": 0}})",
     "chief"},
    {R"({"cluster": {"chief": ["a:1"], "worker": ["c:3"]}, "task": {"type": "worker", "index": 0}})",
     "ps"},
    {R"({"cluster": {"chief": ["a:1"], "ps": ["b:2"]}, "task": {"type": "worker", "index": 0}})",
     "names no worker"},
    {R"({"cluster": {"chief": ["a:1"], "ps": {"1": "b:2"}, "worker": ["c:3"]}, "task": {"type": "ps", "index": 1}})",
     "ps"},
};

TEST(Launching, EveryWrongTfConfigIsRefusedWithItsOwnReason) {
  std::set<std::string> messages;
  for (const BadConfig& bad : kBadConfigs) {
    const DaemonResult result = RunDaemon("ps_server", {}, bad.tf_config);
    EXPECT_GE(result.exit_code, 1) << bad.tf_config;
    EXPECT_LT(result.exit_code, 128) << bad.tf_config;
    EXPECT_NE(result.last_line.find(bad.named), std::string::npos) << bad.tf_config << "\n"
                                                                   << result.last_line;
    messages.insert(result.last_line);
  }
  EXPECT_EQ(messages.size(), std::size(kBadConfigs)) << "two of them say the same";
}

TEST(Launching, WrongFlagsAreBadUsage) {
  for (const char* program : {"ps_server", "worker", "coordinator"}) {
    const DaemonResult result = RunDaemon(program, {"--no_such_flag"}, "");
    EXPECT_EQ(result.exit_code, 2) << program << result.last_line;
    EXPECT_EQ(RunDaemon(program, {"--help"}, "").exit_code, 0) << program;
  }
}

constexpr char kHealthCheck[] = "/grpc.health.v1.Health/Check";
constexpr char kServing[] = "\x08\x01";  // HealthCheckResponse{status: SERVING}.

TEST(Launching, SigtermEndsEveryDaemonWith143) {
  TestCluster cluster(1, 1);
  cluster.StartAll();
  for (const char* type : {"worker", "ps", "chief"}) {
    ASSERT_EQ(Ask(cluster.port(type, 0), kHealthCheck, ""), kServing) << type;
    cluster.task(type, 0).Signal(SIGTERM);
    EXPECT_EQ(cluster.task(type, 0).Wait(seconds(15)).value_or(-1), 143) << type << cluster.Logs();
    // The daemon exited; a process that the signal killed would appear to have the same code.
    EXPECT_NE(cluster.Logs().find("stopped why=SIGTERM code=143"), std::string::npos);
  }
}

TEST(Launching, EveryDaemonAnswersHealthChecksAndReflection) {
  TestCluster cluster(1, 1);
  cluster.StartAll();
  const std::map<std::string, std::string> services = {{"chief", "cairn.proto.Coordinator"},
                                                       {"ps", "cairn.proto.ParameterServer"},
                                                       {"worker", "grpc.health.v1.Health"}};
  for (const auto& [type, service] : services) {
    EXPECT_EQ(Ask(cluster.port(type, 0), kHealthCheck, ""), kServing) << type;
    // ServerReflectionRequest{list_services: "*"}.
    const std::string list =
        Ask(cluster.port(type, 0), "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
            "\x3a\x01*");
    EXPECT_NE(list.find(service), std::string::npos) << type;
  }
}

TEST(Launching, AWorkerThatNoTfConfigListsJoinsAndTrains) {
  TestCluster cluster(1, 1);
  cluster.Start("chief", 0);
  cluster.Start("ps", 0);
  Process::Options options;
  options.arguments = {ProgramPath("worker/worker"), "--coordinator", cluster.coordinator_address(),
                       "--state", cluster.folder("joined")};
  options.output_file = cluster.folder("joined.log");
  Process joined(options);
  CountingJob job;
  job.batches = 200;
  job.batches_per_epoch = 100;
  const CommandResult result = cluster.Cairn(
      {"submit", WriteCountingJob(job, cluster.folder("job")), "--follow"}, seconds(60));
  EXPECT_EQ(result.exit_code, 0) << result.output << result.errors << cluster.Logs()
                                 << ReadFile(options.output_file);
}

// As in most textbooks, with an evaluator outside of the cluster. Worker 0 and its coordinator die
// together, and come back together.
TEST(Launching, WithoutAChiefWorker0StartsTheCoordinator) {
  TemporaryFolder folder;
  const auto free_address = [] { return "127.0.0.1:" + std::to_string(FreePort()); };
  const std::vector<std::string> workers = {free_address(), free_address()};
  const std::vector<std::string> ps = {free_address()};
  const std::string coordinator = workers[0];
  const auto start = [&](const std::string& type, int index) {
    Process::Options options;
    const std::string program = type == "ps" ? "ps_server/ps_server" : "worker/worker";
    options.arguments = {ProgramPath(program), "--state", folder.path("state")};
    options.environment = {{"TF_CONFIG", json{{"cluster", {{"ps", ps}, {"worker", workers}}},
                                              {"task", {{"type", type}, {"index", index}}}}
                                             .dump()}};
    options.output_file = folder.path(type == "evaluator" ? "evaluator.log" : "log");
    return Process(options);
  };
  Process server = start("ps", 0);
  Process evaluator = start("evaluator", 0);
  Process first = start("worker", 0);
  Process second = start("worker", 1);
  const auto cairn = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.end(), {"--coordinator", coordinator});
    return RunCairn(arguments);
  };
  ASSERT_TRUE(WaitUntil(seconds(60), [&] { return cairn({"jobs"}).exit_code == 0; }))
      << ReadFile(folder.path("log"));

  CountingJob job;
  job.batches = 20000;
  job.distinct = true;
  job.more = R"({"validation": {"npy": {"features": "x.npy", "labels": "y.npy"}},
                 "validation_steps": 10})";
  const CommandResult submitted = cairn({"submit", WriteCountingJob(job, folder.path("job"))});
  ASSERT_EQ(submitted.exit_code, 0) << submitted.errors << ReadFile(folder.path("log"));
  const auto status = [&] {
    const CommandResult result = cairn({"status", "count", "--json"});
    return result.exit_code == 0 ? result.lines().at(0) : json::object();
  };
  ASSERT_TRUE(WaitUntil(seconds(60), [&] { return status().value("batches_done", 0) > 500; }))
      << ReadFile(folder.path("log"));
  first.Kill();
  EXPECT_NE(cairn({"jobs"}).exit_code, 0) << "the coordinator has outlived its worker";
  first = start("worker", 0);
  ASSERT_TRUE(WaitUntil(seconds(240), [&] { return status().value("state", "") == "finished"; }))
      << status() << ReadFile(folder.path("log"));
  EXPECT_EQ(status().value("rollbacks", -1), 0);
  ASSERT_EQ(cairn({"export", "count", "--output", folder.path("export")}).exit_code, 0);
  EXPECT_EQ(SumIsNot(job, folder.path("export")), "");
  EXPECT_EQ(status().value("evaluations", json::array()).size(), 20u) << status();
  EXPECT_NE(ReadFile(folder.path("evaluator.log")).find("starting job"), std::string::npos);

  first.Signal(SIGTERM);
  EXPECT_EQ(first.Wait(seconds(60)).value_or(-1), 143);
  EXPECT_NE(cairn({"jobs"}).exit_code, 0);
  EXPECT_TRUE(second.running());
}

TEST(Launching, ADaemonWhoseListOfPsDiffersIsRefusedAndBothAreShown) {
  TestCluster cluster(1, 1);
  cluster.Start("chief", 0);
  const std::string ps = "127.0.0.1:" + std::to_string(FreePort());
  const json config = {{"cluster",
                        {{"chief", {cluster.coordinator_address()}},
                         {"ps", {ps, "127.0.0.1:1"}},
                         {"worker", {"127.0.0.1:2"}}}},
                       {"task", {{"type", "ps"}, {"index", 0}}}};
  const DaemonResult result = RunDaemon("ps_server", {}, config.dump());
  EXPECT_EQ(result.exit_code, 1) << result.last_line;
  EXPECT_NE(result.last_line.find(ps), std::string::npos) << result.last_line;
}

TEST(Launching, AClusterThatNamesNoWorkerTrainsWithThoseThatJoin) {
  TestCluster cluster(/*ps_count=*/1, /*worker_count=*/0);
  cluster.StartAll();
  const json config = {{"cluster",
                        {{"chief", {cluster.coordinator_address()}},
                         {"ps", {"127.0.0.1:" + std::to_string(cluster.port("ps", 0))}}}}};
  Process::Options options;
  options.arguments = {ProgramPath("worker/worker")};
  options.environment = {{"TF_CONFIG", config.dump()}};
  options.output_file = cluster.folder("joined.log");
  const Process worker(options);
  CountingJob job;
  const CommandResult result =
      RunCairn({"submit", WriteCountingJob(job, cluster.folder("job")), "--follow"}, seconds(120),
               {{"TF_CONFIG", config.dump()}});
  EXPECT_EQ(result.exit_code, 0) << result.errors << cluster.Logs()
                                 << ReadFile(options.output_file);
}

TEST(Launching, NoClusterMeansExitCode3) {
  const CommandResult result =
      RunCairn({"jobs", "--coordinator", "127.0.0.1:" + std::to_string(FreePort())}, seconds(60));
  EXPECT_EQ(result.exit_code, 3) << result.errors;
  EXPECT_NE(result.errors.find("(connection refused)"), std::string::npos) << result.errors;
}

}  // namespace
}  // namespace cairn::testing

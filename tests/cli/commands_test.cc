// All commands, with a fake cluster and with a state directory: what they print, and what they
// reject.

#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "cli/commands/command_line.h"
#include "cli/files.h"
#include "cli/local/state_lock.h"
#include "common/npy.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/cli/example_job.h"
#include "tests/cli/fake_cluster.h"
#include "tests/cli/run_cairn.h"
#include "tests/cli/worker_script.h"

namespace cairn::cli {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

// Commands that only read, with the state directory of the example job.
class CommandsOnStateTest : public testing::Test {
 protected:
  static void SetUpTestSuite() { WriteExampleState(State()); }
  static std::string State() { return testing::TempDir() + "/commands_test_state"; }

  Result RunOnState(std::vector<std::string> arguments) {
    arguments.insert(arguments.end(), {"--state", State()});
    return RunCairn(arguments);
  }
};

// All other commands, with a fake cluster.
class CommandsOnClusterTest : public testing::Test {
 protected:
  Result RunOnCluster(std::vector<std::string> arguments) {
    arguments.insert(arguments.end(), {"--coordinator", cluster_.address()});
    return RunCairn(arguments);
  }

  std::string WriteJob() {
    const std::string folder = testing::TempDir() + "/commands_test_job";
    EXPECT_TRUE(WriteFile(folder + "/model.json", ExampleModelJson()).ok());
    EXPECT_TRUE(WriteFile(folder + "/job.json", R"({"name": "example", "model": "model.json",
        "train": {"npy": {"features": "x.npy", "labels": "y.npy"}}, "loss": "mse",
        "optimizer": "sgd", "batch_size": 1, "epochs": 2})")
                    .ok());
    return folder + "/job.json";
  }

  FakeCluster cluster_;
};

std::vector<std::string> CommandNames() {
  std::vector<std::string> names;
  for (const json& command : RunCairn({"help", "--json"}).lines())
    names.push_back(command["command"]);
  return names;
}

TEST(CommandsTest, EveryCommandExplainsItselfWithExamplesOfItself) {
  EXPECT_GE(CommandNames().size(), 23);
  for (const std::string& command : CommandNames()) {
    const Result flag = RunCairn({command, "--help"});
    EXPECT_EQ(flag.exit_code, 0) << command;
    EXPECT_THAT(flag.out, HasSubstr("Usage: cairn " + command)) << command;
    const size_t examples = flag.out.find("\nExamples:\n");
    ASSERT_NE(examples, std::string::npos) << command;
    EXPECT_NE(flag.out.find("cairn " + command, examples), std::string::npos) << command;
    EXPECT_EQ(RunCairn({"help", command}).out, flag.out) << command;
  }
  EXPECT_THAT(RunCairn({"--help"}).out, HasSubstr("Exit codes: 0 success"));
  EXPECT_EQ(RunCairn({"help"}).out, RunCairn({"--help"}).out);
}

TEST(CommandsTest, EveryCommandTakesJson) {
  for (const std::string& command : CommandNames()) {
    EXPECT_THAT(RunCairn({command, "--help"}).out, HasSubstr("--json")) << command;
  }
}

TEST(CommandsTest, EveryCommandHasAManualPageWithItsExamples) {
  const std::string folder = testing::TempDir() + "/commands_test_man";
  const Result written = RunCairn({"help", "--man", folder});
  ASSERT_EQ(written.exit_code, 0) << written.err;
  EXPECT_THAT(written.out, HasSubstr("wrote " + folder + "/cairn.1"));
  for (const std::string& command : CommandNames()) {
    const auto page = ReadFile(folder + "/cairn-" + command + ".1");
    ASSERT_TRUE(page.ok()) << page.status();
    EXPECT_THAT(*page, AllOf(HasSubstr(".SH EXAMPLES"), HasSubstr(".SH EXIT STATUS"))) << command;
  }
  EXPECT_THAT(*ReadFile(folder + "/cairn.1"), HasSubstr("cairn\\-submit"));
}

TEST(CommandsTest, SuggestsTheNearestCommandFlagOrValue) {
  EXPECT_THAT(RunCairn({"statsu"}).err,
              HasSubstr("there is no command statsu (did you mean status?)"));
  EXPECT_THAT(RunCairn({"help", "exprot"}).err, HasSubstr("did you mean export?"));
  EXPECT_THAT(RunCairn({"run", "a.json", "--worker=2"}).err,
              HasSubstr("cairn run has no flag --worker (did you mean --workers?)"));
  EXPECT_THAT(RunCairn({"--state", "a", "jobs"}).err, HasSubstr("flags come after a command"));
  EXPECT_THAT(RunCairn({"completion", "bsh"}).err, HasSubstr("did you mean bash?"));
}

TEST(CommandsTest, AnOutputThatCannotBeWrittenIsNoSuccess) {
  std::ofstream full("/dev/full");
  std::ostringstream err;
  CommandContext context;
  context.out = &full;
  context.err = &err;
  EXPECT_EQ(RunCommandLine({"help"}, context), 2);
  EXPECT_THAT(err.str(), HasSubstr("cannot write the output"));
}

TEST(CommandsTest, InitWritesAJobOnceAndNeverOverSomethingElse) {
  const std::string folder = testing::TempDir() + "commands_test_init";
  std::filesystem::remove_all(folder);
  const Result first = RunCairn({"init", folder});
  EXPECT_EQ(first.exit_code, 0) << first.err;
  EXPECT_THAT(first.out, HasSubstr("cairn run " + folder + "/job.json"));
  const Result second = RunCairn({"init", folder});
  EXPECT_EQ(second.exit_code, 2);
  EXPECT_THAT(second.err, HasSubstr(folder + "/job.json already exists"));
}

TEST(CommandsTest, BadUsageIsExitCodeTwoAndSaysWhereHelpIs) {
  const std::vector<std::pair<std::vector<std::string>, std::string>> cases = {
      {{}, "see cairn --help"},
      {{"fly"}, "there is no command fly; see cairn --help"},
      {{"export", "job", "--output", "o", "--fast"}, "cairn export has no flag --fast"},
      {{"help", "fly"}, "there is no command fly"},
      {{"run"}, "JOB.json is required; see cairn run --help"},
      {{"run", "a.json", "b.json"}, "\"b.json\" is an extra argument"},
      {{"jobs", "--state", ""}, "--state: is empty"},
      {{"run", "a.json", "--ps", "-1"}, "--ps"},
      {{"run", "a.json", "--workers", "two"}, "--workers"},
      {{"run", "a.json", "--fast"}, "--fast"},
      {{"status", "--state", "a", "--coordinator", "b:1"}, "give only one"},
      {{"export", "job"}, "--output is required"},
      {{"export", "job", "--output", "o.h5"}, "--output: o.h5: there is no export format .h5"},
      {{"predict", "job", "--input", "x.npy", "--output", "y.npy", "--output", "z.h5"},
       "--output: z.h5 must end in .npy"},
      {{"predict", "profile", "job", "--output", "y.npy"}, "--input is required"},
      {{"cancel"}, "JOB is required"},
      {{"export", "job", "--output", "o", "--checkpoint", "-1"}, "--checkpoint"},
      {{"jobs", "--coordinator", "nowhere"}, "--coordinator: address \"nowhere\""},
      {{"run", "/no/such/job.json"}, "/no/such/job.json"},
      {{"submit", "/no/such/job.json"}, "/no/such/job.json"},
      {{"drill", "a.json"}, "--plan is required"},
      {{"drill", "a.json", "--plan", "hang"}, "there is no plan hang (did you mean hangs?)"},
      {{"drill", "a.json", "--plan", "disc"}, "there is no plan disc (did you mean disk?)"},
      {{"drill", "/no/such/job.json", "--plan", "ps"}, "/no/such/job.json"},
      {{"jobs", "--state", "/no/such/state"}, "/no/such/state"},
  };
  for (const auto& [arguments, expected] : cases) {
    const Result result = RunCairn(arguments);
    EXPECT_EQ(result.exit_code, 2) << expected;
    EXPECT_THAT(result.err, AllOf(StartsWith("cairn: "), HasSubstr(expected)));
    EXPECT_EQ(result.out, "") << expected;
  }
}

TEST(CommandsTest, EscapesControlCharactersInQuotedWords) {
  EXPECT_THAT(RunCairn({"fly\x1b[2J caf\xc3\xa9 \xff"}).err,
              HasSubstr("fly\\x1b[2J caf\xc3\xa9 \\xff"));
}

TEST(CommandsTest, ClusterThatCannotBeReachedIsExitCodeThree) {
  const Result result = RunCairn({"status", "--coordinator", "127.0.0.1:1"});
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_THAT(result.err, HasSubstr("cannot reach the coordinator at 127.0.0.1:1"));
}

TEST(CommandsTest, VersionIsPrinted) {
  EXPECT_THAT(RunCairn({"version"}).out, StartsWith("cairn "));
  EXPECT_TRUE(RunCairn({"version", "--json"}).lines()[0].contains("version"));
  EXPECT_EQ(RunCairn({"--version"}).out, RunCairn({"version"}).out);
  EXPECT_EQ(RunCairn({"--version"}).exit_code, 0);
}

TEST_F(CommandsOnStateTest, JobsAndStatusAreRead) {
  EXPECT_THAT(RunOnState({"jobs"}).out, HasSubstr("example"));
  EXPECT_EQ(RunOnState({"jobs", "--json"}).lines()[0]["name"], "example");
  const Result status = RunOnState({"status", "example", "--json"});
  EXPECT_EQ(status.exit_code, 0);
  EXPECT_EQ(status.lines()[0]["state"], "finished");
  EXPECT_EQ(status.lines()[0]["strategy"], "parameter_server");
  EXPECT_EQ(status.lines()[0]["mode"], "sync");
  EXPECT_EQ(status.lines()[0]["batch_size"], 16);
  EXPECT_EQ(status.lines()[0]["global_batch_size"], 48);
  EXPECT_THAT(RunOnState({"status", "example"}).out,
              HasSubstr("  strategy     parameter_server, sync\n  batch size   16 examples on one "
                        "worker; 3 batches are an update: global batch 48\n"));
  EXPECT_THAT(RunOnState({"status"}).out,
              AllOf(HasSubstr("job 1 (example): finished"), HasSubstr("days ago)  note number 7"),
                    Not(HasSubstr("note number 2"))));
  const Result unknown = RunOnState({"status", "nobody"});
  EXPECT_EQ(unknown.exit_code, 2);
  EXPECT_THAT(unknown.err, HasSubstr("there is no job 'nobody'; there are 1 (example)"));
  EXPECT_THAT(RunOnState({"status", "example", "--variables"}).out, HasSubstr("ps 1 has "));
  EXPECT_EQ(RunOnState({"status", "example", "--variables", "--json"}).lines()[0]["shape"],
            nlohmann::json::parse("[4, 3]"));
  EXPECT_THAT(RunOnState({"status", "--variables"}).err, HasSubstr("name the job"));
  EXPECT_THAT(RunOnState({"status", "exmaple"}).err, HasSubstr("did you mean example?"));
}

TEST(CommandsTest, AJobThatNoClusterWorksOnIsNotCalledRunning) {
  const std::string state = testing::TempDir() + "/commands_test_stopped";
  WriteExampleState(state, proto::RUNNING);
  const std::string status = RunCairn({"status", "--state", state}).out;
  EXPECT_THAT(status, HasSubstr("job 1 (example): stopped, no cluster is running on " + state));
  EXPECT_THAT(status, AllOf(HasSubstr("cairn up --state " + state), Not(HasSubstr("): running"))));
  const std::string jobs = RunCairn({"jobs", "--state", state}).out;
  EXPECT_THAT(jobs, AllOf(HasSubstr("stopped"), HasSubstr("cairn up --state " + state)));
  const auto line = RunCairn({"status", "example", "--state", state, "--json"}).lines()[0];
  EXPECT_EQ(line["state"], "preparing");
  EXPECT_EQ(line["cluster_up"], false);
  // A cluster that is just being started has no coordinator yet.
  const auto lock = StateLock::Take(state, "cairn up");
  EXPECT_THAT(RunCairn({"status", "--state", state}).out, Not(HasSubstr("stopped")));
  EXPECT_THAT(RunCairn({"jobs", "--state", state}).out, Not(HasSubstr("stopped")));
  EXPECT_EQ(RunCairn({"jobs", "--state", state, "--json"}).lines()[0]["cluster_up"], true);
}

TEST_F(CommandsOnStateTest, HistoryHasEveryAppliedBatchInOrderThenEvaluations) {
  const auto lines = RunOnState({"history", "example", "--json"}).lines();
  ASSERT_EQ(lines.size(), 7);
  for (int i = 0; i < 6; ++i) {
    EXPECT_EQ(lines[i]["epoch"], i / 3);
    EXPECT_EQ(lines[i]["batch"], i % 3);
    if (i == 4) {
      EXPECT_TRUE(lines[i]["loss"].is_null()) << "its report was lost";
    } else {
      EXPECT_EQ(lines[i]["loss"].get<double>(), 1.0 / 3 + i) << "to the last bit";
      EXPECT_EQ(lines[i]["mae"], 0.5);
    }
  }
  EXPECT_EQ(lines[6], json::parse(R"({"epoch": 1, "evaluation": true, "loss": 0.25, "mae": 0.125,
                                      "examples": 70})"));
  EXPECT_THAT(RunOnState({"history", "example"}).out,
              AllOf(HasSubstr("epoch 2 batch 2  report lost"), HasSubstr("epoch 2 validation")));
}

TEST_F(CommandsOnStateTest, CheckpointsAreListed) {
  EXPECT_EQ(RunOnState({"checkpoints", "1", "--json"}).lines()[0]["applied_batches"], 6);
  EXPECT_THAT(RunOnState({"checkpoints", "1"}).out, HasSubstr("6 batches"));
}

TEST_F(CommandsOnStateTest, ExportIsATfjsModel) {
  const std::string folder = testing::TempDir() + "/commands_test_export";
  const Result result = RunOnState({"export", "example", "--output", folder});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const json model = json::parse(*ReadFile(folder + "/model.json"));
  std::vector<std::string> names;
  for (const auto& weight : model["weightsManifest"][0]["weights"]) names.push_back(weight["name"]);
  EXPECT_THAT(names, ElementsAre("dense/kernel", "dense/bias"));
  const std::string bytes = *ReadFile(folder + "/weights.bin");
  std::vector<float> values(bytes.size() / sizeof(float));
  std::memcpy(values.data(), bytes.data(), bytes.size());
  EXPECT_THAT(values, ElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 100, 200, 300));
  EXPECT_THAT(RunOnState({"export", "example", "--output", folder, "--checkpoint", "9"}).err,
              HasSubstr("has no checkpoint 9; there are 2"));
}

// A script takes the place of the worker. tests/worker/offline_evaluation_test.cc tests what the
// worker computes.
TEST_F(CommandsOnStateTest, PredictionsAreWrittenAsTheWorkerMadeThem) {
  const std::string programs = testing::TempDir() + "/commands_test_programs";
  // EvaluationResult.outputs[0].shape = (2, 3), on the wire: field 3, 4 bytes: field 2, packed, 2
  // bytes.
  WriteWorkerScript(programs + "/worker",
                    "head -c 24 $values > $output\n"
                    "printf '\\032\\004\\022\\002\\002\\003' > $result");
  const std::string y = testing::TempDir() + "/commands_test_y.npy";
  const Result result = RunCairn(
      {"predict", "example", "--input", "x.npy", "--output", y, "--state", State()}, programs);
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const std::string file = *ReadFile(y);
  const auto header = ParseNpyHeader(file, file.size());
  ASSERT_TRUE(header.ok()) << header.status();
  EXPECT_THAT(header->shape, ElementsAre(2, 3));
  std::vector<float> values(6);
  ASSERT_TRUE(
      DecodeNpyAsFloat(*header, file.substr(header->data_offset), absl::MakeSpan(values)).ok());
  EXPECT_THAT(values, ElementsAre(0, 1, 2, 3, 4, 5)) << "the first of the kernel";
  const Result two = RunCairn({"predict", "example", "--input", "x.npy", "--input", "x.npy",
                               "--output", y, "--state", State()},
                              programs);
  EXPECT_EQ(two.exit_code, 2);
  EXPECT_THAT(two.err, HasSubstr("the model has 1 input, and --input is given 2 times"));
}

TEST(CommandsTest, WordsThatAreNoneAreQuotedOnOneLine) {
  EXPECT_THAT(RunCairn({""}).err, StartsWith("cairn: there is no command ''; see"));
  EXPECT_THAT(RunCairn({"a\nb"}).err, StartsWith("cairn: there is no command 'a\\nb'; see"));
  EXPECT_THAT(RunCairn({"cancel", ""}).err,
              StartsWith("cairn: cancel: JOB: is empty; give a value; see"));
}

TEST_F(CommandsOnStateTest, PredictionsDoNotOverwriteTheirInput) {
  const std::string programs = testing::TempDir() + "/commands_test_no_programs";
  WriteWorkerScript(programs + "/worker", "exit 1");
  const std::string x = testing::TempDir() + "/commands_test_x.npy";
  ASSERT_TRUE(WriteFile(x, "data").ok());
  const std::string link = testing::TempDir() + "/commands_test_link.npy";
  std::filesystem::create_symlink(x, link);
  const Result result = RunCairn(
      {"predict", "example", "--input", x, "--output", link, "--state", State()}, programs);
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_EQ(result.err, "cairn: --output: " + link + " would overwrite " + x +
                            " (--input); choose another file\n");
  EXPECT_EQ(*ReadFile(x), "data");
}

TEST_F(CommandsOnStateTest, FollowTellsTheEndOfAJobWhoseClusterIsDown) {
  const Result follow = RunOnState({"follow", "example"});
  EXPECT_EQ(follow.exit_code, 0) << follow.err;
  EXPECT_THAT(follow.out, HasSubstr("job 1 (example) finished: "));
  EXPECT_EQ(RunOnState({"follow", "nobody"}).exit_code, 3);
}

TEST_F(CommandsOnClusterTest, ReadingCommandsAskTheCluster) {
  EXPECT_EQ(RunOnCluster({"jobs", "--json"}).lines()[0]["name"], "example");
  EXPECT_EQ(RunOnCluster({"history", "1", "--json"}).lines().size(), 7);
  EXPECT_THAT(RunOnCluster({"status"}).out, AllOf(HasSubstr("ps"), HasSubstr("live")));
  EXPECT_EQ(RunOnCluster({"status", "--json"}).lines()[0]["role"], "coordinator");
  const std::string folder = testing::TempDir() + "/commands_test_remote";
  EXPECT_EQ(RunOnCluster({"export", "1", "--output", folder}).exit_code, 0);
  EXPECT_EQ(ReadFile(folder + "/weights.bin")->size(), 15 * sizeof(float));
}

TEST_F(CommandsOnClusterTest, ClusterAndTopShowEveryMember) {
  const auto members = RunOnCluster({"cluster", "--json"}).lines();
  ASSERT_FALSE(members.empty());
  for (const char* field : {"role", "index", "live", "host", "incarnation", "memory_bytes",
                            "lease_age_seconds", "requests_per_second"}) {
    EXPECT_TRUE(members[0].contains(field)) << field;
  }
  EXPECT_THAT(RunOnCluster({"cluster"}).out, HasSubstr("ps-0"));
  const Result top = RunOnCluster({"top", "--times", "2"});
  EXPECT_EQ(top.exit_code, 0) << top.err;
  EXPECT_THAT(top.out, AllOf(HasSubstr("ps-0"), HasSubstr("job 1 (example)")));
  EXPECT_EQ(RunOnCluster({"top", "--times", "1", "--json"}).lines()[0]["jobs"][0]["job"], 1);
}

TEST_F(CommandsOnClusterTest, JobsSaysWhyAJobFailed) {
  proto::JobStatus failed = ExampleStatus();
  failed.set_state(proto::FAILED);
  failed.set_error("the disk is gone");
  failed.set_generation(1);
  proto::JobStatus refused = ExampleStatus();
  refused.set_job_id(2);
  refused.set_state(proto::FAILED);
  refused.set_error("labels from 0 to 9 expected");
  refused.set_total_batches(0);
  cluster_.set_listed({failed, refused});
  EXPECT_EQ(RunOnCluster({"jobs"}).out,
            "  ID  NAME                     STATE            BATCHES\n"
            "   1  example                  failed           6/6 (100%)  the disk is gone\n"
            "   2  example                  rejected         -  labels from 0 to 9 expected\n");
  EXPECT_EQ(RunOnCluster({"jobs", "--json"}).lines()[1]["error"], "labels from 0 to 9 expected");
  EXPECT_THAT(RunOnCluster({"status"}).out,
              HasSubstr("job 2 (example): rejected: labels from 0 to 9 expected\n"));
}

TEST_F(CommandsOnClusterTest, TopAndStatusAgreeThatThereIsNoCheckpoint) {
  proto::JobStatus running = ExampleStatus();
  running.set_state(proto::RUNNING);
  running.clear_last_checkpoint();
  cluster_.set_listed({running});
  EXPECT_THAT(RunOnCluster({"status"}).out, HasSubstr("checkpoints  none yet, 0 skipped"));
  EXPECT_THAT(RunOnCluster({"top", "--times", "1"}).out, HasSubstr("checkpoints: none yet\n"));
}

TEST_F(CommandsOnClusterTest, SubmitSaysHowToFollow) {
  const Result result = RunOnCluster({"submit", WriteJob()});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("cairn follow 1 --coordinator " + cluster_.address()));
  EXPECT_EQ(cluster_.submitted().job().name(), "example");
}

TEST_F(CommandsOnClusterTest, FollowSurvivesABrokenStreamAndTellsTheResult) {
  proto::JobStatus running = ExampleStatus();
  running.set_state(proto::RUNNING);
  cluster_.set_followed({running});
  const Result result = RunOnCluster({"follow", "1"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(cluster_.follows(), 2);
  EXPECT_THAT(result.out, AllOf(HasSubstr("job 1 (example) finished"), HasSubstr("mae 0.1250")));
}

TEST_F(CommandsOnClusterTest, FailedJobIsExitCodeOneWithTheReason) {
  proto::JobStatus failed = ExampleStatus();
  failed.set_state(proto::FAILED);
  failed.set_error("the data file is gone");
  failed.set_generation(1);
  cluster_.set_followed({failed});
  const Result result = RunOnCluster({"follow", "1"});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err, HasSubstr("job 1 (example) failed: the data file is gone"));
}

TEST_F(CommandsOnClusterTest, AFinishedJobWhoseLossIsNotFiniteIsExitCodeOneAndItsLastLine) {
  proto::JobStatus finished = ExampleStatus();
  finished.set_loss(std::nan(""));
  finished.mutable_nonfinite_loss()->set_batch(2);
  cluster_.set_followed({finished});
  const std::string last =
      "cairn: job 1 (example) finished, but its training loss is nan, first at batch 3 (epoch 1)";
  const Result follow = RunOnCluster({"follow", "1"});
  EXPECT_EQ(follow.exit_code, 1);
  EXPECT_THAT(follow.out, HasSubstr("job 1 (example) finished: "));
  EXPECT_THAT(follow.err, AllOf(StartsWith(last), HasSubstr("terminate_on_nan")));
  cluster_.set_followed({finished});
  const Result as_json = RunOnCluster({"follow", "1", "--json"});
  EXPECT_EQ(as_json.exit_code, 1);
  EXPECT_EQ(as_json.lines().back()["nonfinite_loss"]["batch"], 2);
  EXPECT_EQ(as_json.err, follow.err);
  cluster_.set_followed({finished});
  EXPECT_EQ(RunOnCluster({"submit", WriteJob(), "--follow"}).exit_code, 1);
}

TEST_F(CommandsOnClusterTest, JobThatNeverBeganWasBadInput) {
  proto::JobStatus refused = ExampleStatus();
  refused.set_state(proto::FAILED);
  refused.set_error("labels from 0 to 9 expected");
  refused.set_generation(0);
  cluster_.set_followed({refused});
  const Result result = RunOnCluster({"follow", "1"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, HasSubstr("job 1 (example) was rejected: labels from 0 to 9 expected"));
}

TEST_F(CommandsOnClusterTest, CancelDeleteAndCheckpointAnswer) {
  EXPECT_THAT(RunOnCluster({"cancel", "1"}).out, HasSubstr("is cancelled"));
  EXPECT_THAT(RunOnCluster({"resume", "1"}).out, HasSubstr("is queued"));
  EXPECT_EQ(RunOnCluster({"checkpoint", "1", "--json"}).lines()[0]["checkpoint"], 2);
  EXPECT_EQ(RunOnCluster({"cancel", "nobody"}).exit_code, 2);
  EXPECT_EQ(RunOnCluster({"delete", "1"}).out,
            "deleted job 1 (example), its history and 2 checkpoints of 3.0 KiB\n");
  EXPECT_EQ(RunOnCluster({"delete", "1", "--json"}).lines()[0],
            json::parse(R"({"job": 1, "name": "example", "checkpoints": 2, "bytes": 3072})"));
}

TEST_F(CommandsOnClusterTest, RunWithoutItsDaemonsSaysHowToBuildThem) {
  const Result result =
      RunCairn({"run", WriteJob(), "--state", testing::TempDir() + "/commands_test_run"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, HasSubstr("bazel build -c opt //coordinator"));
}

TEST_F(CommandsOnClusterTest, DrillNeedsAFolderWithoutAnEarlierDrill) {
  const std::string output = testing::TempDir() + "/commands_test_drill";
  ASSERT_TRUE(WriteFile(output + "/twin/cluster.json", "{}").ok());
  const Result result = RunCairn({"drill", WriteJob(), "--plan", "soak", "--output", output});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, HasSubstr("--output: " + output + "/twin is the state directory of an"));
}

TEST(CommandsTest, DownWithoutAClusterIsDone) {
  const std::string state = testing::TempDir() + "/commands_test_down";
  EXPECT_EQ(RunCairn({"down", "--state", state}).exit_code, 2) << "a directory that is not there";
  std::filesystem::create_directories(state);
  const Result result = RunCairn({"down", "--state", state});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("no cluster is running on " + state));
  const Result file = RunCairn({"down", "--state", "/dev/null"});
  EXPECT_EQ(file.exit_code, 2);
  EXPECT_THAT(file.err, HasSubstr("/dev/null is not a directory"));
}

TEST(CommandsTest, LogsAreShownWithTheirTasks) {
  const std::string state = testing::TempDir() + "/commands_test_logs";
  ASSERT_TRUE(WriteFile(state + "/logs/worker-0.log", "one\ntwo\nthree\n").ok());
  ASSERT_TRUE(WriteFile(state + "/logs/ps-0.log", "four\n").ok());
  EXPECT_EQ(RunCairn({"logs", "worker-0", "--lines", "2", "--state", state}).out, "two\nthree\n");
  EXPECT_EQ(RunCairn({"logs", "--lines", "1", "--state", state}).out,
            "ps-0 | four\nworker-0 | three\n");
  EXPECT_EQ(RunCairn({"logs", "ps-0", "--json", "--state", state}).lines()[0],
            json::parse(R"({"task": "ps-0", "line": "four"})"));
  EXPECT_THAT(RunCairn({"logs", "worker0", "--state", state}).err,
              HasSubstr("there are ps-0, worker-0 (did you mean worker-0?)"));
  EXPECT_THAT(RunCairn({"logs", "--state", "/no/such"}).err, HasSubstr("no logs in /no/such/logs"));
}

}  // namespace
}  // namespace cairn::cli

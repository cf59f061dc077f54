#include "cluster/tf_config.h"

#include <gtest/gtest.h>

#include <set>
#include <utility>

namespace cairn::cluster {
namespace {

constexpr char kCluster[] =
    R"("cluster": {"chief": ["h:1"], "ps": ["h:2", "h:3"], "worker": ["h:4", "h:5"]})";

// A TF_CONFIG with a valid cluster and this task.
std::string WithTask(const std::string& task) {
  return std::string("{") + kCluster + ", \"task\": " + task + "}";
}

TEST(TfConfigTest, ListsAreParsed) {
  const auto config = ParseTfConfig(WithTask(R"({"type": "ps", "index": 1})"));
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->chief.ToString(), "h:1");
  EXPECT_EQ(config->PsAddresses(), (std::vector<std::string>{"h:2", "h:3"}));
  EXPECT_EQ(config->workers.at(1).ToString(), "h:5");
  EXPECT_EQ(config->task->role, proto::PS);
  EXPECT_EQ(config->task->index, 1u);
  EXPECT_EQ(config->OwnAddress()->ToString(), "h:3");
}

TEST(TfConfigTest, WithoutAChiefWorker0StandsIn) {
  const std::string cluster = R"({"cluster": {"ps": ["h:1"], "worker": ["h:2", "h:3"]}, "task": )";
  for (const auto& [task, is_chief] :
       std::map<std::string, bool>{{R"({"type": "worker", "index": 0})", true},
                                   {R"({"type": "worker", "index": 1})", false},
                                   {R"({"type": "ps", "index": 0})", false}}) {
    const auto config = ParseTfConfig(cluster + task + "}");
    ASSERT_TRUE(config.ok()) << config.status();
    EXPECT_EQ(config->chief.ToString(), "h:2");
    EXPECT_TRUE(config->worker_0_is_chief);
    EXPECT_EQ(config->IsChief(), is_chief) << task;
  }
  EXPECT_FALSE(ParseTfConfig(WithTask(R"({"type": "worker", "index": 0})"))->IsChief());
  EXPECT_TRUE(ParseTfConfig(WithTask(R"({"type": "chief", "index": 0})"))->IsChief());
}

TEST(TfConfigTest, WithoutPsTheWorkersHoldTheParameters) {
  const auto config = ParseTfConfig(
      R"({"cluster": {"worker": ["h:2", "h:3"]}, "task": {"type": "worker", "index": 1}})");
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_TRUE(config->WorkersHoldParameters());
  EXPECT_EQ(config->PsAddresses(), (std::vector<std::string>{"h:2", "h:3"}));
  EXPECT_EQ(config->chief.ToString(), "h:2");
  EXPECT_FALSE(ParseTfConfig(WithTask(R"({"type": "ps", "index": 1})"))->WorkersHoldParameters());
}

TEST(TfConfigTest, WorkersMayBeSparse) {
  const auto config = ParseTfConfig(R"({"cluster": {"chief": {"0": "h:1"}, "ps": {"1": "h:3",
      "0": "h:2"}, "worker": {"7": "h:4", "12": "h:5"}}, "task": {"type": "worker", "index": 12}})");
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->PsAddresses(), (std::vector<std::string>{"h:2", "h:3"}));
  EXPECT_EQ(config->workers.size(), 2u);
  EXPECT_EQ(config->OwnAddress()->ToString(), "h:5");
}

TEST(TfConfigTest, IndexMayBeANumericString) {
  const auto config = ParseTfConfig(WithTask(R"({"type": "worker", "index": "1"})"));
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->task->index, 1u);
}

TEST(TfConfigTest, EvaluatorMayBeOutsideTheCluster) {
  const auto config = ParseTfConfig(WithTask(R"({"type": "evaluator", "index": 4})"));
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->task->role, proto::EVALUATOR);
  EXPECT_EQ(config->OwnAddress(), std::nullopt);
}

TEST(TfConfigTest, KeysOfOtherSystemsAreIgnored) {
  const auto config = ParseTfConfig(std::string("{") + kCluster + R"(, "rpc_layer": "grpc",
      "environment": "cloud", "job": {"any": 1},
      "task": {"type": "chief", "index": 0, "trial": "1", "cloud": "x"}})");
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->OwnAddress()->ToString(), "h:1");
}

TEST(TfConfigTest, TaskIsOptionalAndIpv6AddressesAreParsed) {
  const auto config = ParseTfConfig(
      R"({"cluster": {"chief": ["[::1]:1"], "ps": ["[fe80::1%eth0]:2"], "worker": ["W:3"]}})");
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_FALSE(config->task.has_value());
  EXPECT_EQ(config->chief.host, "::1");
  EXPECT_EQ(config->workers.at(0).ToString(), "w:3");
}

TEST(TfConfigTest, ThereMayBeNoWorkersForOthersMayJoin) {
  for (const char* workers : {"", R"(, "worker": [])", R"(, "worker": {})"}) {
    const auto config =
        ParseTfConfig(std::string(R"({"cluster": {"chief": ["h:1"], "ps": ["h:2"])") + workers +
                      R"(}, "task": {"type": "ps", "index": 0}})");
    ASSERT_TRUE(config.ok()) << config.status();
    EXPECT_TRUE(config->workers.empty());
    EXPECT_EQ(config->OwnAddress()->ToString(), "h:2");
  }
}

struct BadCase {
  std::string json;
  std::string message;
};

std::string ClusterOf(const std::string& chief, const std::string& ps, const std::string& worker) {
  return R"({"cluster": {"chief": )" + chief + R"(, "ps": )" + ps + R"(, "worker": )" + worker +
         "}}";
}
std::string PsOf(const std::string& ps) { return ClusterOf(R"(["h:1"])", ps, R"(["h:9"])"); }
std::string PsAddress(const std::string& address) { return PsOf("[\"" + address + "\"]"); }

constexpr char kForm[] = "; write HOST:PORT, for example 10.0.0.7:2222 or [fe80::1]:2222";

std::vector<BadCase> BadTexts() {
  return {
      {"", R"( is empty; it must be a JSON object with "cluster" and "task")"},
      {"{\"cluster\": ",
       " is not JSON: line 1, column 13: unexpected end of input; expected '[', '{', or a literal"},
      {"{} x",
       " is not JSON: line 1, column 4: invalid literal; last read: '{} x'; expected end of input"},
      {"[1]", R"( is [1]; it must be a JSON object with "cluster" and "task")"},
      {"null", R"( is null; it must be a JSON object with "cluster" and "task")"},
      {std::string(17, '[') + std::string(17, ']'), " is nested more than 16 deep"},
      {std::string((4 << 20) + 1, ' ') + "1", " has 4194306 bytes, more than 4194304"},
      {R"({"cluster": {}, "cluster": {}})",
       R"( has the key "cluster" twice in one object; keep one)"},
      {R"({"clusters": {}})",
       R"( has the unknown key "clusters"; known are cluster, task, rpc_layer, environment, )"
       "session_master, eval_session_master, model_dir, service, job"},
      {R"({"cluster": {}, "rpc_layer": 1})",
       " rpc_layer is 1; it must be a string, or be left out"},
      {R"({"environment": null})", " environment is null; it must be a string, or be left out"},
      {R"({"task": {"type": "ps", "index": 0}})",
       R"( has no "cluster"; it must have the addresses of the tasks)"},
      {R"({"cluster": ["h:1"]})",
       R"( cluster is ["h:1"]; it must be an object from task type to addresses)"},
  };
}

std::vector<BadCase> BadClusters() {
  return {
      {R"({"cluster": {"master": ["h:1"]}})",
       R"( cluster: "master" is not a task type; use chief, ps, worker or evaluator)"},
      {R"({"cluster": {"ps": ["h:1"], "worker": {"1": "h:2"}}})",
       " cluster has neither a chief nor a worker 0 that stands in for it; name the coordinator's "
       R"(address under "chief")"},
      {ClusterOf(R"(["h:1", "h:2"])", R"(["h:3"])", R"(["h:4"])"),
       " cluster.chief has 2 tasks; there is exactly one coordinator"},
      {ClusterOf(R"({"1": "h:1"})", R"(["h:3"])", R"(["h:4"])"),
       " cluster.chief has the index 1; the only chief has the index 0"},
      {ClusterOf(R"(["h:1"])", "[]", "[]"),
       R"( cluster has neither ps nor workers; name at least one address under "ps", or under )"
       R"("worker" for a cluster whose workers hold the parameters)"},
      {ClusterOf(R"(["h:1"])", "[]", R"({"0": "h:9", "2": "h:8"})"),
       " cluster.worker has no worker 1 but a worker 2; workers of a cluster without ps are "
       "numbered from 0 without holes"},
      {PsOf(R"({"0": "h:3", "2": "h:4"})"),
       " cluster.ps has no ps 1 but a ps 2; ps are numbered from 0 without holes"},
      {PsOf(R"({"1": "h:3"})"),
       " cluster.ps has no ps 0 but a ps 1; ps are numbered from 0 without holes"},
      {PsOf(R"("h:3")"),
       R"( cluster.ps is "h:3"; it must be a list of addresses, or an object from index to address)"},
      {PsOf(R"([["h:3"]])"), R"( cluster.ps[0] is ["h:3"]; it must be a string "HOST:PORT")"},
      {PsOf(R"({"0": 3})"), R"( cluster.ps["0"] is 3; it must be a string "HOST:PORT")"},
      {PsOf(R"({"a": "h:3"})"),
       R"( cluster.ps["a"]: the index "a" is not a whole number; write it as 0, 1, 2, ...)"},
      {PsOf(R"({"": "h:3"})"),
       R"( cluster.ps[""]: the index "" is not a whole number; write it as 0, 1, 2, ...)"},
      {PsOf(R"({"01": "h:3"})"),
       R"( cluster.ps["01"]: the index "01" is not a whole number; write it as 0, 1, 2, ...)"},
      {PsOf(R"({"-1": "h:3"})"),
       R"( cluster.ps["-1"]: the index "-1" is negative; indices start at 0)"},
      {PsOf(R"({"99999999999": "h:3"})"),
       R"( cluster.ps["99999999999"]: the index "99999999999" is too large; at most 65535)"},
      {PsOf(R"({"0": "h:3", "0": "h:4"})"), R"( has the key "0" twice in one object; keep one)"},
      {ClusterOf(R"(["h:1"])", R"(["h:3", "h:3"])", R"(["h:4"])"),
       " cluster.ps[1] and cluster.ps[0] have the same address h:3; every task needs its own"},
      {ClusterOf(R"(["h:1"])", R"(["h:3"])", R"({"4": "H:1"})"),
       R"( cluster.worker["4"] and cluster.chief[0] have the same address h:1; every task needs )"
       "its own"},
  };
}

std::vector<BadCase> BadAddresses() {
  const std::string place = " cluster.ps[0]: address ";
  const auto with = [&](const std::string& address, const std::string& reason) {
    return BadCase{PsAddress(address), place + "\"" + address + "\" " + reason + kForm};
  };
  return {
      with("", "is empty"),
      with("host", "has no port"),
      with("host:", "ends with a colon and no port"),
      with(":80", "has no host"),
      with("host:0", R"(has the port "0", which is not a number from 1 to 65535)"),
      with("host:65536", R"(has the port "65536", which is not a number from 1 to 65535)"),
      with("host:http", R"(has the port "http", which is not a number from 1 to 65535)"),
      with("host:-1", R"(has the port "-1", which is not a number from 1 to 65535)"),
      with("grpc://host:1", "has a scheme"),
      with("my host:1", "has a host with invalid characters"),
      with("fe80::1:80", "is an IPv6 address without brackets, or has two ports"),
      with("[fe80::1:80", "lacks the closing bracket"),
      with("[fe80::1]", "has no port"),
      with("[host]:80", "has brackets around something other than an IPv6 address"),
      with("[fe80::1]80", "has something other than a port after the bracket"),
  };
}

std::vector<BadCase> BadTasks() {
  return {
      {WithTask("7"), R"( task is 7; it must be an object with "type" and "index")"},
      {WithTask("{}"), R"( task has no "type"; use chief, ps, worker or evaluator)"},
      {WithTask(R"({"type": 3, "index": 0})"), " task.type is 3; it must be a string"},
      {WithTask(R"({"type": "wrker", "index": 0})"),
       R"( task.type: "wrker" is not a task type; use chief, ps, worker or evaluator)"},
      {WithTask(R"({"type": "ps"})"),
       R"( task has no "index"; give the task's index within its type)"},
      {WithTask(R"({"type": "ps", "index": 1.5})"),
       " task.index is 1.5; it must be a whole number from 0"},
      {WithTask(R"({"type": "ps", "index": true})"),
       " task.index is true; it must be a whole number from 0"},
      {WithTask(R"({"type": "ps", "index": null})"),
       " task.index is null; it must be a whole number from 0"},
      {WithTask(R"({"type": "ps", "index": "one"})"),
       R"( task.index: the index "one" is not a whole number; write it as 0, 1, 2, ...)"},
      {WithTask(R"({"type": "ps", "index": -1})"),
       R"( task.index: the index "-1" is negative; indices start at 0)"},
      {WithTask(R"({"type": "ps", "index": 18446744073709551615})"),
       R"( task.index: the index "18446744073709551615" is too large; at most 65535)"},
      {WithTask(R"({"type": "ps", "index": 2})"),
       " task: ps 2 is not in cluster.ps, which has 0, 1"},
      {WithTask(R"({"type": "chief", "index": 1})"),
       " task: chief 1 is not in cluster.chief, which has 0"},
      {R"({"cluster": {"chief": ["h:1"], "ps": ["h:2"]}, "task": {"type": "worker", "index": 0}})",
       " task: worker 0 is not in cluster, which names no worker; a worker that it does not name "
       "has no task"},
      {WithTask(R"({"type": "worker", "index": 0, "idx": 0})"),
       R"( task has the unknown key "idx"; known are type and index)"},
      {R"({"cluster": {"chief": ["h:1"], "ps": ["h:2"], "worker": {"3": "h:3"}},
          "task": {"type": "worker", "index": 0}})",
       " task: worker 0 is not in cluster.worker, which has 3"},
  };
}

TEST(TfConfigTest, EachErrorHasItsOwnMessage) {
  std::vector<BadCase> cases;
  for (const auto& some : {BadTexts(), BadClusters(), BadAddresses(), BadTasks()}) {
    cases.insert(cases.end(), some.begin(), some.end());
  }
  EXPECT_GE(cases.size(), 60u);
  std::set<std::string> messages;
  for (const BadCase& bad : cases) {
    const auto config = ParseTfConfig(bad.json);
    EXPECT_EQ(config.status(), absl::InvalidArgumentError("TF_CONFIG" + bad.message))
        << bad.json.substr(0, 200);
    EXPECT_TRUE(messages.insert(bad.message).second) << "twice: " << bad.message;
  }
}

TEST(TfConfigTest, ArbitraryBytesAreRefused) {
  const std::string good = WithTask(R"({"type": "ps", "index": 1})");
  for (size_t length = 0; length < good.size(); ++length) {
    EXPECT_FALSE(ParseTfConfig(good.substr(0, length)).ok());
    std::string changed = good;
    changed[length] = '\xff';
    EXPECT_FALSE(ParseTfConfig(changed).ok());
  }
  EXPECT_FALSE(ParseTfConfig(std::string(1 << 20, '[')).ok());
  EXPECT_FALSE(
      ParseTfConfig(std::string("{\"cluster\": {\"ps\": ") + std::string(1 << 20, '[')).ok());
}

TEST(TfConfigTest, RolesAndTasksHaveNames) {
  EXPECT_EQ(RoleName(proto::COORDINATOR), "chief");
  EXPECT_EQ(TaskName(proto::COORDINATOR, 0), "coordinator");
  EXPECT_EQ(TaskName(proto::WORKER, 3), "worker 3");
}

}  // namespace
}  // namespace cairn::cluster

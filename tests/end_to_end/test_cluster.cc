#include "tests/end_to_end/test_cluster.h"

#include <signal.h>
#include <stdlib.h>

#include <filesystem>
#include <sstream>

#include "tests/common/free_port.h"

namespace cairn::testing {
namespace {

std::string FreeAddress() { return "127.0.0.1:" + std::to_string(FreePort()); }

}  // namespace

TemporaryFolder::TemporaryFolder() {
  const char* base = getenv("TEST_TMPDIR");
  std::string name = std::string(base != nullptr ? base : "/tmp") + "/cairn_XXXXXX";
  path_ = mkdtemp(name.data());
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::vector<nlohmann::json> CommandResult::lines() const {
  std::vector<nlohmann::json> result;
  std::istringstream text(output);
  for (std::string line; std::getline(text, line);) {
    result.push_back(nlohmann::json::parse(line, nullptr, /*allow_exceptions=*/false));
  }
  return result;
}

std::string ProgramPath(const std::string& name) {
  return std::filesystem::absolute(name).string();
}

CommandResult RunCairn(const std::vector<std::string>& arguments, std::chrono::seconds timeout,
                       const std::map<std::string, std::string>& environment) {
  TemporaryFolder folder;
  Process::Options options;
  options.arguments = {ProgramPath("cli/cairn")};
  options.arguments.insert(options.arguments.end(), arguments.begin(), arguments.end());
  options.environment = environment;
  options.output_file = folder.path("out");
  options.error_file = folder.path("err");
  Process process(options);
  CommandResult result;
  result.exit_code = process.Wait(timeout).value_or(-1);
  process.Kill();
  result.output = ReadFile(options.output_file);
  result.errors = ReadFile(options.error_file);
  return result;
}

TestCluster::TestCluster(int ps_count, int worker_count, const std::vector<std::string>& ps_flags) {
  AddFlags("ps", ps_flags);
  const std::map<std::string, int> counts = {
      {"chief", 1}, {"ps", ps_count}, {"worker", worker_count}};
  for (const auto& [type, count] : counts) {
    for (int i = 0; i < count; ++i) addresses_[type].push_back(FreeAddress());
  }
}

std::string TestCluster::coordinator_address() const {
  const auto chief = addresses_.find("chief");
  return chief != addresses_.end() ? chief->second[0] : addresses_.at("worker")[0];
}

int TestCluster::port(const std::string& type, int index) const {
  const std::string& address = addresses_.at(type)[index];
  return std::stoi(address.substr(address.rfind(':') + 1));
}

std::string TestCluster::TfConfig(const std::string& type, int index) const {
  return nlohmann::json{{"cluster", addresses_}, {"task", {{"type", type}, {"index", index}}}}
      .dump();
}

void TestCluster::StartAll() {
  for (const auto& [type, addresses] : addresses_) {
    for (int i = 0; i < static_cast<int>(addresses.size()); ++i) Start(type, i);
  }
}

void TestCluster::Start(const std::string& type, int index, const std::vector<std::string>& flags) {
  if (task(type, index).running()) return;
  Launch(type, index, flags);
  if (type != "chief") return;
  WaitUntil(std::chrono::seconds(60),
            [&] { return !task(type, index).running() || Cairn({"jobs"}).exit_code == 0; });
}

void TestCluster::Launch(const std::string& type, int index,
                         const std::vector<std::string>& flags) {
  std::string program = type == "chief" ? "coordinator/coordinator"
                        : type == "ps"  ? "ps_server/ps_server"
                                        : "worker/worker";
  if (programs_.contains(type)) program = programs_[type];
  Process::Options options;
  options.arguments = {ProgramPath(program), "--state", StateOf(type, index)};
  options.arguments.insert(options.arguments.end(), flags_[type].begin(), flags_[type].end());
  options.arguments.insert(options.arguments.end(), flags.begin(), flags.end());
  options.environment = {{"TF_CONFIG", TfConfig(type, index)}};
  if (faults_.contains(type + std::to_string(index))) {
    options.environment["CAIRN_FAULTY_FILES"] = FaultsOf(type, index);
    options.environment["LD_PRELOAD"] = ProgramPath("tests/common/preloaded_faulty_files.so");
  }
  if (record_syncs_) {
    options.environment["CAIRN_RECORD_SYNCS"] = folder("syncs");
    options.environment["LD_PRELOAD"] = ProgramPath("tests/common/preloaded_faulty_files.so");
  }
  options.output_file = folder(type + std::to_string(index) + ".log");
  options.folder = folders_[type + std::to_string(index)];
  task(type, index) = Process(options);
}

void TestCluster::AddFlags(const std::string& type, const std::vector<std::string>& flags) {
  flags_[type].insert(flags_[type].end(), flags.begin(), flags.end());
}

std::string TestCluster::FaultsOf(const std::string& type, int index) const {
  return folder("faults-" + type + std::to_string(index));
}

FaultyFiles& TestCluster::FilesOf(const std::string& type, int index) {
  return faults_.try_emplace(type + std::to_string(index), FaultsOf(type, index)).first->second;
}

void TestCluster::KillAll() {
  for (auto& [name, process] : processes_) process.Signal(SIGKILL);
  for (auto& [name, process] : processes_) process.Kill();
}

int TestCluster::LosePower() {
  KillAll();
  return PowerFailure(folder("syncs")).Strike(folder("state"));
}

void TestCluster::Resize(const std::string& type, int count) {
  addresses_.erase(type);
  for (int i = 0; i < count; ++i) addresses_[type].push_back(FreeAddress());
}

std::string TestCluster::StateOf(const std::string& type, int index) const {
  return folder(separate_disks_ ? "state-" + type + std::to_string(index) : "state");
}

void TestCluster::WipeDisk(int ps) {
  std::filesystem::remove_all(StateOf("ps", ps) + "/ps-" + std::to_string(ps));
}

CommandResult TestCluster::Cairn(std::vector<std::string> arguments, std::chrono::seconds timeout) {
  arguments.push_back("--coordinator");
  arguments.push_back(coordinator_address());
  return RunCairn(arguments, timeout);
}

nlohmann::json TestCluster::Status(const std::string& job) {
  const CommandResult result = Cairn({"status", job, "--json"}, std::chrono::seconds(20));
  const auto lines = result.lines();
  return result.exit_code == 3 || lines.empty() ? nlohmann::json::object() : lines.back();
}

nlohmann::json TestCluster::Member(const std::string& role, int index) {
  for (const nlohmann::json& member : Cairn({"cluster", "--json"}).lines()) {
    if (member.value("role", "") == role && member.value("index", -1) == index) return member;
  }
  return nlohmann::json::object();
}

nlohmann::json TestCluster::WaitForEnd(const std::string& job, std::chrono::seconds timeout) {
  nlohmann::json status;
  WaitUntil(timeout, [&] {
    status = Status(job);
    const std::string state = status.value("state", "");
    return state == "finished" || state == "failed" || state == "cancelled";
  });
  return status;
}

std::string TestCluster::LogOf(const std::string& type, int index) const {
  return ReadFile(folder(type + std::to_string(index) + ".log"));
}

std::string TestCluster::Logs() const {
  std::string text;
  for (const auto& [type, addresses] : addresses_) {
    for (size_t i = 0; i < addresses.size(); ++i) {
      const std::string log = LogOf(type, static_cast<int>(i));
      text += "---- " + type + " " + std::to_string(i) + "\n" +
              log.substr(log.size() > 4000 ? log.size() - 4000 : 0);
    }
  }
  return text;
}

}  // namespace cairn::testing

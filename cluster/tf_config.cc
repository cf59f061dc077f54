#include "cluster/tf_config.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "common/json_error_text.h"
#include "common/status_macros.h"
#include "nlohmann/json.hpp"

namespace cairn::cluster {
namespace {

using Json = nlohmann::json;

constexpr size_t kTextBytesMax = size_t{4} << 20;
constexpr int kDepthMax = 16;
constexpr uint32_t kIndexMax = 65535;
constexpr size_t kValueCharactersMax = 80;

constexpr proto::Role kRoles[] = {proto::COORDINATOR, proto::PS, proto::WORKER, proto::EVALUATOR};
// Keys that TensorFlow, Cloud ML or Kubeflow write beside "cluster" and "task" and that Cairn does
// not need.
constexpr const char* kIgnoredKeys[] = {
    "rpc_layer", "environment", "session_master", "eval_session_master", "model_dir",
    "service",   "job"};
constexpr const char* kIgnoredTaskKeys[] = {"trial", "cloud"};

absl::Status Bad(const std::string& path, const std::string& problem) {
  return absl::InvalidArgumentError(
      absl::StrCat("TF_CONFIG", path.empty() ? "" : " ", path, problem));
}

// The value's text in messages.
std::string Shown(const Json& value) {
  std::string text = value.dump(-1, ' ', false, Json::error_handler_t::replace);
  if (text.size() <= kValueCharactersMax) return text;
  return text.substr(0, kValueCharactersMax) + "...";
}

std::string Quoted(const std::string& text) { return Shown(Json(text)); }

template <size_t n>
bool Contains(const char* const (&list)[n], const std::string& key) {
  return std::find(std::begin(list), std::end(list), key) != std::end(list);
}

absl::StatusOr<proto::Role> RoleOf(const std::string& name, const std::string& path) {
  for (proto::Role role : kRoles) {
    if (RoleName(role) == name) return role;
  }
  return Bad(path, absl::StrCat(": ", Quoted(name),
                                " is not a task type; use chief, ps, worker or evaluator"));
}

// Rejects what nlohmann::json accepts: duplicate keys, of which it keeps the last, and unlimited
// nesting.
class ParseGuard {
 public:
  bool operator()(int depth, Json::parse_event_t event, Json& parsed) {
    const bool opens =
        event == Json::parse_event_t::object_start || event == Json::parse_event_t::array_start;
    if (opens && depth >= kDepthMax && problem_.empty()) {
      problem_ = absl::StrCat(" is nested more than ", kDepthMax, " deep");
    }
    if (!problem_.empty()) return false;
    if (event == Json::parse_event_t::object_start) keys_.emplace_back();
    if (event == Json::parse_event_t::object_end) keys_.pop_back();
    if (event == Json::parse_event_t::key) {
      const std::string key = parsed.get<std::string>();
      if (!keys_.back().insert(key).second) {
        problem_ = absl::StrCat(" has the key ", Quoted(key), " twice in one object; keep one");
      }
    }
    return problem_.empty();
  }
  const std::string& problem() const { return problem_; }

 private:
  std::vector<std::set<std::string>> keys_;
  std::string problem_;
};

absl::StatusOr<Json> ParseJson(std::string_view text) {
  if (absl::StripAsciiWhitespace(absl::string_view(text.data(), text.size())).empty()) {
    return Bad("", " is empty; it must be a JSON object with \"cluster\" and \"task\"");
  }
  if (text.size() > kTextBytesMax) {
    return Bad("", absl::StrCat(" has ", text.size(), " bytes, more than ", kTextBytesMax));
  }
  ParseGuard guard;
  try {
    Json json = Json::parse(text.begin(), text.end(), std::ref(guard));
    if (!guard.problem().empty()) return Bad("", guard.problem());
    return json;
  } catch (const Json::exception& error) {
    if (!guard.problem().empty()) return Bad("", guard.problem());
    return Bad("", absl::StrCat(" is not JSON: ", JsonErrorText(error.what())));
  }
}

// Parses an index that is written as a string.
absl::StatusOr<uint32_t> ParseIndex(const std::string& text, const std::string& path) {
  const bool digits = !text.empty() && std::all_of(text.begin(), text.end(),
                                                   [](char c) { return c >= '0' && c <= '9'; });
  if (!text.empty() && text[0] == '-') {
    return Bad(path,
               absl::StrCat(": the index ", Quoted(text), " is negative; indices start at 0"));
  }
  if (!digits || (text.size() > 1 && text[0] == '0')) {
    return Bad(path, absl::StrCat(": the index ", Quoted(text),
                                  " is not a whole number; write it as 0, 1, 2, ..."));
  }
  uint32_t index = 0;
  if (!absl::SimpleAtoi(text, &index) || index > kIndexMax) {
    return Bad(path,
               absl::StrCat(": the index ", Quoted(text), " is too large; at most ", kIndexMax));
  }
  return index;
}

// The addresses of the tasks of a role by index, and their places in the JSON for messages.
struct Tasks {
  std::map<uint32_t, Address> addresses;
  std::map<uint32_t, std::string> paths;
};

absl::Status AddTask(uint32_t index, const Json& address, const std::string& path, Tasks* tasks) {
  if (!address.is_string()) {
    return Bad(path, absl::StrCat(" is ", Shown(address), "; it must be a string \"HOST:PORT\""));
  }
  absl::StatusOr<Address> parsed = ParseAddress(address.get<std::string>());
  if (!parsed.ok()) return Bad(path, absl::StrCat(": ", parsed.status().message()));
  parsed->host = absl::AsciiStrToLower(parsed->host);
  tasks->addresses[index] = *std::move(parsed);
  tasks->paths[index] = path;
  return absl::OkStatus();
}

absl::StatusOr<Tasks> ReadTasks(const Json& value, const std::string& path) {
  Tasks tasks;
  if (value.is_array()) {
    if (value.size() > kIndexMax + 1) {
      return Bad(path, absl::StrCat(" has ", value.size(), " tasks; at most ", kIndexMax + 1));
    }
    for (uint32_t index = 0; index < value.size(); ++index) {
      CAIRN_RETURN_IF_ERROR(
          AddTask(index, value[index], absl::StrCat(path, "[", index, "]"), &tasks));
    }
    return tasks;
  }
  if (!value.is_object()) {
    return Bad(path, absl::StrCat(" is ", Shown(value),
                                  "; it must be a list of addresses, or an object from index to "
                                  "address"));
  }
  for (const auto& [key, address] : value.items()) {
    const std::string place = absl::StrCat(path, "[", Quoted(key), "]");
    CAIRN_ASSIGN_OR_RETURN(const uint32_t index, ParseIndex(key, place));
    CAIRN_RETURN_IF_ERROR(AddTask(index, address, place, &tasks));
  }
  return tasks;
}

using Cluster = std::map<proto::Role, Tasks>;

absl::Status CheckAddressesDiffer(const Cluster& cluster) {
  std::map<std::string, std::string> seen;
  for (const auto& [role, tasks] : cluster) {
    for (const auto& [index, address] : tasks.addresses) {
      const std::string& path = tasks.paths.at(index);
      const auto [first, added] = seen.emplace(address.ToString(), path);
      if (added) continue;
      return Bad(path, absl::StrCat(" and ", first->second, " have the same address ",
                                    address.ToString(), "; every task needs its own"));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckChief(const Tasks& chief, const Tasks& workers) {
  if (chief.addresses.empty()) {
    if (workers.addresses.contains(0)) return absl::OkStatus();
    return Bad("cluster",
               " has neither a chief nor a worker 0 that stands in for it; name the coordinator's "
               "address under \"chief\"");
  }
  if (chief.addresses.size() > 1) {
    return Bad("cluster.chief", absl::StrCat(" has ", chief.addresses.size(),
                                             " tasks; there is exactly one coordinator"));
  }
  if (chief.addresses.begin()->first != 0) {
    return Bad("cluster.chief", absl::StrCat(" has the index ", chief.addresses.begin()->first,
                                             "; the only chief has the index 0"));
  }
  return absl::OkStatus();
}

// The tasks that hold parameters are numbered from 0 without holes.
absl::Status CheckHolders(const std::string& name, const Tasks& holders) {
  uint32_t due = 0;
  for (const auto& [index, address] : holders.addresses) {
    if (index != due) {
      return Bad("cluster." + name,
                 absl::StrCat(" has no ", name, " ", due, " but a ", name, " ", index, "; ",
                              name == "ps" ? "ps" : "workers of a cluster without ps",
                              " are numbered from 0 without holes"));
    }
    ++due;
  }
  return absl::OkStatus();
}

absl::Status CheckPs(const Tasks& ps, const Tasks& workers) {
  if (!ps.addresses.empty()) return CheckHolders("ps", ps);
  if (!workers.addresses.empty()) return CheckHolders("worker", workers);
  return Bad("cluster",
             " has neither ps nor workers; name at least one address under \"ps\", or under "
             "\"worker\" for a cluster whose workers hold the parameters");
}

absl::StatusOr<Cluster> ReadCluster(const Json& json) {
  const auto found = json.find("cluster");
  if (found == json.end()) {
    return Bad("", " has no \"cluster\"; it must have the addresses of the tasks");
  }
  if (!found->is_object()) {
    return Bad("cluster", absl::StrCat(" is ", Shown(*found),
                                       "; it must be an object from task type to addresses"));
  }
  Cluster cluster;
  for (const auto& [name, value] : found->items()) {
    CAIRN_ASSIGN_OR_RETURN(const proto::Role role, RoleOf(name, "cluster"));
    CAIRN_ASSIGN_OR_RETURN(cluster[role], ReadTasks(value, absl::StrCat("cluster.", name)));
  }
  CAIRN_RETURN_IF_ERROR(CheckChief(cluster[proto::COORDINATOR], cluster[proto::WORKER]));
  CAIRN_RETURN_IF_ERROR(CheckPs(cluster[proto::PS], cluster[proto::WORKER]));
  CAIRN_RETURN_IF_ERROR(CheckAddressesDiffer(cluster));
  // These may be absent: workers may join that nobody named.
  cluster[proto::WORKER];
  cluster[proto::EVALUATOR];
  return cluster;
}

absl::StatusOr<uint32_t> ReadOwnIndex(const Json& task) {
  const auto found = task.find("index");
  if (found == task.end()) {
    return Bad("task", " has no \"index\"; give the task's index within its type");
  }
  if (found->is_string()) return ParseIndex(found->get<std::string>(), "task.index");
  if (!found->is_number_integer()) {
    return Bad("task.index",
               absl::StrCat(" is ", Shown(*found), "; it must be a whole number from 0"));
  }
  return ParseIndex(found->dump(), "task.index");
}

absl::Status CheckTaskKeys(const Json& task) {
  for (const auto& [key, value] : task.items()) {
    if (key == "type" || key == "index" || Contains(kIgnoredTaskKeys, key)) continue;
    return Bad("task",
               absl::StrCat(" has the unknown key ", Quoted(key), "; known are type and index"));
  }
  return absl::OkStatus();
}

absl::StatusOr<OwnTask> ReadTask(const Json& task, const Cluster& cluster) {
  if (!task.is_object()) {
    return Bad("task", absl::StrCat(" is ", Shown(task),
                                    "; it must be an object with \"type\" and \"index\""));
  }
  CAIRN_RETURN_IF_ERROR(CheckTaskKeys(task));
  const auto type = task.find("type");
  if (type == task.end()) {
    return Bad("task", " has no \"type\"; use chief, ps, worker or evaluator");
  }
  if (!type->is_string()) {
    return Bad("task.type", absl::StrCat(" is ", Shown(*type), "; it must be a string"));
  }
  const std::string name = type->get<std::string>();
  OwnTask own;
  CAIRN_ASSIGN_OR_RETURN(own.role, RoleOf(name, "task.type"));
  CAIRN_ASSIGN_OR_RETURN(own.index, ReadOwnIndex(task));
  const std::map<uint32_t, Address>& tasks = cluster.at(own.role).addresses;
  if (own.role == proto::EVALUATOR || tasks.count(own.index) == 1) return own;
  if (tasks.empty()) {
    return Bad(
        "task",
        absl::StrCat(": ", name, " ", own.index, " is not in cluster, which names no ", name,
                     own.role == proto::WORKER ? "; a worker that it does not name has no task"
                                               : "; name it there"));
  }
  std::vector<uint32_t> known;
  for (const auto& [index, address] : tasks) known.push_back(index);
  return Bad("task", absl::StrCat(": ", name, " ", own.index, " is not in cluster.", name,
                                  ", which has ", absl::StrJoin(known, ", ")));
}

absl::Status CheckTopLevel(const Json& json) {
  if (!json.is_object()) {
    return Bad("", absl::StrCat(" is ", Shown(json),
                                "; it must be a JSON object with \"cluster\" and \"task\""));
  }
  for (const auto& [key, value] : json.items()) {
    if (key == "cluster" || key == "task") continue;
    if (!Contains(kIgnoredKeys, key)) {
      return Bad("",
                 absl::StrCat(" has the unknown key ", Quoted(key), "; known are cluster, task, ",
                              absl::StrJoin(kIgnoredKeys, ", ")));
    }
    if ((key == "rpc_layer" || key == "environment") && !value.is_string()) {
      return Bad(key, absl::StrCat(" is ", Shown(value), "; it must be a string, or be left out"));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<TfConfig> ParseTfConfig(std::string_view text) {
  CAIRN_ASSIGN_OR_RETURN(const Json json, ParseJson(text));
  CAIRN_RETURN_IF_ERROR(CheckTopLevel(json));
  CAIRN_ASSIGN_OR_RETURN(Cluster cluster, ReadCluster(json));
  TfConfig config;
  if (const auto task = json.find("task"); task != json.end()) {
    CAIRN_ASSIGN_OR_RETURN(config.task, ReadTask(*task, cluster));
  }
  config.worker_0_is_chief = cluster[proto::COORDINATOR].addresses.empty();
  config.chief =
      cluster[config.worker_0_is_chief ? proto::WORKER : proto::COORDINATOR].addresses.at(0);
  for (auto& [index, address] : cluster[proto::PS].addresses) config.ps.push_back(address);
  config.workers = std::move(cluster[proto::WORKER].addresses);
  config.evaluators = std::move(cluster[proto::EVALUATOR].addresses);
  return config;
}

std::optional<Address> TfConfig::OwnAddress() const {
  if (!task.has_value()) return std::nullopt;
  if (task->role == proto::COORDINATOR) return chief;
  if (task->role == proto::PS) return ps[task->index];
  const auto& tasks = task->role == proto::WORKER ? workers : evaluators;
  const auto found = tasks.find(task->index);
  if (found == tasks.end()) return std::nullopt;
  return found->second;
}

bool TfConfig::IsChief() const {
  if (!task.has_value()) return false;
  if (worker_0_is_chief) return task->role == proto::WORKER && task->index == 0;
  return task->role == proto::COORDINATOR;
}

std::vector<std::string> TfConfig::PsAddresses() const {
  std::vector<std::string> addresses;
  for (const Address& address : ps) addresses.push_back(address.ToString());
  if (!WorkersHoldParameters()) return addresses;
  for (const auto& [index, address] : workers) addresses.push_back(address.ToString());
  return addresses;
}

std::string_view RoleName(proto::Role role) {
  switch (role) {
    case proto::COORDINATOR:
      return "chief";
    case proto::PS:
      return "ps";
    case proto::WORKER:
      return "worker";
    case proto::EVALUATOR:
      return "evaluator";
    default:
      return "unknown";
  }
}

std::string TaskName(proto::Role role, int64_t index) {
  if (role == proto::COORDINATOR) return "coordinator";
  return absl::StrCat(std::string(RoleName(role)), " ", index);
}

}  // namespace cairn::cluster

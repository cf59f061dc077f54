#include "cli/local/cluster_file.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "cli/files.h"
#include "cli/json_text.h"
#include "common/file_operation.h"

namespace cairn::cli {
namespace {

using nlohmann::json;

std::string FileName(const std::string& state) { return state + "/cluster.json"; }

absl::Status Damaged(const std::string& state, absl::string_view how) {
  return absl::InvalidArgumentError(
      absl::StrCat(FileName(state), " is damaged (", how, "); delete it: it only holds addresses"));
}

}  // namespace

std::string ClusterFile::TfConfig(const std::string& type, int index) const {
  json cluster = {{"chief", std::vector<std::string>{coordinator}}, {"worker", workers}};
  if (!ps.empty()) cluster["ps"] = ps;
  if (!evaluators.empty()) cluster["evaluator"] = evaluators;
  return json{{"cluster", cluster}, {"task", {{"type", type}, {"index", index}}}}.dump();
}

absl::StatusOr<std::optional<ClusterFile>> ReadClusterFile(const std::string& state) {
  const std::string name = FileName(state);
  const auto text = FileOperation::Get<std::string>(
      name, [name] { return ReadFile(name); }, kStateMayTake);
  if (absl::IsNotFound(text.status())) return std::nullopt;
  if (!text.ok()) return text.status();
  const absl::StatusOr<json> parsed = ParseJson(*text);
  if (!parsed.ok()) return Damaged(state, parsed.status().message());
  const json& file = *parsed;
  ClusterFile cluster;
  try {
    cluster.coordinator = file.at("coordinator").get<std::string>();
    cluster.ps = file.at("ps").get<std::vector<std::string>>();
    cluster.workers = file.at("workers").get<std::vector<std::string>>();
    // Absent in the files of older versions.
    cluster.evaluators = file.value("evaluators", std::vector<std::string>());
    cluster.cairn_pid = file.at("cairn_pid").get<int64_t>();
    cluster.pids = file.at("pids").get<std::map<std::string, int64_t>>();
  } catch (const json::exception& error) {
    return Damaged(state, error.what());
  }
  return cluster;
}

absl::Status WriteClusterFile(const std::string& state, const ClusterFile& cluster,
                              absl::Duration limit) {
  const json file = {{"coordinator", cluster.coordinator}, {"ps", cluster.ps},
                     {"workers", cluster.workers},         {"evaluators", cluster.evaluators},
                     {"cairn_pid", cluster.cairn_pid},     {"pids", cluster.pids}};
  const std::string name = FileName(state);
  return FileOperation::Run(
      name, [name, text = file.dump(2) + "\n"] { return WriteFile(name, text); }, limit);
}

}  // namespace cairn::cli

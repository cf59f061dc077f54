#include "cli/local/cluster_file.h"

#include "absl/strings/str_cat.h"
#include "cli/files.h"
#include "cli/json_text.h"
#include "common/status_macros.h"

namespace cairn::cli {
namespace {

using nlohmann::json;

std::string FileName(const std::string& state) { return state + "/cluster.json"; }

}  // namespace

std::string ClusterFile::TfConfig(const std::string& type, int index) const {
  return json{{"cluster",
               {{"chief", std::vector<std::string>{coordinator}}, {"ps", ps}, {"worker", workers}}},
              {"task", {{"type", type}, {"index", index}}}}
      .dump();
}

absl::StatusOr<std::optional<ClusterFile>> ReadClusterFile(const std::string& state) {
  const auto text = ReadFile(FileName(state));
  if (absl::IsNotFound(text.status())) return std::nullopt;
  if (!text.ok()) return text.status();
  CAIRN_ASSIGN_OR_RETURN(const json file, ParseJson(*text));
  ClusterFile cluster;
  try {
    cluster.coordinator = file.at("coordinator").get<std::string>();
    cluster.ps = file.at("ps").get<std::vector<std::string>>();
    cluster.workers = file.at("workers").get<std::vector<std::string>>();
    cluster.cairn_pid = file.at("cairn_pid").get<int64_t>();
    cluster.pids = file.at("pids").get<std::map<std::string, int64_t>>();
  } catch (const json::exception& error) {
    return absl::InvalidArgumentError(absl::StrCat(FileName(state), " is damaged (", error.what(),
                                                   "); delete it: it only holds addresses"));
  }
  return cluster;
}

absl::Status WriteClusterFile(const std::string& state, const ClusterFile& cluster) {
  const json file = {{"coordinator", cluster.coordinator},
                     {"ps", cluster.ps},
                     {"workers", cluster.workers},
                     {"cairn_pid", cluster.cairn_pid},
                     {"pids", cluster.pids}};
  return WriteFile(FileName(state), file.dump(2) + "\n");
}

}  // namespace cairn::cli

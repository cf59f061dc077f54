#include "cli/local/last_cluster.h"

#include <filesystem>

#include "absl/strings/ascii.h"
#include "cli/files.h"

namespace cairn::cli {
namespace {

std::string FileName(const std::string& user_folder) { return user_folder + "/last-cluster"; }

}  // namespace

absl::Status RememberLastCluster(const std::string& user_folder, const std::string& state) {
  if (user_folder.empty()) return absl::OkStatus();
  return WriteFile(FileName(user_folder), std::filesystem::absolute(state).string() + "\n");
}

std::string LastCluster(const std::string& user_folder) {
  if (user_folder.empty()) return "";
  const auto text = ReadFile(FileName(user_folder));
  return text.ok() ? std::string(absl::StripAsciiWhitespace(*text)) : "";
}

}  // namespace cairn::cli

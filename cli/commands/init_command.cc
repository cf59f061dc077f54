#include <filesystem>
#include <memory>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "cli/commands/command.h"
#include "cli/commands/flag_set.h"
#include "cli/files.h"
#include "cli/help/starter.h"
#include "cli/local/new_folders.h"
#include "cli/view/shell_word.h"
#include "common/status_macros.h"
#include "nlohmann/json.hpp"

namespace cairn::cli {
namespace {

struct InitFlags {
  std::string folder = ".";
  bool json = false;
};

// Writes all files, or none if one cannot be written.
absl::Status WriteFiles(const std::filesystem::path& folder,
                        const std::vector<StarterFile>& files) {
  NewFolders folders;
  CAIRN_RETURN_IF_ERROR(folders.Make(folder));
  for (size_t i = 0; i < files.size(); ++i) {
    const absl::Status written = WriteFile((folder / files[i].name).string(), files[i].contents);
    if (written.ok()) continue;
    std::error_code ignored;
    for (size_t j = 0; j < i; ++j) std::filesystem::remove(folder / files[j].name, ignored);
    return written;
  }
  folders.Keep();
  return absl::OkStatus();
}

absl::StatusOr<int> WriteStarter(const InitFlags& flags, const CommandContext& context) {
  const std::filesystem::path folder = flags.folder;
  const std::vector<StarterFile> files = StarterFiles();
  for (const StarterFile& file : files) {
    const std::string path = (folder / file.name).lexically_normal().string();
    if (std::filesystem::exists(path)) {
      return absl::AlreadyExistsError(absl::StrCat(
          path, " already exists and was not changed; choose a new folder: cairn init DIR"));
    }
  }
  CAIRN_RETURN_IF_ERROR(WriteFiles(folder, files));
  const std::string job = (folder / "job.json").lexically_normal().string();
  if (flags.json) {
    *context.out << nlohmann::ordered_json{{"job", job}}.dump() << "\n";
    return kExitDone;
  }
  *context.out << "wrote " << job << ", its model and small data\n"
               << "  train it       cairn run " << ShellWord(job) << "\n"
               << "  make it yours  its comments say how\n";
  return kExitDone;
}

}  // namespace

Command MakeInitCommand() {
  auto flags = std::make_shared<InitFlags>();
  Command command;
  command.name = "init";
  command.description =
      "Write an example to start from: a job file with comments, a model and small data";
  command.details = "The example can be run at once. Existing files are not changed.";
  command.examples = {"cairn init my-job", "cairn run my-job/job.json"};
  command.add_flags = [flags](FlagSet* set) {
    set->AddArgument("DIR", &flags->folder, /*is_required=*/false,
                     "The folder; created if it does not exist [the working directory]");
    set->AddBool("--json", &flags->json, "Print JSON, one object per line");
  };
  command.run = [flags](const CommandContext& context) { return WriteStarter(*flags, context); };
  return command;
}

}  // namespace cairn::cli

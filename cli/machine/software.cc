#include "cli/machine/software.h"

#include <dlfcn.h>
#include <link.h>

#include <array>
#include <filesystem>
#include <memory>
#include <system_error>
#include <thread>

#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/time.h"
#include "cli/files.h"
#include "cli/local/unnamed_file.h"
#include "cluster/child_process.h"
#include "cluster/programs.h"
#include "common/clock.h"
#include "common/plural.h"
#include "common/status_macros.h"
#include "common/version.h"

namespace cairn::cli {
namespace {

// The output of `program --version`. An error contains what it printed instead. DeadlineExceeded:
// it did not end, and was killed.
absl::StatusOr<std::string> VersionOf(const std::string& program,
                                      const std::vector<std::string>& environment,
                                      absl::Duration patience) {
  CAIRN_ASSIGN_OR_RETURN(const UnnamedFile output, UnnamedFile::Make(TemporaryFolder(environment)));
  CAIRN_ASSIGN_OR_RETURN(
      const auto child,
      cluster::ChildProcess::Start({{program, "--version"}, environment, output.path()}));
  const RealClock clock;
  const absl::Duration end = clock.Now() + patience;
  while (!child->TryWait()) {
    if (clock.Now() > end) {
      return absl::DeadlineExceededError(
          absl::StrCat("no reply within ", absl::FormatDuration(patience)));
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  CAIRN_ASSIGN_OR_RETURN(const std::string text, ReadFile(output.path()));
  const std::string said(absl::StripAsciiWhitespace(text));
  if (*child->TryWait() == 0) return said;
  return absl::InternalError(said.empty() ? "it does not start" : said);
}

std::string FixOf(const absl::StatusOr<std::string>& version) {
  if (absl::IsDeadlineExceeded(version.status())) {
    return "check whether the disk responds, and whether the program is Cairn's";
  }
  if (!version.ok() && !absl::IsInternal(version.status())) return "";  // The message has the fix.
  if (!version.ok()) return "install the missing libraries: deploy/install_dependencies.sh";
  return absl::StrCat("this is cairn ", kVersion, "; install programs of one version everywhere");
}

Check CheckProgram(const std::string& name, const std::string& folder,
                   const std::vector<std::string>& environment, absl::Duration patience) {
  Check check;
  check.subject = name;
  const auto path = cluster::FindProgram(folder, name);
  if (!path.ok()) {
    check.level = Check::Level::kFail;
    check.found = std::string(path.status().message());
    check.fix = "install all four programs into one folder";
    return check;
  }
  const auto version = VersionOf(*path, environment, patience);
  check.found =
      absl::StrCat(*path, ", ", version.ok() ? *version : std::string(version.status().message()));
  if (version.ok() && *version == kVersion) return check;
  check.level = Check::Level::kFail;
  check.fix = FixOf(version);
  return check;
}

int AddLibrary(dl_phdr_info* info, size_t, void* list) {
  static_cast<std::vector<std::string>*>(list)->emplace_back(info->dlpi_name);
  return 0;
}

// The name of the file to which a library's name links: "libgrpc++.so.1.51.1".
std::string FileOf(const std::string& library) {
  std::error_code error;
  const auto file = std::filesystem::canonical(library, error);
  return (error ? std::filesystem::path(library) : file).filename().string();
}

}  // namespace

std::vector<Check> CheckPrograms(const std::string& programs_folder,
                                 const std::vector<std::string>& environment,
                                 absl::Duration patience) {
  std::vector<Check> checks;
  for (const char* name : {"coordinator", "ps_server", "worker"}) {
    checks.push_back(CheckProgram(name, programs_folder, environment, patience));
  }
  return checks;
}

Check CheckLibraries() {
  constexpr std::array<const char*, 8> kWanted = {"libgrpc++.so", "libprotobuf.so", "librocksdb.so",
                                                  "libdnnl.so",   "libspdlog.so",   "libxxhash.so",
                                                  "libz.so",      "libc.so"};
  std::vector<std::string> loaded;
  dl_iterate_phdr(AddLibrary, &loaded);
  std::vector<std::string> found;
  for (const char* wanted : kWanted) {
    for (const std::string& library : loaded) {
      const std::string file = FileOf(library);
      if (absl::StartsWith(file, wanted)) found.push_back(file);
    }
  }
  Check check;
  check.subject = "libraries";
  check.found = found.empty() ? "all are part of the program" : absl::StrJoin(found, ", ");
  return check;
}

Check CheckGpu() {
  Check check;
  check.subject = "GPU";
  const bool has_device = std::filesystem::exists("/dev/nvidiactl");
  const std::unique_ptr<void, int (*)(void*)> driver(dlopen("libcuda.so.1", RTLD_NOW), dlclose);
  if (driver == nullptr) {
    check.found = has_device ? "an NVIDIA device, but no driver library (libcuda.so.1)"
                             : "none; workers compute on the CPU";
    if (!has_device) return check;
    check.level = Check::Level::kWarn;
    check.fix = "install the driver's libraries (in a container: run it with the GPU's runtime)";
    return check;
  }
  // CUDA Driver API: int cuInit(unsigned), cuDriverGetVersion(int*), cuDeviceGetCount(int*).
  const auto init = reinterpret_cast<int (*)(unsigned)>(dlsym(driver.get(), "cuInit"));
  const auto get_version =
      reinterpret_cast<int (*)(int*)>(dlsym(driver.get(), "cuDriverGetVersion"));
  const auto get_count = reinterpret_cast<int (*)(int*)>(dlsym(driver.get(), "cuDeviceGetCount"));
  int version = 0;
  int count = 0;
  const int error = init == nullptr ? -1 : init(0);
  if (error == 0 && get_version != nullptr) get_version(&version);
  if (error == 0 && get_count != nullptr) get_count(&count);
  if (error == 0 && count > 0) {
    check.found = absl::StrCat(Plural(count, "GPU"), ", driver for CUDA ", version / 1000, ".",
                               version % 1000 / 10);
    return check;
  }
  check.level = Check::Level::kWarn;
  check.found = absl::StrCat("an NVIDIA driver that finds no GPU (error ", error, ")");
  check.fix = "see nvidia-smi; until then workers compute on the CPU";
  return check;
}

}  // namespace cairn::cli

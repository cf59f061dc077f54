#include "cli/machine/resources.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "cli/view/cluster_text.h"
#include "common/plural.h"

namespace cairn::cli {
namespace {

// The value of the first line "NAME : VALUE" of a file in /proc.
std::string ValueOf(const std::string& text, const std::string& name) {
  for (const std::string& line : std::vector<std::string>(absl::StrSplit(text, '\n'))) {
    const std::pair<std::string, std::string> parts = absl::StrSplit(line, absl::MaxSplits(':', 1));
    if (std::string(absl::StripAsciiWhitespace(parts.first)) == name) {
      return std::string(absl::StripAsciiWhitespace(parts.second));
    }
  }
  return "";
}

int64_t KibibytesOf(const std::string& meminfo, const std::string& name) {
  const std::pair<std::string, std::string> parts = absl::StrSplit(ValueOf(meminfo, name), ' ');
  int64_t kibibytes = 0;
  return absl::SimpleAtoi(parts.first, &kibibytes) ? kibibytes : 0;
}

}  // namespace

Check CheckProcessor(const std::string& cpuinfo, unsigned cores) {
  const std::string flags = ValueOf(cpuinfo, "flags");
  const std::vector<std::string> words = absl::StrSplit(flags, ' ');
  const auto has = [&words](const char* word) {
    return std::find(words.begin(), words.end(), word) != words.end();
  };
  Check check;
  check.subject = "processor";
  const std::string model = ValueOf(cpuinfo, "model name");
  check.found =
      absl::StrCat(model.empty() ? "unknown processor" : model, ", ", Plural(cores, "core"));
  if (has("avx512f")) {
    absl::StrAppend(&check.found, ", AVX-512");
  } else if (has("avx2") && has("fma")) {
    absl::StrAppend(&check.found, ", AVX2");
  } else {
    check.level = Check::Level::kWarn;
    absl::StrAppend(&check.found, ", neither AVX-512 nor AVX2 with FMA");
    check.fix =
        "computing is several times slower; use a newer processor, or give the virtual machine the "
        "instructions of its host (qemu: -cpu host)";
  }
  return check;
}

Check CheckMemory(const std::string& meminfo) {
  constexpr int64_t kLittle = 1 << 20;       // 1 GiB.
  constexpr int64_t kTooLittle = 256 << 10;  // 256 MiB: the daemons of a small cluster.
  const int64_t free = KibibytesOf(meminfo, "MemAvailable");
  Check check;
  check.subject = "memory";
  check.found = absl::StrCat(BytesText(free * 1024), " free of ",
                             BytesText(KibibytesOf(meminfo, "MemTotal") * 1024));
  if (free >= kLittle) return check;
  check.level = free < kTooLittle ? Check::Level::kFail : Check::Level::kWarn;
  check.fix =
      "every worker keeps up to 1 GiB of a job's data in memory (worker --data_memory), and every "
      "daemon some 50 MiB of its own: end other programs, or start fewer workers (--workers)";
  return check;
}

Check CheckDescriptors(uint64_t limit) {
  // A task needs a few dozen, a coordinator two per task of its cluster.
  constexpr uint64_t kFew = 1024;
  constexpr uint64_t kTooFew = 256;
  Check check;
  check.subject = "descriptors";
  check.found = absl::StrCat("at most ", limit, " open files and connections per process");
  if (limit >= kFew) return check;
  check.level = limit < kTooFew ? Check::Level::kFail : Check::Level::kWarn;
  check.fix = "raise it before starting daemons: ulimit -n 65536 (systemd: LimitNOFILE=65536)";
  return check;
}

}  // namespace cairn::cli

#include "common/failpoint.h"

#include <signal.h>
#include <unistd.h>

#include <array>
#include <bit>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <map>
#include <optional>
#include <sstream>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "common/log_control.h"
#include "common/logging.h"
#include "common/mutex.h"
#include "common/nearest_name.h"

namespace cairn {
namespace {

enum class Action { kCrash, kError, kHang, kSleep };

struct Armed {
  Action action = Action::kCrash;
  absl::Duration sleep;
  int64_t first = 1;
  int64_t last = 1;
  int64_t hits = 0;
  int fired = 0;
};

// How often the file of failpoints is read, and how soon a hang ends.
constexpr absl::Duration kFilePeriod = absl::Milliseconds(10);

Mutex mutex;
std::map<int, Armed> armed ABSL_GUARDED_BY(mutex);
// Changes whenever failpoints are disarmed, which ends their hangs.
int64_t disarmed_count ABSL_GUARDED_BY(mutex) = 0;
std::string file_path ABSL_GUARDED_BY(mutex);
std::string file_text ABSL_GUARDED_BY(mutex);
absl::Time file_read_at ABSL_GUARDED_BY(mutex) = absl::InfinitePast();

std::optional<int> IndexOf(std::string_view name) {
  for (size_t i = 0; i < std::size(kFailpoints); ++i) {
    if (kFailpoints[i] == name) return static_cast<int>(i);
  }
  return std::nullopt;
}

absl::Status ParseAction(const std::string& text, Armed* point) {
  const std::pair<std::string, std::string> parts = absl::StrSplit(text, absl::MaxSplits(':', 1));
  int64_t milliseconds = 0;
  if (text == "crash") {
    point->action = Action::kCrash;
  } else if (text == "error") {
    point->action = Action::kError;
  } else if (text == "hang") {
    point->action = Action::kHang;
  } else if (parts.first == "sleep" && absl::SimpleAtoi(parts.second, &milliseconds) &&
             milliseconds >= 0) {
    point->action = Action::kSleep;
    point->sleep = absl::Milliseconds(milliseconds);
  } else {
    return absl::InvalidArgumentError(absl::StrCat(
        "\"", text, "\" is not an action: use crash, error, hang or sleep:MILLISECONDS"));
  }
  return absl::OkStatus();
}

absl::Status ParseHits(const std::string& text, Armed* point) {
  const std::pair<std::string, std::string> range = absl::StrSplit(text, absl::MaxSplits('-', 1));
  const bool valid =
      absl::SimpleAtoi(range.first, &point->first) &&
      absl::SimpleAtoi(range.second.empty() ? range.first : range.second, &point->last) &&
      point->first >= 1 && point->last >= point->first;
  if (valid) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("\"", text, "\" is not a range of hits such as 3 or 3-5"));
}

absl::Status ArmLocked(std::string_view text) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
  const std::pair<std::string, std::string> named =
      absl::StrSplit(absl::string_view(text.data(), text.size()), absl::MaxSplits('=', 1));
  const std::optional<int> index = IndexOf(named.first);
  if (!index.has_value()) {
    const std::vector<std::string> known(std::begin(kFailpoints), std::end(kFailpoints));
    return absl::InvalidArgumentError(absl::StrCat("there is no failpoint \"", named.first, "\"",
                                                   DidYouMean(named.first, known)));
  }
  const std::pair<std::string, std::string> parts =
      absl::StrSplit(named.second, absl::MaxSplits('@', 1));
  Armed point;
  if (absl::Status parsed = ParseAction(parts.first, &point); !parsed.ok()) return parsed;
  if (!parts.second.empty()) {
    if (absl::Status parsed = ParseHits(parts.second, &point); !parsed.ok()) return parsed;
  }
  armed[*index] = point;
  failpoint_internal::any_armed = true;
  return absl::OkStatus();
}

void DisarmLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
  armed.clear();
  ++disarmed_count;
}

void ReadFileIfDue() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
  if (file_path.empty() || absl::Now() - file_read_at < kFilePeriod) return;
  file_read_at = absl::Now();
  std::ostringstream text;
  text << std::ifstream(file_path).rdbuf();
  if (text.str() == file_text) return;
  file_text = text.str();
  DisarmLocked();
  for (const std::string& line :
       std::vector<std::string>(absl::StrSplit(file_text, '\n', absl::SkipEmpty()))) {
    const absl::Status armed_line = ArmLocked(line);
    if (!armed_line.ok()) CAIRN_LOG_WARNING("bad failpoint", "file", file_path, "why", armed_line);
  }
}

// Waits until the failpoints that were armed at this count are disarmed.
void HangUntilDisarmed(int64_t count) {
  while (true) {
    {
      MutexLock lock(&mutex);
      ReadFileIfDue();
      if (disarmed_count != count) return;
    }
    absl::SleepFor(kFilePeriod);
  }
}

}  // namespace

absl::Status ArmFailpoint(std::string_view text) {
  MutexLock lock(&mutex);
  return ArmLocked(text);
}

void ArmFailpointsOfFile(const std::string& path) {
  MutexLock lock(&mutex);
  file_path = path;
  file_text.clear();
  file_read_at = absl::InfinitePast();
  // Any hit may find that the file has changed.
  failpoint_internal::any_armed = true;
}

void DisarmFailpoints() {
  MutexLock lock(&mutex);
  DisarmLocked();
  file_path.clear();
  failpoint_internal::any_armed = false;
}

int FailpointFired(std::string_view name) {
  const std::optional<int> index = IndexOf(name);
  MutexLock lock(&mutex);
  const auto point = index.has_value() ? armed.find(*index) : armed.end();
  return point == armed.end() ? 0 : point->second.fired;
}

absl::Status HitFailpoint(int index) {
  Armed point;
  int64_t count = 0;
  {
    MutexLock lock(&mutex);
    ReadFileIfDue();
    count = disarmed_count;
    const auto found = armed.find(index);
    if (found == armed.end()) return absl::OkStatus();
    const int64_t hit = ++found->second.hits;
    if (hit < found->second.first || hit > found->second.last) return absl::OkStatus();
    ++found->second.fired;
    point = found->second;
  }
  const std::string name(kFailpoints[index]);
  // Of a long range only some actions are logged: the 1st, 2nd, 4th, 8th ...
  if (std::has_single_bit(static_cast<uint64_t>(point.fired))) {
    CAIRN_LOG_WARNING("failpoint", "name", name, "hit", point.hits);
  }
  switch (point.action) {
    case Action::kCrash:
      // As an unexpected end: no destructor and no exit handler runs. But the log says why.
      FlushLog(absl::Seconds(10));
      kill(getpid(), SIGKILL);
      pause();
      break;
    case Action::kError:
      return absl::UnavailableError(absl::StrCat("failpoint ", name));
    case Action::kHang:
      HangUntilDisarmed(count);
      break;
    case Action::kSleep:
      absl::SleepFor(point.sleep);
      break;
  }
  return absl::OkStatus();
}

}  // namespace cairn

#include "common/failpoint.h"

#include <signal.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <iterator>
#include <map>
#include <optional>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
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

Mutex mutex;
std::map<int, Armed> armed ABSL_GUARDED_BY(mutex);

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

}  // namespace

absl::Status ArmFailpoint(std::string_view text) {
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
  MutexLock lock(&mutex);
  armed[*index] = point;
  failpoint_internal::any_armed = true;
  return absl::OkStatus();
}

void DisarmFailpoints() {
  MutexLock lock(&mutex);
  armed.clear();
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
  {
    MutexLock lock(&mutex);
    const auto found = armed.find(index);
    if (found == armed.end()) return absl::OkStatus();
    const int64_t hit = ++found->second.hits;
    if (hit < found->second.first || hit > found->second.last) return absl::OkStatus();
    ++found->second.fired;
    point = found->second;
  }
  const std::string name(kFailpoints[index]);
  CAIRN_LOG_WARNING("failpoint", "name", name, "hit", point.hits);
  switch (point.action) {
    case Action::kCrash:
      // As an unexpected end: no destructor and no exit handler runs.
      kill(getpid(), SIGKILL);
      pause();
      break;
    case Action::kError:
      return absl::UnavailableError(absl::StrCat("failpoint ", name));
    case Action::kHang:
      absl::SleepFor(absl::InfiniteDuration());
      break;
    case Action::kSleep:
      absl::SleepFor(point.sleep);
      break;
  }
  return absl::OkStatus();
}

}  // namespace cairn

#include "cli/local/log_files.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <tuple>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/time.h"
#include "cli/local/state_lock.h"
#include "common/file_operation.h"

namespace cairn::cli {
namespace {

constexpr int64_t kBlock = 64 * 1024;

int64_t SizeOf(const std::string& file) {
  std::error_code error;
  const auto size = std::filesystem::file_size(file, error);
  return error ? 0 : static_cast<int64_t>(size);
}

// The bytes of a range of the file; fewer if the file ends before.
std::string ReadRange(const std::string& file, int64_t begin, int64_t end) {
  std::ifstream stream(file, std::ios::binary);
  stream.seekg(begin);
  std::string bytes(std::max<int64_t>(0, end - begin), '\0');
  stream.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  bytes.resize(static_cast<size_t>(std::max<std::streamsize>(0, stream.gcount())));
  return bytes;
}

// The sort key of a task: its kind, then its number.
std::tuple<int, std::string, int64_t> OrderOf(const std::string& task) {
  const size_t dash = task.rfind('-');
  int64_t number = 0;
  if (dash == std::string::npos || !absl::SimpleAtoi(task.substr(dash + 1), &number)) {
    return {task == "coordinator" ? 0 : 1, task, 0};
  }
  return {2, task.substr(0, dash), number};
}

}  // namespace

std::string LogFile(const std::string& state, const std::string& task) {
  return absl::StrCat(state, "/logs/", task, ".log");
}

absl::Status MakeLogFolder(const std::string& state) {
  const std::string folder = state + "/logs";
  const auto make = [folder]() -> absl::Status {
    std::error_code error;
    std::filesystem::create_directories(folder, error);
    if (!error) return absl::OkStatus();
    return absl::ErrnoToStatus(error.value(), absl::StrCat("cannot make ", folder));
  };
  return FileOperation::Run(folder, make, kStateMayTake);
}

absl::StatusOr<std::vector<std::string>> LoggedTasks(const std::string& state) {
  std::vector<std::string> tasks;
  std::error_code error;
  for (std::filesystem::directory_iterator entry(state + "/logs", error), end;
       !error && entry != end; entry.increment(error)) {
    const std::filesystem::path path = entry->path();
    if (path.extension() == ".log") tasks.push_back(path.stem().string());
  }
  if (error == std::errc::permission_denied) {
    return absl::ErrnoToStatus(error.value(), absl::StrCat("cannot read ", state, "/logs"));
  }
  std::sort(tasks.begin(), tasks.end(),
            [](const std::string& a, const std::string& b) { return OrderOf(a) < OrderOf(b); });
  return tasks;
}

void RotateLog(const std::string& file, uint64_t bytes_max) {
  if (SizeOf(file) <= static_cast<int64_t>(bytes_max)) return;
  const std::string older = file + ".1";
  std::error_code error;
  // Before the copy, which needs its room.
  std::filesystem::remove(older, error);
  std::filesystem::copy_file(file, older, error);
  if (!error) std::filesystem::resize_file(file, 0, error);
}

void SortByTime(std::vector<LogLine>* lines) {
  std::vector<std::pair<absl::Time, LogLine>> timed;
  for (LogLine& line : *lines) {
    absl::Time time = absl::InfinitePast();
    if (!timed.empty() && timed.back().second.task == line.task) time = timed.back().first;
    const std::string stamp = line.text.substr(0, line.text.find(' '));
    // Leaves `time` as it is if the line has none.
    absl::ParseTime(absl::RFC3339_full, stamp, &time, /*err=*/nullptr);
    timed.emplace_back(time, std::move(line));
  }
  std::stable_sort(timed.begin(), timed.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  for (size_t i = 0; i < timed.size(); ++i) (*lines)[i] = std::move(timed[i].second);
}

std::vector<std::string> LogTail::LastLines(size_t count) {
  SkipToEnd();
  const int64_t end = position_;
  std::string text;
  int64_t begin = end;
  // Reads one line break more than `count`, so that the first line is complete.
  while (begin > 0 && static_cast<size_t>(std::count(text.begin(), text.end(), '\n')) <= count) {
    // Doubles the text each time, so that the cost is linear in its size.
    const int64_t more = std::max(kBlock, static_cast<int64_t>(text.size()));
    const int64_t from = std::max<int64_t>(0, begin - more);
    text.insert(0, ReadRange(file_, from, begin));
    begin = from;
  }
  std::vector<std::string> lines = absl::StrSplit(text, '\n');
  if (lines.back().empty()) lines.pop_back();
  if (lines.size() > count) lines.erase(lines.begin(), lines.end() - static_cast<int64_t>(count));
  return lines;
}

std::vector<std::string> LogTail::NewLines() {
  const int64_t size = SizeOf(file_);
  if (size < position_) position_ = 0;
  const std::string text = ReadRange(file_, position_, size);
  const size_t last = text.rfind('\n');
  if (last == std::string::npos) return {};
  position_ += static_cast<int64_t>(last) + 1;
  return absl::StrSplit(text.substr(0, last), '\n');
}

void LogTail::SkipToEnd() { position_ = SizeOf(file_); }

}  // namespace cairn::cli

#include "common/logging.h"

#include <signal.h>
#include <spdlog/sinks/rotating_file_sink.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <deque>
#include <exception>
#include <iterator>
#include <memory>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "common/log_control.h"
#include "common/mutex.h"

namespace cairn {
namespace {

constexpr size_t kOlderFiles = 4;

constexpr std::string_view kLevelNames[] = {"debug", "info", "warning", "error"};

// The lowest level that is written. Kept outside of spdlog so that a disabled level costs one
// relaxed load.
std::atomic<LogLevel> lowest_level{LogLevel::kInfo};

std::unique_ptr<spdlog::logger> MakeLogger(const LogOptions& options) {
  std::vector<spdlog::sink_ptr> sinks = {std::make_shared<spdlog::sinks::stderr_sink_mt>()};
  if (!options.file.empty()) {
    sinks.push_back(std::make_shared<spdlog::sinks::rotating_file_sink_mt>(
        options.file, options.file_bytes, kOlderFiles));
  }
  auto logger = std::make_unique<spdlog::logger>(options.program, sinks.begin(), sinks.end());
  logger->set_level(spdlog::level::trace);
  logger->flush_on(spdlog::level::trace);
  logger->set_pattern("%Y-%m-%dT%H:%M:%S.%e%z %l %n %v");
  return logger;
}

struct CurrentLogger {
  Mutex mutex;
  std::shared_ptr<spdlog::logger> logger ABSL_GUARDED_BY(mutex) = MakeLogger(LogOptions{
      .program = "cairn"});
};

// Never destroyed, because threads may log until the process exits.
CurrentLogger& Current() {
  static auto& current = *new CurrentLogger;
  return current;
}

spdlog::level::level_enum ToSpdlog(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug:
      return spdlog::level::debug;
    case LogLevel::kInfo:
      return spdlog::level::info;
    case LogLevel::kWarning:
      return spdlog::level::warn;
    case LogLevel::kError:
      return spdlog::level::err;
  }
  return spdlog::level::err;
}

struct Line {
  spdlog::log_clock::time_point time;
  LogLevel level = LogLevel::kInfo;
  std::string text;
  bool is_plain = false;  // Only the text, and only to standard error.
};

void WriteNow(const Line& line) {
  if (line.is_plain) {
    std::fputs(line.text.c_str(), stderr);
    return;
  }
  std::shared_ptr<spdlog::logger> logger;
  {
    // A write may hang, so it does not hold the lock.
    CurrentLogger& current = Current();
    MutexLock lock(&current.mutex);
    logger = current.logger;
  }
  logger->log(line.time, spdlog::source_loc{}, ToSpdlog(line.level),
              spdlog::string_view_t(line.text));
}

// Writes lines on its own thread. The disk of a log file, or the reader of a pipe, may hang, and
// the threads that log must not stop with it.
//
// Normally a line is written when Write returns, so the last lines of a process that dies are not
// lost. A write that takes longer than kMayTake stalls the log: nobody waits for lines until all
// are written. Lines that do not fit into the queue are lost and counted.
class LogThread {
 public:
  // Throws std::system_error if the thread cannot be created. It never ends.
  LogThread() {
    // It must take no signal: programs wait for theirs in other threads, which block them later.
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    const absl::Cleanup restore = [&before] { pthread_sigmask(SIG_SETMASK, &before, nullptr); };
    std::thread([this] { Run(); }).detach();
  }

  // False if the lines so far are not all written within `limit`.
  bool Flush(absl::Duration limit) {
    const auto deadline = std::chrono::steady_clock::now() + absl::ToChronoNanoseconds(limit);
    MutexLock lock(&mutex_);
    const uint64_t number = queued_;
    while (written_ < number) {
      const auto left = deadline - std::chrono::steady_clock::now();
      if (left.count() <= 0) return false;
      changed_.WaitFor(&mutex_, left);
    }
    return true;
  }

  void Write(Line line) {
    MutexLock lock(&mutex_);
    if (lines_.size() >= kLinesMax) {
      ++lost_;
      return;
    }
    lines_.push_back(std::move(line));
    const uint64_t number = ++queued_;
    changed_.NotifyAll();
    const auto deadline = std::chrono::steady_clock::now() + kMayTake;
    while (!stalled_ && written_ < number) {
      const auto left = deadline - std::chrono::steady_clock::now();
      if (left.count() <= 0) {
        stalled_ = true;
      } else {
        changed_.WaitFor(&mutex_, left);
      }
    }
  }

 private:
  static constexpr std::chrono::milliseconds kMayTake{200};
  static constexpr size_t kLinesMax = 4096;

  void Run() {
    while (true) {
      Line line;
      {
        MutexLock lock(&mutex_);
        if (lines_.empty()) stalled_ = false;
        while (lines_.empty()) changed_.Wait(&mutex_);
        line = std::move(lines_.front());
        lines_.pop_front();
      }
      WriteNow(line);
      MutexLock lock(&mutex_);
      ++written_;
      // The first line that fits shows the gap.
      if (lost_ > 0) {
        lines_.push_back({spdlog::log_clock::now(), LogLevel::kWarning,
                          absl::StrCat("log lines were lost: the log could not be written lines=",
                                       std::exchange(lost_, 0))});
        ++queued_;
      }
      changed_.NotifyAll();
    }
  }

  Mutex mutex_;
  ConditionVariable changed_;
  std::deque<Line> lines_ ABSL_GUARDED_BY(mutex_);
  uint64_t queued_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t written_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t lost_ ABSL_GUARDED_BY(mutex_) = 0;
  bool stalled_ ABSL_GUARDED_BY(mutex_) = false;
};

// Null until InitLogging has started it. Never destroyed, like the logger.
LogThread* log_thread = nullptr;

void WriteLine(Line line) {
  if (log_thread == nullptr) return WriteNow(line);
  log_thread->Write(std::move(line));
}

std::optional<LogLevel> ParseLevel(std::string_view name) {
  for (size_t i = 0; i < std::size(kLevelNames); ++i) {
    if (name == kLevelNames[i]) return static_cast<LogLevel>(i);
  }
  return std::nullopt;
}

bool IsControl(char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }

bool NeedsQuotes(std::string_view value) {
  if (value.empty()) return true;
  for (char c : value) {
    if (c == ' ' || c == '"' || c == '=' || c == '\\' || IsControl(c)) return true;
  }
  return false;
}

void AppendEscaped(std::string_view text, std::string* line) {
  constexpr char kHexDigits[] = "0123456789abcdef";
  for (char c : text) {
    if (c == '\n') {
      *line += "\\n";
    } else if (IsControl(c)) {
      *line += {'\\', 'x', kHexDigits[(c >> 4) & 15], kHexDigits[c & 15]};
    } else {
      if (c == '"' || c == '\\') *line += '\\';
      *line += c;
    }
  }
}

void AppendValue(std::string_view value, std::string* line) {
  if (!NeedsQuotes(value)) {
    *line += value;
    return;
  }
  *line += '"';
  AppendEscaped(value, line);
  *line += '"';
}

// Returns the operating system's reason. spdlog puts the file's name, which the caller adds itself,
// before it.
std::string ReasonOf(const std::string& what) {
  const size_t colon = what.rfind(": ");
  return colon == std::string::npos ? what : what.substr(colon + 2);
}

}  // namespace

absl::Status InitLogging(const LogOptions& options) {
  const std::optional<LogLevel> level = ParseLevel(options.level);
  if (!level.has_value()) {
    return absl::InvalidArgumentError(absl::StrCat("log level \"", options.level,
                                                   "\" is not one of debug, info, warning, error"));
  }
  const absl::Status opened = LogToFile(options);
  if (!opened.ok()) return opened;
  try {
    if (log_thread == nullptr) log_thread = new LogThread();
  } catch (const std::system_error&) {
    // Lines are then written by those who log.
  }
  lowest_level.store(*level, std::memory_order_relaxed);
  return absl::OkStatus();
}

absl::Status LogToFile(const LogOptions& options) {
  try {
    std::shared_ptr<spdlog::logger> logger = MakeLogger(options);
    CurrentLogger& current = Current();
    MutexLock lock(&current.mutex);
    current.logger = std::move(logger);
    return absl::OkStatus();
  } catch (const std::exception& error) {
    return absl::UnavailableError(
        absl::StrCat("cannot log to \"", options.file, "\": ", ReasonOf(error.what())));
  }
}

bool LogEnabled(LogLevel level) { return level >= lowest_level.load(std::memory_order_relaxed); }

void WriteLog(LogLevel level, std::string_view message, const std::vector<LogField>& fields) {
  Line line{spdlog::log_clock::now(), level, std::string(message)};
  for (const LogField& field : fields) {
    line.text += ' ';
    line.text += field.key;
    line.text += '=';
    AppendValue(field.value, &line.text);
  }
  WriteLine(std::move(line));
}

void WriteToStandardError(std::string text) {
  WriteLine({.text = std::move(text), .is_plain = true});
}

bool FlushLog(absl::Duration limit) { return log_thread == nullptr || log_thread->Flush(limit); }

}  // namespace cairn

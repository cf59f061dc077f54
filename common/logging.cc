#include "common/logging.h"

#include <spdlog/sinks/rotating_file_sink.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <atomic>
#include <exception>
#include <iterator>
#include <memory>
#include <optional>
#include <utility>

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

// Never destroyed, because threads may log until the process exits.
std::unique_ptr<spdlog::logger>& CurrentLogger() {
  static auto& logger =
      *new std::unique_ptr<spdlog::logger>(MakeLogger(LogOptions{.program = "cairn"}));
  return logger;
}

std::optional<LogLevel> ParseLevel(std::string_view name) {
  for (size_t i = 0; i < std::size(kLevelNames); ++i) {
    if (name == kLevelNames[i]) return static_cast<LogLevel>(i);
  }
  return std::nullopt;
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
  try {
    CurrentLogger() = MakeLogger(options);
  } catch (const std::exception& error) {
    return absl::UnavailableError(
        absl::StrCat("cannot log to \"", options.file, "\": ", ReasonOf(error.what())));
  }
  lowest_level.store(*level, std::memory_order_relaxed);
  return absl::OkStatus();
}

bool LogEnabled(LogLevel level) { return level >= lowest_level.load(std::memory_order_relaxed); }

void WriteLog(LogLevel level, std::string_view message, const std::vector<LogField>& fields) {
  std::string line(message);
  for (const LogField& field : fields) {
    line += ' ';
    line += field.key;
    line += '=';
    AppendValue(field.value, &line);
  }
  CurrentLogger()->log(ToSpdlog(level), spdlog::string_view_t(line));
}

}  // namespace cairn

#ifndef CAIRN_COMMON_LOGGING_H_
#define CAIRN_COMMON_LOGGING_H_

#include <concepts>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

// The log of a daemon: one line for each event, readable by people and by grep.
//
//   CAIRN_LOG_INFO("worker joined", "worker", 3, "address", "10.0.0.7:2222");
//   2024-05-01T12:00:00.123+0000 info coordinator worker joined worker=3 address=10.0.0.7:2222
//
// The message is a constant; everything that varies is a value. Values that are empty or contain
// spaces, quotes, '=' or control characters are quoted and escaped, so an event is always one line.
// Arguments are not evaluated if the level is disabled. Thread-safe.
#define CAIRN_LOG_DEBUG(...) CAIRN_LOG_(::cairn::LogLevel::kDebug, __VA_ARGS__)
#define CAIRN_LOG_INFO(...) CAIRN_LOG_(::cairn::LogLevel::kInfo, __VA_ARGS__)
#define CAIRN_LOG_WARNING(...) CAIRN_LOG_(::cairn::LogLevel::kWarning, __VA_ARGS__)
#define CAIRN_LOG_ERROR(...) CAIRN_LOG_(::cairn::LogLevel::kError, __VA_ARGS__)

namespace cairn {

enum class LogLevel { kDebug, kInfo, kWarning, kError };

struct LogOptions {
  std::string level = "info";  // debug, info, warning or error
  // Appended to, beside standard error; empty: standard error only. A file of `file_bytes` is
  // renamed (worker.log to worker.1.log), and the oldest of five is deleted.
  std::string file;
  size_t file_bytes = size_t{64} << 20;
  std::string program;  // The program's name in each line.
};

// Configures the log of this process. main calls it once, before it starts other threads. Until
// then lines of level info and above go to standard error under the name "cairn". InvalidArgument:
// unknown level. Unavailable: the file cannot be opened.
absl::Status InitLogging(const LogOptions& options);

bool LogEnabled(LogLevel level);

struct LogField {
  std::string_view key;
  std::string value;
};

// Implementation of the macros.
void WriteLog(LogLevel level, std::string_view message, const std::vector<LogField>& fields);

// The text of a value in the log, before quoting.
inline std::string LogText(std::string_view value) { return std::string(value); }
inline std::string LogText(const std::string& value) { return value; }
inline std::string LogText(const char* value) { return value; }
inline std::string LogText(absl::string_view value) { return std::string(value); }
inline std::string LogText(bool value) { return value ? "true" : "false"; }
inline std::string LogText(const absl::Status& value) { return value.ToString(); }
inline std::string LogText(absl::Duration value) { return absl::FormatDuration(value); }
template <typename Number>
requires std::integral<Number> || std::floating_point<Number> std::string LogText(Number value) {
  return absl::StrCat(value);
}

// Appends alternating keys and values.
inline void AppendLogFields(std::vector<LogField>*) {}
template <typename Value, typename... Rest>
void AppendLogFields(std::vector<LogField>* fields, std::string_view key, const Value& value,
                     const Rest&... rest) {
  fields->push_back({key, LogText(value)});
  AppendLogFields(fields, rest...);
}

template <typename... Fields>
void LogFields(LogLevel level, std::string_view message, const Fields&... keys_and_values) {
  static_assert(sizeof...(Fields) % 2 == 0, "a key without a value");
  std::vector<LogField> fields;
  fields.reserve(sizeof...(Fields) / 2);
  AppendLogFields(&fields, keys_and_values...);
  WriteLog(level, message, fields);
}

}  // namespace cairn

#define CAIRN_LOG_(level, ...)                                              \
  do {                                                                      \
    if (::cairn::LogEnabled(level)) ::cairn::LogFields(level, __VA_ARGS__); \
  } while (false)

#endif  // CAIRN_COMMON_LOGGING_H_

#ifndef CAIRN_COMMON_LOGGING_H_
#define CAIRN_COMMON_LOGGING_H_

#include <concepts>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

// The log of a daemon: one line per event, for people and for grep.
//
//   CAIRN_LOG_INFO("worker joined", "worker", 3, "address", "10.0.0.7:2222");
//   2024-05-01T12:00:00.123+0000 info coordinator worker joined worker=3 address=10.0.0.7:2222
//
// Values that are empty or hold spaces, quotes, '=' or control characters are quoted and escaped,
// so a line is always one line. A message is a fixed text; what varies is a value. The arguments
// are not evaluated when the level is off. Any thread may log at any time.
#define CAIRN_LOG_DEBUG(...) CAIRN_LOG_(::cairn::LogLevel::kDebug, __VA_ARGS__)
#define CAIRN_LOG_INFO(...) CAIRN_LOG_(::cairn::LogLevel::kInfo, __VA_ARGS__)
#define CAIRN_LOG_WARNING(...) CAIRN_LOG_(::cairn::LogLevel::kWarning, __VA_ARGS__)
#define CAIRN_LOG_ERROR(...) CAIRN_LOG_(::cairn::LogLevel::kError, __VA_ARGS__)

namespace cairn {

enum class LogLevel { kDebug, kInfo, kWarning, kError };

struct LogOptions {
  std::string level = "info";  // debug, info, warning or error
  std::string file;            // append here as well as to standard error; empty: do not
  std::string program;         // the name in each line
};

// Sets up the log of this process; called by main once, before other threads start. Without it
// lines of level info and above go to standard error under the name "cairn".
// InvalidArgument: an unknown level. Unavailable: the file cannot be opened.
absl::Status InitLogging(const LogOptions& options);

bool LogEnabled(LogLevel level);

struct LogField {
  std::string_view key;
  std::string value;
};

// What the macros call.
void WriteLog(LogLevel level, std::string_view message, const std::vector<LogField>& fields);

// How a value looks in the log.
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

// Fields come in pairs: a key, then its value.
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

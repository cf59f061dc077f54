#include "worker/data/csv/csv_parser.h"

#include <algorithm>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "common/status_macros.h"

namespace cairn::worker {

CsvParser::CsvParser(char delimiter) : delimiter_(delimiter) {
  for (const char c : {delimiter, '\n', '\r', '"', '\0'}) {
    ends_plain_[static_cast<unsigned char>(c)] = true;
  }
}

absl::Status CsvParser::Bad(size_t field, std::string_view reason) const {
  return absl::InvalidArgumentError(
      absl::StrCat("line ", record_.line, ", field ", field, ": ", std::string(reason)));
}

absl::Status CsvParser::Parse(const std::string& text, int64_t line, Visit visit) {
  at_ = text.data();
  end_ = at_ + text.size();
  record_.line = line;
  while (at_ < end_) {
    const bool quoted = *at_ == '"';
    CAIRN_RETURN_IF_ERROR(ReadRecord());
    const bool empty_line = record_.fields.size() == 1 && record_.fields[0].empty() && !quoted;
    if (!empty_line) CAIRN_RETURN_IF_ERROR(visit(record_));
    record_.line += inner_lines_ + 1;
  }
  return absl::OkStatus();
}

// The inner loop sees most bytes of a file. The zero byte at the end also ends it.
absl::Status CsvParser::ReadRecord() {
  record_.fields.clear();
  record_.unclosed = false;
  unquoted_.clear();
  inner_lines_ = 0;
  while (true) {
    if (*at_ == '"') {
      CAIRN_RETURN_IF_ERROR(ReadQuoted());
      if (record_.unclosed) return absl::OkStatus();
    } else {
      const char* const begin = at_;
      while (!ends_plain_[static_cast<unsigned char>(*at_)]) ++at_;
      record_.fields.emplace_back(begin, at_ - begin);
    }
    if (*at_ != delimiter_) return ReadLineEnd();
    ++at_;
  }
}

absl::Status CsvParser::ReadQuoted() {
  const size_t number = record_.fields.size() + 1;
  const char* const begin = ++at_;
  bool doubled = false;
  while (true) {
    const auto* const quote = static_cast<const char*>(std::memchr(at_, '"', end_ - at_));
    if (quote == nullptr) {
      const auto* const line_end = static_cast<const char*>(std::memchr(begin, '\n', end_ - begin));
      record_.unclosed = line_end == nullptr || line_end + 1 == end_;
      at_ = end_;
      if (record_.unclosed) return absl::OkStatus();
      return Bad(number, "a quote is opened and not closed");
    }
    at_ = quote + 1;
    if (*at_ != '"') break;
    doubled = true;
    ++at_;
  }
  if (at_ != end_ && *at_ != delimiter_ && *at_ != '\r' && *at_ != '\n') {
    return Bad(number,
               "something follows a closing quote; a quote inside of a quoted field is doubled");
  }
  std::string_view field(begin, at_ - 1 - begin);
  inner_lines_ += std::count(field.begin(), field.end(), '\n');
  if (doubled) {
    field = unquoted_.emplace_back(absl::StrReplaceAll(std::string(field), {{"\"\"", "\""}}));
  }
  record_.fields.push_back(field);
  return absl::OkStatus();
}

// Handles the byte after a field, which is not a delimiter.
absl::Status CsvParser::ReadLineEnd() {
  const size_t number = record_.fields.size();
  if (at_ == end_) return absl::OkStatus();
  if (*at_ == '"') return Bad(number, "a quote inside of a field that does not begin with one");
  if (*at_ == '\0') return Bad(number, "a zero byte: this is no text, or UTF-16");
  if (*at_ == '\r') {
    ++at_;
    if (at_ == end_) return absl::OkStatus();
    if (*at_ != '\n') return Bad(number + 1, "a carriage return without a line feed");
  }
  ++at_;
  return absl::OkStatus();
}

}  // namespace cairn::worker

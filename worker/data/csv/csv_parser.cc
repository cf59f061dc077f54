#include "worker/data/csv/csv_parser.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "common/status_macros.h"

namespace cairn::worker {

absl::Status CsvParser::Bad(std::string_view reason) const {
  return absl::InvalidArgumentError(
      absl::StrCat("line ", line_, ", field ", fields_.size() + 1, ": ", std::string(reason)));
}

absl::Status CsvParser::Parse(std::string_view bytes, bool last, Visit visit) {
  buffer_.erase(0, begin_);
  begin_ = 0;
  buffer_.append(bytes);
  CAIRN_RETURN_IF_ERROR(SkipMark(last));
  if (!mark_seen_) return absl::OkStatus();
  while (begin_ < buffer_.size()) {
    CAIRN_ASSIGN_OR_RETURN(const bool found, FindRecord(last));
    if (!found) {
      if (buffer_.size() - begin_ <= kRecordBytesMax) break;
      return Bad(absl::StrCat("it does not end within ", kRecordBytesMax >> 20,
                              " MiB; is a quote not closed?"));
    }
    if (!IsEmptyLine()) {
      FillRecord();
      CAIRN_RETURN_IF_ERROR(visit(record_));
    }
    line_ += std::count(buffer_.begin() + begin_, buffer_.begin() + end_, '\n');
    begin_ = end_;
  }
  return absl::OkStatus();
}

absl::Status CsvParser::SkipMark(bool last) {
  constexpr std::string_view kMark = "\xef\xbb\xbf";
  if (mark_seen_ || (!last && buffer_.size() < kMark.size())) return absl::OkStatus();
  mark_seen_ = true;
  if (buffer_.compare(0, kMark.size(), kMark) == 0) begin_ = kMark.size();
  const std::string_view head = std::string_view(buffer_).substr(0, 2);
  if (head != "\xff\xfe" && head != "\xfe\xff") return absl::OkStatus();
  return Bad("the file is UTF-16; write it as UTF-8");
}

// Finds the fields of the record at begin_. False: its end is not in the buffer yet.
absl::StatusOr<bool> CsvParser::FindRecord(bool last) {
  fields_.clear();
  size_t at = begin_;
  while (true) {
    const bool quoted = at < buffer_.size() && buffer_[at] == '"';
    CAIRN_ASSIGN_OR_RETURN(const bool found, quoted ? FindQuoted(last, &at) : FindPlain(last, &at));
    if (!found) return false;
    if (at < buffer_.size() && buffer_[at] == delimiter_) {
      ++at;
      continue;
    }
    return FindLineEnd(last, &at);
  }
}

absl::StatusOr<bool> CsvParser::FindQuoted(bool last, size_t* at) {
  Field field;
  field.begin = *at + 1;
  size_t close = buffer_.find('"', field.begin);
  while (close != std::string::npos && close + 1 < buffer_.size() && buffer_[close + 1] == '"') {
    field.has_doubled_quotes = true;
    close = buffer_.find('"', close + 2);
  }
  // A quote that ends the buffer may be the first of two.
  if (close == std::string::npos || (close + 1 == buffer_.size() && !last)) {
    if (!last) return false;
    return Bad("a quote is opened and not closed");
  }
  field.size = close - field.begin;
  *at = close + 1;
  if (*at < buffer_.size()) {
    const char next = buffer_[*at];
    if (next != delimiter_ && next != '\r' && next != '\n') {
      return Bad("something follows a closing quote; a quote inside of a quoted field is doubled");
    }
  }
  fields_.push_back(field);
  return true;
}

absl::StatusOr<bool> CsvParser::FindPlain(bool last, size_t* at) {
  // Locals: most of a file's bytes come through this loop.
  const char* const bytes = buffer_.data();
  const size_t size = buffer_.size();
  const size_t begin = *at;
  size_t i = begin;
  for (; i < size; ++i) {
    const char c = bytes[i];
    if (c == delimiter_ || c == '\n' || c == '\r') break;
    if (c == '"') return Bad("a quote inside of a field that does not begin with one");
    if (c == '\0') return Bad("a zero byte: this is no text, or UTF-16");
  }
  *at = i;
  if (i == size && !last) return false;
  fields_.push_back({begin, i - begin, false});
  return true;
}

absl::StatusOr<bool> CsvParser::FindLineEnd(bool last, size_t* at) {
  if (*at < buffer_.size() && buffer_[*at] == '\r') {
    ++*at;
    if (*at == buffer_.size() && !last) return false;
    if (*at < buffer_.size() && buffer_[*at] != '\n') {
      return Bad("a carriage return without a line feed");
    }
  }
  end_ = std::min(*at + 1, buffer_.size());
  return true;
}

bool CsvParser::IsEmptyLine() const {
  return fields_.size() == 1 && fields_[0].size == 0 && fields_[0].begin == begin_;
}

void CsvParser::FillRecord() {
  record_.line = line_;
  record_.fields.clear();
  unquoted_.clear();
  for (const Field& field : fields_) {
    std::string_view text = std::string_view(buffer_).substr(field.begin, field.size);
    if (field.has_doubled_quotes) {
      text = unquoted_.emplace_back(absl::StrReplaceAll(std::string(text), {{"\"\"", "\""}}));
    }
    record_.fields.push_back(text);
  }
}

}  // namespace cairn::worker

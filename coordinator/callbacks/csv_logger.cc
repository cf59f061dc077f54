#include "coordinator/callbacks/csv_logger.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <map>
#include <string_view>

#include "absl/algorithm/container.h"
#include "absl/cleanup/cleanup.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "common/nonfinite_text.h"
#include "common/status_macros.h"
#include "nlohmann/json.hpp"

namespace cairn::coordinator {
namespace {

constexpr char kMissing[] = "NA";
constexpr std::string_view kFirstColumn = "epoch";
constexpr const char* kExtensions[] = {".csv", ".log", ".tsv", ".txt"};
constexpr char kRate[] = "learning_rate";

// As Python's repr: the shortest text that is this number.
std::string NumberText(double value) {
  return std::isfinite(value) ? nlohmann::json(value).dump() : NonfiniteText(value);
}

absl::Status SystemError(const std::string& filename) {
  return absl::InvalidArgumentError(
      absl::StrCat(filename, ": cannot be written: ", std::strerror(errno)));
}

absl::StatusOr<struct stat> StatOf(const std::string& filename, int file) {
  struct stat status = {};
  if (fstat(file, &status) != 0) return SystemError(filename);
  if (S_ISREG(status.st_mode)) return status;
  return absl::InvalidArgumentError(absl::StrCat(filename, ": is not a regular file"));
}

// Does not wait for the reader of a pipe. Returns -1 if an error occurs.
int Open(const std::string& filename) {
  return open(filename.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0666);
}

// Keras's logs of an epoch.
std::map<std::string, double> LogsOf(const proto::EpochRecord& record, const proto::Job& job) {
  std::map<std::string, double> logs;
  const auto add = [&](const std::string& prefix, const proto::EvaluationRecord& side) {
    logs[prefix + "loss"] = side.loss();
    for (int i = 0; i < std::min(side.metrics_size(), job.metrics_size()); ++i) {
      logs[prefix + job.metrics(i)] = side.metrics(i);
    }
  };
  add("", record.training());
  if (record.has_validation()) add("val_", record.validation());
  return logs;
}

}  // namespace

CsvLogger::CsvLogger(const proto::Callback& config, const proto::Job& job, bool logs_rate)
    : filename_(config.filename()),
      separator_(config.has_separator() ? config.separator()[0] : ','),
      append_(config.append()),
      logs_rate_(logs_rate),
      job_(job),
      written_hash_(XXH3_createState()) {
  ResetWritten();
}

// A job comes from whoever reaches the coordinator's port, so it must not overwrite any other file.
absl::Status CsvLogger::CheckFile() const {
  // A new file must be none that a program reads for other purposes.
  if (!absl::c_any_of(kExtensions,
                      [&](const char* each) { return absl::EndsWith(filename_, each); })) {
    return absl::InvalidArgumentError(
        absl::StrCat(filename_, ": the name ends with none of ", absl::StrJoin(kExtensions, ", ")));
  }
  const int file = Open(filename_);
  if (file < 0) return SystemError(filename_);
  const absl::Cleanup closer = [file] { close(file); };
  CAIRN_ASSIGN_OR_RETURN(const struct stat status, StatOf(filename_, file));
  if (status.st_size == 0) return absl::OkStatus();
  std::string begin(kFirstColumn.size(), '\0');
  const ssize_t count = pread(file, begin.data(), begin.size(), 0);
  if (count < 0) return SystemError(filename_);
  if (begin == kFirstColumn) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(filename_, ": is not a file of csv_logger, which begins with \"",
                   std::string(kFirstColumn), "\"; use another name"));
}

int64_t CsvLogger::SizeBefore() const {
  struct stat status = {};
  if (!append_) return 0;
  if (stat(filename_.c_str(), &status) == 0) return status.st_size;
  return errno == ENOENT ? 0 : kUnknownSize;
}

CsvLogger::Written CsvLogger::written() const {
  return {begin_, begin_ + written_, XXH3_64bits_digest(written_hash_.get())};
}

void CsvLogger::ResetWritten() {
  written_ = 0;
  XXH3_64bits_reset(written_hash_.get());
}

absl::Status CsvLogger::CheckUnchanged(const Written& written) const {
  if (written.begin == kUnknownSize) return absl::OkStatus();
  // The job has written nothing, and overwrites the file as at its first start.
  if (written.end == 0 && !append_) return absl::OkStatus();
  const int file = open(filename_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0 && errno == ENOENT) return absl::OkStatus();
  if (file < 0) return SystemError(filename_);
  const absl::Cleanup closer = [file] { close(file); };
  CAIRN_ASSIGN_OR_RETURN(const struct stat status, StatOf(filename_, file));
  if (status.st_size == 0) return absl::OkStatus();
  const absl::Status changed = absl::FailedPreconditionError(
      absl::StrCat(filename_,
                   ": has changed since the job wrote it; move it away, or write it as it "
                   "was"));
  if (status.st_size != written.end || written.begin > written.end) return changed;
  std::string text(static_cast<size_t>(written.end - written.begin), '\0');
  size_t done = 0;
  while (done < text.size()) {
    const ssize_t count = pread(file, text.data() + done, text.size() - done,
                                written.begin + static_cast<int64_t>(done));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return SystemError(filename_);
    done += static_cast<size_t>(count);
  }
  return XXH3_64bits(text.data(), text.size()) == written.fingerprint ? absl::OkStatus() : changed;
}

// As Python's csv.excel quotes fields.
std::string CsvLogger::Line(const std::vector<std::string>& fields) const {
  std::string line;
  for (const std::string& field : fields) {
    if (!line.empty()) line.push_back(separator_);
    const std::string special = {separator_, '"', '\r', '\n'};
    if (field.find_first_of(special) == std::string::npos) {
      line += field;
    } else {
      absl::StrAppend(&line, "\"", absl::StrReplaceAll(field, {{"\"", "\"\""}}), "\"");
    }
  }
  return line + "\r\n";
}

void CsvLogger::Add(int64_t epoch, const proto::EpochRecord& record, double learning_rate) {
  std::map<std::string, double> logs = LogsOf(record, job_);
  if (logs_rate_) logs[kRate] = learning_rate;
  if (text_.empty()) {
    bool is_validated = false;
    for (const auto& [name, value] : logs) {
      columns_.push_back(name);
      is_validated |= absl::StartsWith(name, "val_");
    }
    const size_t count = columns_.size();
    for (size_t i = 0; i < count && !is_validated; ++i) columns_.push_back("val_" + columns_[i]);
    std::vector<std::string> names = {std::string(kFirstColumn)};
    names.insert(names.end(), columns_.begin(), columns_.end());
    text_ = Line(names);
    header_size_ = text_.size();
  }
  std::vector<std::string> fields = {absl::StrCat(epoch)};
  for (const std::string& name : columns_) {
    const auto found = logs.find(name);
    fields.push_back(found == logs.end() ? kMissing : NumberText(found->second));
  }
  text_ += Line(fields);
}

absl::Status CsvLogger::Flush() {
  const int file = Open(filename_);
  if (file < 0) return SystemError(filename_);
  const absl::Cleanup closer = [file] { close(file); };
  return FlushTo(file);
}

absl::Status CsvLogger::FlushTo(int file) {
  CAIRN_ASSIGN_OR_RETURN(const struct stat status, StatOf(filename_, file));
  if (begin_ == kUnknownSize) begin_ = status.st_size;
  // Somebody has replaced the file: it gets all lines.
  if (status.st_size < begin_) {
    begin_ = 0;
    ResetWritten();
  }
  if (status.st_size != begin_ + written_) ResetWritten();
  const std::string_view text = Text();
  while (written_ < static_cast<int64_t>(text.size())) {
    const ssize_t count =
        pwrite(file, text.data() + written_, text.size() - written_, begin_ + written_);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return SystemError(filename_);
    XXH3_64bits_update(written_hash_.get(), text.data() + written_, static_cast<size_t>(count));
    written_ += count;
  }
  if (ftruncate(file, begin_ + written_) != 0) return SystemError(filename_);
  return absl::OkStatus();
}

}  // namespace cairn::coordinator

#include "coordinator/callbacks/csv_logger.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

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
#include "common/mutex.h"
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

// A job comes from whoever reaches the coordinator's port, so it must not overwrite any other file.
absl::Status CheckIsCsv(const std::string& filename) {
  const int file = Open(filename);
  if (file < 0) return SystemError(filename);
  const absl::Cleanup closer = [file] { close(file); };
  CAIRN_ASSIGN_OR_RETURN(const struct stat status, StatOf(filename, file));
  if (status.st_size == 0) return absl::OkStatus();
  std::string begin(kFirstColumn.size(), '\0');
  const ssize_t count = pread(file, begin.data(), begin.size(), 0);
  if (count < 0) return SystemError(filename);
  if (begin == kFirstColumn) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(filename, ": is not a file of csv_logger, which begins with \"",
                   std::string(kFirstColumn), "\"; use another name"));
}

absl::Status CheckIs(const std::string& filename, const CsvLogger::Written& written) {
  const int file = open(filename.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0 && errno == ENOENT) return absl::OkStatus();
  if (file < 0) return SystemError(filename);
  const absl::Cleanup closer = [file] { close(file); };
  CAIRN_ASSIGN_OR_RETURN(const struct stat status, StatOf(filename, file));
  if (status.st_size == 0) return absl::OkStatus();
  const absl::Status changed = absl::FailedPreconditionError(
      absl::StrCat(filename,
                   ": has changed since the job wrote it; move it away, or write it as it "
                   "was"));
  const bool fits = status.st_size == written.end || status.st_size == written.whole_end;
  if (!fits || written.begin > status.st_size) return changed;
  std::string text(static_cast<size_t>(status.st_size - written.begin), '\0');
  size_t done = 0;
  while (done < text.size()) {
    const ssize_t count = pread(file, text.data() + done, text.size() - done,
                                written.begin + static_cast<int64_t>(done));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return SystemError(filename);
    done += static_cast<size_t>(count);
  }
  const uint64_t fingerprint = XXH3_64bits(text.data(), text.size());
  const bool is_written = status.st_size == written.end && fingerprint == written.fingerprint;
  const bool is_whole =
      status.st_size == written.whole_end && fingerprint == written.whole_fingerprint;
  return is_written || is_whole ? absl::OkStatus() : changed;
}

struct HashDeleter {
  void operator()(XXH3_state_t* state) const { XXH3_freeState(state); }
};
using Hash = std::unique_ptr<XXH3_state_t, HashDeleter>;

}  // namespace

// The lines of the job, and how many of them are in the file. Thread-safe: lines are added while a
// write hangs.
class CsvLogger::Text {
 public:
  Text() : hash_(XXH3_createState()) { ResetWritten(); }

  void Start(int64_t begin) {
    MutexLock lock(&mutex_);
    begin_ = begin;
  }
  bool empty() const {
    MutexLock lock(&mutex_);
    return text_.empty();
  }
  void AddHeader(const std::string& line) {
    MutexLock lock(&mutex_);
    text_ = line;
    header_size_ = line.size();
  }
  void Add(const std::string& line) {
    MutexLock lock(&mutex_);
    text_ += line;
  }
  // Nobody waits for the present write any more.
  void SetLate(bool is_late) {
    MutexLock lock(&mutex_);
    is_late_ = is_late;
  }
  // The file has all lines.
  bool complete() const {
    MutexLock lock(&mutex_);
    return begin_ != kUnknownSize && written_ == static_cast<int64_t>(Own().size());
  }

  Written written() const;
  // Writes what the file lacks, also what is added meanwhile.
  absl::Status WriteTo(const std::string& filename);

 private:
  // Fits the position to the file. False: nothing may be written yet.
  bool Begin(int64_t size);
  void ResetWritten() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    written_ = 0;
    XXH3_64bits_reset(hash_.get());
  }
  // What the job writes behind the first begin_ bytes: the header only at the begin of a file.
  std::string_view Own() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return std::string_view(text_).substr(begin_ == 0 ? 0 : header_size_);
  }

  mutable Mutex mutex_;
  int64_t begin_ ABSL_GUARDED_BY(mutex_) = 0;
  std::string text_ ABSL_GUARDED_BY(mutex_);  // The header and all lines.
  size_t header_size_ ABSL_GUARDED_BY(mutex_) = 0;
  int64_t written_ ABSL_GUARDED_BY(mutex_) = 0;  // Bytes of Own().
  // Of these bytes. Each epoch hashes only its own line.
  const Hash hash_;  // Guarded by mutex_.
  bool is_late_ ABSL_GUARDED_BY(mutex_) = false;
};

CsvLogger::Written CsvLogger::Text::written() const {
  MutexLock lock(&mutex_);
  Written written = {begin_, begin_ + written_, XXH3_64bits_digest(hash_.get())};
  const std::string_view rest = Own().substr(static_cast<size_t>(written_));
  const Hash whole(XXH3_createState());
  XXH3_copyState(whole.get(), hash_.get());
  XXH3_64bits_update(whole.get(), rest.data(), rest.size());
  written.whole_end = written.end + static_cast<int64_t>(rest.size());
  written.whole_fingerprint = XXH3_64bits_digest(whole.get());
  return written;
}

bool CsvLogger::Text::Begin(int64_t size) {
  MutexLock lock(&mutex_);
  if (begin_ == kUnknownSize) {
    begin_ = size;
    // The begin is to be journaled before the file changes, or a new process would take lines of
    // this job for older ones. A caller that waits does that right after the write.
    if (is_late_) return false;
  }
  // Somebody has replaced the file: it gets all lines.
  if (size < begin_) {
    begin_ = 0;
    ResetWritten();
  }
  if (size != begin_ + written_) ResetWritten();
  return true;
}

absl::Status CsvLogger::Text::WriteTo(const std::string& filename) {
  const int file = Open(filename);
  if (file < 0) return SystemError(filename);
  const absl::Cleanup closer = [file] { close(file); };
  CAIRN_ASSIGN_OR_RETURN(const struct stat status, StatOf(filename, file));
  if (!Begin(status.st_size)) return absl::OkStatus();
  while (true) {
    constexpr size_t kPieceMax = size_t{1} << 20;
    std::string piece;
    int64_t place = 0;
    {
      MutexLock lock(&mutex_);
      piece = Own().substr(static_cast<size_t>(written_), kPieceMax);
      place = begin_ + written_;
    }
    if (piece.empty())
      return ftruncate(file, place) == 0 ? absl::OkStatus() : SystemError(filename);
    const ssize_t count = pwrite(file, piece.data(), piece.size(), place);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return SystemError(filename);
    MutexLock lock(&mutex_);
    XXH3_64bits_update(hash_.get(), piece.data(), static_cast<size_t>(count));
    written_ += count;
  }
}

CsvLogger::CsvLogger(const proto::Callback& config, const proto::Job& job, bool logs_rate)
    : filename_(config.filename()),
      separator_(config.has_separator() ? config.separator()[0] : ','),
      append_(config.append()),
      logs_rate_(logs_rate),
      job_(job),
      text_(std::make_shared<Text>()) {}

absl::Status CsvLogger::CheckFile(absl::Duration patience) const {
  // A new file must be none that a program reads for other purposes.
  if (!absl::c_any_of(kExtensions,
                      [&](const char* each) { return absl::EndsWith(filename_, each); })) {
    return absl::InvalidArgumentError(
        absl::StrCat(filename_, ": the name ends with none of ", absl::StrJoin(kExtensions, ", ")));
  }
  return FileOperation::Run(
      filename_, [filename = filename_] { return CheckIsCsv(filename); }, patience);
}

int64_t CsvLogger::SizeBefore(absl::Duration patience) const {
  if (!append_) return 0;
  const auto size = std::make_shared<int64_t>(kUnknownSize);
  const absl::Status measured = FileOperation::Run(
      filename_,
      [filename = filename_, size] {
        struct stat status = {};
        if (stat(filename.c_str(), &status) == 0) {
          *size = status.st_size;
        } else if (errno == ENOENT) {
          *size = 0;
        }
        return absl::OkStatus();
      },
      patience);
  // Else the operation may still change the size.
  return measured.ok() ? *size : kUnknownSize;
}

void CsvLogger::Start(int64_t begin) { text_->Start(begin); }

CsvLogger::Written CsvLogger::written() const { return text_->written(); }

absl::Status CsvLogger::CheckUnchanged(const Written& written, absl::Duration patience) const {
  if (written.begin == kUnknownSize) return absl::OkStatus();
  // The job has written nothing, and overwrites the file as at its first start.
  if (written.end == 0 && !append_) return absl::OkStatus();
  return FileOperation::Run(
      filename_, [filename = filename_, written] { return CheckIs(filename, written); }, patience);
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
  if (text_->empty()) {
    bool is_validated = false;
    for (const auto& [name, value] : logs) {
      columns_.push_back(name);
      is_validated |= absl::StartsWith(name, "val_");
    }
    const size_t count = columns_.size();
    for (size_t i = 0; i < count && !is_validated; ++i) columns_.push_back("val_" + columns_[i]);
    std::vector<std::string> names = {std::string(kFirstColumn)};
    names.insert(names.end(), columns_.begin(), columns_.end());
    text_->AddHeader(Line(names));
  }
  std::vector<std::string> fields = {absl::StrCat(epoch)};
  for (const std::string& name : columns_) {
    const auto found = logs.find(name);
    fields.push_back(found == logs.end() ? kMissing : NumberText(found->second));
  }
  text_->Add(Line(fields));
}

absl::Status CsvLogger::Flush(absl::Duration patience) {
  // The result of one that was late is of interest no more.
  if (flush_ != nullptr && flush_->Wait(absl::ZeroDuration()).has_value()) flush_ = nullptr;
  while (true) {
    if (flush_ == nullptr) {
      text_->SetLate(false);
      CAIRN_ASSIGN_OR_RETURN(flush_,
                             FileOperation::Start(filename_, [filename = filename_, text = text_] {
                               return text->WriteTo(filename);
                             }));
    }
    const std::optional<absl::Status> result = flush_->Wait(patience);
    if (!result.has_value()) {
      text_->SetLate(true);
      return flush_->NoAnswer();
    }
    flush_ = nullptr;
    // One that was late may lack the newest lines.
    if (!result->ok() || text_->complete()) return *result;
  }
}

}  // namespace cairn::coordinator

#ifndef CAIRN_COORDINATOR_CALLBACKS_CSV_LOGGER_H_
#define CAIRN_COORDINATOR_CALLBACKS_CSV_LOGGER_H_

#include <xxhash.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "proto/job.pb.h"

namespace cairn::coordinator {

// Keras's CSVLogger: a file with a line for each epoch: its number, then loss, metrics and their
// values for the validation data, in the order of their names. As Keras 3.15 writes it
// (keras/src/callbacks/csv_logger.py): lines end with \r\n, NA stands for a missing value, and if
// the first epoch was not validated the columns of the validation follow at the end.
//
//   CsvLogger log(config, job, /*logs_rate=*/false);
//   log.Start(log.SizeBefore());  // The size is journaled, and is the same after a restart.
//   log.Add(epoch, record, 0);    // All epochs so far, in order.
//   absl::Status written = log.Flush();
//
// The file is a function of its first bytes and of the epochs that were added. So a process that
// adds all of them again leaves each line once, whatever the process before it had written, and
// after a rollback the lines of epochs that are trained again are gone. Not thread-safe.
class CsvLogger {
 public:
  // `job` is validated and must outlive this. `logs_rate`: there is a column for the learning rate.
  CsvLogger(const proto::Callback& config, const proto::Job& job, bool logs_rate);

  // InvalidArgument: the file cannot be written, or exists and is no such file. Creates it if it
  // does not exist.
  absl::Status CheckFile() const;
  // The bytes of the file that the job leaves as they are: none unless "append".
  int64_t SizeBefore() const;
  // The file cannot be reached now. The first Flush that succeeds leaves all that it has then.
  static constexpr int64_t kUnknownSize = -1;

  // What the job has left in its file: the bytes from `begin` to `end`.
  struct Written {
    int64_t begin = 0;
    int64_t end = 0;
    uint64_t fingerprint = 0;
  };
  // FailedPrecondition: the file exists and is not as the job left it. Another job may have written
  // to it since; this one would remove its lines.
  absl::Status CheckUnchanged(const Written& written) const;

  // Begins after the first `begin` bytes of the file.
  void Start(int64_t begin) { begin_ = begin; }
  // Its begin becomes 0 if a Flush finds that somebody has removed the bytes before it.
  Written written() const;
  // Adds the line of the next epoch. `epoch` is counted from the job's initial_epoch.
  void Add(int64_t epoch, const proto::EpochRecord& record, double learning_rate);
  // Writes the lines that the file lacks. If an error occurs, they are written by a later call.
  absl::Status Flush();

  const std::string& filename() const { return filename_; }

 private:
  struct HashDeleter {
    void operator()(XXH3_state_t* state) const { XXH3_freeState(state); }
  };

  absl::Status FlushTo(int file);
  void ResetWritten();
  // What the job writes behind the first begin_ bytes: the header only at the begin of a file.
  std::string_view Text() const {
    return std::string_view(text_).substr(begin_ == 0 ? 0 : header_size_);
  }
  std::string Line(const std::vector<std::string>& fields) const;

  const std::string filename_;
  const char separator_;
  const bool append_;
  const bool logs_rate_;
  const proto::Job& job_;
  int64_t begin_ = 0;
  std::vector<std::string> columns_;  // After "epoch"; from the first epoch on.
  std::string text_;                  // The header and all lines.
  size_t header_size_ = 0;
  int64_t written_ = 0;  // Bytes of Text().
  // Of these bytes. Each epoch hashes only its own line.
  std::unique_ptr<XXH3_state_t, HashDeleter> written_hash_;
};

}  // namespace cairn::coordinator

#endif  // CAIRN_COORDINATOR_CALLBACKS_CSV_LOGGER_H_

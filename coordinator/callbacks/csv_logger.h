#ifndef CAIRN_COORDINATOR_CALLBACKS_CSV_LOGGER_H_
#define CAIRN_COORDINATOR_CALLBACKS_CSV_LOGGER_H_

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "common/file_operation.h"
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
// after a rollback the lines of epochs that are trained again are gone.
//
// The file may be on a disk or a file server that hangs, so everything that uses it runs on another
// thread (FileOperation). A call waits for it for `patience` and then returns Unavailable, with the
// path and the fix. A Flush goes on: its lines are written when the file
// answers, also if the CsvLogger does not exist any more. Not thread-safe.
class CsvLogger {
 public:
  // `job` is validated and must outlive this. `logs_rate`: there is a column for the learning rate.
  CsvLogger(const proto::Callback& config, const proto::Job& job, bool logs_rate);

  // The control loop waits this long for all files of a job together.
  static constexpr absl::Duration kPatience = absl::Seconds(2);
  // Less where --progress_timeout is short: after that the loop itself counts as hanging.
  static absl::Duration PatienceFor(absl::Duration progress_timeout) {
    return std::min(kPatience, progress_timeout / 2);
  }

  // InvalidArgument: the file cannot be written, or exists and is no such file. Creates it if it
  // does not exist.
  absl::Status CheckFile(absl::Duration patience = kPatience) const;
  // The bytes of the file that the job leaves as they are: none unless "append".
  int64_t SizeBefore(absl::Duration patience = kPatience) const;
  // The file cannot be reached now. The first Flush that succeeds leaves all that it has then.
  static constexpr int64_t kUnknownSize = -1;

  // What the job has left in its file: the bytes from `begin` to `end`.
  struct Written {
    int64_t begin = 0;
    int64_t end = 0;
    uint64_t fingerprint = 0;
    // The same once all lines are written, as an unfinished Flush does when the file answers.
    int64_t whole_end = 0;
    uint64_t whole_fingerprint = 0;
  };
  // FailedPrecondition: the file exists and is not as the job left it. Another job may have written
  // to it since; this one would remove its lines.
  absl::Status CheckUnchanged(const Written& written, absl::Duration patience = kPatience) const;

  // Begins after the first `begin` bytes of the file.
  void Start(int64_t begin);
  // Its begin becomes 0 if a Flush finds that somebody has removed the bytes before it.
  Written written() const;
  // Adds the line of the next epoch. `epoch` is counted from the job's initial_epoch.
  void Add(int64_t epoch, const proto::EpochRecord& record, double learning_rate);
  // Writes the lines that the file lacks. If an error occurs, they are written by a later call.
  // Unavailable: this Flush, or the one before it, has not ended.
  absl::Status Flush(absl::Duration patience = kPatience);

  const std::string& filename() const { return filename_; }

 private:
  class Text;

  std::string Line(const std::vector<std::string>& fields) const;

  const std::string filename_;
  const char separator_;
  const bool append_;
  const bool logs_rate_;
  const proto::Job& job_;
  std::vector<std::string> columns_;      // After "epoch"; from the first epoch on.
  const std::shared_ptr<Text> text_;      // Shared with an unfinished Flush.
  std::shared_ptr<FileOperation> flush_;  // The last one, until its result is known.
};

}  // namespace cairn::coordinator

#endif  // CAIRN_COORDINATOR_CALLBACKS_CSV_LOGGER_H_

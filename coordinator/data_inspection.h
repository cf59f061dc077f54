#ifndef CAIRN_COORDINATOR_DATA_INSPECTION_H_
#define CAIRN_COORDINATOR_DATA_INSPECTION_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/types/span.h"
#include "coordinator/outbox.h"
#include "coordinator/task.h"
#include "job/moments.h"
#include "proto/coordinator.pb.h"
#include "proto/job.pb.h"
#include "proto/journal.pb.h"

namespace cairn::coordinator {

// Has workers read a job's data before it starts: the coordinator may have no access to them. If
// the training files are divisible (job::IsDivisible) and there are several workers, they do it in
// parts, each worker one at a time: first parts of the files (the survey); then, if they are to be
// read again (job::IsReadAgain), parts of the examples that were found (the measurement). At last
// one worker reads the rest, knowing what was found in all parts. What a lost worker was to read is
// read by another. Pure state machine, not thread-safe.
class DataInspection {
 public:
  // `id`: of no other inspection of the job, also of an earlier coordinator process.
  explicit DataInspection(uint64_t id = 0) : id_(id) {}
  uint64_t id() const { return id_; }

  // Asks those of `workers` that read nothing.
  void Advance(const proto::JobRecord& record, const proto::Job& job,
               absl::Span<const TaskId> workers, Outbox* outbox);
  // A worker has read a part: the reply, which is one to this inspection, has a survey or a
  // measurement. Ignored if the part was read already. InvalidArgument: it sees other files than
  // another worker, or its reply is not about the part.
  absl::Status OnPart(TaskId worker, const proto::InspectReply& reply);
  // The worker reads nothing: it has failed, is gone or is stuck.
  void Release(TaskId worker);

  // Whether a worker was asked for all that is left, so that its reply ends the inspection.
  bool asked_for_all() const { return asked_for_all_; }
  // What the worker reads: "part 2 of 8 of the training data to inspect". Empty: nothing.
  std::string WorkOf(TaskId worker) const;
  // The workers that read.
  std::vector<TaskId> readers() const;

 private:
  struct Part {
    std::optional<TaskId> reader;
    bool is_read = false;

    void SetRead(TaskId worker) {
      // Another reader is busy until it replies, too.
      if (reader == worker) reader.reset();
      is_read = true;
    }
  };
  using Parts = std::vector<Part>;

  static bool AreRead(const Parts& parts);
  // Sends the command, with a part that nobody reads, to those of `workers` that read nothing.
  void AskForParts(absl::FunctionRef<proto::Command()> make, absl::Span<const TaskId> workers,
                   Parts* parts, Outbox* outbox);
  absl::Status OnSurveyed(TaskId worker, const proto::DataSurvey& survey);
  absl::Status OnMeasured(TaskId worker, const proto::DataMeasurement& measurement);
  // Puts the parts of the survey together.
  proto::DataSurvey Merged() const;
  // The number of parts that are measured: a file, or part of a file, is read by one worker.
  size_t MeasuredParts(size_t wanted) const;

  uint64_t id_;
  bool is_begun_ = false;
  Parts surveyed_;  // Empty: one worker reads everything.
  std::vector<proto::DataSurvey> found_;
  // The worker that has read a part first; the others must see the same files.
  std::optional<TaskId> first_;
  int64_t files_ = 0;
  uint64_t names_ = 0;
  std::optional<proto::DataSurvey> survey_;  // All parts.
  Parts measured_;                           // Empty: the examples are not read again in parts.
  std::optional<std::vector<job::Moments>> moments_;  // Of the parts that were read, by input.
  std::optional<TaskId> inspector_;
  bool asked_for_all_ = false;
};

}  // namespace cairn::coordinator

#endif  // CAIRN_COORDINATOR_DATA_INSPECTION_H_

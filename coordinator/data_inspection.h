#ifndef CAIRN_COORDINATOR_DATA_INSPECTION_H_
#define CAIRN_COORDINATOR_DATA_INSPECTION_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "coordinator/outbox.h"
#include "coordinator/task.h"
#include "job/data_findings.h"
#include "job/moments.h"
#include "proto/coordinator.pb.h"
#include "proto/job.pb.h"
#include "proto/journal.pb.h"

namespace cairn::coordinator {

// Has workers read a job's data before it starts: the coordinator may have no access to them.
// Several workers read divisible files (job::IsDivisible) in parts, each worker one at a time, in
// these stages:
//
//   count     the rows of parts of the training files, if their numbers decide which are for
//             training
//   search    parts of the training files, for what the job leaves open (job::OpenColumns)
//   survey    parts of the files of each source, for their index (job::SurveyedSources)
//   measure   parts of the training examples that were found, if they are read again
//             (job::IsReadAgain)
//
// Training data of several sources are only surveyed in parts.
//
// At last one worker reads the rest, knowing what was found in all parts. What a lost worker was to
// read is read by another. Pure state machine, not thread-safe.
class DataInspection {
 public:
  // `id`: of no other inspection of the job, also of an earlier coordinator process.
  explicit DataInspection(uint64_t id = 0) : id_(id) {}
  uint64_t id() const { return id_; }

  // Asks those of `workers` that read nothing.
  void Advance(const proto::JobRecord& record, const proto::Job& job,
               absl::Span<const TaskId> workers, Outbox* outbox);
  // A worker has read a part: the reply, which is one to this inspection, has a search, a survey or
  // a measurement. Ignored if the part was read already. InvalidArgument: it sees other files than
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

  // The stages in parts, in order.
  enum Stage { kCount, kSearch, kSurvey, kMeasure, kStages };

  // Of a source that is surveyed.
  struct Source {
    bool is_validation = false;
    int number = 0;
    std::string name;  // "the training data", "mix[1] of the validation data"
    // The worker that has read a part first; the others must see the same files.
    std::optional<TaskId> first;
    int64_t files = 0;
    uint64_t names = 0;
    std::vector<proto::DataSurvey> surveys;  // By part.
  };

  static bool AreRead(const Parts& parts);
  void Begin(const proto::Job& job, size_t workers);
  void ReleaseParts(TaskId worker);
  // Without parts: what is found in them cannot be put together.
  void ReadByOne();
  // The parts of the stage are read: puts together what was found.
  void EndStage(Stage stage, const proto::Job& job, size_t workers);
  proto::Command CommandFor(const proto::JobRecord& record, const proto::Job& job) const;
  // Sends the command, with a part of the stage that nobody reads, to those of `workers` that read
  // nothing.
  void AskForParts(Stage stage, const proto::Command& command, absl::Span<const TaskId> workers,
                   Outbox* outbox);
  absl::Status OnSearched(TaskId worker, const proto::DataSearch& search);
  absl::Status OnSurveyed(TaskId worker, const proto::DataSurvey& survey);
  absl::Status OnMeasured(TaskId worker, const proto::DataMeasurement& measurement);
  // Refuses a reply about a part that does not exist, or about an impossible number of files.
  static absl::Status CheckPart(TaskId worker, uint32_t part, size_t parts, int64_t files);
  // InvalidArgument: the worker sees other files than the one that has replied first.
  static absl::Status CheckFiles(TaskId worker, int64_t files, uint64_t names, Source* source);
  // Puts the parts of a survey together.
  static proto::DataSurvey Merged(const Source& source);
  static void SetPlace(const Source& source, proto::SourcePlace* place);
  size_t parts_per_source() const { return parts_[kSurvey].size() / sources_.size(); }
  // The number of parts that are measured: a file, or part of a file, is read by one worker.
  size_t MeasuredParts(size_t wanted) const;

  uint64_t id_;
  std::optional<Stage> stage_;        // That is read, or kStages: the rest. None: it has not begun.
  std::array<Parts, kStages> parts_;  // Empty: there is no such stage.
  std::vector<Source> sources_;       // Their parts of kSurvey are in this order.
  std::vector<int64_t> rows_;         // By part, of kCount.
  std::optional<job::DataFindings> findings_;         // Of the parts that were searched.
  std::optional<proto::DataPlan> open_;               // What was found for the open columns.
  std::vector<proto::DataSurvey> surveys_;            // Of all parts, by source.
  std::optional<std::vector<job::Moments>> moments_;  // Of the parts that were read, by input.
  std::optional<TaskId> inspector_;
  bool asked_for_all_ = false;
};

}  // namespace cairn::coordinator

#endif  // CAIRN_COORDINATOR_DATA_INSPECTION_H_

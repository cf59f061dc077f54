#ifndef CAIRN_CLI_PROGRESS_TEXT_H_
#define CAIRN_CLI_PROGRESS_TEXT_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "proto/coordinator.pb.h"

namespace cairn::cli {

// Texts about the progress of a job, for people. Epochs count from 1.

// "0:07", "12:30", "2:05:00"; "-" if unknown (negative, not finite or too large).
std::string DurationText(double seconds);
// "2026-07-28 03:12:09", in this machine's time zone; "-" if unknown (0 or negative).
std::string TimeText(int64_t unix_seconds);
// "2026-07-28 03:12:09 (45 s ago)  worker 0 is gone". The unit of the age is s, min, h or days.
std::string NoteText(const proto::Note& note, int64_t now_unix_seconds);
// "850", "8.2k", "1.25M".
std::string CountText(double count);
// "loss 0.3121  accuracy 0.8912", of an evaluation or of means over batches.
std::string LossText(double loss, const std::vector<std::pair<std::string, double>>& metrics);
std::string EvaluationText(const proto::EvaluationRecord& evaluation,
                           const google::protobuf::RepeatedPtrField<std::string>& metric_names);

// "epoch 2/3 [=====>    ] 133/469  loss 0.2512  accuracy 0.9081  8.2k examples/s  ETA 0:12
//  2 workers", or what the job waits for. A text of more than `width` characters is shortened:
// first the bar is omitted, then spaces, then the end. Width 0 or less: no limit, and no bar.
std::string ProgressLine(const proto::JobStatus& status, int width);

// The checkpoints of a job: "last 7", "none yet", or "none" if it has ended without one.
std::string CheckpointsText(const proto::JobStatus& status);

// A line such as "There is no history of job 4 (name) yet: it is queued." `what` is its beginning,
// "There is no history". Without "yet" if the job has ended.
std::string NothingOf(const std::string& what, const proto::JobStatus& status);

// One line for each event that is in `after` but not in `before`.
std::vector<std::string> NewEvents(const proto::JobStatus& before, const proto::JobStatus& after);

}  // namespace cairn::cli

#endif  // CAIRN_CLI_PROGRESS_TEXT_H_

// Workers that inspect data together find what one finds alone.

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "coordinator/data_inspection.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/worker/data/data_files.h"
#include "tests/worker/line_plan.h"
#include "worker/job_data.h"

namespace cairn::worker {
namespace {

using cairn::testing::WriteDataFile;

// The last reply of an inspection by so many workers.
proto::InspectReply InspectTogether(const proto::JobPlan& plan, uint32_t workers) {
  proto::JobRecord record;
  record.set_job_id(plan.job_id());
  *record.mutable_model() = plan.model();
  std::vector<coordinator::TaskId> tasks;
  for (uint32_t i = 0; i < workers; ++i) tasks.push_back(coordinator::WorkerTask(i));
  coordinator::DataInspection inspection(1);
  while (true) {
    coordinator::Outbox outbox;
    inspection.Advance(record, plan.job(), tasks, &outbox);
    if (outbox.commands.empty()) break;
    for (const auto& sending : outbox.commands) {
      proto::InspectReply reply = InspectJob(sending.command.inspect(), {});
      if (inspection.asked_for_all() || !reply.error().empty()) return reply;
      EXPECT_FALSE(reply.has_data());
      const absl::Status status = inspection.OnPart(sending.task, reply);
      EXPECT_TRUE(status.ok()) << status;
    }
  }
  ADD_FAILURE() << "the inspection has no end";
  return {};
}

void ExpectSame(const std::string& job) {
  SCOPED_TRACE(job);
  const proto::JobPlan plan = LinePlan(job);
  const proto::InspectReply alone = InspectTogether(plan, 1);
  ASSERT_EQ(alone.error(), "");
  EXPECT_GT(alone.examples(), 10);
  for (const uint32_t workers : {2, 3, 8}) {
    EXPECT_EQ(InspectTogether(plan, workers).ShortDebugString(), alone.ShortDebugString())
        << workers << " workers";
  }
}

// The names of files of 1, 4, 7, 10 and 13 rows, some of them without a row that is valid.
std::string CsvFiles(const std::string& damaged_rows) {
  std::string files;
  for (int file = 0; file < 5; ++file) {
    std::string text = "x,y\n";
    for (int row = 0; row <= 3 * file; ++row) {
      absl::StrAppend(&text, file * 0.1 + row * row / 7.0, ",", row % 3, "\n");
    }
    if (file % 2 == 1) text += damaged_rows;
    absl::StrAppend(&files, file == 0 ? "" : ", ",
                    Quoted(WriteDataFile(absl::StrCat("part", file, ".csv"), text)));
  }
  return files;
}

TEST(DividedInspectionTest, OfCsv) {
  const std::string csv =
      R"({"train": {"csv": {"files": [)" + CsvFiles("") + R"(], "labels": [{"name": "y"}]})";
  for (const char* const more : {
           R"(, "standardize": true}, "validation_fraction": 0.3, "validation_choice": "random"})",
           R"(, "pipeline": [{"filter": "x > 0.2"}, {"take": 20}, {"normalize": {}}]}})",
           R"(, "pipeline": [{"normalize": {}}]}, "validation_fraction": 0.3})",
           R"(, "pipeline": [{"skip": 3}]}})",
           R"(}})",
       }) {
    ExpectSame(csv + more);
  }
}

TEST(DividedInspectionTest, OfCsvWithDamagedRecords) {
  for (const char* const more : {R"(, "standardize": true)", ""}) {
    ExpectSame(R"({"train": {"csv": {"files": [)" + CsvFiles("1,2,3\nabc,1\n") +
               R"(], "labels": [{"name": "y"}]}, "skip_damaged": 4)" + more + "}}");
  }
}

TEST(DividedInspectionTest, TooManyDamagedRecords) {
  const proto::JobPlan plan = LinePlan(R"({"train": {"csv": {"files": [)" + CsvFiles("1,2,3\n") +
                                       R"(], "labels": [{"name": "y"}]}, "skip_damaged": 1}})");
  for (const uint32_t workers : {1, 2, 3}) {
    EXPECT_THAT(InspectTogether(plan, workers).error(),
                ::testing::HasSubstr("2 damaged records, \"skip_damaged\" allows 1"))
        << workers;
  }
}

}  // namespace
}  // namespace cairn::worker

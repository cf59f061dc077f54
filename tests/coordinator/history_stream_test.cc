#include "coordinator/history_stream.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/version.h"
#include "storage/job_records.h"
#include "tests/coordinator/test_daemon.h"

namespace cairn::coordinator {
namespace {

// A journal with one job of `batches` records, written before the daemon starts.
std::string MakeJournal(int64_t batches) {
  const std::string directory =
      absl::StrCat(::testing::TempDir(), "/history_stream_",
                   ::testing::UnitTest::GetInstance()->current_test_info()->name());
  std::filesystem::remove_all(directory);
  auto journal = *storage::Journal::Open(directory);
  std::vector<storage::Journal::Change> changes;
  proto::JobRecord job;
  job.set_job_id(1);
  job.mutable_job()->set_name("old");
  job.mutable_partition()->set_ps_count(1);
  job.mutable_job()->add_metrics("accuracy");
  job.set_state(proto::FINISHED);
  changes.push_back({storage::JobKey(1), job.SerializeAsString()});
  for (int64_t batch = 0; batch < batches; ++batch) {
    proto::BatchRecord record;
    record.set_batch(batch);
    changes.push_back({storage::BatchKey(1, batch), record.SerializeAsString()});
  }
  proto::EvaluationRecord evaluation;
  evaluation.set_examples(5);
  changes.push_back({storage::EvaluationKey(1, 0), evaluation.SerializeAsString()});
  EXPECT_TRUE(journal->Write(changes, /*sync=*/false).ok());
  return directory;
}

TEST(HistoryStreamTest, ALongHistoryComesInOrderInSeveralChunks) {
  TestDaemon daemon(MakeJournal(10000));
  auto stub = daemon.MakeStub();
  grpc::ClientContext context;
  proto::JobReference reference;
  reference.set_job("old");
  auto reader = stub->GetHistory(&context, reference);
  proto::HistoryChunk chunk;
  int64_t next = 0;
  int chunks = 0, evaluations = 0;
  for (; reader->Read(&chunk); ++chunks) {
    EXPECT_EQ(chunk.metric_names(0), "accuracy");
    for (const proto::BatchRecord& record : chunk.batches()) EXPECT_EQ(record.batch(), next++);
    evaluations += chunk.evaluations_size();
  }
  EXPECT_TRUE(reader->Finish().ok());
  EXPECT_EQ(next, 10000);
  EXPECT_GT(chunks, 1);
  EXPECT_EQ(evaluations, 1);
}

TEST(HistoryStreamTest, AJobThatDoesNotExistIsNotFound) {
  TestDaemon daemon(MakeJournal(1));
  auto stub = daemon.MakeStub();
  grpc::ClientContext context;
  proto::JobReference reference;
  reference.set_job("new");
  auto reader = stub->GetHistory(&context, reference);
  proto::HistoryChunk chunk;
  EXPECT_FALSE(reader->Read(&chunk));
  EXPECT_EQ(reader->Finish().error_code(), grpc::StatusCode::NOT_FOUND);
}

TEST(HistoryStreamTest, AClientMayLeaveInTheMiddle) {
  TestDaemon daemon(MakeJournal(50000));
  auto stub = daemon.MakeStub();
  proto::JobReference reference;
  reference.set_job("1");
  proto::HistoryChunk chunk;
  {
    grpc::ClientContext context;
    auto reader = stub->GetHistory(&context, reference);
    EXPECT_TRUE(reader->Read(&chunk));
    context.TryCancel();
    reader->Finish();
  }
  grpc::ClientContext context;
  auto reader = stub->GetHistory(&context, reference);
  EXPECT_TRUE(reader->Read(&chunk));
  context.TryCancel();
}

}  // namespace
}  // namespace cairn::coordinator

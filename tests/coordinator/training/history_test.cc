#include "coordinator/training/history.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "storage/job_records.h"

namespace cairn::coordinator {
namespace {

proto::BatchRecord Batch(int64_t batch, double loss, int64_t examples = 10) {
  proto::BatchRecord record;
  record.set_batch(batch);
  record.set_examples(examples);
  record.set_loss(loss);
  record.add_metrics(loss / 2);
  proto::MetricState* state = record.add_metric_states();
  state->add_values(loss / 2 * static_cast<double>(examples));
  state->add_values(static_cast<double>(examples));
  return record;
}

MetricSums Accuracy() {
  proto::Job job;
  job.add_metrics("accuracy");
  return MetricSums(job);
}

proto::EvaluationRecord Evaluation(int64_t epoch) {
  proto::EvaluationRecord record;
  record.set_epoch(epoch);
  return record;
}

class HistoryTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const std::string directory =
        absl::StrCat(::testing::TempDir(), "/history_",
                     ::testing::UnitTest::GetInstance()->current_test_info()->name());
    std::filesystem::remove_all(directory);
    journal_ = *storage::Journal::Open(directory);
    proto::JobRecord record;
    record.set_job_id(1);
    Outbox outbox;
    outbox.Put(storage::JobKey(1), record);
    Write(&outbox);
    history_ = *History::Load(journal_.get(), 1, /*batches_per_epoch=*/10, Accuracy());
  }

  void Write(Outbox* outbox) {
    ASSERT_TRUE(journal_->Write(outbox->changes, /*sync=*/false).ok());
    outbox->changes.clear();
  }
  void Add(const proto::BatchRecord& record) {
    Outbox outbox;
    history_->Add(record, &outbox);
    EXPECT_FALSE(outbox.sync);
    Write(&outbox);
  }
  std::vector<int64_t> Journalled() {
    std::vector<int64_t> batches;
    EXPECT_TRUE(storage::ReadBatches(*journal_, 1, 0, [&](const proto::BatchRecord& record) {
                  batches.push_back(record.batch());
                  return true;
                }).ok());
    return batches;
  }

  std::unique_ptr<storage::Journal> journal_;
  std::unique_ptr<History> history_;
};

TEST_F(HistoryTest, MeansAreOfTheNewestEpochWeightedByExamples) {
  Add(Batch(3, 100));
  Add(Batch(10, 4, 30));
  Add(Batch(11, 8, 10));
  const History::Means means = history_->EpochMeans();
  EXPECT_EQ(means.epoch, 1);
  EXPECT_EQ(means.batches, 2);
  EXPECT_DOUBLE_EQ(means.loss, 5);
  EXPECT_DOUBLE_EQ(means.metrics[0], 2.5);
}

TEST_F(HistoryTest, ALaterReportReplacesTheEarlier) {
  Add(Batch(3, 100));
  Add(Batch(3, 6));
  EXPECT_DOUBLE_EQ(history_->EpochMeans().loss, 6);
  EXPECT_DOUBLE_EQ(history_->EpochMeans().metrics[0], 3);
  EXPECT_EQ(history_->EpochMeans().batches, 1);
  EXPECT_EQ(Journalled(), (std::vector<int64_t>{3}));
}

TEST_F(HistoryTest, ALossThatIsNotFiniteIsTheEpochsUntilAnotherReportReplacesIt) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  Add(Batch(3, 4));
  Add(Batch(4, std::nan("")));
  EXPECT_TRUE(std::isnan(history_->EpochMeans().loss));
  EXPECT_TRUE(std::isnan(history_->ReadEpochMeans(0)->loss));
  Add(Batch(4, kInfinity));
  EXPECT_EQ(history_->EpochMeans().loss, kInfinity);
  Add(Batch(5, -kInfinity));
  EXPECT_TRUE(std::isnan(history_->EpochMeans().loss));
  Add(Batch(4, 8));
  EXPECT_EQ(history_->EpochMeans().loss, -kInfinity);
  Add(Batch(5, 6));
  EXPECT_DOUBLE_EQ(history_->EpochMeans().loss, 6);
}

TEST_F(HistoryTest, ARollbackRemovesBatchesNoLongerApplied) {
  for (int64_t batch = 0; batch < 25; ++batch) Add(Batch(batch, static_cast<double>(batch)));
  Outbox outbox;
  history_->Add(Evaluation(0), &outbox);
  history_->Add(Evaluation(1), &outbox);
  Write(&outbox);
  BatchRanges open(12, 100);
  open.Remove(14, 15);  // Applied above the mark.
  ASSERT_TRUE(history_->RemoveUnapplied(open, &outbox).ok());
  Write(&outbox);
  EXPECT_EQ(Journalled(), (std::vector<int64_t>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 14}));
  EXPECT_TRUE(history_->HasEvaluation(0));
  EXPECT_FALSE(history_->HasEvaluation(1));
  EXPECT_DOUBLE_EQ(history_->EpochMeans().loss, (10 + 11 + 14) / 3.0);
  EXPECT_EQ(storage::ReadJob(*journal_, 1)->evaluations.size(), 1u);
}

TEST_F(HistoryTest, ItGoesOnFromTheJournal) {
  Add(Batch(10, 4));
  Add(Batch(12, 8));
  Outbox outbox;
  history_->Add(Evaluation(0), &outbox);
  Write(&outbox);
  const auto again = *History::Load(journal_.get(), 1, 10, Accuracy());
  EXPECT_EQ(again->recorded(), history_->recorded());
  EXPECT_DOUBLE_EQ(again->EpochMeans().loss, 6);
  EXPECT_TRUE(again->HasEvaluation(0));
}

TEST_F(HistoryTest, RecordsThatCannotBeAreDropped) {
  proto::BatchRecord no_metrics = Batch(1, 1);
  no_metrics.clear_metrics();
  Add(no_metrics);
  proto::BatchRecord no_states = Batch(1, 1);
  no_states.clear_metric_states();
  Add(no_states);
  Add(Batch(-1, 1));
  EXPECT_TRUE(Journalled().empty());
  EXPECT_TRUE(history_->recorded().empty());
}

TEST_F(HistoryTest, AnEpochsMeansAreBitIdenticalInAnyOrderOfReports) {
  for (const int64_t batch : {3, 0, 2, 1, 12, 11}) {
    Add(Batch(batch, 0.1 * static_cast<double>(batch + 1), batch + 1));
  }
  double loss = 0, examples = 0;
  for (int64_t batch = 0; batch < 4; ++batch) {
    loss += static_cast<double>(batch + 1) * (0.1 * static_cast<double>(batch + 1));
    examples += static_cast<double>(batch + 1);
  }
  const auto means = history_->ReadEpochMeans(0);
  ASSERT_TRUE(means.ok());
  EXPECT_EQ(means->batches, 4);
  EXPECT_EQ(means->examples, 10);
  EXPECT_EQ(means->loss, loss / examples);
  EXPECT_EQ(history_->ReadEpochMeans(1)->batches, 2);
  EXPECT_EQ(history_->ReadEpochMeans(2)->batches, 0);
}

TEST_F(HistoryTest, ARollbackRemovesRecordsOfIncompleteEpochs) {
  Outbox outbox;
  for (int epoch = 0; epoch < 3; ++epoch) history_->Add(proto::EpochRecord(), &outbox);
  ASSERT_TRUE(history_->RemoveUnapplied(BatchRanges(20, 30), &outbox).ok());
  Write(&outbox);
  EXPECT_EQ(history_->epochs().size(), 2u);
  EXPECT_EQ(storage::ReadJob(*journal_, 1)->epochs.size(), 2u);
}

}  // namespace
}  // namespace cairn::coordinator

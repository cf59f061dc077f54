#include "coordinator/training/history.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "storage/job_records.h"
#include "tests/coordinator/training/metric_plan.h"

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
    Load();
  }

  // As a restarted coordinator does.
  void Load() { history_ = *History::Load(*journal_, plan_); }

  void Write(Outbox* outbox) {
    ASSERT_TRUE(journal_->Write(outbox->changes, /*sync=*/false).ok());
    outbox->changes.clear();
  }
  void Add(const std::vector<proto::BatchRecord>& records) {
    proto::WorkReport report;
    for (const proto::BatchRecord& record : records) *report.add_batches() = record;
    Outbox outbox;
    history_->Add(report.batches(), &outbox);
    EXPECT_FALSE(outbox.sync);
    Write(&outbox);
  }
  void Add(const proto::BatchRecord& record) { Add(std::vector<proto::BatchRecord>{record}); }
  void RollBack(uint64_t checkpoint, const BatchRanges& open) {
    Outbox outbox;
    ASSERT_TRUE(history_->RollBack(*journal_, checkpoint, open, &outbox).ok());
    Write(&outbox);
  }
  void KeepSums(uint64_t checkpoint) {
    Outbox outbox;
    history_->KeepSums(checkpoint, &outbox);
    Write(&outbox);
  }
  std::vector<int64_t> Rows() {
    std::vector<int64_t> batches;
    EXPECT_TRUE(storage::ReadBatches(*journal_, 1, 0, [&](const proto::BatchRecord& record) {
                  batches.push_back(record.batch());
                  return true;
                }).ok());
    return batches;
  }

  std::unique_ptr<storage::Journal> journal_;
  proto::JobPlan plan_ = MetricPlan({"accuracy"});
  std::unique_ptr<History> history_;
};

TEST_F(HistoryTest, MeansAreOfAnEpochWeightedByExamples) {
  Add(Batch(3, 100));
  Add({Batch(10, 4, 30), Batch(11, 8, 10)});
  const History::Means means = history_->NewestMeans();
  EXPECT_EQ(means.epoch, 1);
  EXPECT_EQ(means.batches, 2);
  EXPECT_EQ(means.examples, 40);
  EXPECT_DOUBLE_EQ(means.loss, 5);
  EXPECT_DOUBLE_EQ(means.metrics[0], 2.5);
  EXPECT_DOUBLE_EQ(history_->MeansOf(0).loss, 100);
  EXPECT_EQ(history_->MeansOf(2).batches, 0);
}

TEST_F(HistoryTest, TheFirstReportOfABatchCounts) {
  Add(Batch(3, 6));
  Add(Batch(3, 100));
  EXPECT_DOUBLE_EQ(history_->NewestMeans().loss, 6);
  EXPECT_EQ(history_->NewestMeans().batches, 1);
  EXPECT_EQ(Rows(), (std::vector<int64_t>{3}));
}

TEST_F(HistoryTest, ALossThatIsNotFiniteIsTheEpochs) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  Add(Batch(3, 4));
  Add(Batch(4, kInfinity));
  EXPECT_EQ(history_->NewestMeans().loss, kInfinity);
  Add(Batch(5, -kInfinity));
  EXPECT_TRUE(std::isnan(history_->NewestMeans().loss));
  Add(Batch(13, -kInfinity));
  EXPECT_EQ(history_->NewestMeans().loss, -kInfinity);
  Load();
  EXPECT_EQ(history_->NewestMeans().loss, -kInfinity);
  Add(Batch(14, std::nan("")));
  EXPECT_TRUE(std::isnan(history_->NewestMeans().loss));
}

TEST_F(HistoryTest, ItGoesOnFromTheJournal) {
  Add(Batch(10, 4));
  Add(Batch(12, 8));
  Outbox outbox;
  history_->Add(Evaluation(0), &outbox);
  Write(&outbox);
  Load();
  EXPECT_TRUE(history_->HasEvaluation(0));
  EXPECT_DOUBLE_EQ(history_->NewestMeans().loss, 6);
  Add(Batch(12, 100));
  EXPECT_EQ(history_->NewestMeans().batches, 2) << "what was recorded is known";
  Add(Batch(11, 12));
  EXPECT_DOUBLE_EQ(history_->NewestMeans().loss, 8);
}

TEST_F(HistoryTest, ARollbackContinuesFromTheSumsOfTheCheckpoint) {
  for (int64_t batch = 0; batch < 12; ++batch) Add(Batch(batch, static_cast<double>(batch)));
  Add(Batch(14, 14));
  KeepSums(7);
  for (const int64_t batch : {12, 13, 15, 20, 21}) Add(Batch(batch, 1000));
  Outbox outbox;
  history_->Add(Evaluation(0), &outbox);
  history_->Add(Evaluation(1), &outbox);
  Write(&outbox);
  BatchRanges open(12, 100);
  open.Remove(14, 15);  // Applied above the mark.
  RollBack(7, open);
  for (const bool restarted : {false, true}) {
    if (restarted) Load();
    EXPECT_EQ(Rows(), (std::vector<int64_t>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 14}));
    EXPECT_TRUE(history_->HasEvaluation(0));
    EXPECT_FALSE(history_->HasEvaluation(1));
    EXPECT_DOUBLE_EQ(history_->NewestMeans().loss, (10 + 11 + 14) / 3.0);
    EXPECT_DOUBLE_EQ(history_->MeansOf(0).loss, 4.5);
  }
  // The batches that were undone count when they are trained again.
  Add(Batch(12, 5));
  EXPECT_DOUBLE_EQ(history_->NewestMeans().loss, (10 + 11 + 14 + 5) / 4.0);
  RollBack(0, BatchRanges(0, 100));
  EXPECT_EQ(history_->NewestMeans().batches, 0);
  EXPECT_TRUE(Rows().empty());
}

TEST_F(HistoryTest, RecordsThatCannotBeAreDropped) {
  proto::BatchRecord no_metrics = Batch(1, 1);
  no_metrics.clear_metrics();
  proto::BatchRecord no_states = Batch(1, 1);
  no_states.clear_metric_states();
  proto::BatchRecord short_state = Batch(1, 1);
  short_state.mutable_metric_states(0)->mutable_values()->RemoveLast();
  Add({no_metrics, no_states, short_state, Batch(-1, 1), Batch(100, 1), Batch(1, 1, 0)});
  EXPECT_TRUE(Rows().empty());
  EXPECT_EQ(history_->NewestMeans().batches, 0);
}

TEST_F(HistoryTest, AnEpochsMeansAreBitIdenticalInAnyOrderOfReports) {
  std::vector<proto::BatchRecord> records;
  for (int64_t batch = 0; batch < 10; ++batch) {
    records.push_back(Batch(batch, 0.1 * static_cast<double>(batch + 1), 1 + batch % 3));
  }
  Add(records);
  const History::Means means = history_->MeansOf(0);
  for (int order = 0; order < 10; ++order) {
    RollBack(0, BatchRanges(0, 100));
    std::rotate(records.begin(), records.begin() + 3, records.end());
    for (const proto::BatchRecord& record : records) Add(record);
    EXPECT_EQ(history_->MeansOf(0).loss, means.loss);
    EXPECT_EQ(history_->MeansOf(0).metrics, means.metrics);
  }
}

TEST_F(HistoryTest, OnlyTheNewestRowsAndSumsAreKept) {
  plan_ = MetricPlan({"accuracy"}, /*total_batches=*/1'000'000);
  plan_.mutable_job()->set_keep_history(50);
  Load();
  size_t bytes = 0;
  for (int64_t batch = 0; batch < 2000; ++batch) {
    Add(Batch(batch, 1));
    if (batch == 500) bytes = storage::ReadHistorySums(*journal_, 1)->ByteSizeLong();
  }
  EXPECT_LE(Rows().size(), 100u);
  EXPECT_EQ(Rows().back(), 1999);
  EXPECT_EQ(history_->MeansOf(199).batches, 10);
  EXPECT_EQ(history_->MeansOf(100).batches, 0) << "decided long ago";
  EXPECT_LE(storage::ReadHistorySums(*journal_, 1)->ByteSizeLong(), bytes + 8);
  Load();
  EXPECT_EQ(history_->NewestMeans().epoch, 199);
}

TEST_F(HistoryTest, ARollbackRemovesRecordsOfIncompleteEpochs) {
  Outbox outbox;
  for (int epoch = 0; epoch < 3; ++epoch) history_->Add(proto::EpochRecord(), &outbox);
  Write(&outbox);
  RollBack(0, BatchRanges(20, 30));
  EXPECT_EQ(history_->epochs().size(), 2u);
  EXPECT_EQ(storage::ReadJob(*journal_, 1)->epochs.size(), 2u);
}

proto::BatchRecord Rejected(int64_t batch, double loss) {
  proto::BatchRecord record = Batch(batch, loss);
  record.set_rejected(true);
  return record;
}

TEST_F(HistoryTest, RejectedBatchesAreCountedAndNotPartOfTheMeans) {
  Add(Batch(3, 4));
  Add({Rejected(4, std::nan("")), Rejected(5, 100), Rejected(4, std::nan(""))});
  EXPECT_EQ(history_->NewestMeans().loss, 4);
  EXPECT_EQ(history_->NewestMeans().metrics[0], 2);
  EXPECT_EQ(history_->NewestMeans().batches, 3);
  EXPECT_EQ(history_->batches_rejected(), 2);
  EXPECT_EQ(Rows(), (std::vector<int64_t>{3, 4, 5}));
  KeepSums(7);
  // Of an epoch of which nothing counts there is no mean.
  Add(Rejected(13, 1));
  EXPECT_TRUE(std::isnan(history_->NewestMeans().loss));
  EXPECT_TRUE(std::isnan(history_->NewestMeans().metrics[0]));
  Load();
  EXPECT_TRUE(std::isnan(history_->NewestMeans().loss));
  EXPECT_EQ(history_->batches_rejected(), 3);
  RollBack(7, BatchRanges(10, 20));
  EXPECT_EQ(history_->batches_rejected(), 2);
}

}  // namespace
}  // namespace cairn::coordinator

#ifndef CAIRN_TESTS_COORDINATOR_TRAINING_TRAINING_FIXTURE_H_
#define CAIRN_TESTS_COORDINATOR_TRAINING_TRAINING_FIXTURE_H_

#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "coordinator/training/training.h"
#include "storage/job_records.h"

namespace cairn::coordinator {

// A training with one ps, whose ledger the test writes, and workers that send what the test says.
class TrainingFixture : public ::testing::Test {
 protected:
  void SetUp() override {
    const std::string directory =
        absl::StrCat(::testing::TempDir(), "/training_",
                     ::testing::UnitTest::GetInstance()->current_test_info()->name());
    std::filesystem::remove_all(directory);
    journal_ = *storage::Journal::Open(directory);
    proto::JobRecord record;
    record.set_job_id(1);
    const std::vector<storage::Journal::Change> changes = {
        {storage::JobKey(1), record.SerializeAsString()}};
    ASSERT_TRUE(journal_->Write(changes, false).ok());
    plan_.set_job_id(1);
    plan_.set_batches_per_epoch(10);
    plan_.set_total_batches(20);
    plan_.set_batches_per_update(1);
    plan_.set_window(-1);
    plan_.set_batch_size(10);
    plan_.mutable_partition()->set_ps_count(1);
    run_.set_generation(1);
    history_ = *History::Load(*journal_, plan_);
  }

  void Start() {
    training_ = std::make_unique<Training>(
        Training::Context{&plan_, &run_, history_.get(), kProgressTimeout}, BatchRanges(0, 20),
        std::vector<proto::Manifest>());
    training_->AddWorker(WorkerTask(0));
    training_->AddWorker(WorkerTask(1));
  }

  static constexpr absl::Duration kProgressTimeout = absl::Seconds(60);

  // The commands sent since the last call.
  std::vector<proto::Command> Advance(absl::Duration step = absl::Milliseconds(10)) {
    now_.monotonic += step;
    Outbox outbox;
    training_->Advance(now_, &outbox);
    for (auto& reply : outbox.replies) reply();
    std::vector<proto::Command> commands;
    for (auto& sending : outbox.commands) commands.push_back(sending.command);
    return commands;
  }

  std::vector<proto::Command> Report(uint32_t worker, const std::vector<int64_t>& batches,
                                     int64_t wanted) {
    proto::WorkReport report;
    report.set_wanted(wanted);
    report.set_queued(1);
    report.set_blocked_on(-1);
    for (const int64_t batch : batches) {
      proto::BatchRecord* record = report.add_batches();
      record->set_batch(batch);
      record->set_examples(10);
    }
    Outbox outbox;
    training_->OnWork(WorkerTask(worker), report, now_, &outbox);
    return Advance();
  }

  void AnswerCut(uint64_t cut, const BatchRanges& open_on_all, const BatchRanges& open_on_any) {
    proto::CutReply reply;
    reply.set_cut(cut);
    reply.set_generation(1);
    reply.mutable_ledger()->set_blocks(2);
    *reply.mutable_ledger()->mutable_applied_on_all() = MakeLedgerState(open_on_all, 20);
    *reply.mutable_ledger()->mutable_applied_on_any() = MakeLedgerState(open_on_any, 20);
    training_->OnCut(0, reply);
  }

  static const proto::Command* Find(const std::vector<proto::Command>& commands,
                                    proto::Command::CommandCase kind) {
    for (const proto::Command& command : commands) {
      if (command.command_case() == kind) return &command;
    }
    return nullptr;
  }
  static std::vector<int64_t> Granted(const std::vector<proto::Command>& commands) {
    std::vector<int64_t> batches;
    for (const proto::Command& command : commands) {
      for (const proto::Split& split : command.grant().train()) {
        for (int64_t i = 0; i < split.count(); ++i) batches.push_back(split.first() + i);
      }
    }
    return batches;
  }

  std::unique_ptr<storage::Journal> journal_;
  std::unique_ptr<History> history_;
  proto::JobPlan plan_;
  proto::RunRecord run_;
  std::unique_ptr<Training> training_;
  EventTime now_{absl::Seconds(100), 0};
};

}  // namespace cairn::coordinator

#endif  // CAIRN_TESTS_COORDINATOR_TRAINING_TRAINING_FIXTURE_H_

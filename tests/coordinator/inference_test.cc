#include "coordinator/inference.h"

#include <gtest/gtest.h>

#include <deque>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "tests/coordinator/recording_sink.h"

namespace cairn::coordinator {
namespace {

constexpr uint64_t kId = 8;

proto::InferenceReport Ready(int64_t examples, int64_t batch_size, int64_t batch_bytes) {
  proto::InferenceReport report;
  report.set_inference(kId);
  report.mutable_ready()->set_examples(examples);
  report.mutable_ready()->set_batch_size(batch_size);
  report.mutable_ready()->set_batch_bytes(batch_bytes);
  return report;
}

// Of 25 examples in batches of 10, with 4 bytes of output each.
proto::InferenceReport Result(int64_t batch) {
  proto::InferenceReport report;
  report.set_inference(kId);
  const int64_t examples = batch == 2 ? 5 : 10;
  report.mutable_batch()->set_batch(batch);
  report.mutable_batch()->set_examples(examples);
  report.mutable_batch()->add_outputs(std::string(examples * 4, static_cast<char>(batch)));
  return report;
}

proto::InferenceReport Error(const std::string& error) {
  proto::InferenceReport report;
  report.set_inference(kId);
  report.set_error(error);
  return report;
}

class InferenceTest : public ::testing::Test {
 protected:
  explicit InferenceTest(int64_t first_batch = 0) {
    proto::InferenceRequest request;
    request.set_first_batch(first_batch);
    inference_ = std::make_unique<Inference>(kId, request, sink_);
  }

  // The batches that were leased to each worker.
  std::map<uint32_t, std::vector<int64_t>> Advance() {
    Outbox outbox;
    inference_->Advance(now_, &outbox);
    std::map<uint32_t, std::vector<int64_t>> leased;
    for (const auto& sending : outbox.commands) {
      EXPECT_EQ(sending.command.grant_inference().inference(), kId);
      for (const proto::Split& split : sending.command.grant_inference().batches()) {
        for (int64_t i = 0; i < split.count(); ++i) {
          leased[sending.task.index].push_back(split.first() + i);
        }
      }
    }
    return leased;
  }
  void Join(uint32_t worker) {
    Outbox outbox;
    inference_->AddWorker(WorkerTask(worker), &outbox);
    ASSERT_EQ(outbox.commands.size(), 1u);
    EXPECT_EQ(outbox.commands[0].command.start_inference().inference(), kId);
  }
  void Report(uint32_t worker, const proto::InferenceReport& report) {
    inference_->OnReport(WorkerTask(worker), report, now_);
  }

  absl::Duration now_ = absl::Seconds(10);
  std::shared_ptr<RecordingSink> sink_ = std::make_shared<RecordingSink>();
  std::unique_ptr<Inference> inference_;
};

TEST_F(InferenceTest, ResultsComeInOrderAndOnce) {
  Join(0);
  Join(1);
  EXPECT_TRUE(Advance().empty()) << "nobody has loaded the data";
  Report(0, Ready(25, 10, 40));
  Report(1, Ready(25, 10, 40));
  const auto leased = Advance();
  ASSERT_EQ(leased.at(0), (std::vector<int64_t>{0, 1}));
  ASSERT_EQ(leased.at(1), (std::vector<int64_t>{2}));
  Report(1, Result(2));
  Report(0, Result(1));
  Report(0, Result(1));
  Advance();
  EXPECT_TRUE(sink_->batches().empty());
  Report(0, Result(0));
  Advance();
  EXPECT_EQ(sink_->batches(), (std::vector<int64_t>{0, 1, 2}));
  EXPECT_EQ(sink_->chunks.back().examples(), 25);
  EXPECT_EQ(sink_->end, absl::OkStatus());
  EXPECT_TRUE(inference_->over());
}

TEST_F(InferenceTest, TheBatchesOfALostWorkerGoToOthers) {
  Join(0);
  Report(0, Ready(25, 10, 40));
  ASSERT_EQ(Advance().at(0).size(), 2u);
  inference_->RemoveWorker(WorkerTask(0));
  Advance();
  EXPECT_EQ(sink_->chunks.back().waiting_for(), "for workers");
  Report(0, Result(0));  // Late.
  Join(1);
  Report(1, Ready(25, 10, 40));
  EXPECT_EQ(Advance().at(1), (std::vector<int64_t>{0, 1}));
  EXPECT_TRUE(sink_->batches().empty());
}

TEST_F(InferenceTest, NothingIsSentToAClientThatIsBusy) {
  Join(0);
  Report(0, Ready(25, 10, 40));
  Advance();
  sink_->is_ready = false;
  Report(0, Result(0));
  Advance();
  EXPECT_TRUE(sink_->chunks.empty());
  sink_->is_ready = true;
  Advance();
  EXPECT_EQ(sink_->batches(), (std::vector<int64_t>{0}));
}

TEST_F(InferenceTest, FewBytesAreOnTheirWay) {
  Join(0);
  // Each batch has 20 MiB.
  Report(0, Ready(1000, 10, 20 << 20));
  sink_->is_ready = false;
  std::vector<int64_t> leased;
  for (int i = 0; i < 100; ++i) {
    now_ += absl::Milliseconds(1);
    for (const auto& [worker, batches] : Advance()) {
      leased.insert(leased.end(), batches.begin(), batches.end());
      for (const int64_t batch : batches) {
        proto::InferenceReport report;
        report.set_inference(kId);
        report.mutable_batch()->set_batch(batch);
        report.mutable_batch()->set_examples(10);
        report.mutable_batch()->add_outputs(std::string(20 << 20, 'x'));
        Report(worker, report);
      }
    }
  }
  EXPECT_EQ(leased, (std::vector<int64_t>{0, 1, 2}));
}

TEST_F(InferenceTest, AWorkerThatFailsIsLeftOutAndAllThatFailAreTheEnd) {
  Join(0);
  Join(1);
  Report(0, Error("--input: no file x.npy"));
  Advance();
  EXPECT_FALSE(sink_->end.has_value());
  Report(1, Ready(25, 10, 40));
  EXPECT_FALSE(Advance().contains(0));
  Report(1, Error("it is gone"));
  Advance();
  EXPECT_EQ(sink_->end, absl::InvalidArgumentError("--input: no file x.npy"));
}

TEST_F(InferenceTest, TheFirstErrorIsTheReason) {
  Join(0);
  Join(1);
  Report(1, Error("no such file"));
  Report(0, Error("the checkpoint was deleted"));
  Advance();
  EXPECT_EQ(sink_->end, absl::InvalidArgumentError("no such file"));
}

TEST_F(InferenceTest, WorkersThatLoadAreNamedAfterAWhile) {
  for (uint32_t worker = 0; worker < 5; ++worker) Join(worker);
  Report(0, Error("no such file"));
  Advance();
  EXPECT_TRUE(sink_->chunks.empty());
  now_ += absl::Seconds(6);
  Advance();
  ASSERT_FALSE(sink_->chunks.empty());
  EXPECT_EQ(sink_->chunks.back().waiting_for(),
            "for worker 1, worker 2, worker 3, 1 other to load the model and data");
  Report(4, Ready(25, 10, 40));
  Advance();
  EXPECT_EQ(sink_->chunks.back().waiting_for(), "");
}

TEST_F(InferenceTest, WorkersThatAreStuckInLoadingCountAsFailed) {
  Join(0);
  Join(1);
  inference_->SetStuck(WorkerTask(0), "worker 0 is stuck in loading data, 61 s");
  Advance();
  EXPECT_FALSE(sink_->end.has_value());
  // It goes on.
  inference_->SetStuck(WorkerTask(0), "");
  inference_->SetStuck(WorkerTask(1), "worker 1 is stuck in loading data, 61 s");
  Advance();
  EXPECT_FALSE(sink_->end.has_value());
  inference_->SetStuck(WorkerTask(0), "worker 0 is stuck in loading data, 61 s");
  Advance();
  EXPECT_EQ(sink_->end, absl::DeadlineExceededError("worker 0 is stuck in loading data, 61 s"));
}

TEST_F(InferenceTest, AWorkerThatIsReadyMayComputeForLong) {
  Join(0);
  Report(0, Ready(25, 10, 40));
  inference_->SetStuck(WorkerTask(0), "worker 0 is stuck in reading batch 0, 61 s");
  Advance();
  EXPECT_FALSE(sink_->end.has_value());
}

TEST_F(InferenceTest, AWorkerThatIsLostAgainAndAgainBeforeItsFirstResultHasFailed) {
  for (int loss = 0; loss < 3; ++loss) {
    Join(0);
    Report(0, Ready(25, 10, 40));
    Advance();
    if (loss == 2) continue;
    inference_->RemoveWorker(WorkerTask(0));
  }
  // A worker with a result counts anew.
  Report(0, Result(0));
  inference_->RemoveWorker(WorkerTask(0));
  for (int loss = 0; loss < 3; ++loss) {
    Join(0);
    inference_->RemoveWorker(WorkerTask(0));
    Advance();
    EXPECT_FALSE(sink_->end.has_value());
  }
  Outbox outbox;
  inference_->AddWorker(WorkerTask(0), &outbox);
  EXPECT_TRUE(outbox.commands.empty());
  Advance();
  ASSERT_TRUE(sink_->end.has_value());
  EXPECT_EQ(sink_->end->message(),
            "worker 0 was lost 3 times before its first result; the model may need more memory "
            "than it has");
}

TEST_F(InferenceTest, WorkersMustFindTheSameData) {
  Join(0);
  Join(1);
  Report(0, Ready(25, 10, 40));
  Report(1, Ready(26, 10, 40));
  Report(0, Result(0));
  EXPECT_TRUE(Advance().empty());
  EXPECT_TRUE(sink_->batches().empty());
  EXPECT_EQ(sink_->end,
            absl::InvalidArgumentError(
                "worker 0 found 25 examples in batches of 10, worker 1 found 26 examples "
                "in batches of 10; all workers need the same files"));
}

TEST_F(InferenceTest, AbsurdReportsAreRefused) {
  for (const proto::InferenceReport& absurd :
       {Ready(0, 10, 40), Ready(25, 0, 40), Ready(25, 10, -1), Ready(-1, -1, -1)}) {
    InferenceTest::sink_ = std::make_shared<RecordingSink>();
    inference_ = std::make_unique<Inference>(kId, proto::InferenceRequest(), sink_);
    Join(0);
    Report(0, absurd);
    Advance();
    EXPECT_TRUE(absl::IsInvalidArgument(*sink_->end)) << absurd.ShortDebugString();
  }
  for (int64_t batch : {-1, 0, 3}) {
    sink_ = std::make_shared<RecordingSink>();
    inference_ = std::make_unique<Inference>(kId, proto::InferenceRequest(), sink_);
    Join(0);
    Report(0, Ready(25, 10, 40));
    Advance();
    proto::InferenceReport report = Result(0);
    report.mutable_batch()->set_batch(batch);
    report.mutable_batch()->add_outputs("too much");
    Report(0, report);
    Advance();
    EXPECT_TRUE(absl::IsInvalidArgument(*sink_->end)) << batch;
    EXPECT_TRUE(sink_->batches().empty());
  }
  // Before anybody has loaded the data.
  inference_ = std::make_unique<Inference>(kId, proto::InferenceRequest(), sink_);
  Join(0);
  Report(0, Result(0));
  Report(5, Result(0));
  proto::InferenceReport empty;
  empty.set_inference(kId);
  Report(0, empty);
}

TEST_F(InferenceTest, AClientThatIsGoneEndsIt) {
  Join(0);
  sink_->is_alive = false;
  Advance();
  EXPECT_TRUE(inference_->over());
  Outbox outbox;
  inference_->TellWorkers(&outbox);
  ASSERT_EQ(outbox.commands.size(), 1u);
  EXPECT_EQ(outbox.commands[0].command.end_inference().inference(), kId);
}

class LaterInferenceTest : public InferenceTest {
 protected:
  LaterInferenceTest() : InferenceTest(2) {}
};

TEST_F(LaterInferenceTest, AClientThatHasTheFirstBatchesGetsTheOthers) {
  Join(0);
  Report(0, Ready(25, 10, 40));
  EXPECT_EQ(Advance().at(0), (std::vector<int64_t>{2}));
  Report(0, Result(2));
  Advance();
  EXPECT_EQ(sink_->batches(), (std::vector<int64_t>{2}));
  EXPECT_EQ(sink_->end, absl::OkStatus());
}

TEST_F(LaterInferenceTest, DataWithFewerBatchesThanTheClientHasAreOtherData) {
  Join(0);
  Report(0, Ready(10, 10, 40));
  Advance();
  EXPECT_TRUE(absl::StrContains(sink_->end->message(), "they must not change")) << *sink_->end;
}

}  // namespace
}  // namespace cairn::coordinator

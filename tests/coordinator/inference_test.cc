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

proto::InferenceReport Error(const std::string& error, bool transient = false) {
  proto::InferenceReport report;
  report.set_inference(kId);
  report.set_error(error);
  report.set_transient(transient);
  return report;
}

// A worker that reads data files a, b ... with these contents.
proto::InferenceReport ReadyWith(const std::vector<uint64_t>& files) {
  proto::InferenceReport report = Ready(25, 10, 40);
  for (size_t i = 0; i < files.size(); ++i) {
    proto::DataFiles* file = report.mutable_ready()->add_files();
    file->set_first(std::string(1, static_cast<char>('a' + i)));
    file->set_count(1);
    file->set_fingerprint(files[i]);
  }
  return report;
}

class InferenceTest : public ::testing::Test {
 protected:
  explicit InferenceTest(int64_t first_batch = 0, uint64_t data_fingerprint = 0) {
    proto::InferenceRequest request;
    request.set_first_batch(first_batch);
    request.set_data_fingerprint(data_fingerprint);
    inference_ = std::make_unique<Inference>(kId, request, sink_);
  }

  // The batches that were leased to each worker.
  std::map<uint32_t, std::vector<int64_t>> Advance() {
    Outbox outbox;
    inference_->Advance(now_, &outbox);
    std::map<uint32_t, std::vector<int64_t>> leased;
    for (const auto& sending : outbox.commands) {
      if (sending.command.has_start_inference()) {
        started_.push_back(sending.task.index);
        continue;
      }
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

  void Stuck(uint32_t worker, const std::string& why) {
    inference_->SetActivity(WorkerTask(worker), proto::Activity::READING, why);
  }

  absl::Duration now_ = absl::Seconds(10);
  std::vector<uint32_t> started_;  // Again, by Advance.
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
  Stuck(0, "worker 0 is stuck in loading data, 61 s");
  Advance();
  EXPECT_FALSE(sink_->end.has_value());
  // It goes on.
  Stuck(0, "");
  Stuck(1, "worker 1 is stuck in loading data, 61 s");
  Advance();
  EXPECT_FALSE(sink_->end.has_value());
  Stuck(0, "worker 0 is stuck in loading data, 61 s");
  Advance();
  EXPECT_EQ(sink_->end, absl::FailedPreconditionError("worker 0 is stuck in loading data, 61 s"));
}

TEST_F(InferenceTest, TheClientIsToldWhatAReadyWorkerDoesForLong) {
  Join(0);
  Join(1);
  Report(0, Ready(25, 10, 40));
  Report(1, Ready(25, 10, 40));
  Advance();
  for (uint32_t worker = 0; worker < 2; ++worker) {
    inference_->SetActivity(WorkerTask(worker), proto::Activity::READING, "");
  }
  now_ += absl::Seconds(4);
  Report(1, Result(2));
  now_ += absl::Seconds(4);
  Advance();
  EXPECT_TRUE(sink_->chunks.empty()) << "a batch was done 4 s ago";
  now_ += absl::Seconds(1);
  Advance();
  // Worker 1 has nothing to do.
  ASSERT_FALSE(sink_->chunks.empty());
  EXPECT_EQ(sink_->chunks.back().waiting_for(), "for worker 0 (reading)");
  Report(0, Result(0));
  Advance();
  EXPECT_EQ(sink_->chunks.back().waiting_for(), "");
}

TEST_F(InferenceTest, TheBatchesOfAWorkerThatIsStuckInReadingGoToOthers) {
  Join(0);
  Join(1);
  Report(0, Ready(25, 10, 40));
  Report(1, Ready(25, 10, 40));
  ASSERT_EQ(Advance().at(0), (std::vector<int64_t>{0, 1}));
  Report(1, Result(2));
  Stuck(0, "worker 0 is stuck in reading batch 0, 61 s");
  EXPECT_EQ(Advance().at(1), (std::vector<int64_t>{0, 1}));
  EXPECT_FALSE(Advance().contains(0));
  ASSERT_EQ(sink_->notes(),
            (std::vector<std::string>{"worker 0 is stuck in reading batch 0, 61 s; others get its "
                                      "batches"}));
  // It goes on, and is the first.
  Stuck(0, "");
  Report(0, Result(0));
  Report(1, Result(0));
  Report(1, Result(1));
  Advance();
  EXPECT_EQ(sink_->batches(), (std::vector<int64_t>{0, 1, 2}));
  EXPECT_EQ(sink_->end, absl::OkStatus());
}

TEST_F(InferenceTest, TheOnlyWorkerThatIsStuckInReadingIsTheEnd) {
  Join(0);
  Report(0, Ready(25, 10, 40));
  Advance();
  Stuck(0, "worker 0 is stuck in reading batch 0, 61 s");
  Advance();
  EXPECT_EQ(sink_->end,
            absl::FailedPreconditionError("worker 0 is stuck in reading batch 0, 61 s"));
}

TEST_F(InferenceTest, AWorkerWithATransientErrorTriesAgainAfterAPauseThatDoubles) {
  Join(0);
  Report(0, Ready(25, 10, 40));
  Advance();
  for (const int pause : {1, 2, 4, 8, 16, 32, 60, 60, 60}) {
    started_.clear();
    Report(0, Error("EIO", /*transient=*/true));
    Advance();
    EXPECT_EQ(sink_->notes().back(), absl::StrCat("worker 0 tries again in ", pause, " s: EIO"));
    now_ += absl::Seconds(pause) - absl::Milliseconds(1);
    Report(0, Result(0));
    EXPECT_TRUE(Advance().empty());
    EXPECT_TRUE(started_.empty()) << pause;
    now_ += absl::Milliseconds(1);
    Advance();
    Advance();
    EXPECT_EQ(started_, (std::vector<uint32_t>{0})) << pause;
    EXPECT_FALSE(sink_->end.has_value());
  }
  EXPECT_TRUE(sink_->batches().empty()) << "a report before it has started again is none";
  Report(0, Error("EIO", /*transient=*/true));
  Advance();
  EXPECT_EQ(sink_->end, absl::InvalidArgumentError("EIO")) << "10 times in a row";
}

TEST_F(InferenceTest, ABatchEndsARowOfTransientErrors) {
  Join(0);
  for (int i = 0; i < 12; ++i) {
    Report(0, Ready(25, 10, 40));
    Advance();
    if (i == 4 || i == 8) Report(0, Result(i / 4 - 1));
    Report(0, Error("EIO", /*transient=*/true));
    now_ += absl::Minutes(1);
    Advance();
    ASSERT_FALSE(sink_->end.has_value()) << i;
  }
  Report(0, Ready(25, 10, 40));
  EXPECT_EQ(Advance().at(0), (std::vector<int64_t>{2}));
  Report(0, Result(2));
  Advance();
  EXPECT_EQ(sink_->batches(), (std::vector<int64_t>{0, 1, 2}));
}

TEST_F(InferenceTest, ALateResultOfAnEarlierAttemptResetsNoLimit) {
  Join(0);
  for (int i = 0; i < 30 && !sink_->end.has_value(); ++i) {
    if (i > 0) Report(0, Result(0));
    Report(0, Ready(25, 10, 40));
    Advance();
    Report(0, Error("EIO", /*transient=*/true));
    now_ += absl::Minutes(1);
    Advance();
  }
  ASSERT_TRUE(sink_->end.has_value());
  EXPECT_EQ(sink_->end->message(), "EIO");
  EXPECT_TRUE(sink_->batches().empty());
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

TEST_F(InferenceTest, WorkersThatFindOtherDataThanTheFirstAreLeftOut) {
  for (uint32_t worker = 0; worker < 5; ++worker) Join(worker);
  Report(1, ReadyWith({7, 8}));
  Report(0, ReadyWith({7, 9}));
  Report(2, ReadyWith({7}));
  proto::InferenceReport longer = ReadyWith({7, 8});
  longer.mutable_ready()->set_examples(26);
  Report(3, longer);
  proto::InferenceReport renamed = ReadyWith({7, 8});
  renamed.mutable_ready()->mutable_files(0)->set_first("c");
  Report(4, renamed);
  const auto leased = Advance();
  EXPECT_EQ(leased.size(), 1u);
  EXPECT_TRUE(leased.contains(1));
  const std::string found = "found 25 examples in batches of 10";
  EXPECT_EQ(sink_->notes(),
            (std::vector<std::string>{
                "worker 0 is left out: its data file b differs from that of worker 1; all workers "
                "need the same files",
                "worker 2 is left out: it " + found + ", worker 1 " + found +
                    "; all workers need the same files",
                "worker 3 is left out: it found 26 examples in batches of 10, worker 1 " + found +
                    "; all workers need the same files",
                "1 other worker is left out, too"}));
}

TEST_F(InferenceTest, AGroupOfFilesThatDiffersIsNamedByItsFirst) {
  Join(0);
  Join(1);
  proto::InferenceReport many = ReadyWith({7, 8});
  many.mutable_ready()->mutable_files(1)->set_count(40);
  Report(0, many);
  many.mutable_ready()->mutable_files(1)->set_fingerprint(9);
  Report(1, many);
  Advance();
  EXPECT_EQ(sink_->notes().back(),
            "worker 1 is left out: one of its 40 data files from b on differs from that of worker "
            "0; all workers need the same files");
}

TEST_F(InferenceTest, NobodyIsLeftOutIfNobodyComputes) {
  Join(0);
  Join(1);
  Report(0, Error("no such file"));
  Advance();
  Report(1, Error("no such file, too"));
  Advance();
  EXPECT_EQ(sink_->end, absl::InvalidArgumentError("no such file"));
  EXPECT_TRUE(sink_->notes().empty()) << "the error says it";
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

// The fingerprint that the client gets for the data of ReadyWith({7}).
uint64_t FingerprintOfSeven() {
  auto sink = std::make_shared<RecordingSink>();
  Inference inference(kId, proto::InferenceRequest(), sink);
  Outbox outbox;
  inference.AddWorker(WorkerTask(0), &outbox);
  inference.OnReport(WorkerTask(0), ReadyWith({7}), absl::ZeroDuration());
  inference.Advance(absl::ZeroDuration(), &outbox);
  inference.OnReport(WorkerTask(0), Result(0), absl::ZeroDuration());
  inference.Advance(absl::ZeroDuration(), &outbox);
  return sink->chunks.back().data_fingerprint();
}

class RepeatedInferenceTest : public InferenceTest {
 protected:
  RepeatedInferenceTest() : InferenceTest(2, FingerprintOfSeven()) {}
};

TEST_F(RepeatedInferenceTest, TheDataAreThoseOfTheBatchesThatTheClientHas) {
  Join(0);
  Join(1);
  Report(0, ReadyWith({6}));
  Report(1, ReadyWith({7}));
  EXPECT_EQ(Advance().at(1), (std::vector<int64_t>{2}));
  ASSERT_EQ(sink_->notes().size(), 1u);
  EXPECT_EQ(sink_->notes()[0],
            "worker 0 is left out: the data files of worker 0 are not those of the batches that "
            "are done; all workers need the same files, and these must not change");
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

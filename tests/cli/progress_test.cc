#include "cli/progress.h"

#include <sstream>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

namespace cairn::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using Style = ProgressOptions::Style;

proto::JobStatus At(int64_t batch) {
  proto::JobStatus status;
  status.set_state(proto::RUNNING);
  status.set_epochs(1);
  status.set_workers_live(2);
  status.set_batch_in_epoch(batch);
  status.set_batches_per_epoch(100);
  return status;
}

class ProgressTest : public testing::Test {
 protected:
  ProgressOptions Options(Style style) {
    ProgressOptions options;
    options.style = style;
    return options;
  }

  std::string Written() {
    std::string text = out_.str();
    out_.str("");
    return text;
  }

  std::ostringstream out_;
};

TEST_F(ProgressTest, PlainLinesComeEveryFewSecondsAndWithEvents) {
  Progress progress(Options(Style::kPlain), &out_);
  progress.Update(At(1), absl::Seconds(100));
  EXPECT_EQ(Written(), "epoch 1/1 1/100  2 workers\n");
  progress.Update(At(2), absl::Seconds(104));
  EXPECT_EQ(Written(), "");
  progress.Update(At(3), absl::Seconds(105));
  EXPECT_EQ(Written(), "epoch 1/1 3/100  2 workers\n");
  proto::JobStatus noted = At(4);
  noted.add_notes()->set_text("worker 0 is gone");
  progress.Update(noted, absl::Seconds(106));
  EXPECT_EQ(Written(), "worker 0 is gone\n");
}

TEST_F(ProgressTest, LiveLineIsRewrittenAndEventsStandAboveIt) {
  {
    Progress progress(Options(Style::kLive), &out_);
    progress.Update(At(1), absl::Seconds(100));
    EXPECT_EQ(Written(), "epoch 1/1 [>                   ] 1/100  2 workers");
    progress.Update(At(2), absl::Seconds(100));
    EXPECT_EQ(Written(), "\r\x1b[2Kepoch 1/1 [>                   ] 2/100  2 workers");
    progress.Note("ps-0 died");
    EXPECT_EQ(Written(), "\r\x1b[2Kps-0 died\nepoch 1/1 [>                   ] 2/100  2 workers");
  }
  EXPECT_EQ(Written(), "\r\x1b[2K") << "nothing of it is left at the end";
}

TEST_F(ProgressTest, LiveLineNeverWraps) {
  ProgressOptions options = Options(Style::kLive);
  options.width = 12;
  Progress progress(options, &out_);
  progress.Update(At(1), absl::Seconds(100));
  EXPECT_EQ(Written(), "epoch 1/1 1");
}

TEST_F(ProgressTest, ColorsAreOnlyThereWhenAsked) {
  ProgressOptions options = Options(Style::kLive);
  Progress plain(options, &out_);
  plain.Note("event");
  EXPECT_THAT(Written(), Not(HasSubstr("\x1b[1m")));
  options.color = true;
  Progress colored(options, &out_);
  colored.Note("event");
  EXPECT_THAT(Written(), HasSubstr("\x1b[1mevent\x1b[0m"));
}

TEST_F(ProgressTest, JsonIsOneObjectALineAndNothingElse) {
  Progress progress(Options(Style::kJson), &out_);
  progress.Note("ps-0 died");
  progress.Update(At(1), absl::Seconds(100));
  proto::JobStatus finished = At(100);
  finished.set_state(proto::FINISHED);
  progress.Update(finished, absl::Seconds(101));
  std::istringstream lines(Written());
  std::vector<std::string> states;
  for (std::string line; std::getline(lines, line);) {
    states.push_back(nlohmann::json::parse(line)["state"]);
  }
  EXPECT_THAT(states, testing::ElementsAre("running", "finished"));
}

TEST_F(ProgressTest, JsonTellsEachEvaluationOnce) {
  Progress progress(Options(Style::kJson), &out_);
  proto::JobStatus status = At(1);
  const auto epochs = [&]() -> std::string {
    progress.Update(status, absl::Seconds(100));
    std::string epochs;
    const auto line = nlohmann::json::parse(Written());
    for (const auto& each : line["evaluations"]) epochs += each["epoch"].dump();
    return epochs;
  };
  for (int epoch : {0, 1}) status.add_evaluations()->set_epoch(epoch);
  EXPECT_EQ(epochs(), "01");
  status.add_evaluations()->set_epoch(2);
  EXPECT_EQ(epochs(), "2");
  // A rollback removes one, which is evaluated again later.
  status.mutable_evaluations()->RemoveLast();
  status.set_state(proto::RESTORING);
  EXPECT_EQ(epochs(), "");
  status.set_state(proto::RUNNING);
  status.add_evaluations()->set_epoch(2);
  EXPECT_EQ(epochs(), "2");
}

TEST_F(ProgressTest, NothingIsWrittenAfterTheEnd) {
  Progress progress(Options(Style::kPlain), &out_);
  progress.End();
  progress.Update(At(1), absl::Seconds(100));
  EXPECT_EQ(Written(), "");
}

}  // namespace
}  // namespace cairn::cli

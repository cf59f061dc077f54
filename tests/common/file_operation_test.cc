#include "common/file_operation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <thread>

#include "absl/strings/match.h"
#include "absl/time/clock.h"

namespace cairn {
namespace {

constexpr absl::Duration kSoon = absl::Seconds(30);

// Work that hangs until it is released.
class Hanging {
 public:
  FileOperation::Work work() const {
    return [end = end_] {
      end.wait();
      return absl::OkStatus();
    };
  }
  void Release() { released_.set_value(); }

 private:
  std::promise<void> released_;
  std::shared_future<void> end_ = released_.get_future().share();
};

TEST(FileOperationTest, ReturnsTheStatusOfItsWork) {
  EXPECT_TRUE(FileOperation::Run(
                  "a", [] { return absl::OkStatus(); }, kSoon)
                  .ok());
  EXPECT_EQ(FileOperation::Run(
                "a", [] { return absl::DataLossError("bad disk"); }, kSoon),
            absl::DataLossError("bad disk"));
}

TEST(FileOperationTest, NobodyWaitsForAFileThatHangsAndItsWorkGoesOn) {
  Hanging hanging;
  const auto first = FileOperation::Start("/mnt/a", hanging.work());
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_FALSE((*first)->Wait(absl::Milliseconds(120)).has_value());
  EXPECT_TRUE(absl::IsUnavailable((*first)->NoAnswer()));
  EXPECT_THAT(std::string((*first)->NoAnswer().message()),
              testing::MatchesRegex("/mnt/a: has not answered for ([1-9]00ms|[1-9].*s); .*"));
  // At once, because it has not answered for as long.
  const absl::Status second = FileOperation::Run(
      "/mnt/a", [] { return absl::OkStatus(); }, absl::Milliseconds(100));
  EXPECT_TRUE(absl::IsUnavailable(second)) << second;
  EXPECT_TRUE(absl::StrContains(second.message(), "; check the disk or the file server"));
  EXPECT_TRUE(FileOperation::Run(
                  "/mnt/b", [] { return absl::OkStatus(); }, kSoon)
                  .ok());
  hanging.Release();
  EXPECT_EQ((*first)->Wait(kSoon), absl::OkStatus());
  EXPECT_TRUE(FileOperation::Run(
                  "/mnt/a", [] { return absl::OkStatus(); }, kSoon)
                  .ok());
}

TEST(FileOperationTest, OperationsOnAPathRunOneAfterTheOther) {
  Hanging hanging;
  const auto first = FileOperation::Start("/mnt/a", hanging.work());
  ASSERT_TRUE(first.ok());
  std::thread release([&] {
    absl::SleepFor(absl::Milliseconds(50));
    hanging.Release();
  });
  const absl::StatusOr<bool> ended = FileOperation::Get<bool>(
      "/mnt/a", [&] { return (*first)->Wait(absl::ZeroDuration()).has_value(); }, kSoon);
  release.join();
  ASSERT_TRUE(ended.ok()) << ended.status();
  EXPECT_TRUE(*ended);
  EXPECT_EQ(FileOperation::Get<bool>(
                "/mnt/a", [] { return absl::DataLossError("bad disk"); }, kSoon)
                .status(),
            absl::DataLossError("bad disk"));
}

TEST(FileOperationTest, TheNumberOfThreadsThatHangIsBounded) {
  Hanging hanging;
  std::vector<std::shared_ptr<FileOperation>> operations;
  for (int i = 0; i < FileOperation::kUnfinishedMax; ++i) {
    const auto started = FileOperation::Start("/mnt/" + std::to_string(i), hanging.work());
    ASSERT_TRUE(started.ok()) << started.status();
    operations.push_back(*started);
  }
  const auto refused = FileOperation::Start("/mnt/one more", hanging.work());
  EXPECT_EQ(refused.status().message(),
            "/mnt/one more: not tried, because 16 other files have not answered; check the disk or "
            "the file server that it is on");
  hanging.Release();
  for (const auto& operation : operations) EXPECT_EQ(operation->Wait(kSoon), absl::OkStatus());
  EXPECT_TRUE(FileOperation::Run(
                  "/mnt/one more", [] { return absl::OkStatus(); }, kSoon)
                  .ok());
}

TEST(FileOperationTest, ALimitIsSharedByOperations) {
  Hanging hanging;
  EXPECT_GT(TimeLimit(kSoon).left(), absl::ZeroDuration());
  const TimeLimit limit(absl::Milliseconds(50));
  const auto operation = FileOperation::Start("/mnt/a", hanging.work());
  ASSERT_TRUE(operation.ok());
  EXPECT_FALSE((*operation)->Wait(limit.left()).has_value());
  EXPECT_EQ(limit.left(), absl::ZeroDuration());
  hanging.Release();
  EXPECT_EQ((*operation)->Wait(kSoon), absl::OkStatus());
}

}  // namespace
}  // namespace cairn

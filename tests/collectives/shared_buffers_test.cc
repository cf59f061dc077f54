#include "collectives/shared_buffers.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <memory>
#include <set>
#include <thread>
#include <vector>

#include "absl/time/clock.h"

namespace cairn::collectives {
namespace {

constexpr absl::Duration kLong = absl::Seconds(60);

// The views of all ranks, in one process.
std::vector<std::unique_ptr<SharedBuffers>> Views(int ranks) {
  const auto host = SharedBuffersHost::Open(ranks);
  EXPECT_TRUE(host.ok()) << host.status();
  std::vector<std::unique_ptr<SharedBuffersGuest>> guests;
  for (int rank = 1; rank < ranks; ++rank) {
    auto guest = SharedBuffersGuest::Call((*host)->token());
    EXPECT_TRUE(guest.ok()) << guest.status();
    guests.push_back(*std::move(guest));
  }
  (*host)->HandOut();
  std::vector<std::unique_ptr<SharedBuffers>> views;
  views.push_back((*host)->buffers());
  for (int rank = 1; rank < ranks; ++rank) {
    auto view = guests[rank - 1]->Receive(rank, ranks);
    EXPECT_TRUE(view.ok()) << view.status();
    views.push_back(*std::move(view));
  }
  return views;
}

TEST(SharedBuffersTest, EachPartIsSharedAndNoTwoOverlap) {
  for (const int ranks : {2, 3, SharedBuffers::kRanksMax}) {
    const auto views = Views(ranks);
    const size_t bytes = SharedBuffers::PartBytes(ranks);
    EXPECT_GE(bytes, 4096u);
    EXPECT_EQ(bytes % 64, 0u);
    std::set<const char*> parts;
    for (uint32_t step = 0; step < SharedBuffers::kBuffers; ++step) {
      for (int rank = 0; rank < ranks; ++rank) {
        for (int to = 0; to < ranks; ++to) parts.insert(views[0]->input(rank, to, step));
        parts.insert(views[0]->result(rank, step));
      }
    }
    EXPECT_EQ(parts.size(), SharedBuffers::kBuffers * ranks * (ranks + 1));
    const char* end = nullptr;
    for (const char* const part : parts) {
      EXPECT_TRUE(end == nullptr || part >= end);
      end = part + bytes;
    }
    char* const last = views[ranks - 1]->result(ranks - 1, SharedBuffers::kBuffers - 1);
    std::memset(last, 7, bytes);
    EXPECT_EQ(views[0]->result(ranks - 1, SharedBuffers::kBuffers - 1)[bytes - 1], 7);
    EXPECT_EQ(views[0]->input(1, 0, 1), views[0]->input(1, 0, 1 + SharedBuffers::kBuffers));
  }
}

TEST(SharedBuffersTest, CountersOfEachRankAndStageAreItsOwnAndWrapAround) {
  const auto views = Views(3);
  EXPECT_TRUE(views[0]->HasReached(2, SharedBuffers::kCopied, 0));
  EXPECT_FALSE(views[0]->HasReached(2, SharedBuffers::kCopied, 1));
  views[2]->Advance(SharedBuffers::kCopied, 2);
  EXPECT_TRUE(views[0]->HasReached(2, SharedBuffers::kCopied, 2));
  EXPECT_TRUE(views[1]->HasReached(2, SharedBuffers::kCopied, 1));
  EXPECT_FALSE(views[1]->HasReached(2, SharedBuffers::kReduced, 1));
  EXPECT_FALSE(views[1]->HasReached(0, SharedBuffers::kCopied, 1));
  views[2]->Advance(SharedBuffers::kCopied, 0xFFFFFFFF);
  EXPECT_FALSE(views[0]->HasReached(2, SharedBuffers::kCopied, 1));
  views[2]->Advance(SharedBuffers::kCopied, 1);
  EXPECT_TRUE(views[0]->HasReached(2, SharedBuffers::kCopied, 0xFFFFFFFF));
}

TEST(SharedBuffersTest, PositionsAreSeenByAll) {
  const auto views = Views(2);
  views[1]->SetPosition({0xFFFFFFFE, 0x12345678});
  EXPECT_EQ(views[0]->PositionOf(1), (SharedBuffers::Position{0xFFFFFFFE, 0x12345678}));
  EXPECT_EQ(views[1]->PositionOf(0), (SharedBuffers::Position{0, 0}));
}

TEST(SharedBuffersTest, AWaitEndsWhenTheRankAdvancesOrAfterItsLimit) {
  const auto views = Views(2);
  EXPECT_FALSE(views[0]->WaitFor(1, SharedBuffers::kReduced, 1, absl::Milliseconds(1)));
  constexpr uint32_t kTurns = 2000;
  std::thread other([&] {
    for (uint32_t turn = 1; turn <= kTurns; ++turn) {
      views[1]->Advance(SharedBuffers::kReduced, turn);
      while (!views[1]->WaitFor(0, SharedBuffers::kReduced, turn, kLong)) {
      }
    }
  });
  const absl::Time begin = absl::Now();
  for (uint32_t turn = 1; turn <= kTurns; ++turn) {
    while (!views[0]->WaitFor(1, SharedBuffers::kReduced, turn, kLong)) {
    }
    views[0]->Advance(SharedBuffers::kReduced, turn);
  }
  other.join();
  EXPECT_LT(absl::Now() - begin, kLong) << "a wakeup was lost";
}

// Another process, which dies without any farewell.
TEST(SharedBuffersTest, AProcessThatDiesLeavesWhatItHasWritten) {
  const auto host = SharedBuffersHost::Open(2);
  ASSERT_TRUE(host.ok()) << host.status();
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    auto guest = SharedBuffersGuest::Call((*host)->token());
    if (!guest.ok()) _exit(1);
    // The parent hands out when it has been called; until then Receive waits.
    auto view = (*guest)->Receive(1, 2);
    if (!view.ok()) _exit(2);
    (*view)->input(1, 0, 0)[0] = 42;
    (*view)->Advance(SharedBuffers::kCopied, 1);
    (*view)->WaitFor(0, SharedBuffers::kCopied, 1, kLong);
    _exit(3);
  }
  const auto view = (*host)->buffers();
  const absl::Time deadline = absl::Now() + kLong;
  while (!view->WaitFor(1, SharedBuffers::kCopied, 1, absl::Milliseconds(10)) &&
         absl::Now() < deadline) {
    (*host)->HandOut();
  }
  EXPECT_EQ(view->input(1, 0, 0)[0], 42);
  kill(child, SIGKILL);
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFSIGNALED(status)) << status;
  view->Advance(SharedBuffers::kCopied, 1);
  view->input(1, 0, 0)[0] = 43;
  EXPECT_FALSE(view->WaitFor(1, SharedBuffers::kCopied, 2, absl::Milliseconds(1)));
}

TEST(SharedBuffersTest, OnlyMemoryOfTheSameGroupIsTaken) {
  EXPECT_FALSE(SharedBuffersGuest::Call(1).ok()) << "no such socket";
  EXPECT_FALSE(SharedBuffersHost::Open(SharedBuffers::kRanksMax + 1).ok());
  const auto host = SharedBuffersHost::Open(3);
  ASSERT_TRUE(host.ok()) << host.status();
  const auto guest = SharedBuffersGuest::Call((*host)->token());
  ASSERT_TRUE(guest.ok()) << guest.status();
  (*host)->HandOut();
  EXPECT_EQ((*guest)->Receive(1, 4).status().code(), absl::StatusCode::kInvalidArgument)
      << "the size is that of 3 ranks";
  EXPECT_FALSE((*guest)->Receive(1, 3).ok()) << "it is sent once";
}

}  // namespace
}  // namespace cairn::collectives

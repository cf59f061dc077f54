#include "collectives/links.h"

#include <gtest/gtest.h>
#include <signal.h>

#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "collectives/socket.h"
#include "tests/collectives/ranks.h"
#include "tests/end_to_end/process.h"

namespace cairn::collectives {
namespace {

using cairn::testing::Process;
using cairn::testing::ReadFile;
using cairn::testing::WaitUntil;
using std::chrono::seconds;
using testing::FreeAddresses;
using testing::RunRanks;

// Processes that can be killed and stopped.
class RanksTest : public ::testing::Test {
 protected:
  void Start(int size, const std::string& program, const std::vector<std::string>& arguments) {
    std::string list;
    for (const std::string& address : FreeAddresses(size)) {
      absl::StrAppend(&list, list.empty() ? "" : ", ", "\"", address, "\"");
    }
    const auto* const test = ::testing::UnitTest::GetInstance()->current_test_info();
    for (int rank = 0; rank < size; ++rank) {
      Process::Options options;
      options.arguments = {program};
      options.arguments.insert(options.arguments.end(), arguments.begin(), arguments.end());
      options.environment = {
          {"TF_CONFIG", absl::StrCat(R"({"cluster": {"worker": [)", list,
                                     R"(]}, "task": {"type": "worker", "index": )", rank, "}}")}};
      options.output_file = absl::StrCat(::testing::TempDir(), "/", test->name(), rank, ".log");
      logs_.push_back(options.output_file);
      ranks_.emplace_back(options);
    }
  }

  bool AllHaveJoined() {
    return WaitUntil(seconds(30), [this] {
      for (const std::string& log : logs_) {
        if (ReadFile(log).find("joined") == std::string::npos) return false;
      }
      return true;
    });
  }

  std::string Logs() const {
    std::string text;
    for (const std::string& log : logs_) absl::StrAppend(&text, "---- ", log, "\n", ReadFile(log));
    return text;
  }

  std::vector<Process> ranks_;
  std::vector<std::string> logs_;
};

constexpr char kLoopingRank[] = "tests/collectives/looping_rank";

// Of each rank in turn: the one that the others call, one in between, and the last.
TEST_F(RanksTest, AKilledRankIsNamedAndTheOthersGoOn) {
  for (const int killed : {0, 1, 3}) {
    ranks_.clear();
    for (const std::string& log : logs_) remove(log.c_str());
    logs_.clear();
    Start(4, kLoopingRank, {"500", "60"});
    ASSERT_TRUE(AllHaveJoined()) << Logs();
    ranks_[killed].Kill();
    for (int rank = 0; rank < 4; ++rank) {
      if (rank == killed) continue;
      EXPECT_EQ(ranks_[rank].Wait(seconds(60)).value_or(-1), 0) << Logs();
      const std::string log = ReadFile(logs_[rank]);
      EXPECT_NE(log.find(absl::StrCat("lost: rank ", killed, " (")), std::string::npos) << log;
      EXPECT_NE(log.find("done with 3"), std::string::npos) << log;
    }
  }
}

TEST_F(RanksTest, TwoRanksKilledTogetherLeaveTwo) {
  Start(4, kLoopingRank, {"500", "60"});
  ASSERT_TRUE(AllHaveJoined()) << Logs();
  for (const int killed : {1, 2}) ranks_[killed].Signal(SIGKILL);
  for (const int rank : {0, 3}) {
    EXPECT_EQ(ranks_[rank].Wait(seconds(60)).value_or(-1), 0) << Logs();
    EXPECT_NE(ReadFile(logs_[rank]).find("done with 2"), std::string::npos) << Logs();
  }
}

TEST_F(RanksTest, ARankThatHangsIsReportedThenLeftAndTooLateWhenItComesBack) {
  Start(3, kLoopingRank, {"500", "3"});
  ASSERT_TRUE(AllHaveJoined()) << Logs();
  ranks_[1].Signal(SIGSTOP);
  for (const int rank : {0, 2}) {
    EXPECT_EQ(ranks_[rank].Wait(seconds(60)).value_or(-1), 0) << Logs();
    const std::string log = ReadFile(logs_[rank]);
    EXPECT_NE(log.find("for rank 1 ("), std::string::npos) << "the stall is reported: " << log;
    EXPECT_NE(log.find("done with 2"), std::string::npos) << log;
  }
  ranks_[1].Signal(SIGCONT);
  EXPECT_EQ(ranks_[1].Wait(seconds(60)).value_or(-1), 4) << Logs();
}

TEST_F(RanksTest, TheExampleTrains) {
  Start(3, "examples/collectives/data_parallel", {});
  for (int rank = 0; rank < 3; ++rank) {
    EXPECT_EQ(ranks_[rank].Wait(seconds(60)).value_or(-1), 0) << Logs();
    EXPECT_NE(ReadFile(logs_[rank]).find("of 3: y = 2.000 a + -3.000 b + 0.500"), std::string::npos)
        << Logs();
  }
}

TEST(LinksTest, ARankThatLeavesEarlyIsLostForThoseThatNeedIt) {
  RunRanks(3, [](Group* group) {
    if (group->rank() == 1) return;
    std::vector<float> values(10);
    const absl::Status status =
        group->AllReduce({Tensor{values.data(), values.size()}}, ReduceOp::kSum);
    EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable) << status;
    EXPECT_NE(status.message().find("rank 1 ("), std::string::npos) << status;
    EXPECT_EQ(group->Barrier(), status) << "the group is over";
  });
}

// Whoever calls the port and is no rank does no harm: a scanner, or one that says nothing.
TEST(LinksTest, StrangersAtTheDoorDoNotKeepTheRanksOut) {
  const std::vector<std::string> addresses = FreeAddresses(2);
  std::vector<std::thread> threads;
  for (const int rank : {0, 1}) {
    threads.emplace_back([&addresses, rank] {
      std::vector<Socket> strangers;
      if (rank == 1) {
        const auto port =
            static_cast<uint16_t>(std::stoi(addresses[0].substr(addresses[0].rfind(':') + 1)));
        for (const char* const text : {"", "GET / HTTP/1.1\r\nHost: x\r\nAccept: */*\r\n\r\n"}) {
          absl::StatusOr<Socket> stranger = absl::UnavailableError("not yet");
          EXPECT_TRUE(WaitUntil(seconds(20), [&] {
            stranger = Socket::Connect({"127.0.0.1", port}, absl::Seconds(1));
            return stranger.ok();
          }));
          EXPECT_TRUE(stranger->SendAll(text, std::string(text).size(), absl::Seconds(1)).ok());
          strangers.push_back(*std::move(stranger));
        }
      }
      GroupOptions options;
      options.addresses = addresses;
      options.rank = rank;
      const auto group = Group::Join(options);
      ASSERT_TRUE(group.ok()) << group.status();
      EXPECT_TRUE((*group)->Barrier().ok());
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace cairn::collectives

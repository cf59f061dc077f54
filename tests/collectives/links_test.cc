#include "collectives/links.h"

#include <gtest/gtest.h>
#include <signal.h>

#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "collectives/socket.h"
#include "common/failpoint.h"
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
  // One of the ranks may get one argument more.
  void Start(int size, const std::string& program, const std::vector<std::string>& arguments,
             const std::pair<int, std::string>& more = {-1, ""}) {
    std::string list;
    for (const std::string& address : FreeAddresses(size)) {
      absl::StrAppend(&list, list.empty() ? "" : ", ", "\"", address, "\"");
    }
    const auto* const test = ::testing::UnitTest::GetInstance()->current_test_info();
    for (int rank = 0; rank < size; ++rank) {
      Process::Options options;
      options.arguments = {program};
      options.arguments.insert(options.arguments.end(), arguments.begin(), arguments.end());
      if (rank == more.first) options.arguments.push_back(more.second);
      options.environment = {
          {"TF_CONFIG", absl::StrCat(R"({"cluster": {"worker": [)", list,
                                     R"(]}, "task": {"type": "worker", "index": )", rank, "}}")}};
      options.output_file = absl::StrCat(
          ::testing::TempDir(), "/",
          absl::StrReplaceAll(absl::StrCat(test->test_suite_name(), test->name()), {{"/", "_"}}),
          logs_.size(), ".log");
      logs_.push_back(options.output_file);
      ranks_.emplace_back(options);
    }
  }

  void Clear() {
    ranks_.clear();
    for (const std::string& log : logs_) remove(log.c_str());
    logs_.clear();
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

// Both ways to exchange data. With shared memory, 1 MB takes several steps.
constexpr char kSockets[] = "off";
constexpr char kSharedMemory[] = "auto";

class LosingRanksTest : public RanksTest, public ::testing::WithParamInterface<const char*> {
 protected:
  void StartLooping(int size, const char* timeout_seconds, const char* elements = "1000") {
    Start(size, kLoopingRank, {"100", timeout_seconds, elements, GetParam()});
    ASSERT_TRUE(AllHaveJoined()) << Logs();
  }
};

INSTANTIATE_TEST_SUITE_P(Sockets, LosingRanksTest, ::testing::Values(kSockets));
INSTANTIATE_TEST_SUITE_P(SharedMemory, LosingRanksTest, ::testing::Values(kSharedMemory));

// Of each rank in turn: the one that the others call, one in between, and the last.
TEST_P(LosingRanksTest, AKilledRankIsNamedAndTheOthersGoOn) {
  for (const int killed : {0, 1, 3}) {
    Clear();
    ASSERT_NO_FATAL_FAILURE(StartLooping(4, "60"));
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

// In the middle of a large tensor, at different moments.
TEST_P(LosingRanksTest, ARankIsKilledAtAnyMoment) {
  for (int run = 0; run < 4; ++run) {
    Clear();
    ASSERT_NO_FATAL_FAILURE(StartLooping(3, "60", "300000"));
    std::this_thread::sleep_for(std::chrono::microseconds(1300 * run));
    const int killed = run % 3;
    ranks_[killed].Kill();
    for (int rank = 0; rank < 3; ++rank) {
      if (rank == killed) continue;
      EXPECT_TRUE(WaitUntil(seconds(60), [&] {
        return ReadFile(logs_[rank]).find(absl::StrCat("lost: rank ", killed, " (")) !=
               std::string::npos;
      })) << Logs();
    }
  }
}

TEST_P(LosingRanksTest, TwoRanksKilledTogetherLeaveTwo) {
  ASSERT_NO_FATAL_FAILURE(StartLooping(4, "60"));
  for (const int killed : {1, 2}) ranks_[killed].Signal(SIGKILL);
  for (const int rank : {0, 3}) {
    EXPECT_EQ(ranks_[rank].Wait(seconds(60)).value_or(-1), 0) << Logs();
    EXPECT_NE(ReadFile(logs_[rank]).find("done with 2"), std::string::npos) << Logs();
  }
}

// At each step of making the next group: the lowest rank, which has the say, one in between and the
// last one. All groups at the same time.
TEST_P(LosingRanksTest, ASecondRankDiesWhileTheOthersReform) {
  struct Death {
    int rank;
    const char* end;
  };
  const std::vector<Death> deaths = {{0, "answered"}, {0, "hangs"},  {0, "found"},  {2, "found"},
                                     {3, "found"},    {0, "joined"}, {2, "joined"}, {3, "joined"}};
  for (const Death& death : deaths) {
    Start(4, kLoopingRank, {"100", "60", "1000", GetParam()}, {death.rank, death.end});
  }
  ASSERT_TRUE(AllHaveJoined()) << Logs();
  for (size_t i = 0; i < deaths.size(); ++i) ranks_[4 * i + 1].Kill();
  for (size_t i = 0; i < deaths.size(); ++i) {
    SCOPED_TRACE(absl::StrCat("rank ", deaths[i].rank, ": ", deaths[i].end));
    for (const int rank : {0, 2, 3}) {
      const size_t process = 4 * i + rank;
      if (rank == deaths[i].rank) continue;
      EXPECT_EQ(ranks_[process].Wait(seconds(60)).value_or(-1), 0);
      EXPECT_NE(ReadFile(logs_[process]).find("done with 2"), std::string::npos)
          << ReadFile(logs_[process]);
    }
  }
}

TEST_P(LosingRanksTest, ARankThatHangsIsReportedThenLeftAndTooLateWhenItComesBack) {
  ASSERT_NO_FATAL_FAILURE(StartLooping(3, "2"));
  ranks_[1].Signal(SIGSTOP);
  for (const int rank : {0, 2}) {
    EXPECT_EQ(ranks_[rank].Wait(seconds(60)).value_or(-1), 0) << Logs();
    const std::string log = ReadFile(logs_[rank]);
    EXPECT_NE(log.find("for rank 1 ("), std::string::npos) << "the stall is reported: " << log;
    const size_t lost = log.find("lost: ");
    ASSERT_NE(lost, std::string::npos) << log;
    EXPECT_NE(log.find("rank 1 (", lost), std::string::npos) << "the error names it: " << log;
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
  for (const SharedMemory shared_memory : {SharedMemory::kAuto, SharedMemory::kOff}) {
    RunRanks(3,
             [](Group* group) {
               if (group->rank() == 1) return;
               std::vector<float> values(10);
               const absl::Status status =
                   group->AllReduce({Tensor{values.data(), values.size()}}, ReduceOp::kSum);
               EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable) << status;
               EXPECT_NE(status.message().find("rank 1 ("), std::string::npos) << status;
               EXPECT_EQ(group->Barrier(), status) << "the group is over";
             },
             {.shared_memory = shared_memory});
  }
}

// One rank waits in shared memory, the other one at a socket.
TEST(LinksTest, OperationsOfBothKindsDoNotWaitForEachOther) {
  for (const int reducing : {0, 1}) {
    for (const int root : {0, 1}) {
      RunRanks(2, [&](Group* group) {
        std::vector<float> values(10);
        const Tensor tensor = {values.data(), values.size(), DataType::kFloat32, "v"};
        const absl::Status status = group->rank() == reducing
                                        ? group->AllReduce({tensor}, ReduceOp::kSum)
                                        : group->Broadcast(tensor, root);
        // The root has sent its values, and sees the error at the next operation.
        const absl::Status failure = status.ok() ? group->Barrier() : status;
        EXPECT_EQ(failure.code(), absl::StatusCode::kFailedPrecondition) << failure;
      });
    }
  }
}

TEST(LinksTest, MemoryIsSharedOnlyIfAllRanksCan) {
  const auto uses_it = [](bool one_is_off, const std::string& host_of_last) {
    std::vector<std::string> addresses = FreeAddresses(3);
    if (!host_of_last.empty()) {
      addresses[2] = host_of_last + addresses[2].substr(addresses[2].rfind(':'));
    }
    std::atomic<int> users = 0;
    std::vector<std::thread> threads;
    for (int rank = 0; rank < 3; ++rank) {
      threads.emplace_back([&, rank] {
        GroupOptions options;
        options.addresses = addresses;
        options.rank = rank;
        if (one_is_off && rank == 1) options.shared_memory = SharedMemory::kOff;
        const auto group = Group::Join(options);
        ASSERT_TRUE(group.ok()) << group.status();
        if ((*group)->uses_shared_memory()) ++users;
        float one = 1;
        EXPECT_TRUE((*group)->AllReduce({Tensor{&one, 1}}, ReduceOp::kSum).ok());
        EXPECT_EQ(one, 3);
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_TRUE(users == 0 || users == 3) << users;
    return users == 3;
  };
  EXPECT_TRUE(uses_it(false, ""));
  EXPECT_FALSE(uses_it(true, "")) << "off on one rank";
  EXPECT_FALSE(uses_it(false, "localhost")) << "another host, as far as the addresses say";
  ASSERT_TRUE(ArmFailpoint("shared_memory.adopt=error").ok());
  EXPECT_FALSE(uses_it(false, "")) << "memory that cannot be mapped";
  DisarmFailpoints();
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

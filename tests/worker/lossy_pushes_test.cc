// A client that loses 5 % of its requests, loses 5 % of the replies and doubles 5 % of the requests
// (some of the doubles arrive long after), against the real blocks and ledgers of two ps. Every
// batch must be applied exactly once. All gradients differ, so a batch that is lost is not made up
// for by one that is applied twice.

#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <deque>
#include <functional>
#include <thread>
#include <vector>

#include "common/mutex.h"
#include "common/random.h"
#include "parameters/job_blocks.h"
#include "tests/worker/counting_plan.h"
#include "tests/worker/test_ps.h"

namespace cairn::worker {
namespace {

constexpr int kThreads = 4;
constexpr int64_t kRows = 20;
constexpr int64_t kChunk = 64;  // Batches that a thread has in flight.
constexpr uint64_t kPercent = 5;

// +1 or -1.
float Gradient(int64_t batch, int64_t row) {
  return RandomBits(7, static_cast<uint64_t>(batch)) >> row & 1 ? 1.0f : -1.0f;
}

proto::JobPlan Plan(int64_t batches) {
  CountingOptions options;
  options.rows = kRows;
  proto::JobPlan plan = CountingPlan(options);
  plan.set_batches_per_epoch(batches);
  plan.set_total_batches(batches);
  return plan;
}

// Sends the gradients of a batch to all ps. `done` gets the number of ps that have acknowledged.
using Send = std::function<void(int64_t batch, std::function<void(int acknowledged)> done)>;

struct Counts {
  std::atomic<int64_t> sent = 0;
  std::atomic<int64_t> lost_requests = 0;
  std::atomic<int64_t> lost_replies = 0;
  std::atomic<int64_t> doubled = 0;
};

class LossyPushes {
 public:
  explicit LossyPushes(int64_t batches) : batches_(batches), plan_(Plan(batches)), cluster_(plan_) {
    for (const auto& block : plan_.partition().blocks()) blocks_.push_back(block);
  }

  void Run(const Send& send) {
    std::vector<std::thread> threads;
    for (int i = 0; i < kThreads; ++i) {
      threads.emplace_back([this, &send, i] { PushAll(send, static_cast<uint64_t>(i)); });
    }
    for (std::thread& thread : threads) thread.join();
    Check();
  }

  // Calls JobBlocks, without a network.
  void SendDirectly(int64_t batch, std::function<void(int)> done) {
    auto left = std::make_shared<std::pair<std::atomic<int>, std::atomic<int>>>(0, 0);
    left->first = static_cast<int>(blocks_.size());
    for (const auto& block : blocks_) {
      parameters::BlockPush push;
      push.batch = batch;
      push.gradient = pool_.Allocate(block.row_end() - block.row_begin());
      for (int64_t row = block.row_begin(); row < block.row_end(); ++row) {
        push.gradient.data()[row - block.row_begin()] = Gradient(batch, row);
      }
      std::vector<parameters::BlockPush> pushes;
      pushes.push_back(std::move(push));
      cluster_.ps[block.ps()]->store().current()->Push(
          std::move(pushes), [this, left, done](std::vector<parameters::BlockReply> replies) {
            const parameters::BlockReply& reply = replies.front();
            left->second += reply.status.ok();
            (reply.applied_before ? refused_ : applied_) += reply.status.ok();
            if (--left->first == 0) done(left->second);
          });
    }
  }

  // Calls the client of a worker, which sends by gRPC.
  void SendByNetwork(int64_t batch, std::function<void(int)> done) {
    auto left = std::make_shared<std::pair<std::atomic<int>, std::atomic<int>>>(0, 0);
    left->first = static_cast<int>(blocks_.size());
    for (size_t id = 0; id < blocks_.size(); ++id) {
      auto gradient = std::make_shared<std::vector<float>>();
      for (int64_t row = blocks_[id].row_begin(); row < blocks_[id].row_end(); ++row) {
        gradient->push_back(Gradient(batch, row));
      }
      proto::PushHeader header;
      header.set_job_id(plan_.job_id());
      header.set_generation(1);
      header.set_batch(batch);
      header.set_examples(1);
      header.add_blocks(static_cast<uint32_t>(id));
      cluster_.client->Push(static_cast<int>(blocks_[id].ps()), std::move(header),
                            {cluster::FramePiece::OfFloats(*gradient, gradient)}, {},
                            [left, done](const absl::StatusOr<proto::PushReplyHeader>& reply) {
                              EXPECT_TRUE(reply.ok()) << reply.status();
                              left->second += reply.ok();
                              if (--left->first == 0) done(left->second);
                            });
    }
  }

 private:
  // Of one thread: the requests in flight.
  struct Flight {
    Mutex mutex;
    ConditionVariable landed;
    int64_t open ABSL_GUARDED_BY(mutex) = 0;
  };

  void PushAll(const Send& send, uint64_t seed) {
    uint64_t draws = 0;
    const auto percent = [&] { return RandomBelow(seed, ++draws, 100) < kPercent; };
    Flight flight;
    std::deque<int64_t> late;
    while (true) {
      const int64_t first = next_.fetch_add(kChunk);
      if (first >= batches_) break;
      std::vector<int64_t> pending;
      for (int64_t i = first; i < std::min(batches_, first + kChunk); ++i) pending.push_back(i);
      while (!pending.empty()) {
        std::vector<char> acknowledged(pending.size(), false);
        for (size_t i = 0; i < pending.size(); ++i) {
          if (percent()) {
            ++counts_.lost_requests;
            continue;
          }
          const bool reply_is_lost = percent();
          counts_.lost_replies += reply_is_lost;
          SendOne(send, pending[i], &flight, reply_is_lost ? nullptr : &acknowledged[i]);
          if (!percent()) continue;
          ++counts_.doubled;
          if (RandomBelow(seed, ++draws, 2) == 0) {
            SendOne(send, pending[i], &flight, nullptr);
          } else {
            late.push_back(pending[i]);
          }
        }
        Wait(&flight);
        std::vector<int64_t> again;
        for (size_t i = 0; i < pending.size(); ++i) {
          if (!acknowledged[i]) again.push_back(pending[i]);
        }
        pending = std::move(again);
      }
      for (; late.size() > 1000; late.pop_front()) SendOne(send, late.front(), &flight, nullptr);
    }
    for (; !late.empty(); late.pop_front()) SendOne(send, late.front(), &flight, nullptr);
    Wait(&flight);
  }

  void SendOne(const Send& send, int64_t batch, Flight* flight, char* acknowledged) {
    ++counts_.sent;
    {
      MutexLock lock(&flight->mutex);
      ++flight->open;
    }
    send(batch, [this, flight, acknowledged](int ps) {
      MutexLock lock(&flight->mutex);
      if (acknowledged != nullptr) *acknowledged = ps == static_cast<int>(blocks_.size());
      if (--flight->open == 0) flight->landed.NotifyAll();
    });
  }

  static void Wait(Flight* flight) {
    MutexLock lock(&flight->mutex);
    while (flight->open > 0) flight->landed.Wait(&flight->mutex);
  }

  void Check() {
    std::vector<int64_t> expected(kRows);
    for (int64_t batch = 0; batch < batches_; ++batch) {
      for (int64_t row = 0; row < kRows; ++row) {
        expected[row] -= static_cast<int64_t>(Gradient(batch, row));
      }
    }
    int64_t row = 0;
    for (const auto& block : blocks_) {
      const auto states = cluster_.ps[block.ps()]->store().current()->Capture();
      ASSERT_EQ(states.size(), 1u);
      EXPECT_EQ(states[0].version, batches_) << "applied, of this many unique batches";
      EXPECT_EQ(states[0].ledger.low_water(), batches_);
      EXPECT_EQ(states[0].ledger.open_count(), 0);
      ASSERT_EQ(row, block.row_begin());
      for (; row < block.row_end(); ++row) {
        EXPECT_EQ(states[0].values.data()[row - block.row_begin()],
                  static_cast<float>(expected[row]));
      }
    }
    ASSERT_EQ(row, kRows);
    if (applied_ > 0) {
      EXPECT_EQ(applied_, batches_ * static_cast<int64_t>(blocks_.size()));
      EXPECT_GT(refused_, 0);
    }
    for (const auto* faults : {&counts_.lost_requests, &counts_.lost_replies, &counts_.doubled}) {
      EXPECT_GT(*faults, batches_ / 25) << "of a planned fault there were too few";
    }
    printf("%ld unique batches, %ld requests sent, %ld lost, %ld replies lost, %ld doubled\n",
           static_cast<long>(batches_), counts_.sent.load(), counts_.lost_requests.load(),
           counts_.lost_replies.load(), counts_.doubled.load());
  }

  const int64_t batches_;
  const proto::JobPlan plan_;
  parameters::BufferPool pool_;
  TestCluster cluster_;
  std::vector<proto::PartitionMap::Block> blocks_;
  std::atomic<int64_t> next_ = 0;
  std::atomic<int64_t> applied_ = 0;
  std::atomic<int64_t> refused_ = 0;
  Counts counts_;
};

void RunDirectly(int64_t batches) {
  LossyPushes pushes(batches);
  pushes.Run([&](int64_t batch, std::function<void(int)> done) {
    pushes.SendDirectly(batch, std::move(done));
  });
}

void RunByNetwork(int64_t batches) {
  LossyPushes pushes(batches);
  pushes.Run([&](int64_t batch, std::function<void(int)> done) {
    pushes.SendByNetwork(batch, std::move(done));
  });
}

// CAIRN_LOSSY_PUSHES=10000000 makes a longer run of both tests.
int64_t Batches(int64_t of_suite) {
  const char* const value = std::getenv("CAIRN_LOSSY_PUSHES");
  return value != nullptr ? std::atoll(value) : of_suite;
}

TEST(LossyPushesTest, EveryBatchIsAppliedOnce) { RunDirectly(Batches(200'000)); }
TEST(LossyPushesTest, EveryBatchIsAppliedOnceOverANetwork) { RunByNetwork(Batches(100'000)); }

}  // namespace
}  // namespace cairn::worker

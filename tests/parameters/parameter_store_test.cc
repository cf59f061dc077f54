#include "parameters/parameter_store.h"

#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "tests/parameters/test_store.h"

namespace cairn::parameters {
namespace {

std::string MessageOf(const absl::Status& status) { return std::string(status.message()); }

TEST(ParameterStore, ConcurrentRepeatedPushesAreAppliedOnce) {
  TestJobOptions options;
  options.total_batches = 400;
  TestStore test(options, 1, 3);
  std::atomic<int> duplicates = 0;
  std::vector<std::thread> senders;
  for (uint32_t sender = 0; sender < 4; ++sender) {
    senders.emplace_back([&, sender] {
      for (int64_t i = 0; i < 400; ++i) {
        // Every sender pushes all batches, in its own order.
        const int64_t batch = (i * 7 + sender * 100) % 400;
        for (const BlockReply& reply : test.Push(batch)) {
          ASSERT_TRUE(reply.status.ok()) << reply.status;
          duplicates += reply.applied_before;
        }
      }
    });
  }
  for (std::thread& sender : senders) sender.join();
  const std::vector<BlockState> states = test.store.current()->Capture();
  int pushed = 0;
  for (size_t position = 0; position < states.size(); ++position) {
    const BlockSpec& block = test.layout->blocks()[position];
    pushed += block.pushed();
    EXPECT_EQ(states[position].version, block.pushed() ? 400 : 0) << block.name;
    if (block.update != nn::VariableSpec::Update::kOptimized) continue;
    for (const float value : Values(states[position].values)) EXPECT_EQ(value, 400) << block.name;
  }
  EXPECT_EQ(duplicates, 3 * 400 * pushed);
}

TEST(ParameterStore, OtherJobsAndGenerationsAreRejectedByName) {
  ParameterStore empty(3);
  const std::string nothing = MessageOf(empty.Find(7, 2).status());
  EXPECT_NE(nothing.find("ps 3 is not restored yet"), std::string::npos) << nothing;
  TestStore test({}, 5);
  EXPECT_TRUE(test.store.Find(7, 5).ok());
  for (const auto& [job, generation] : {std::pair(7, 4), std::pair(7, 6), std::pair(8, 5)}) {
    const absl::Status status = test.store.Find(job, generation).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_NE(MessageOf(status).find("has job 7 in generation 5"), std::string::npos) << status;
    EXPECT_NE(
        MessageOf(status).find(absl::StrCat("asked for job ", job, " in generation ", generation)),
        std::string::npos)
        << status;
  }
}

TEST(ParameterStore, ANewGenerationEndsTheWaitingCallsOfTheOldOne) {
  TestJobOptions options;
  options.synchronous = true;
  options.batches_per_update = 2;
  TestStore test(options, 1);
  const std::shared_ptr<JobBlocks> old = test.store.current();
  Mailbox<std::vector<BlockReply>> box;
  const auto put = [&](std::vector<BlockReply> replies) { box.Put(std::move(replies)); };
  old->Pull(2, {0, 1}, nullptr, put);
  old->Push(test.Pushes(0, -1), put);
  test.Install(options, 2);
  for (int i = 0; i < 2; ++i) {
    for (const BlockReply& reply : box.Take()) {
      EXPECT_EQ(reply.status.code(), absl::StatusCode::kAborted);
    }
  }
  // The old generation's blocks reject requests that found it before it was replaced.
  old->Push(test.Pushes(1, -1), put);
  EXPECT_EQ(box.Take().front().status.code(), absl::StatusCode::kAborted);
  EXPECT_EQ(test.store.current()->Capture()[0].version, 0);
}

TEST(ParameterStore, ACutIsUnchangedByTraining) {
  TestJobOptions options;
  options.optimizer = "adam";
  options.learning_rate = 0.1;
  TestStore test(options, 1);
  for (int64_t batch = 0; batch < 5; ++batch) test.Push(batch);
  const auto cut = test.store.MakeCut(7, 1, 42);
  ASSERT_TRUE(cut.ok()) << cut.status();
  std::vector<std::vector<float>> values, slots;
  for (const BlockState& state : (*cut)->states) {
    values.push_back(Values(state.values));
    slots.push_back(state.slots ? Values(state.slots) : std::vector<float>());
  }
  for (int64_t batch = 5; batch < 15; ++batch) test.Push(batch);
  const auto same = test.store.MakeCut(7, 1, 42);
  ASSERT_TRUE(same.ok());
  EXPECT_EQ(*same, *cut);
  for (size_t i = 0; i < values.size(); ++i) {
    EXPECT_EQ(Values((*cut)->states[i].values), values[i]);
    if (!slots[i].empty()) {
      EXPECT_EQ(Values((*cut)->states[i].slots), slots[i]);
    }
    if (!test.layout->blocks()[i].pushed()) continue;
    EXPECT_EQ((*cut)->states[i].ledger.low_water(), 5);
    EXPECT_NE(Values(test.store.current()->Capture()[i].values), values[i]);
  }
  EXPECT_EQ((*cut)->ledger.applied_on_all().low_water(), 5);
  test.store.DropCut(7, 42);
  EXPECT_EQ(test.store.FindCut(7, 1, 42).status().code(), absl::StatusCode::kNotFound);
}

TEST(ParameterStore, ALaterCutReplacesAnEarlierOne) {
  TestStore test({}, 1);
  std::weak_ptr<const Cut> last;
  for (uint64_t cut = 1; cut <= 20; ++cut) {
    const auto made = test.store.MakeCut(7, 1, cut);
    ASSERT_TRUE(made.ok()) << made.status();
    EXPECT_TRUE(last.expired()) << "the memory of cut " << cut - 1;
    EXPECT_FALSE(test.store.FindCut(7, 1, cut - 1).ok());
    last = *made;
  }
  const absl::Status late = test.store.MakeCut(7, 1, 19).status();
  EXPECT_EQ(late.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_NE(MessageOf(late).find("keeps the later cut 20"), std::string::npos) << late;
  test.store.DropCut(7, 19);
  EXPECT_TRUE(test.store.FindCut(7, 1, 20).ok());
}

TEST(ParameterStore, ReportsBatchesAppliedToAllAndToSomeBlocks) {
  TestStore test({}, 4);
  test.Push(0);
  Mailbox<std::vector<BlockReply>> box;
  std::vector<BlockPush> some = test.Pushes(1, -1);
  const size_t all = some.size();
  some.resize(1);
  test.store.current()->Push(std::move(some),
                             [&](std::vector<BlockReply> replies) { box.Put(std::move(replies)); });
  box.Take();
  const proto::LedgerReply reply = test.store.Ledgers();
  EXPECT_EQ(reply.job_id(), 7);
  EXPECT_EQ(reply.generation(), 4);
  EXPECT_EQ(reply.blocks(), all);
  EXPECT_EQ(reply.applied_on_all().low_water(), 1);
  EXPECT_EQ(reply.applied_on_any().low_water(), 2);
}

}  // namespace
}  // namespace cairn::parameters

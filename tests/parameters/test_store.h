#ifndef CAIRN_TESTS_PARAMETERS_TEST_STORE_H_
#define CAIRN_TESTS_PARAMETERS_TEST_STORE_H_

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "common/bounded_queue.h"
#include "parameters/initial_values.h"
#include "parameters/job_blocks.h"
#include "parameters/parameter_store.h"
#include "tests/parameters/test_job.h"

namespace cairn::parameters {

// Passes items from callbacks to the test's thread.
template <typename T>
class Mailbox {
 public:
  void Put(T item) { items_.Push(std::move(item)); }
  // Fails the test and returns a default value if no item arrives within 20 seconds.
  T Take() {
    std::optional<T> item = items_.Pop(absl::Seconds(20));
    EXPECT_TRUE(item.has_value()) << "nothing came";
    return item.has_value() ? *std::move(item) : T();
  }
  size_t size() const { return items_.size(); }

 private:
  BoundedQueue<T> items_{100000};
};

// A ParameterStore with a job whose values are all zero.
struct TestStore {
  explicit TestStore(const TestJobOptions& options, uint64_t generation = 1, int threads = 2,
                     const JobBlocks::Options& job_options = {})
      : owners(threads, 1024), store(options.ps), job_options(job_options) {
    Install(options, generation);
  }

  void Install(const TestJobOptions& options, uint64_t generation) {
    layout = MakeLayout(options);
    std::vector<BlockState> states = *MakeInitialStates(*layout, nullptr, &pool);
    for (BlockState& state : states) {
      std::fill_n(state.values.data(), state.values.count(), 0.0f);
    }
    store.Install(
        JobBlocks::Create(layout, {generation, 0}, std::move(states), &owners, &pool, job_options));
  }

  // Returns the pushes of one batch to all pushed blocks, with gradients of the same value.
  std::vector<BlockPush> Pushes(int64_t batch, float value, bool want_values = false) {
    std::vector<BlockPush> pushes;
    for (size_t position = 0; position < layout->blocks().size(); ++position) {
      const BlockSpec& block = layout->blocks()[position];
      if (!block.pushed()) continue;
      pushes.push_back({.position = static_cast<int>(position),
                        .batch = batch,
                        .gradient = Filled(&pool, block.count, value),
                        .want_values = want_values});
    }
    return pushes;
  }

  // Waits for the reply.
  std::vector<BlockReply> Push(int64_t batch, float value = -1) {
    Mailbox<std::vector<BlockReply>> box;
    store.current()->Push(Pushes(batch, value, /*want_values=*/true),
                          [&](std::vector<BlockReply> replies) { box.Put(std::move(replies)); });
    return box.Take();
  }

  BufferPool pool;
  OwnerThreads owners;
  ParameterStore store;
  const JobBlocks::Options job_options;
  std::shared_ptr<const JobLayout> layout;
};

}  // namespace cairn::parameters

#endif  // CAIRN_TESTS_PARAMETERS_TEST_STORE_H_

// Measures how fast an owner thread applies asynchronous pushes to blocks of 1 MiB, compared with
// plain passes over the same amount of memory.

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdlib>
#include <memory>

#include "parameters/blocks/block.h"
#include "tests/parameters/test_job.h"

namespace cairn::parameters {
namespace {

constexpr int64_t kBlocks = 64;  // Together much larger than the caches.

// Adam reads gradient, values and two slots, and writes the last three.
constexpr int64_t kArraysRead = 4;
constexpr int64_t kArraysWritten = 3;

struct Blocks {
  Blocks() {
    TestJobOptions options;
    options.optimizer = "adam";
    options.hidden_units = 65536;  // hidden/kernel: 4 x 65536 floats, 1 MiB.
    options.total_batches = int64_t{1} << 40;
    layout = MakeLayout(options);
    rule = std::make_unique<UpdateRule>(layout.get(), &pool);
    const int position = PositionOf(*layout, "hidden/kernel");
    count = layout->blocks()[position].count;
    for (int64_t i = 0; i < kBlocks; ++i) {
      BlockState state;
      state.values = Filled(&pool, count, 0);
      state.slots = Filled(&pool, 2 * count, 0);
      blocks.push_back(
          std::make_unique<Block>(layout.get(), position, rule.get(), state, Block::Options()));
    }
  }

  BufferPool pool;
  std::shared_ptr<const JobLayout> layout;
  std::unique_ptr<UpdateRule> rule;
  std::vector<std::unique_ptr<Block>> blocks;
  int64_t count = 0;
};

void SetBytes(benchmark::State& state, int64_t count) {
  state.SetBytesProcessed(state.iterations() * (kArraysRead + kArraysWritten) * count *
                          static_cast<int64_t>(sizeof(float)));
}

void Push(benchmark::State& state, bool want_values) {
  Blocks all;
  const BlockBuffer gradient = Filled(&all.pool, all.count, 0.5f);
  int64_t pushes = 0;
  BlockReply held;
  for (auto _ : state) {
    Block& block = *all.blocks[pushes % kBlocks];
    const int64_t batch = pushes++ / kBlocks;
    // The reply of the last push stays alive, as if the network still used it.
    block.Push({.batch = batch, .gradient = gradient, .want_values = want_values},
               [&](BlockReply reply) { held = std::move(reply); });
  }
  SetBytes(state, all.count);
}

void BM_AdamPush(benchmark::State& state) { Push(state, false); }
void BM_AdamPushWithValues(benchmark::State& state) { Push(state, true); }

// The same pushes while a reader holds the values: each update writes to a new buffer.
void BM_AdamPushBesideReaders(benchmark::State& state) {
  Blocks all;
  const BlockBuffer gradient = Filled(&all.pool, all.count, 0.5f);
  int64_t pushes = 0;
  BlockBuffer reader;
  for (auto _ : state) {
    Block& block = *all.blocks[pushes % kBlocks];
    const int64_t batch = pushes++ / kBlocks;
    reader = block.state().values;
    block.Push({.batch = batch, .gradient = gradient}, [](BlockReply) {});
  }
  SetBytes(state, all.count);
}

// Passes over seven arrays of 1 MiB, as many as Adam accesses: measures memory bandwidth.
void BM_CopyOfTheSameSize(benchmark::State& state) {
  Blocks all;
  BufferPool pool;
  const BlockBuffer from = Filled(&pool, all.count * kBlocks * 2, 1);
  const BlockBuffer to = Filled(&pool, all.count * kBlocks * 2, 1);
  int64_t i = 0;
  for (auto _ : state) {
    // Reads 3.5 arrays and writes 3.5.
    const int64_t floats = all.count * (kArraysRead + kArraysWritten) / 2;
    const int64_t offset = i++ * floats % (all.count * (kBlocks * 2 - 4));
    std::copy_n(from.data() + offset, floats, to.data() + offset);
    benchmark::ClobberMemory();
  }
  SetBytes(state, all.count);
}

BENCHMARK(BM_AdamPush);
BENCHMARK(BM_AdamPushWithValues);
BENCHMARK(BM_AdamPushBesideReaders);
BENCHMARK(BM_CopyOfTheSameSize);

}  // namespace
}  // namespace cairn::parameters

BENCHMARK_MAIN();

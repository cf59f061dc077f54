#include "tests/nn/cuda_on_host/grid.h"

#include <boost/context/fiber.hpp>
#include <boost/context/fixedsize_stack.hpp>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <numeric>
#include <utility>
#include <vector>

#include "common/random.h"

namespace cuda_on_host {

thread_local constinit Position position;

namespace {

// Kernels keep little on the stack; what they call of the C library needs more.
constexpr size_t kStackBytes = 64 << 10;
// As CUDA's alignment of shared memory at least.
constexpr size_t kSharedAlignment = 128;

// A permutation of 0 ... count - 1.
std::vector<int> Shuffled(int count, uint64_t key) {
  std::vector<int> order(count);
  std::iota(order.begin(), order.end(), 0);
  for (int i = count - 1; i > 0; --i) {
    std::swap(order[i], order[cairn::RandomBelow(key, i, i + 1)]);
  }
  return order;
}

dim3 At(int64_t index, dim3 size) {
  return {static_cast<unsigned>(index % size.x), static_cast<unsigned>(index / size.x % size.y),
          static_cast<unsigned>(index / size.x / size.y)};
}

// Runs the threads of one block after another. A fiber runs one thread after another, as long as
// they end without a barrier: a kernel without barriers needs one fiber. At a barrier the fiber is
// suspended, and another one takes the next thread.
class BlockRunner {
 public:
  // Ends the fibers in order: destroying one that is suspended throws an exception on its stack,
  // which the address sanitizer does not know.
  ~BlockRunner() {
    is_over_ = true;
    for (const auto& fiber : fibers_) fiber->context = std::move(fiber->context).resume();
  }

  bool Run(const ThreadBody& body, dim3 block, size_t shared, uint64_t key) {
    const int threads = static_cast<int>(block.x * block.y * block.z);
    body_ = &body;
    block_ = block;
    order_ = Shuffled(threads, key);
    next_ = 0;
    const size_t bytes = (shared + kSharedAlignment - 1) / kSharedAlignment * kSharedAlignment;
    shared_.reset(bytes == 0 ? nullptr : std::aligned_alloc(kSharedAlignment, bytes));
    if (bytes != 0) std::memset(shared_.get(), 0xff, bytes);

    std::vector<Fiber*> waiting;
    while (next_ < threads) {
      Fiber* const fiber = Idle();
      Resume(fiber);
      if (fiber->thread >= 0) waiting.push_back(fiber);
    }
    for (uint64_t barrier = 1; !waiting.empty(); ++barrier) {
      if (waiting.size() < static_cast<size_t>(threads)) {
        fibers_.clear();
        return false;
      }
      std::vector<Fiber*> still_waiting;
      for (int i : Shuffled(threads, cairn::DeriveKey(key, barrier))) {
        Resume(waiting[i]);
        if (waiting[i]->thread >= 0) still_waiting.push_back(waiting[i]);
      }
      waiting = std::move(still_waiting);
    }
    return true;
  }

  void* shared() const { return shared_.get(); }

  // Called by a fiber.
  void Wait() {
    Fiber* const fiber = current_;
    fiber->host = std::move(fiber->host).resume();
  }

 private:
  struct Fiber {
    boost::context::fiber context;
    boost::context::fiber host;
    int thread = -1;  // -1: idle.
  };
  struct Free {
    void operator()(void* memory) const { std::free(memory); }
  };

  Fiber* Idle() {
    for (; idle_ < fibers_.size(); ++idle_) {
      if (fibers_[idle_]->thread < 0) return fibers_[idle_].get();
    }
    fibers_.push_back(std::make_unique<Fiber>());
    Fiber* const fiber = fibers_.back().get();
    fiber->context =
        boost::context::fiber(std::allocator_arg, boost::context::fixedsize_stack(kStackBytes),
                              [this, fiber](boost::context::fiber&& host) {
                                fiber->host = std::move(host);
                                RunThreads(fiber);
                                return std::move(fiber->host);
                              });
    return fiber;
  }

  void Resume(Fiber* fiber) {
    current_ = fiber;
    if (fiber->thread >= 0) position.thread = At(fiber->thread, block_);
    fiber->context = std::move(fiber->context).resume();
    if (fiber->thread < 0) idle_ = 0;
  }

  // The life of a fiber.
  void RunThreads(Fiber* fiber) {
    while (!is_over_) {
      while (next_ < static_cast<int>(order_.size())) {
        fiber->thread = order_[next_++];
        position.thread = At(fiber->thread, block_);
        (*body_)();
      }
      fiber->thread = -1;
      fiber->host = std::move(fiber->host).resume();
    }
  }

  const ThreadBody* body_ = nullptr;
  dim3 block_;
  std::vector<int> order_;
  int next_ = 0;
  std::unique_ptr<void, Free> shared_;
  std::vector<std::unique_ptr<Fiber>> fibers_;
  // No fiber before this one is idle.
  size_t idle_ = 0;
  Fiber* current_ = nullptr;
  bool is_over_ = false;
};

thread_local BlockRunner runner;

}  // namespace

bool RunGrid(const ThreadBody& body, dim3 grid, dim3 block, size_t shared, uint64_t key) {
  const int blocks = static_cast<int>(grid.x * grid.y * grid.z);
  position.grid = grid;
  position.block_size = block;
  for (int index : Shuffled(blocks, key)) {
    position.block = At(index, grid);
    if (!runner.Run(body, block, shared, cairn::DeriveKey(key, 1 + index))) return false;
  }
  return true;
}

void* SharedMemory() { return runner.shared(); }

void SyncThreads() { runner.Wait(); }

}  // namespace cuda_on_host

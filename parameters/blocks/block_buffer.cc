#include "parameters/blocks/block_buffer.h"

#include <cstdlib>
#include <new>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/cord.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "common/mutex.h"

namespace cairn::parameters {

namespace {

constexpr int64_t kAlignment = 64;
// The type of the status's payload.
constexpr char kExhaustedBytes[] = "cairn.exhausted_bytes";

// A larger size is a mistake: blocks have a few MiB.
constexpr int64_t kFloatsMax = int64_t{1} << 36;

float* AllocateFloats(int64_t count) {
  if (count > kFloatsMax) return nullptr;
  const int64_t bytes = count * static_cast<int64_t>(sizeof(float));
  const int64_t rounded = (bytes + kAlignment - 1) / kAlignment * kAlignment;
  return static_cast<float*>(std::aligned_alloc(kAlignment, rounded));
}

}  // namespace

struct BlockBuffer::Node {
  ~Node() { std::free(data); }

  std::atomic<int32_t> references = 1;
  int64_t count = 0;
  float* data = nullptr;
  // While the buffer is in use: the list that it returns to.
  std::shared_ptr<BufferPool::FreeList> free_list;
};

class BufferPool::FreeList {
 public:
  std::unique_ptr<BlockBuffer::Node> Take(int64_t count) {
    MutexLock lock(&mutex_);
    auto& nodes = unused_[count];
    if (nodes.empty()) return nullptr;
    std::unique_ptr<BlockBuffer::Node> node = std::move(nodes.back());
    nodes.pop_back();
    return node;
  }

  void Put(std::unique_ptr<BlockBuffer::Node> node) {
    MutexLock lock(&mutex_);
    unused_[node->count].push_back(std::move(node));
  }

  void Clear() {
    decltype(unused_) dropped;
    MutexLock lock(&mutex_);
    dropped.swap(unused_);
  }

  int64_t bytes() const {
    MutexLock lock(&mutex_);
    int64_t total = 0;
    for (const auto& [count, nodes] : unused_) {
      total += count * static_cast<int64_t>(nodes.size() * sizeof(float));
    }
    return total;
  }

 private:
  mutable Mutex mutex_;
  absl::flat_hash_map<int64_t, std::vector<std::unique_ptr<BlockBuffer::Node>>> unused_
      ABSL_GUARDED_BY(mutex_);
};

float* BlockBuffer::data() const { return node_->data; }
int64_t BlockBuffer::count() const { return node_->count; }

// The acquire pairs with the release in Release(), so reads through former references are complete.
bool BlockBuffer::unique() const { return node_->references.load(std::memory_order_acquire) == 1; }

void BlockBuffer::Acquire() {
  if (node_ != nullptr) node_->references.fetch_add(1, std::memory_order_relaxed);
}

void BlockBuffer::Release() {
  if (node_ == nullptr) return;
  if (node_->references.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  const std::shared_ptr<BufferPool::FreeList> free_list = std::move(node_->free_list);
  free_list->Put(std::unique_ptr<Node>(node_));
}

BufferPool::BufferPool() : free_list_(std::make_shared<FreeList>()) {}
BufferPool::~BufferPool() = default;

BlockBuffer BufferPool::Allocate(int64_t count) {
  std::unique_ptr<BlockBuffer::Node> node = free_list_->Take(count);
  if (node == nullptr) {
    float* data = AllocateFloats(count);
    if (data == nullptr) return BlockBuffer();
    node = std::make_unique<BlockBuffer::Node>();
    node->count = count;
    node->data = data;
  }
  node->references.store(1, std::memory_order_relaxed);
  node->free_list = free_list_;
  return BlockBuffer(node.release());
}

void BufferPool::Trim() { free_list_->Clear(); }

int64_t BufferPool::unused_bytes() const { return free_list_->bytes(); }

absl::Status NoMemoryFor(const std::string& what, int64_t count) {
  const std::string bytes = absl::StrCat(count * static_cast<int64_t>(sizeof(float)));
  absl::Status status =
      absl::ResourceExhaustedError(absl::StrCat("no memory for ", what, " (", bytes, " bytes)"));
  status.SetPayload(kExhaustedBytes, absl::Cord(bytes));
  return status;
}

uint64_t ExhaustedBytes(const absl::Status& status) {
  uint64_t bytes = 0;
  const auto payload = status.GetPayload(kExhaustedBytes);
  return payload.has_value() && absl::SimpleAtoi(std::string(*payload), &bytes) ? bytes : 0;
}

}  // namespace cairn::parameters

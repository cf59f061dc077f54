#include "cluster/shared_memory/shared_arena.h"

#include <iterator>
#include <utility>

#include "common/failpoint.h"

namespace cairn::cluster {
namespace {

constexpr uint64_t kAlignment = 64;

}  // namespace

SharedArena::SharedArena(std::shared_ptr<SharedMemory> memory) : memory_(std::move(memory)) {
  free_[0] = memory_->bytes() / kAlignment * kAlignment;
}

SharedArena::Allocation SharedArena::Allocate(size_t bytes) {
  if (bytes == 0 || bytes > memory_->bytes()) return nullptr;
  if (!CAIRN_FAILPOINT("shared_memory.allocate").ok()) return nullptr;
  const uint64_t needed = (bytes + kAlignment - 1) / kAlignment * kAlignment;
  uint64_t offset = 0;
  {
    MutexLock lock(&mutex_);
    auto part = free_.begin();
    while (part != free_.end() && part->second < needed) ++part;
    if (part == free_.end()) return nullptr;
    offset = part->first;
    if (part->second > needed) free_[offset + needed] = part->second - needed;
    free_.erase(part);
  }
  return Allocation(new SharedSpan{memory_, offset, bytes},
                    [self = shared_from_this(), needed](const SharedSpan* span) {
                      self->Free(span->offset, needed);
                      delete span;
                    });
}

void SharedArena::Free(uint64_t offset, uint64_t bytes) {
  MutexLock lock(&mutex_);
  auto part = free_.emplace(offset, bytes).first;
  if (const auto next = std::next(part); next != free_.end() && next->first == offset + bytes) {
    part->second += next->second;
    free_.erase(next);
  }
  if (part == free_.begin()) return;
  const auto before = std::prev(part);
  if (before->first + before->second != offset) return;
  before->second += part->second;
  free_.erase(part);
}

}  // namespace cairn::cluster

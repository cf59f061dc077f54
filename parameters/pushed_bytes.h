#ifndef CAIRN_PARAMETERS_PUSHED_BYTES_H_
#define CAIRN_PARAMETERS_PUSHED_BYTES_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "common/mutex.h"

namespace cairn::parameters {

// Bounds the gradients that have arrived and that no block has taken yet, for each connection and
// in total. Thread-safe.
class PushedBytes : public std::enable_shared_from_this<PushedBytes> {
 public:
  PushedBytes(int64_t max, int64_t max_per_peer) : max_(max), max_per_peer_(max_per_peer) {}

  // Returns the room for so many bytes, which its destruction frees, or null if there is not
  // enough. A push that is larger than a limit gets room if it is alone.
  std::shared_ptr<const void> Reserve(const std::string& peer, int64_t bytes);

  int64_t total() const {
    MutexLock lock(&mutex_);
    return total_;
  }

 private:
  void Free(const std::string& peer, int64_t bytes);

  const int64_t max_;
  const int64_t max_per_peer_;
  mutable Mutex mutex_;
  int64_t total_ ABSL_GUARDED_BY(mutex_) = 0;
  std::map<std::string, int64_t> by_peer_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace cairn::parameters

#endif  // CAIRN_PARAMETERS_PUSHED_BYTES_H_

#ifndef CAIRN_PARAMETERS_BLOCKS_PARKED_PULLS_H_
#define CAIRN_PARAMETERS_BLOCKS_PARKED_PULLS_H_

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/functional/function_ref.h"
#include "parameters/blocks/block_reply.h"

namespace cairn::parameters {

// The pulls that a block cannot answer yet. Does not call their callbacks: the caller answers the
// pulls that it takes out. All must have been taken out before destruction. The number of pulls is
// limited by may_wait (see JobBlocks). Not thread-safe.
class ParkedPulls {
 public:
  struct Pull {
    int64_t batch = 0;
    // Replicated jobs: see Block::Pull.
    bool early = false;
    BlockCallback done;
    // Called before the pull is parked; returns false if too many pulls are waiting. May be null:
    // no limit.
    absl::AnyInvocable<bool()> may_wait;
    // Returns true if the client no longer waits for the reply. May be null: it waits.
    absl::AnyInvocable<bool() const> abandoned;
  };

  ParkedPulls() = default;
  ~ParkedPulls();
  ParkedPulls(const ParkedPulls&) = delete;
  ParkedPulls& operator=(const ParkedPulls&) = delete;

  // Whether enough pulls have been parked since the last TakeAbandoned to justify another sweep.
  bool crowded() const { return pulls_.size() >= crowded_at_; }
  bool empty() const { return pulls_.empty(); }
  size_t size() const { return pulls_.size(); }

  void Park(Pull pull) { pulls_.push_back(std::move(pull)); }

  // Removes the pulls that are `ready`, in the order in which they were parked.
  std::vector<Pull> Take(absl::FunctionRef<bool(const Pull&)> ready);

  // Removes the abandoned pulls.
  std::vector<Pull> TakeAbandoned();

  std::vector<Pull> TakeAll();

 private:
  static constexpr size_t kCrowdMin = 16;
  size_t crowded_at_ = kCrowdMin;
  std::vector<Pull> pulls_;
};

}  // namespace cairn::parameters

#endif  // CAIRN_PARAMETERS_BLOCKS_PARKED_PULLS_H_

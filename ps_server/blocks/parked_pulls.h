#ifndef CAIRN_PS_SERVER_BLOCKS_PARKED_PULLS_H_
#define CAIRN_PS_SERVER_BLOCKS_PARKED_PULLS_H_

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/functional/function_ref.h"
#include "ps_server/blocks/block_reply.h"

namespace cairn::ps {

// The pulls that one block cannot answer yet: as many as JobBlocks lets wait at most. Not
// thread-safe. Does not answer by itself: whoever takes a pull out answers it, and all must be
// taken out before the end.
class ParkedPulls {
 public:
  struct Pull {
    int64_t batch = 0;
    BlockCallback done;
    // Asked before it is parked: false if too many wait already. May be null: they do not.
    absl::AnyInvocable<bool()> may_wait;
    // True when nobody waits for the answer any more. May be null: somebody does.
    absl::AnyInvocable<bool() const> abandoned;
  };

  ParkedPulls() = default;
  ~ParkedPulls();
  ParkedPulls(const ParkedPulls&) = delete;
  ParkedPulls& operator=(const ParkedPulls&) = delete;

  // So many more than after the last TakeAbandoned that calling it again is worth its time.
  bool crowded() const { return pulls_.size() >= crowded_at_; }
  bool empty() const { return pulls_.empty(); }
  size_t size() const { return pulls_.size(); }

  void Park(Pull pull) { pulls_.push_back(std::move(pull)); }

  // Removes those whose batch is `ready`, in the order in which they were parked.
  std::vector<Pull> Take(absl::FunctionRef<bool(int64_t batch)> ready);

  // Removes those that nobody waits for.
  std::vector<Pull> TakeAbandoned();

  std::vector<Pull> TakeAll();

 private:
  std::vector<Pull> TakeIf(absl::FunctionRef<bool(const Pull&)> chosen);

  static constexpr size_t kCrowdMin = 16;
  size_t crowded_at_ = kCrowdMin;
  std::vector<Pull> pulls_;
};

}  // namespace cairn::ps

#endif  // CAIRN_PS_SERVER_BLOCKS_PARKED_PULLS_H_

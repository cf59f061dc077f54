#ifndef CAIRN_WORKER_DATA_FEATURES_FEATURE_HASH_H_
#define CAIRN_WORKER_DATA_FEATURES_FEATURE_HASH_H_

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "proto/job.pb.h"

namespace cairn::worker {

// The numbers that Keras's Hashing gives to texts and whole numbers: TensorFlow's
// to_hash_bucket_fast (FarmHash's Fingerprint64) or, with a salt, to_hash_bucket_strong (SipHash).
// A whole number has the hash of its decimal digits. The job's validation has accepted `spec`.
// Immutable, thread-safe.
class FeatureHash {
 public:
  explicit FeatureHash(const proto::Hashing& spec);

  // From 0 to num_bins - 1.
  int64_t BinOf(std::string_view text) const;
  int64_t BinOf(int64_t number) const;

 private:
  uint64_t HashOf(std::string_view text) const;
  int64_t BinOf(std::string_view text, bool is_mask) const;

  std::optional<std::array<uint64_t, 2>> key_;  // None: FarmHash.
  std::optional<int64_t> mask_number_;
  std::optional<std::string> mask_text_;
  int64_t bins_ = 1;  // Of values that are not masked.
};

}  // namespace cairn::worker

#endif  // CAIRN_WORKER_DATA_FEATURES_FEATURE_HASH_H_

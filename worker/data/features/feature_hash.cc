#include "worker/data/features/feature_hash.h"

#include <farmhash.h>
#include <highwayhash/sip_hash.h>

#include "absl/strings/str_cat.h"

namespace cairn::worker {

FeatureHash::FeatureHash(const proto::Hashing& spec) : bins_(spec.num_bins()) {
  if (!spec.salt().empty()) key_ = {spec.salt(0), *spec.salt().rbegin()};
  // With one bin there is none for the mask.
  if (bins_ == 1) return;
  if (spec.has_mask_value()) mask_number_ = spec.mask_value();
  if (spec.has_mask_value_word()) mask_text_ = spec.mask_value_word();
  if (mask_number_ || mask_text_) --bins_;
}

int64_t FeatureHash::BinOf(std::string_view text) const {
  return BinOf(text, mask_text_ && text == *mask_text_);
}

int64_t FeatureHash::BinOf(int64_t number) const {
  const absl::AlphaNum digits(number);
  const std::string_view text(digits.data(), digits.size());
  return BinOf(text, mask_number_ ? number == *mask_number_ : mask_text_ && text == *mask_text_);
}

int64_t FeatureHash::BinOf(std::string_view text, bool is_mask) const {
  if (is_mask) return 0;
  const bool has_mask = mask_number_ || mask_text_;
  return static_cast<int64_t>(HashOf(text) % static_cast<uint64_t>(bins_)) + (has_mask ? 1 : 0);
}

uint64_t FeatureHash::HashOf(std::string_view text) const {
  if (!key_) return util::Fingerprint64(text.data(), text.size());
  const highwayhash::HH_U64 key[2] = {(*key_)[0], (*key_)[1]};
  return highwayhash::SipHash(key, text.data(), text.size());
}

}  // namespace cairn::worker

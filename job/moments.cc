#include "job/moments.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"

namespace cairn::job {

void Moments::Add(absl::Span<const float> values) {
  for (size_t i = 0; i < values.size(); ++i) {
    const double value = values[i];
    if (!std::isfinite(value)) continue;
    Place& place = places_[i % places_.size()];
    ++place.count;
    place.sum.Add(value);
    place.squares.Add(value * value);  // Exact: a float has 24 bits.
  }
}

void Moments::Cover(absl::Span<const float> values) {
  float most = 0;
  for (const float value : values) most = std::max(most, std::abs(value));
  largest_ = std::max<double>(largest_, most);
}

absl::Status Moments::Add(const proto::Moments& other) {
  if (other.places_size() != static_cast<int>(places_.size())) {
    return absl::InvalidArgumentError(
        absl::StrCat("moments of ", other.places_size(), " places, not ", places_.size()));
  }
  if (!(other.largest() >= 0)) {
    return absl::InvalidArgumentError(
        absl::StrCat("moments whose largest value is ", other.largest()));
  }
  std::vector<Place> added;
  for (int i = 0; i < other.places_size(); ++i) {
    const proto::Moments::Place& place = other.places(i);
    if (place.count() < 0 ||
        place.count() > std::numeric_limits<int64_t>::max() - places_[i].count) {
      return absl::InvalidArgumentError(absl::StrCat("moments of ", place.count(), " values"));
    }
    Place& sums = added.emplace_back();
    sums.count = place.count();
    CAIRN_ASSIGN_OR_RETURN(sums.sum, ExactSum::Create(place.sum()));
    CAIRN_ASSIGN_OR_RETURN(sums.squares, ExactSum::Create(place.squares()));
  }
  largest_ = std::max(largest_, other.largest());
  for (size_t i = 0; i < added.size(); ++i) {
    places_[i].count += added[i].count;
    places_[i].sum.Add(added[i].sum);
    places_[i].squares.Add(added[i].squares);
  }
  return absl::OkStatus();
}

proto::Moments Moments::ToProto() const {
  proto::Moments result;
  result.set_largest(largest_);
  for (const Place& place : places_) {
    proto::Moments::Place& its = *result.add_places();
    its.set_count(place.count);
    *its.mutable_sum() = place.sum.ToProto();
    *its.mutable_squares() = place.squares.ToProto();
  }
  return result;
}

proto::DataPlan::Standardization Moments::Result() const {
  proto::DataPlan::Standardization result;
  for (const Place& place : places_) {
    const bool any = place.count > 0;
    result.add_mean(any ? place.sum.Mean(place.count) : 0);
    result.add_deviation(any ? place.sum.Deviation(place.squares, place.count) : 1);
  }
  return result;
}

}  // namespace cairn::job

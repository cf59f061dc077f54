#include "worker/data/zip_parts.h"

#include <cstdint>
#include <set>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "common/plural.h"
#include "common/status_macros.h"

namespace cairn::worker {
namespace {

int64_t RecordsOf(const ZippedPart& part) {
  return part.part.dataset.examples() + part.damaged.count();
}

// True if the places, which come with the plan, ascend and are places of the records.
bool AreOfRecords(const proto::DamagedRecords& damaged, int64_t records) {
  int64_t next = 0;
  for (const int64_t place : damaged.places()) {
    if (place < next || place >= records) return false;
    next = place + 1;
  }
  return true;
}

absl::Status CheckCounts(const std::vector<ZippedPart>& parts) {
  for (size_t i = 0; i < parts.size(); ++i) {
    const proto::DamagedRecords& damaged = parts[i].damaged;
    if (damaged.count() != damaged.places_size()) {
      return absl::InvalidArgumentError(
          absl::StrCat("zip[", i,
                       "]: nobody knows how many rows a damaged file has, and so which examples of "
                       "the other sources lack them; mend or remove the file: ",
                       damaged.first_error()));
    }
    if (!AreOfRecords(damaged, RecordsOf(parts[i]))) {
      return absl::InvalidArgumentError(
          absl::StrCat("zip[", i, "]: the plan has damaged records that are none of its ",
                       Plural(RecordsOf(parts[i]), "record"), "; submit the job again"));
    }
    if (RecordsOf(parts[i]) == RecordsOf(parts[0])) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "zip[", i, "]: it has ", Plural(RecordsOf(parts[i]), "example"), ", zip[0] has ",
        RecordsOf(parts[0]),
        "; each example has a part in every source. If the first ones belong together, set "
        "{\"take\": ",
        std::min(RecordsOf(parts[i]), RecordsOf(parts[0])),
        "} in the pipeline of the longer source"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Dataset> ZipParts(std::vector<ZippedPart> parts) {
  CAIRN_RETURN_IF_ERROR(CheckCounts(parts));
  std::set<int64_t> dropped;
  for (const ZippedPart& part : parts) {
    dropped.insert(part.damaged.places().begin(), part.damaged.places().end());
  }
  if (static_cast<int64_t>(dropped.size()) == RecordsOf(parts[0])) {
    return absl::InvalidArgumentError(
        "no example is left: each is damaged in one of the zipped sources");
  }
  std::vector<DatasetPart> sound;
  for (ZippedPart& part : parts) {
    // The dataset does not have the examples that are damaged in its own source.
    const auto& own = part.damaged.places();
    std::vector<int64_t> others;
    int64_t damaged_before = 0;
    for (const int64_t place : dropped) {
      const bool is_own =
          damaged_before < own.size() && own.Get(static_cast<int>(damaged_before)) == place;
      if (is_own) {
        ++damaged_before;
      } else {
        others.push_back(place - damaged_before);
      }
    }
    part.part.dataset = part.part.dataset.Without(others);
    sound.push_back(std::move(part.part));
  }
  return Dataset::Zip(std::move(sound));
}

}  // namespace cairn::worker

#include "job/data_formats/named_places.h"

#include <algorithm>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "job/data_formats/data_format.h"

namespace cairn::job {

absl::Status CheckNamedPlaces(const std::string& path, const std::string& column,
                              const std::string& field, const std::vector<std::string>& places,
                              const std::vector<NamedPlace>& columns) {
  std::set<std::string> used;
  for (size_t i = 0; i < columns.size(); ++i) {
    const std::string at = absl::StrCat(path, "[", i, "].", field, ": ");
    if (!columns[i].is_set) {
      if (places.size() == 1) continue;
      return Invalid(at, "is missing; the model's ", field, "s are ", absl::StrJoin(places, ", "));
    }
    if (std::find(places.begin(), places.end(), columns[i].name) == places.end()) {
      return Invalid(at, "the model has no ", field, " \"", columns[i].name, "\"; it has ",
                     absl::StrJoin(places, ", "));
    }
    used.insert(columns[i].name);
  }
  if (places.size() == 1 || used.size() == places.size()) return absl::OkStatus();
  for (const std::string& place : places) {
    if (used.count(place) > 0) continue;
    return Invalid(path, ": no ", column, " has \"", field, "\": \"", place,
                   "\", which the model wants");
  }
  return absl::OkStatus();
}

}  // namespace cairn::job

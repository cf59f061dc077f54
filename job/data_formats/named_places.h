#ifndef CAIRN_JOB_DATA_FORMATS_NAMED_PLACES_H_
#define CAIRN_JOB_DATA_FORMATS_NAMED_PLACES_H_

#include <string>
#include <vector>

#include "absl/status/status.h"

namespace cairn::job {

// Columns of a table, or features of records, name the input or output of the model that they
// belong to. Their order is free, and several may belong to one.

// The name that a column has for its input or output, if any.
struct NamedPlace {
  bool is_set = false;
  std::string name;
};

// The names of a model's inputs or outputs.
template <typename Places>
std::vector<std::string> NamesOf(const Places& places) {
  std::vector<std::string> names;
  for (const auto& place : places) names.push_back(place.name);
  return names;
}

// The index of the input or output with this name; 0 if there is none.
template <typename Places>
int PlaceOf(const std::string& name, const Places& places) {
  for (size_t i = 0; i < places.size(); ++i) {
    if (places[i].name == name) return static_cast<int>(i);
  }
  return 0;
}

// Checks that each of the model's inputs or outputs (`places`) has a column, and that each column
// names one of them, or none if there is only one. `path` is the path of the list of columns,
// `column` what one is called, `field` the name of the field that names the place.
absl::Status CheckNamedPlaces(const std::string& path, const std::string& column,
                              const std::string& field, const std::vector<std::string>& places,
                              const std::vector<NamedPlace>& columns);

}  // namespace cairn::job

#endif  // CAIRN_JOB_DATA_FORMATS_NAMED_PLACES_H_

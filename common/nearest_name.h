#ifndef CAIRN_COMMON_NEAREST_NAME_H_
#define CAIRN_COMMON_NEAREST_NAME_H_

#include <string>
#include <string_view>
#include <vector>

namespace cairn {

// The known name that `name` was probably meant to be: the first of those with the fewest
// insertions, deletions and replacements between them, if these are at most 2 or a third of the
// letters. Empty if there is none.
std::string NearestName(std::string_view name, const std::vector<std::string>& known);

// For the end of a refusal of an unknown name: "did you mean 'adam'? known: sgd, adam", or only the
// list.
std::string KnownNamesText(std::string_view name, const std::vector<std::string>& known);

}  // namespace cairn

#endif  // CAIRN_COMMON_NEAREST_NAME_H_

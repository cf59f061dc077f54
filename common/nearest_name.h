#ifndef CAIRN_COMMON_NEAREST_NAME_H_
#define CAIRN_COMMON_NEAREST_NAME_H_

#include <string>
#include <string_view>
#include <vector>

namespace cairn {

// The known name that `name` was probably meant to be, or "" if none is near. Near are names that
// differ by at most one typing error in a word of up to four characters, two in a longer one, and
// one in three characters of a word of nine or more; an error is a character too many, missing,
// replaced or exchanged with its neighbour ("optimal string alignment": Boytsov, Indexing methods
// for approximate dictionary searching, 2011, 2.1). Letters' case does not count. Of equally near
// names the first.
std::string NearestName(std::string_view name, const std::vector<std::string>& known);

// For the end of a refusal of an unknown name: "did you mean 'adam'? known: sgd, adam", or only the
// list.
std::string KnownNamesText(std::string_view name, const std::vector<std::string>& known);

// The same where the list would be too long or has been said: " (did you mean NAME?)", or "" if no
// name is near.
std::string DidYouMean(std::string_view name, const std::vector<std::string>& known);

}  // namespace cairn

#endif  // CAIRN_COMMON_NEAREST_NAME_H_

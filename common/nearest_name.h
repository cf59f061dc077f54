#ifndef CAIRN_COMMON_NEAREST_NAME_H_
#define CAIRN_COMMON_NEAREST_NAME_H_

#include <string>
#include <string_view>
#include <vector>

namespace cairn {

// The entry of `known` that `name` is probably a misspelling of, or "" if none is close; the first
// one of several that are equally close. Case is ignored.
//
// The distance is the optimal string alignment distance (Boytsov, Indexing methods for approximate
// dictionary searching, 2011, section 2.1): insertions, deletions, substitutions and transpositions
// of adjacent characters count 1. The limit is 1 for names of up to five characters, 2 for up to
// eleven, and 3 for longer ones.
std::string NearestName(std::string_view name, const std::vector<std::string>& known);

// The end of an error message about an unknown name: "did you mean 'adam'? known: sgd, adam", or
// only the list if no name is close.
std::string KnownNamesText(std::string_view name, const std::vector<std::string>& known);

// The same without the list: " (did you mean NAME?)", or "" if no name is close.
std::string DidYouMean(std::string_view name, const std::vector<std::string>& known);

}  // namespace cairn

#endif  // CAIRN_COMMON_NEAREST_NAME_H_

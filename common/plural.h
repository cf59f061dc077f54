#ifndef CAIRN_COMMON_PLURAL_H_
#define CAIRN_COMMON_PLURAL_H_

#include <cstdint>
#include <string>
#include <string_view>

namespace cairn {

// "1 worker", "2 workers", "0 workers". Only for nouns whose plural ends in s.
std::string Plural(int64_t count, std::string_view noun);

}  // namespace cairn

#endif  // CAIRN_COMMON_PLURAL_H_

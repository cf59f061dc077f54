#ifndef CAIRN_COMMON_REPORT_KEYS_H_
#define CAIRN_COMMON_REPORT_KEYS_H_

#include <string_view>

namespace cairn {

// Whether the JSON that reports on a job (`cairn status`, `history`, `evaluate`) has something of
// its own under this key. Metrics stand beside those keys, under their names, so none may be called
// so.
bool IsReportKey(std::string_view name);

}  // namespace cairn

#endif  // CAIRN_COMMON_REPORT_KEYS_H_

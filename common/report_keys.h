#ifndef CAIRN_COMMON_REPORT_KEYS_H_
#define CAIRN_COMMON_REPORT_KEYS_H_

#include <string_view>

namespace cairn {

// Whether the JSON reports on a job (`cairn status`, `history`, `evaluate`) use `name` as a key of
// their own. Metrics are reported beside these keys under their own names, so no metric may have
// such a name.
bool IsReportKey(std::string_view name);

}  // namespace cairn

#endif  // CAIRN_COMMON_REPORT_KEYS_H_

#ifndef CAIRN_COMMON_STATUS_MACROS_H_
#define CAIRN_COMMON_STATUS_MACROS_H_

#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

// Returns the status of `expression` from the enclosing function unless it is OK.
#define CAIRN_RETURN_IF_ERROR(expression)                                                    \
  do {                                                                                       \
    if (::absl::Status cairn_status = (expression); !cairn_status.ok()) return cairn_status; \
  } while (false)

// Evaluates a StatusOr: assigns its value to `target` (which may be a declaration), or returns its
// status from the enclosing function.
#define CAIRN_ASSIGN_OR_RETURN(target, expression) \
  CAIRN_ASSIGN_OR_RETURN_(CAIRN_CONCAT_(cairn_statusor_, __LINE__), target, expression)

#define CAIRN_ASSIGN_OR_RETURN_(result, target, expression) \
  auto result = (expression);                               \
  if (!result.ok()) return std::move(result).status();      \
  target = *std::move(result)

#define CAIRN_CONCAT_(a, b) CAIRN_CONCAT_INNER_(a, b)
#define CAIRN_CONCAT_INNER_(a, b) a##b

#endif  // CAIRN_COMMON_STATUS_MACROS_H_

#ifndef CAIRN_COMMON_STATUS_MACROS_H_
#define CAIRN_COMMON_STATUS_MACROS_H_

#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

// Evaluates an expression of type absl::Status and returns the status from the enclosing function
// if it is not OK.
#define CAIRN_RETURN_IF_ERROR(expression)                                                    \
  do {                                                                                       \
    if (::absl::Status cairn_status = (expression); !cairn_status.ok()) return cairn_status; \
  } while (false)

// Evaluates an expression of type absl::StatusOr<T>. Assigns the value to `target`, which may be a
// declaration, or returns the status from the enclosing function.
//
//  CAIRN_ASSIGN_OR_RETURN(const Address address, ParseAddress(text));
#define CAIRN_ASSIGN_OR_RETURN(target, expression) \
  CAIRN_ASSIGN_OR_RETURN_(CAIRN_CONCAT_(cairn_statusor_, __LINE__), target, expression)

#define CAIRN_ASSIGN_OR_RETURN_(result, target, expression) \
  auto result = (expression);                               \
  if (!result.ok()) return std::move(result).status();      \
  target = *std::move(result)

#define CAIRN_CONCAT_(a, b) CAIRN_CONCAT_INNER_(a, b)
#define CAIRN_CONCAT_INNER_(a, b) a##b

#endif  // CAIRN_COMMON_STATUS_MACROS_H_

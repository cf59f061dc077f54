#ifndef CAIRN_WORKER_DATA_CSV_CSV_VALUE_H_
#define CAIRN_WORKER_DATA_CSV_CSV_VALUE_H_

#include <optional>
#include <string>
#include <string_view>

namespace cairn::worker {

// The number that a field says, blanks around it aside: decimal, with an exponent or without; also
// nan and inf. Nullopt: it is none, or too large for a float64.
std::optional<double> ParseNumber(std::string_view field);

// A number that was written with a decimal comma ("3,14", "1.234,5"), as ParseNumber would read it
// ("3.14", "1234.5"); empty: the field is none.
std::string WithDecimalPoint(std::string_view field);

// A field in a message: quoted, at most 40 bytes of it, control characters and what is no UTF-8
// escaped.
std::string QuotedField(std::string_view field);

}  // namespace cairn::worker

#endif  // CAIRN_WORKER_DATA_CSV_CSV_VALUE_H_

#ifndef CAIRN_WORKER_DATA_CSV_CSV_VALUE_H_
#define CAIRN_WORKER_DATA_CSV_CSV_VALUE_H_

#include <optional>
#include <string>
#include <string_view>

namespace cairn::worker {

// Parses a decimal number with or without an exponent, nan or inf. Ignores surrounding blanks.
// Nullopt: not a number, or too large for a float64.
std::optional<double> ParseNumber(std::string_view field);

// Converts a number with a decimal comma ("3,14", "1.234,5") to one that ParseNumber reads ("3.14",
// "1234.5"). Empty if the field is not such a number.
std::string WithDecimalPoint(std::string_view field);

// A field for messages: in quotes, at most 40 bytes, with control characters and invalid UTF-8
// escaped.
std::string QuotedField(std::string_view field);

}  // namespace cairn::worker

#endif  // CAIRN_WORKER_DATA_CSV_CSV_VALUE_H_

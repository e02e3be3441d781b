// Measures what match rules cost a request, and regular expressions that were written to be slow.
#pragma once

#include <string>
#include <vector>

namespace longshore::bench {

// Processor times of one request, in microseconds.
struct RuleSpeed {
  double rules_us = 0;      // To find that none of 16 rules, with all operators but for claims, matches the request.
  double regex_us = 0;      // To find that none of the four regular expressions of these rules matches.
  double std_regex_us = 0;  // The same with std::regex.
};
RuleSpeed MeasureRules();

// A hostile regular expression.
struct Bomb {
  std::string expression;
  std::string refusal;  // Why a manifest with it is refused; "" if it is accepted.
  double us = 0;  // The median time of a match with values that were not matched before, of the worst kind of value.
};
std::vector<Bomb> MeasureBombs();

}  // namespace longshore::bench

// Finds the word that a user probably meant, for messages such as "did you mean promote?".
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace longshore {

// The least number of changes that turn one word into the other: insert, remove or replace a byte, or swap two
// neighbours (the optimal string alignment distance). The case of ASCII letters does not count.
size_t EditDistance(std::string_view a, std::string_view b);

// Returns the known word with the smallest distance to `word`, or nullopt if no word is so near that a typing mistake
// is likely: at most one change, or one for every three bytes of a longer word. "sorce" is near "source", "cat" is not
// near "dog". Parts between "_" or "-" are compared one by one: "console_address" is not near "node_address".
//
// Without such a word, returns the shortest one that has all parts of `word` in their order, if these are at least two:
// "rest_port" means "rest_api_port".
std::optional<std::string> NearestWord(std::string_view word, const std::vector<std::string>& known);

}  // namespace longshore

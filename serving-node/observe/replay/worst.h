// Which pairs with different outputs are kept as bundles: for each version, those that differ most.
//
// How far the outputs of a bundle differ is in the name of its file, so the choice needs no memory, and its limit also
// holds after a restart of the node.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "common/base/path.h"

namespace longshore::replay {

// The part of the file name after date and number, without the ending: "digits-4-DIFFERS-2.500e-01". `name` is the
// model's name as in other bundles, `relative` as in routing::Difference.
std::string NameOfDifference(const std::string& name, int64_t version, double relative);

// Returns those of the files that a bundle named `added` (see NameOfDifference) replaces, so that at most `files_max`
// bundles of its version are left with it. Nullopt if it is not to be kept, because so many bundles of the version
// differ at least as much. Files with other names are ignored. Requires: files_max > 0.
std::optional<std::vector<Path>> ReplacedBy(const std::string& added, std::vector<Path> files, size_t files_max);

}  // namespace longshore::replay

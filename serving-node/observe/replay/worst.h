// Which pairs with different outputs are kept as bundles: for each version, those that differ most.
//
// How far the outputs of a bundle differ is in the name of its file, so the choice needs no memory, and its limits also
// hold after a restart of the node.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/base/path.h"

namespace longshore::replay {

// A file in the directory of the bundles.
struct BundleFile {
  Path path;
  size_t bytes = 0;
};

struct DifferenceLimits {
  size_t of_version_max = 0;  // Bundles of one version. At least 1.
  size_t files_max = 0;       // Bundles of all versions together, and their bytes.
  size_t bytes_max = 0;
};

struct AddedDifference {
  std::string name;  // See NameOfDifference.
  size_t bytes = 0;
};

// The part of the file name after date and number, without the ending: "digits-4-DIFFERS-2.500e-01". `name` is the
// model's name as in other bundles, `severity` as in routing::Difference.
std::string NameOfDifference(const std::string& name, int64_t version, double severity);

// Returns those of the files that the added bundle replaces, so that the limits hold with it: the mildest ones of its
// version, if that has too many; then the oldest ones of other versions, whose rollouts are probably over; then further
// ones of its version. Nullopt if it is not to be kept, because bundles of its version that differ at least as much
// would have to go, or because it is too large. Files with other names are ignored.
std::optional<std::vector<Path>> ReplacedBy(const AddedDifference& added, const std::vector<BundleFile>& files,
                                            const DifferenceLimits& limits);

}  // namespace longshore::replay

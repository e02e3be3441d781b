// Whether a golden set on this host fits the metric of its Model.
#pragma once

#include <string>

#include "common/base/path.h"

namespace longshore::cli::input {

// Reads the first record of the golden set. Returns why its known answer would score 0 by the metric `top1`, whatever a
// version answers; "" if it could score, or if the record cannot be read, which the rehearsal on a node reports.
std::string WhyTop1ScoresZero(const Path& golden_set);

}  // namespace longshore::cli::input

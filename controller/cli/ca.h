// The authority of an installation in a cluster: made once, and kept in a Secret that the chart brings empty
// (docs/decisions/0008-the-ca-is-filled-in-by-a-job.md).
#pragma once

#include <chrono>
#include <string>

#include "common/error.h"
#include "controller/kube/api.h"

namespace longshore::cli {

// Fills the Secret in when it is empty, and says what it has. What somebody else has put there is never written over:
// FailedPrecondition when it is no authority. NotFound when there is no Secret. A server that does not answer is asked
// again, for so long. Sends nothing but GET and PATCH of this Secret.
Result<std::string> EnsureCa(kube::Api& api, const std::string& namespace_, const std::string& secret,
                             std::chrono::milliseconds patience);

}  // namespace longshore::cli

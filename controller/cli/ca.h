// The certificate authority (CA) of an installation in a cluster. It is created once and kept in a Secret, which the
// chart creates empty (docs/decisions/0008-the-ca-is-filled-in-by-a-job.md).
#pragma once

#include <chrono>
#include <string>

#include "common/base/error.h"
#include "controller/kube/api.h"

namespace longshore::cli {

// Writes a new CA into the Secret if it is empty, and returns a sentence about what the Secret holds. Never overwrites
// existing content, and returns FailedPrecondition if that content is not a CA. Returns NotFound if the Secret does not
// exist. Retries while the server does not answer, for at most `patience`. Sends only GET and PATCH requests for this
// Secret.
Result<std::string> EnsureCa(kube::Api& api, const std::string& namespace_, const std::string& secret,
                             std::chrono::milliseconds patience);

}  // namespace longshore::cli

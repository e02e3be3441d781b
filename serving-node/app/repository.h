// The models of this node, for the model repository extension of the Open Inference Protocol.
#pragma once

#include <memory>

#include "serving-node/app/standalone.h"
#include "serving-node/frontend/oip/repository.h"
#include "serving-node/routing/router.h"

namespace longshore::app {

// The models of a standalone node. Without `accepts_changes`, Load and Unload return PermissionDenied. The object must
// outlive the result.
std::unique_ptr<frontend::oip::Repository> MakeRepository(Standalone& standalone, bool accepts_changes);

// The models of the fleet that this node knows. A controller decides which ones are loaded, so Load and Unload return
// FailedPrecondition. The router must outlive the result.
std::unique_ptr<frontend::oip::Repository> MakeManagedRepository(const routing::Router& router);

}  // namespace longshore::app

// The text by which a node reports a failed rehearsal.
#pragma once

namespace longshore::node_contract {

// GoldenResult.message begins with this and ": " if the version does not accept all requests that stable accepts.
inline constexpr const char* kSignatureChanged = "SignatureChanged";

}  // namespace longshore::node_contract

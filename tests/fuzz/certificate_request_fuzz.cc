// Reads the input as the DER of a certificate request; it is converted to PEM, as a node sends it to its controller.
#include "common/base/base64.h"
#include "common/base/error.h"
#include "common/net/tls/authority.h"
#include "tests/fuzz/fuzz.h"

const longshore::fuzz::Allowance longshore::fuzz::kAllowance = longshore::fuzz::kOfRequests;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace longshore;
  static const auto authority = tls::MakeAuthority("fuzz", std::chrono::hours(1)).value();
  const std::string pem = fmt::format("-----BEGIN CERTIFICATE REQUEST-----\n{}\n-----END CERTIFICATE REQUEST-----\n",
                                      ToBase64(fuzz::View(data, size)));
  const auto made = tls::Sign(authority, pem, {.name = "node"}, std::chrono::hours(1));
  CHECK(made || made.error().code == Code::kInvalidArgument);
  return 0;
}

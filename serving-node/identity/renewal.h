// Decides when a node requests a new certificate. Pure.
#pragma once

#include <string>

#include "common/base/clock.h"
#include "common/net/tls/authority.h"

namespace longshore::identity {

// The facts about the current certificate.
struct Renewal {
  tls::Validity validity;
  std::string authorities;          // The authorities that the controller sent with the certificate.
  std::string authorities_trusted;  // The content of Options::ca_file now; empty if it cannot be read.
  // The content of Options::ca_file when the certificate was received; cleared once the file equals `authorities`. The
  // controller may send a new authority in `authorities` before the file contains it. Until then, the difference
  // between the two must not cause a renewal.
  std::string authorities_at_issue;
};

// Returns true if the certificate is older than a day or a third of its validity, whichever is shorter, or if the
// trusted authorities have changed.
bool IsDue(const Renewal& renewal, TimePoint now);

}  // namespace longshore::identity

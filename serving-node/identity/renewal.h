// When a node asks for a certificate. Pure.
#pragma once

#include <string>

#include "common/clock.h"
#include "common/tls/authority.h"

namespace longshore::identity {

// Of a certificate that there is.
struct Renewal {
  tls::Validity validity;
  std::string authorities;      // That it came with.
  std::string authorities_now;  // That the controller is dialled by; empty when that cannot be read.
  // The same when the certificate came, until it is that of the certificate: a controller hears before its nodes.
  std::string authorities_then;
};

// Daily, or after a third of its life where that is less, and as soon as the authority is another one.
bool IsDue(const Renewal& renewal, TimePoint now);

}  // namespace longshore::identity

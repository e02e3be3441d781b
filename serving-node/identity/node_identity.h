// The identity of this node towards the other nodes of its fleet: its certificate and the authorities that it trusts.
//
// In a cluster a node generates its key and asks the controller to sign a certificate; the key never leaves the node.
// The certificate is stored on disk, so that a restarted node has it even if no controller is reachable. A certificate
// is valid for a year but renewed daily. Another node is accepted if a trusted authority signed its certificate and if
// that certificate has the DNS name that only nodes of this fleet get.
//
// When the authority changes, a node trusts both authorities, and presents its old certificate for a while
// (show_after). After that time all other nodes trust the new authority too.
#pragma once

#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "common/base/clock.h"
#include "common/base/error.h"
#include "common/base/path.h"
#include "common/net/tls/authority.h"
#include "common/net/tls/request.h"
#include "common/storage/write_health.h"
#include "longshore/control.pb.h"

namespace longshore::identity {

// The certificate that this node presents to another node, and what it requires from that node.
struct PeerIdentity {
  tls::KeyPair own;
  std::string authorities;
  std::string fleet_name;  // The DNS name that the other node's certificate must have.

  friend bool operator==(const PeerIdentity&, const PeerIdentity&) = default;
};

struct Options {
  Path file{};     // The file that stores the key and the certificate.
  Path ca_file{};  // The authorities for connections to the controller. A new authority appears here first.
  std::chrono::milliseconds ask_again{15'000};   // The minimum time between two requests to the controller.
  std::chrono::milliseconds check_every{5'000};  // The time between two checks whether a renewal is due.
  // After a change of the authority, the old certificate is presented for this time.
  std::chrono::milliseconds show_after{5 * 60'000};
};

// Thread-safe.
class NodeIdentity {
 public:
  // Starts with the certificate in Options::file, or without a certificate if that one has expired or cannot be read.
  NodeIdentity(Options options, const Clock& clock, const MonotonicClock& timer);

  // Returns the text of a control::CertificateRequest if one is due. Cheap enough to call often.
  std::optional<std::string> RequestIfDue();

  // Applies the controller's answer to the newest request. If the answer is an error or is not usable, returns an error
  // and changes nothing. A certificate that cannot be stored on disk is used nevertheless.
  Status Take(const control::Certificate& answer);

  // The current identity; null if there is none. The pointer changes whenever the identity changes.
  std::shared_ptr<const PeerIdentity> current();

  // The end of the newest certificate's validity; nullopt if there is none.
  std::optional<TimePoint> until() const;

  // Whether the file could be written the last time.
  const storage::WriteHealth& health() const { return health_; }
  void WriteAgain();

 private:
  // All private functions require: mutex_ held.
  bool IsAskingDue();
  std::string AuthoritiesTrusted() const;
  Status Hold(control::NodeIdentity next);
  void Write();
  void Show(std::shared_ptr<const PeerIdentity> next, bool is_of_another_authority);

  const Options options_;
  const Clock& clock_;
  const MonotonicClock& timer_;
  storage::WriteHealth health_{"identity"};
  mutable std::mutex mutex_;  // Guards the members below.
  control::NodeIdentity held_;
  tls::Validity validity_;            // The validity of the certificate in held_.
  tls::Request request_;              // The newest unanswered request; empty if there is none.
  std::string authorities_at_issue_;  // See Renewal::authorities_at_issue.
  std::optional<MonotonicPoint> requested_at_;
  std::optional<MonotonicPoint> checked_at_;
  std::shared_ptr<const PeerIdentity> shown_;
  std::shared_ptr<const PeerIdentity> next_;  // Replaces shown_ at next_at_. Null: shown_ stays.
  MonotonicPoint next_at_;
};

}  // namespace longshore::identity

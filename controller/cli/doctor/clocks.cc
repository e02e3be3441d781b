#include "controller/cli/doctor/clocks.h"

#include "controller/api/format.h"
#include "controller/cli/text/text.h"

namespace longshore::cli::doctor {
namespace {

constexpr const char* kSynchronize = "timedatectl set-ntp true, on both machines";
// An answer's time has whole seconds, and the answer is under way for a moment.
constexpr std::chrono::seconds kNoticed{5};
// Tokens and certificates that were issued just now are not valid yet for a clock that is so late.
constexpr std::chrono::seconds kHarmful{60};
constexpr std::chrono::hours kExpiresSoon{24 * 14};

int64_t SecondsOf(Duration duration) { return std::chrono::duration_cast<std::chrono::seconds>(duration).count(); }

// `ahead`: how far the other clock is ahead of this one; negative: behind.
Finding Compared(const std::string& name, const std::string& whose, Duration ahead) {
  const Duration size = ahead < Duration{0} ? -ahead : ahead;
  if (size < kNoticed) return {kClocks, name, Verdict::kOk, fmt::format("{} and this machine's agree.", whose), ""};
  return {
      kClocks, name, size < kHarmful ? Verdict::kWarning : Verdict::kFailure,
      fmt::format("{} is {} s {} this machine's.", whose, SecondsOf(size), ahead < Duration{0} ? "behind" : "ahead of"),
      kSynchronize};
}

}  // namespace

Finding CheckServerClock(const Result<TimePoint>& answered_at, TimePoint now) {
  const std::string name = "Clock of the API server";
  if (!answered_at)
    return {kClocks, name, Verdict::kNotKnown, answered_at.error().message + ".", "kubectl cluster-info"};
  return Compared(name, "its clock", *answered_at - now);
}

Findings CheckLeaseClock(const LeaseLife& life, Duration lease_duration, TimePoint now) {
  if (!life.read || !life.is_held) return {};
  // A renewal may be as old as the Lease is valid; that says nothing about the clocks.
  const Duration age = now - life.renewed_at;
  const Duration ahead = age < Duration{0} ? -age : age > lease_duration ? lease_duration - age : Duration{0};
  return {Compared("Clock of the controller", "the clock of " + life.holder, ahead)};
}

Finding CheckCertificate(const Certificate& certificate, TimePoint now) {
  Finding finding{kClocks, "Certificate " + certificate.what, Verdict::kOk, "", certificate.renew};
  if (!certificate.from || !certificate.until) {
    const Error& error = certificate.from ? certificate.until.error() : certificate.from.error();
    finding.verdict = error.code == Code::kPermissionDenied ? Verdict::kNotKnown : Verdict::kFailure;
    finding.cause = error.message + ".";
    return finding;
  }
  const auto day = [](TimePoint at) { return api::FormatTime(at).substr(0, 10); };
  if (now < *certificate.from) {
    finding.verdict = Verdict::kFailure;
    finding.cause = fmt::format("it is not valid before {}.", api::FormatTime(*certificate.from));
  } else if (now >= *certificate.until) {
    finding.verdict = Verdict::kFailure;
    finding.cause =
        fmt::format("it expired {} ago, on {}.", text::Age(*certificate.until, now), day(*certificate.until));
  } else if (*certificate.until - now < kExpiresSoon) {
    finding.verdict = Verdict::kWarning;
    finding.cause =
        fmt::format("it expires in {}, on {}.", text::Age(now, *certificate.until), day(*certificate.until));
  } else {
    finding.cause = fmt::format("it is valid until {}.", day(*certificate.until));
    finding.cure = "";
  }
  return finding;
}

}  // namespace longshore::cli::doctor

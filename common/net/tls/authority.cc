#include "common/net/tls/authority.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <ctime>
#include <memory>
#include <utility>

#include "common/net/tls/pem.h"

namespace longshore::tls {
namespace {

constexpr long kVersion3 = 2;
constexpr long kSkewSeconds = 300;  // Validity begins this far in the past, for machines whose clocks are behind.

Result<KeyPair> PairOf(X509* certificate, EVP_PKEY* key) {
  KeyPair pair;
  ASSIGN_OR_RETURN(pair.certificate, ToPem(certificate));
  ASSIGN_OR_RETURN(pair.key, ToPem(key));
  return pair;
}

Status Extend(X509* certificate, X509* issuer, int what, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, &context, what, value.c_str());
  if (extension == nullptr) return InvalidArgument("\"{}\" is not valid in a certificate", value);
  X509_add_ext(certificate, extension, -1);
  X509_EXTENSION_free(extension);
  return {};
}

// Sets a serial number of 16 random bytes.
bool SetSerial(X509* certificate) {
  unsigned char bytes[16];
  if (RAND_bytes(bytes, sizeof bytes) != 1) return false;
  bytes[0] &= 0x7f;  // Clears the sign bit: a serial number must not be negative.
  BIGNUM* number = BN_bin2bn(bytes, sizeof bytes, nullptr);
  const bool set = number != nullptr && BN_to_ASN1_INTEGER(number, X509_get_serialNumber(certificate)) != nullptr;
  BN_free(number);
  return set;
}

// Creates a certificate that still lacks its issuer, extensions and signature.
Result<Owned<X509>> Begin(const std::string& name, EVP_PKEY* key, std::chrono::hours lifetime) {
  Owned<X509> certificate(X509_new());
  if (!certificate || !SetSerial(certificate.get())) return ResourceExhausted("not enough memory for a certificate");
  X509_set_version(certificate.get(), kVersion3);
  X509_gmtime_adj(X509_getm_notBefore(certificate.get()), -kSkewSeconds);
  X509_gmtime_adj(X509_getm_notAfter(certificate.get()), std::chrono::seconds(lifetime).count());
  X509_set_pubkey(certificate.get(), key);
  const auto* text = reinterpret_cast<const unsigned char*>(name.c_str());
  if (X509_NAME_add_entry_by_txt(X509_get_subject_name(certificate.get()), "CN", MBSTRING_UTF8, text, -1, -1, 0) != 1)
    return InvalidArgument("\"{}\" is not a valid name for a certificate", name);
  return certificate;
}

// Returns the names in OpenSSL's format. OpenSSL separates names by commas, so a name must not contain a comma.
Result<std::string> AlternativeNames(const Subject& subject) {
  std::string names;
  const auto add = [&](const char* type, const std::string& name) -> Status {
    if (name.empty() || name.find_first_of(",\n") != std::string::npos)
      return InvalidArgument("\"{}\" is not a valid name for a certificate", name);
    names += (names.empty() ? "" : ",") + std::string(type) + name;
    return {};
  };
  for (const std::string& name : subject.dns_names) RETURN_IF_ERROR(add("DNS:", name));
  for (const std::string& address : subject.addresses) RETURN_IF_ERROR(add("IP:", address));
  for (const std::string& uri : subject.uris) RETURN_IF_ERROR(add("URI:", uri));
  return names;
}

struct Pair {
  Owned<X509> certificate;
  Owned<EVP_PKEY> key;
};

Result<Pair> Read(const KeyPair& pair) {
  const auto text = Open(pair.certificate);
  ASSIGN_OR_RETURN(auto certificate, NextCertificate(text.get()));
  if (!certificate) return InvalidArgument("the certificate is not PEM text");
  ASSIGN_OR_RETURN(auto key, ReadKey(pair.key));
  if (X509_check_private_key(certificate.get(), key.get()) != 1) {
    ERR_clear_error();
    return InvalidArgument("the key does not belong to the certificate");
  }
  return Pair{std::move(certificate), std::move(key)};
}

Result<Owned<X509>> Certify(const Pair& authority, EVP_PKEY* key, const Subject& subject, std::chrono::hours lifetime) {
  X509* issuer = authority.certificate.get();
  ASSIGN_OR_RETURN(const std::string names, AlternativeNames(subject));
  ASSIGN_OR_RETURN(auto certificate, Begin(subject.name, key, lifetime));
  if (ASN1_TIME_compare(X509_get0_notAfter(certificate.get()), X509_get0_notAfter(issuer)) > 0)
    X509_set1_notAfter(certificate.get(), X509_get0_notAfter(issuer));
  X509_set_issuer_name(certificate.get(), X509_get_subject_name(issuer));
  RETURN_IF_ERROR(Extend(certificate.get(), issuer, NID_basic_constraints, "critical,CA:FALSE"));
  RETURN_IF_ERROR(Extend(certificate.get(), issuer, NID_key_usage, "critical,digitalSignature"));
  RETURN_IF_ERROR(Extend(certificate.get(), issuer, NID_ext_key_usage, "serverAuth,clientAuth"));
  RETURN_IF_ERROR(Extend(certificate.get(), issuer, NID_authority_key_identifier, "keyid"));
  if (!names.empty()) RETURN_IF_ERROR(Extend(certificate.get(), issuer, NID_subject_alt_name, names));
  if (X509_sign(certificate.get(), authority.key.get(), EVP_sha256()) == 0)
    return Internal("cannot sign a certificate");
  return certificate;
}

Result<TimePoint> ToTime(const ASN1_TIME* time) {
  std::tm fields{};
  if (ASN1_TIME_to_tm(time, &fields) != 1) return InvalidArgument("the certificate's period of validity is malformed");
  return TimePoint(std::chrono::seconds(timegm(&fields)));
}

Result<Validity> PeriodOf(const X509& certificate) {
  Validity validity;
  ASSIGN_OR_RETURN(validity.from, ToTime(X509_get0_notBefore(&certificate)));
  ASSIGN_OR_RETURN(validity.until, ToTime(X509_get0_notAfter(&certificate)));
  return validity;
}

}  // namespace

Result<KeyPair> MakeAuthority(const std::string& name, std::chrono::hours lifetime) {
  ASSIGN_OR_RETURN(const auto key, MakeKey());
  ASSIGN_OR_RETURN(const auto certificate, Begin(name, key.get(), lifetime));
  X509_set_issuer_name(certificate.get(), X509_get_subject_name(certificate.get()));
  RETURN_IF_ERROR(Extend(certificate.get(), certificate.get(), NID_basic_constraints, "critical,CA:TRUE,pathlen:0"));
  RETURN_IF_ERROR(Extend(certificate.get(), certificate.get(), NID_key_usage, "critical,keyCertSign,cRLSign"));
  RETURN_IF_ERROR(Extend(certificate.get(), certificate.get(), NID_subject_key_identifier, "hash"));
  if (X509_sign(certificate.get(), key.get(), EVP_sha256()) == 0) return Internal("cannot sign a certificate");
  return PairOf(certificate.get(), key.get());
}

Result<KeyPair> Issue(const KeyPair& authority, const Subject& subject, std::chrono::hours lifetime) {
  ASSIGN_OR_RETURN(const Pair pair, Read(authority));
  ASSIGN_OR_RETURN(const auto key, MakeKey());
  ASSIGN_OR_RETURN(const auto certificate, Certify(pair, key.get(), subject, lifetime));
  return PairOf(certificate.get(), key.get());
}

Result<std::string> Sign(const KeyPair& authority, const std::string& request, const Subject& subject,
                         std::chrono::hours lifetime) {
  ASSIGN_OR_RETURN(const auto key, ReadRequest(request));
  ASSIGN_OR_RETURN(const Pair pair, Read(authority));
  ASSIGN_OR_RETURN(const auto certificate, Certify(pair, key.get(), subject, lifetime));
  return ToPem(certificate.get());
}

Result<Validity> ValidityOf(const KeyPair& pair) {
  ASSIGN_OR_RETURN(const Pair read, Read(pair));
  return PeriodOf(*read.certificate);
}

Result<Validity> ValidityOfCertificate(const std::string& pem) {
  const Owned<BIO> bio = Open(pem);
  ASSIGN_OR_RETURN(const auto certificate, NextCertificate(bio.get()));
  if (!certificate) return InvalidArgument("it contains no certificate");
  return PeriodOf(*certificate);
}

}  // namespace longshore::tls

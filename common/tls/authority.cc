#include "common/tls/authority.h"

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

#include "common/tls/pem.h"

namespace longshore::tls {
namespace {

constexpr long kVersion3 = 2;
constexpr long kSkewSeconds = 300;  // Of clocks that are behind ours.

std::string TextOf(BIO* bio) {
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio, &data);
  return {data, static_cast<size_t>(size)};
}

Result<KeyPair> ToPem(X509* certificate, EVP_PKEY* key) {
  const Owned<BIO> certificate_text(BIO_new(BIO_s_mem()));
  const Owned<BIO> key_text(BIO_new(BIO_s_mem()));
  if (PEM_write_bio_X509(certificate_text.get(), certificate) != 1 ||
      PEM_write_bio_PKCS8PrivateKey(key_text.get(), key, nullptr, nullptr, 0, nullptr, nullptr) != 1)
    return ResourceExhausted("no memory for a certificate");
  return KeyPair{TextOf(certificate_text.get()), TextOf(key_text.get())};
}

Status Extend(X509* certificate, X509* issuer, int what, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, &context, what, value.c_str());
  if (extension == nullptr) return InvalidArgument("\"{}\" cannot stand in a certificate", value);
  X509_add_ext(certificate, extension, -1);
  X509_EXTENSION_free(extension);
  return {};
}

// 16 random bytes.
bool SetSerial(X509* certificate) {
  unsigned char bytes[16];
  if (RAND_bytes(bytes, sizeof bytes) != 1) return false;
  bytes[0] &= 0x7f;  // Not negative.
  BIGNUM* number = BN_bin2bn(bytes, sizeof bytes, nullptr);
  const bool set = number != nullptr && BN_to_ASN1_INTEGER(number, X509_get_serialNumber(certificate)) != nullptr;
  BN_free(number);
  return set;
}

// All but who signs it and what it is for.
Result<Owned<X509>> Begin(const std::string& name, EVP_PKEY* key, std::chrono::hours lifetime) {
  Owned<X509> certificate(X509_new());
  if (!certificate || !SetSerial(certificate.get())) return ResourceExhausted("no memory for a certificate");
  X509_set_version(certificate.get(), kVersion3);
  X509_gmtime_adj(X509_getm_notBefore(certificate.get()), -kSkewSeconds);
  X509_gmtime_adj(X509_getm_notAfter(certificate.get()), std::chrono::seconds(lifetime).count());
  X509_set_pubkey(certificate.get(), key);
  const auto* text = reinterpret_cast<const unsigned char*>(name.c_str());
  if (X509_NAME_add_entry_by_txt(X509_get_subject_name(certificate.get()), "CN", MBSTRING_UTF8, text, -1, -1, 0) != 1)
    return InvalidArgument("\"{}\" is no name for a certificate", name);
  return certificate;
}

// OpenSSL's way to write them: no name may hold a comma.
Result<std::string> AlternativeNames(const Subject& subject) {
  std::string names;
  const auto add = [&](const char* type, const std::string& name) -> Status {
    if (name.empty() || name.find_first_of(",\n") != std::string::npos)
      return InvalidArgument("\"{}\" is no name for a certificate", name);
    names += (names.empty() ? "" : ",") + std::string(type) + name;
    return {};
  };
  for (const std::string& name : subject.dns_names) RETURN_IF_ERROR(add("DNS:", name));
  for (const std::string& address : subject.addresses) RETURN_IF_ERROR(add("IP:", address));
  return names;
}

struct Pair {
  Owned<X509> certificate;
  Owned<EVP_PKEY> key;
};

Result<Pair> Read(const KeyPair& pair) {
  const auto text = Open(pair.certificate);
  ASSIGN_OR_RETURN(auto certificate, NextCertificate(text.get()));
  if (!certificate) return InvalidArgument("the authority's certificate is no PEM text");
  ASSIGN_OR_RETURN(auto key, ReadKey(pair.key));
  if (X509_check_private_key(certificate.get(), key.get()) != 1) {
    ERR_clear_error();
    return InvalidArgument("the authority's key does not belong to its certificate");
  }
  return Pair{std::move(certificate), std::move(key)};
}

}  // namespace

Result<KeyPair> MakeAuthority(const std::string& name, std::chrono::hours lifetime) {
  const Owned<EVP_PKEY> key(EVP_EC_gen("P-256"));
  if (!key) return ResourceExhausted("no memory for a key");
  ASSIGN_OR_RETURN(const auto certificate, Begin(name, key.get(), lifetime));
  X509_set_issuer_name(certificate.get(), X509_get_subject_name(certificate.get()));
  RETURN_IF_ERROR(Extend(certificate.get(), certificate.get(), NID_basic_constraints, "critical,CA:TRUE,pathlen:0"));
  RETURN_IF_ERROR(Extend(certificate.get(), certificate.get(), NID_key_usage, "critical,keyCertSign,cRLSign"));
  RETURN_IF_ERROR(Extend(certificate.get(), certificate.get(), NID_subject_key_identifier, "hash"));
  if (X509_sign(certificate.get(), key.get(), EVP_sha256()) == 0) return Internal("a certificate cannot be signed");
  return ToPem(certificate.get(), key.get());
}

Result<KeyPair> Issue(const KeyPair& authority, const Subject& subject, std::chrono::hours lifetime) {
  ASSIGN_OR_RETURN(const auto pair, Read(authority));
  const auto& [issuer, issuer_key] = pair;
  ASSIGN_OR_RETURN(const std::string names, AlternativeNames(subject));
  const Owned<EVP_PKEY> key(EVP_EC_gen("P-256"));
  if (!key) return ResourceExhausted("no memory for a key");
  ASSIGN_OR_RETURN(const auto certificate, Begin(subject.name, key.get(), lifetime));
  X509_set_issuer_name(certificate.get(), X509_get_subject_name(issuer.get()));
  RETURN_IF_ERROR(Extend(certificate.get(), issuer.get(), NID_basic_constraints, "critical,CA:FALSE"));
  RETURN_IF_ERROR(Extend(certificate.get(), issuer.get(), NID_key_usage, "critical,digitalSignature"));
  RETURN_IF_ERROR(Extend(certificate.get(), issuer.get(), NID_ext_key_usage, "serverAuth,clientAuth"));
  RETURN_IF_ERROR(Extend(certificate.get(), issuer.get(), NID_authority_key_identifier, "keyid"));
  if (!names.empty()) RETURN_IF_ERROR(Extend(certificate.get(), issuer.get(), NID_subject_alt_name, names));
  if (X509_sign(certificate.get(), issuer_key.get(), EVP_sha256()) == 0)
    return Internal("a certificate cannot be signed");
  return ToPem(certificate.get(), key.get());
}

Result<TimePoint> ValidUntil(const KeyPair& pair) {
  ASSIGN_OR_RETURN(const Pair read, Read(pair));
  std::tm end{};
  if (ASN1_TIME_to_tm(X509_get0_notAfter(read.certificate.get()), &end) != 1)
    return InvalidArgument("the authority's certificate has no end");
  return TimePoint(std::chrono::seconds(timegm(&end)));
}

}  // namespace longshore::tls

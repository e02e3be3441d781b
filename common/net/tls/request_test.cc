#include "common/net/tls/request.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>
#include <openssl/x509v3.h>

#include "common/net/tls/authority.h"
#include "common/net/tls/pem.h"

namespace longshore::tls {
namespace {

using std::chrono::hours;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

const Subject kSubject{.name = "node", .dns_names = {"a.test"}, .uris = {"spiffe://test/a"}};

class RequestTest : public testing::Test {
 protected:
  // Returns the error message of Sign, or the certificate as readable text.
  std::string Signed(const std::string& request) const {
    const auto certificate = Sign(authority_, request, kSubject, hours(1));
    if (!certificate) return certificate.error().message;
    const auto text = Open(*certificate);
    const Owned<BIO> shown(BIO_new(BIO_s_mem()));
    X509_print(shown.get(), NextCertificate(text.get())->get());
    return TextOf(shown.get());
  }
  // Returns a request with this key. The request asks for a name and for the rights of a CA.
  static std::string RequestWithNames(EVP_PKEY* key) {
    const Owned<X509_REQ> request(X509_REQ_new());
    X509_REQ_set_pubkey(request.get(), key);
    X509_NAME_add_entry_by_txt(X509_REQ_get_subject_name(request.get()), "CN", MBSTRING_UTF8,
                               reinterpret_cast<const unsigned char*>("elsewhere"), -1, -1, 0);
    STACK_OF(X509_EXTENSION)* extensions = sk_X509_EXTENSION_new_null();
    sk_X509_EXTENSION_push(extensions,
                           X509V3_EXT_conf_nid(nullptr, nullptr, NID_subject_alt_name, "DNS:elsewhere.test"));
    sk_X509_EXTENSION_push(extensions, X509V3_EXT_conf_nid(nullptr, nullptr, NID_basic_constraints, "CA:TRUE"));
    X509_REQ_add_extensions(request.get(), extensions);
    sk_X509_EXTENSION_pop_free(extensions, X509_EXTENSION_free);
    X509_REQ_sign(request.get(), key, EVP_sha256());
    const Owned<BIO> text(BIO_new(BIO_s_mem()));
    PEM_write_bio_X509_REQ(text.get(), request.get());
    return TextOf(text.get());
  }

  const KeyPair authority_ = MakeAuthority("test", hours(2)).value();
  const Request request_ = MakeRequest().value();
};

TEST_F(RequestTest, BecomesACertificateForItsKeyWithTheNamesThatTheSignerChooses) {
  const auto certificate = Sign(authority_, request_.request, kSubject, hours(1)).value();
  EXPECT_TRUE(ValidityOf({certificate, request_.key}));
  EXPECT_FALSE(ValidityOf({certificate, MakeRequest()->key}));
  EXPECT_THAT(Signed(request_.request), AllOf(HasSubstr("DNS:a.test, URI:spiffe://test/a"), HasSubstr("CA:FALSE")));
}

TEST_F(RequestTest, DoesNotChooseTheNamesInTheCertificate) {
  const Owned<EVP_PKEY> key(EVP_EC_gen("P-256"));
  EXPECT_THAT(Signed(RequestWithNames(key.get())), AllOf(HasSubstr("Subject: CN=node\n"), HasSubstr("CA:FALSE"),
                                                         Not(HasSubstr("elsewhere")), Not(HasSubstr("TRUE"))));
}

TEST_F(RequestTest, IsRejectedUnlessItsKeyIsAP256Key) {
  const Owned<EVP_PKEY> rsa512(EVP_RSA_gen(512));
  const Owned<EVP_PKEY> rsa(EVP_RSA_gen(2048));
  const Owned<EVP_PKEY> p384(EVP_EC_gen("P-384"));
  const Owned<EVP_PKEY> k256(EVP_EC_gen("secp256k1"));
  for (EVP_PKEY* key : {rsa512.get(), rsa.get(), p384.get(), k256.get()})
    EXPECT_EQ(Signed(RequestWithNames(key)), "the key of a certificate request must be a P-256 key");
}

TEST_F(RequestTest, IsRejectedIfItsKeyHasNotSignedIt) {
  const Owned<X509_REQ> mine(X509_REQ_new());
  const Owned<EVP_PKEY> key(EVP_EC_gen("P-256"));
  const Owned<EVP_PKEY> other(EVP_EC_gen("P-256"));
  X509_REQ_set_pubkey(mine.get(), key.get());
  X509_REQ_sign(mine.get(), other.get(), EVP_sha256());
  const Owned<BIO> text(BIO_new(BIO_s_mem()));
  PEM_write_bio_X509_REQ(text.get(), mine.get());
  EXPECT_EQ(Signed(TextOf(text.get())), "the certificate request is not signed by its key");
}

TEST_F(RequestTest, IsRejectedIfItIsMalformed) {
  const std::string whole = request_.request;
  for (const std::string& malformed : {std::string(), std::string("\0\xff", 2), whole.substr(0, whole.size() / 2),
                                       authority_.certificate, "-----BEGIN CERTIFICATE REQUEST-----\nMIIB\n" + whole}) {
    EXPECT_THAT(Signed(malformed), HasSubstr("is not PEM text")) << malformed;
  }
  EXPECT_THAT(Signed(whole + std::string(kRequestBytesMax, '\n')), HasSubstr("the limit is 4096"));
}

}  // namespace
}  // namespace longshore::tls

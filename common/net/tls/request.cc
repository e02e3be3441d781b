#include "common/net/tls/request.h"

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include "common/net/tls/pem.h"

namespace longshore::tls {

Result<Request> MakeRequest() {
  ASSIGN_OR_RETURN(const auto key, MakeKey());
  const Owned<X509_REQ> request(X509_REQ_new());
  const Owned<BIO> text(BIO_new(BIO_s_mem()));
  if (!request || X509_REQ_set_pubkey(request.get(), key.get()) != 1 ||
      X509_REQ_sign(request.get(), key.get(), EVP_sha256()) == 0 ||
      PEM_write_bio_X509_REQ(text.get(), request.get()) != 1)
    return ResourceExhausted("not enough memory for a certificate request");
  Request made;
  made.request = TextOf(text.get());
  ASSIGN_OR_RETURN(made.key, ToPem(key.get()));
  return made;
}

}  // namespace longshore::tls

#include "tests/server/faultd.h"

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <stdio.h>

static bool add_extension(X509 *x, int nid, const char *value)
{
    X509_EXTENSION *e = X509V3_EXT_conf_nid(NULL, NULL, nid, value);
    bool ok = e && X509_add_ext(x, e, -1) == 1;

    X509_EXTENSION_free(e);
    return ok;
}

static X509 *make_certificate(EVP_PKEY *key)
{
    X509 *x = X509_new();
    X509_NAME *name = x ? X509_get_subject_name(x) : NULL;

    if (name && X509_set_version(x, 2) == 1 &&
        ASN1_INTEGER_set(X509_get_serialNumber(x), 1) == 1 &&
        X509_gmtime_adj(X509_getm_notBefore(x), -3600) &&
        X509_gmtime_adj(X509_getm_notAfter(x), 3600) &&
        X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC,
                                   (const unsigned char *)"faultd", -1, -1,
                                   0) == 1 &&
        X509_set_issuer_name(x, name) == 1 && X509_set_pubkey(x, key) == 1 &&
        add_extension(x, NID_basic_constraints, "critical,CA:TRUE") &&
        add_extension(x, NID_subject_alt_name, "IP:127.0.0.1") &&
        X509_sign(x, key, EVP_sha256()) > 0)
        return x;
    X509_free(x);
    return NULL;
}

static bool write_certificate(X509 *x, const char *path)
{
    FILE *f = fopen(path, "w");
    bool ok = f && PEM_write_X509(f, x) == 1;

    return f && fclose(f) == 0 && ok;
}

SSL_CTX *faultd_tls(const char *cert_path)
{
    SSL_CTX *ctx = SSL_CTX_new(TLS_server_method());
    EVP_PKEY *key = EVP_EC_gen("P-256");
    X509 *x = key ? make_certificate(key) : NULL;

    if (!ctx || !x || SSL_CTX_use_certificate(ctx, x) != 1 ||
        SSL_CTX_use_PrivateKey(ctx, key) != 1 ||
        !write_certificate(x, cert_path)) {
        SSL_CTX_free(ctx);
        ctx = NULL;
    }
    X509_free(x);
    EVP_PKEY_free(key);
    return ctx;
}

SSL *faultd_tls_accept(SSL_CTX *ctx, int fd)
{
    SSL *ssl = SSL_new(ctx);

    if (ssl && SSL_set_fd(ssl, fd) == 1 && SSL_accept(ssl) == 1)
        return ssl;
    SSL_free(ssl);
    return NULL;
}

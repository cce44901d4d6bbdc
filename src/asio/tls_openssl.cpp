// TLS by OpenSSL 3, whose streams read and write memory here.
// SPDX-License-Identifier: MIT
#include "asio/tls.hpp"

#include "value/file.hpp"

#include <boost/asio/error.hpp>
#include <boost/asio/ip/address.hpp>

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509_vfy.h>
#include <openssl/x509v3.h>

#include <sys/stat.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>
#include <utility>

namespace redlock::detail {

namespace {

template <auto Free>
struct freed_by {
    template <class T>
    void operator()(T* what) const noexcept { Free(what); }
};
using context_ptr = std::unique_ptr<SSL_CTX, freed_by<SSL_CTX_free>>;
using session_ptr = std::unique_ptr<SSL_SESSION, freed_by<SSL_SESSION_free>>;
using connection_ptr = std::unique_ptr<SSL, freed_by<SSL_free>>;

bool is_address(const std::string& host) {
    error_code no_address;
    boost::asio::ip::make_address(host, no_address);
    return !no_address;
}

// The certificate has to have that name. False where OpenSSL takes it for none: then it would
// accept any. The scope of an address is no part of it.
bool expect(const std::string& name, X509_VERIFY_PARAM* how) {
    X509_VERIFY_PARAM_set_hostflags(how, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
    if (name.empty()) return false;
    const std::string address = name.substr(0, name.find('%'));
    return (is_address(name) ? X509_VERIFY_PARAM_set1_ip_asc(how, address.c_str())
                             : X509_VERIFY_PARAM_set1_host(how, name.c_str(), name.size())) == 1;
}

// In words alone: OpenSSL's numbers say nothing to the reader.
std::string first_reason() {
    const auto error = ERR_peek_error();
    const char* const words = ERR_SYSTEM_ERROR(error) ? std::strerror(ERR_GET_REASON(error))
                                                      : ERR_reason_error_string(error);
    return words != nullptr ? words : "it is of no known form";
}

[[noreturn]] void reject(const std::string& field, const std::string& file, const char* remedy) {
    const std::string why = first_reason();
    ERR_clear_error();
    throw std::invalid_argument("/tls/" + field + ": " + file + " can't be used: " + why + ": " +
                                remedy);
}

error_code certificate_error(long found) {
    switch (found) {
        case X509_V_ERR_CERT_HAS_EXPIRED: return tls_errc::expired;
        case X509_V_ERR_CERT_NOT_YET_VALID: return tls_errc::not_yet_valid;
        case X509_V_ERR_HOSTNAME_MISMATCH:
        case X509_V_ERR_IP_ADDRESS_MISMATCH: return tls_errc::wrong_name;
        case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
        case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
        case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
        case X509_V_ERR_CERT_UNTRUSTED:
        case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
        case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN: return tls_errc::untrusted;
        default: return tls_errc::bad_certificate;
    }
}

// By OpenSSL's numbers: an alert's is 1000 and its number in the protocol.
error_code protocol_error(int reason, bool is_ready) {
    switch (reason) {
        case SSL_R_TLSV13_ALERT_CERTIFICATE_REQUIRED: return tls_errc::wants_certificate;
        case SSL_R_WRONG_VERSION_NUMBER:
        case SSL_R_PACKET_LENGTH_TOO_LONG:
        case SSL_R_HTTP_REQUEST:
        case SSL_R_UNSUPPORTED_PROTOCOL: return is_ready ? tls_errc::broken : tls_errc::no_tls;
        default: break;
    }
    if (reason >= SSL_AD_REASON_OFFSET) return tls_errc::refused;
    return is_ready ? tls_errc::broken : tls_errc::refused;
}

std::array<const std::string*, 3> files_of(const tls_options& with) {
    return {&with.ca_file, &with.cert_file, &with.key_file};
}

bool is_there(const std::string& file) {
    struct stat found {};
    return !file.empty() && ::stat(file.c_str(), &found) == 0;
}

// By which a file that was replaced or written to differs from the one before.
using file_sign = std::array<std::int64_t, 7>;
using file_signs = std::array<file_sign, 3>;

file_signs signs_of(const tls_options& with) {
    file_signs out{};
    std::size_t at = 0;
    for (const std::string* file : files_of(with)) {
        struct stat found {};
        file_sign& sign = out[at++];
        if (file->empty() || ::stat(file->c_str(), &found) != 0) continue;
        sign = {static_cast<std::int64_t>(found.st_dev), static_cast<std::int64_t>(found.st_ino),
                found.st_size, found.st_mtim.tv_sec, found.st_mtim.tv_nsec, found.st_ctim.tv_sec,
                found.st_ctim.tv_nsec};
    }
    return out;
}

}  // namespace

class tls_setup {
public:
    explicit tls_setup(const node_options& node);

    connection_ptr connect();
    std::string read_again();

private:
    context_ptr make_context();
    static void load(SSL_CTX* to, const tls_options& with);
    static int on_session(SSL* of, SSL_SESSION* fresh);
    static int on_wish(SSL* of, X509** certificate, EVP_PKEY** key);

    tls_options with_;
    std::string name_;
    file_signs signs_;
    context_ptr context_;
    session_ptr last_;
};

tls_setup::tls_setup(const node_options& node)
    : with_(*node.tls),
      name_(with_.server_name.empty() ? node.host : with_.server_name),
      // Before the files are read: a change meanwhile is seen at the next connection.
      signs_(signs_of(with_)),
      context_(make_context()) {}

context_ptr tls_setup::make_context() {
    context_ptr made(SSL_CTX_new(TLS_client_method()));
    if (!made) throw std::bad_alloc();
    SSL_CTX* const to = made.get();
    SSL_CTX_set_min_proto_version(to, TLS1_2_VERSION);
    SSL_CTX_set_options(to, SSL_OP_NO_RENEGOTIATION);
    SSL_CTX_set_verify(to, with_.verify ? SSL_VERIFY_PEER : SSL_VERIFY_NONE, nullptr);
    SSL_CTX_set_session_cache_mode(to, SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL);
    SSL_CTX_sess_set_new_cb(to, on_session);
    SSL_CTX_set_client_cert_cb(to, on_wish);
    SSL_CTX_set_app_data(to, this);
    // OpenSSL would ask for a passphrase on the terminal.
    SSL_CTX_set_default_passwd_cb(to, [](char*, int, int, void*) { return -1; });
    if (with_.verify && !expect(name_, SSL_CTX_get0_param(to))) {
        reject("server_name", name_, "name the server as its certificate does");
    }
    load(to, with_);
    return made;
}

std::string tls_setup::read_again() {
    const file_signs found = signs_of(with_);
    if (found == signs_) return {};
    for (const std::string* file : files_of(with_)) {
        // A pipe would be waited for.
        if (is_there(*file) && !can_be_read_again(*file)) return *file + " is no regular file";
    }
    try {
        context_ = make_context();  // connections of the old one keep it
    } catch (const std::invalid_argument& e) {
        return e.what() + 1;  // without the slash
    }
    signs_ = found;
    last_.reset();  // by an earlier session the server would show no certificate
    return {};
}

void tls_setup::load(SSL_CTX* to, const tls_options& with) {
    ERR_clear_error();
    if (with.ca_file.empty()) {
        SSL_CTX_set_default_verify_paths(to);
    } else if (SSL_CTX_load_verify_locations(to, with.ca_file.c_str(), nullptr) != 1) {
        reject("ca_file", with.ca_file, "name a readable PEM file of trusted roots");
    }
    if (with.cert_file.empty()) return;
    if (SSL_CTX_use_certificate_chain_file(to, with.cert_file.c_str()) != 1) {
        reject("cert_file", with.cert_file, "name a readable PEM file with the certificate first");
    }
    if (SSL_CTX_use_PrivateKey_file(to, with.key_file.c_str(), SSL_FILETYPE_PEM) != 1) {
        reject("key_file", with.key_file,
               "name a readable PEM file with the key of cert_file, without a passphrase");
    }
    if (SSL_CTX_check_private_key(to) != 1) {
        reject("key_file", with.key_file, "name the key of cert_file");
    }
}

// A server may send several, also long after the handshake: the latest is resumed.
int tls_setup::on_session(SSL* of, SSL_SESSION* fresh) {
    SSL_CTX* const context = SSL_get_SSL_CTX(of);
    auto* const setup = static_cast<tls_setup*>(SSL_CTX_get_app_data(context));
    if (context != setup->context_.get()) return 0;  // from before the files were read again
    setup->last_.reset(fresh);
    return 1;  // it is ours now
}

// Called only if no certificate was given: there is none to answer with.
int tls_setup::on_wish(SSL* of, X509**, EVP_PKEY**) {
    *static_cast<bool*>(SSL_get_app_data(of)) = true;
    return 0;
}

connection_ptr tls_setup::connect() {
    connection_ptr made(SSL_new(context_.get()));
    if (!made) throw std::bad_alloc();
    SSL_set_connect_state(made.get());
    if (!is_address(name_)) SSL_set_tlsext_host_name(made.get(), name_.c_str());
    if (last_) SSL_set_session(made.get(), last_.get());
    return made;
}

std::shared_ptr<tls_setup> make_tls_setup(const node_options& node) {
    return std::make_shared<tls_setup>(node);
}

std::string read_again_tls(tls_setup& setup) { return setup.read_again(); }

struct tls_stream::state {
    connection_ptr ssl;
    BIO* in = nullptr;   // owned by `ssl`
    BIO* out = nullptr;  // likewise
    bool is_ready = false;
    bool lacks_certificate = false;  // the server requested one, and there is none
    bool has_received = false;          // something was decrypted
};

tls_stream::tls_stream(std::shared_ptr<tls_setup> setup)
    : setup_(std::move(setup)), state_(std::make_unique<state>()) {}

tls_stream::~tls_stream() = default;

bool tls_stream::is_ready() const noexcept { return state_->is_ready; }

bool tls_stream::is_resumed() const noexcept {
    return state_->ssl && SSL_session_reused(state_->ssl.get()) == 1;
}

error_code tls_stream::begin() {
    *state_ = {};
    to_send_.clear();
    state_->ssl = setup_->connect();
    state_->in = BIO_new(BIO_s_mem());
    state_->out = BIO_new(BIO_s_mem());
    if (state_->in == nullptr || state_->out == nullptr) throw std::bad_alloc();
    BIO_set_mem_eof_return(state_->in, -1);  // empty means: more may come
    SSL_set_bio(state_->ssl.get(), state_->in, state_->out);
    SSL_set_app_data(state_->ssl.get(), &state_->lacks_certificate);
    return advance();
}

void tls_stream::collect() {
    char* bytes = nullptr;
    const long size = BIO_get_mem_data(state_->out, &bytes);
    if (size <= 0) return;
    to_send_.append(bytes, static_cast<std::size_t>(size));
    BIO_reset(state_->out);
}

// Goes on with the handshake as far as the bytes lead.
error_code tls_stream::advance() {
    ERR_clear_error();
    SSL* const ssl = state_->ssl.get();
    const int done = SSL_do_handshake(ssl);
    collect();
    if (done == 1) {
        state_->is_ready = true;
        return {};
    }
    const int why = SSL_get_error(ssl, done);
    if (why == SSL_ERROR_WANT_READ || why == SSL_ERROR_WANT_WRITE) return {};
    const int reason = ERR_GET_REASON(ERR_peek_error());
    ERR_clear_error();
    if (reason == SSL_R_CERTIFICATE_VERIFY_FAILED) {
        return certificate_error(SSL_get_verify_result(ssl));
    }
    if (state_->lacks_certificate && reason >= SSL_AD_REASON_OFFSET) {
        return tls_errc::wants_certificate;
    }
    return protocol_error(reason, false);
}

error_code tls_stream::feed(std::string_view cipher, std::string& plain) {
    BIO_write(state_->in, cipher.data(), static_cast<int>(cipher.size()));
    if (!state_->is_ready) {
        if (const error_code ec = advance(); ec || !state_->is_ready) return ec;
    }
    ERR_clear_error();
    SSL* const ssl = state_->ssl.get();
    std::array<char, 16'384> bytes;
    for (;;) {
        const int n = SSL_read(ssl, bytes.data(), static_cast<int>(bytes.size()));
        if (n > 0) {
            plain.append(bytes.data(), static_cast<std::size_t>(n));
            state_->has_received = true;
            continue;
        }
        const int why = SSL_get_error(ssl, n);
        collect();
        if (why == SSL_ERROR_WANT_READ || why == SSL_ERROR_WANT_WRITE) return {};
        if (why == SSL_ERROR_ZERO_RETURN) return boost::asio::error::eof;
        const int reason = ERR_GET_REASON(ERR_peek_error());
        ERR_clear_error();
        return protocol_error(reason, true);
    }
}

error_code tls_stream::at_end(error_code how) const {
    // By TLS 1.3 the server looks at our certificate when our handshake is over already.
    if (state_->lacks_certificate && !state_->has_received) return tls_errc::wants_certificate;
    return state_->is_ready ? how : error_code(tls_errc::cut);
}

error_code tls_stream::encrypt(std::string_view plain) {
    ERR_clear_error();
    const int n = SSL_write(state_->ssl.get(), plain.data(), static_cast<int>(plain.size()));
    collect();
    return n == static_cast<int>(plain.size()) ? error_code() : error_code(tls_errc::broken);
}

void tls_stream::end() {
    if (!state_->is_ready) return;
    ERR_clear_error();
    SSL_shutdown(state_->ssl.get());
    collect();
    ERR_clear_error();
}

}  // namespace redlock::detail

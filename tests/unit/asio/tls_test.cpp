// One TLS connection in memory: handshake, verification, and the end of the bytes at every place.
// SPDX-License-Identifier: MIT
#include "asio/tls.hpp"

#include "support/catch.hpp"
#include "support/certificates.hpp"

#include <boost/asio/error.hpp>
#include <openssl/bio.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#include <cstdio>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

using namespace redlock;
using detail::tls_errc;
using detail::tls_stream;

namespace {

const redlock::testing::certificates& papers() {
    static const redlock::testing::certificates made;
    return made;
}

// Makes another certificate of "good", which is valid for one day: from `first` days after now on,
// or before now. The openssl command of an older system has no option for that.
void make_valid_from(int first, const std::string& name) {
    using file = std::unique_ptr<std::FILE, decltype(&std::fclose)>;
    const auto open = [](const std::string& path, const char* mode) {
        file out(std::fopen(path.c_str(), mode), &std::fclose);
        if (!out) throw std::runtime_error(path);
        return out;
    };
    const std::unique_ptr<X509, decltype(&X509_free)> paper(
        PEM_read_X509(open(papers().file("good"), "r").get(), nullptr, nullptr, nullptr), &X509_free);
    const std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)> root(
        PEM_read_PrivateKey(open(papers().key("ca"), "r").get(), nullptr, nullptr, nullptr),
        &EVP_PKEY_free);
    REQUIRE(paper);
    REQUIRE(root);
    constexpr long day = 24L * 60 * 60;
    REQUIRE(X509_gmtime_adj(X509_getm_notBefore(paper.get()), first * day) != nullptr);
    REQUIRE(X509_gmtime_adj(X509_getm_notAfter(paper.get()), (first + 1) * day) != nullptr);
    REQUIRE(X509_sign(paper.get(), root.get(), EVP_sha256()) > 0);
    REQUIRE(PEM_write_X509(open(papers().file(name), "w").get(), paper.get()) == 1);
    std::filesystem::copy_file(papers().key("good"), papers().key(name),
                               std::filesystem::copy_options::overwrite_existing);
}

node_options tls_node() {
    node_options node;
    node.host = "localhost";
    node.tls.emplace();
    node.tls->ca_file = papers().file("ca");
    return node;
}

// OpenSSL's own server, in memory.
class tls_server {
public:
    explicit tls_server(const std::string& certificate, bool wants_certificate = false,
                        int highest = TLS1_3_VERSION)
        : context_(SSL_CTX_new(TLS_server_method()), &SSL_CTX_free) {
        SSL_CTX_set_max_proto_version(context_.get(), highest);
        SSL_CTX_use_certificate_chain_file(context_.get(), papers().file(certificate).c_str());
        SSL_CTX_use_PrivateKey_file(context_.get(), papers().key(certificate).c_str(),
                                    SSL_FILETYPE_PEM);
        SSL_CTX_load_verify_locations(context_.get(), papers().file("ca").c_str(), nullptr);
        const unsigned char id[] = "test";
        SSL_CTX_set_session_id_context(context_.get(), id, sizeof id);
        if (wants_certificate) {
            SSL_CTX_set_verify(context_.get(), SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT,
                               nullptr);
        }
    }

    void accept() {
        ssl_.reset(SSL_new(context_.get()));
        in_ = BIO_new(BIO_s_mem());
        out_ = BIO_new(BIO_s_mem());
        SSL_set_bio(ssl_.get(), in_, out_);
        SSL_set_accept_state(ssl_.get());
        heard_.clear();
    }
    // Takes bytes of the client, and returns what it says to them: an echo, once it may.
    std::string feed(std::string_view bytes) {
        BIO_write(in_, bytes.data(), static_cast<int>(bytes.size()));
        char text[20'000];
        for (int n = 0; (n = SSL_read(ssl_.get(), text, sizeof text)) > 0;) {
            heard_.append(text, static_cast<std::size_t>(n));
            SSL_write(ssl_.get(), text, n);
        }
        std::string out(static_cast<std::size_t>(BIO_ctrl_pending(out_)), '\0');
        if (!out.empty()) BIO_read(out_, out.data(), static_cast<int>(out.size()));
        return out;
    }
    const std::string& heard() const { return heard_; }

private:
    std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)> context_;
    std::unique_ptr<SSL, decltype(&SSL_free)> ssl_{nullptr, &SSL_free};
    BIO* in_ = nullptr;
    BIO* out_ = nullptr;
    std::string heard_;
};

struct conversation {
    error_code why;
    std::string plain;
};

// Carries bytes between the two until both are silent. `piece`: so many at a time.
conversation talk(tls_stream& client, tls_server& server, std::string_view say = "",
                  std::size_t piece = 100'000) {
    conversation c;
    bool has_spoken = say.empty();
    for (;;) {
        if (!c.why && client.is_ready() && !has_spoken) {
            c.why = client.encrypt(say);
            has_spoken = true;
        }
        const std::string sent = std::exchange(client.to_send(), {});
        const std::string answer = server.feed(sent);
        if (answer.empty() && sent.empty()) return c;
        for (std::size_t at = 0; at < answer.size() && !c.why; at += piece) {
            c.why = client.feed(std::string_view(answer).substr(at, piece), c.plain);
        }
    }
}

std::unique_ptr<tls_stream> connected_to(tls_server& server, const node_options& node) {
    auto client = std::make_unique<tls_stream>(detail::make_tls_setup(node));
    server.accept();
    REQUIRE_FALSE(client->begin());
    return client;
}

}  // namespace

TEST_CASE("what one side of TLS says the other hears, however the bytes are cut", "[tls]") {
    const auto version = GENERATE(TLS1_2_VERSION, TLS1_3_VERSION);
    tls_server server("good", false, version);
    const auto made = connected_to(server, tls_node());
    tls_stream& client = *made;
    const std::string much(200'000, 'x');
    const auto c = talk(client, server, much, GENERATE(1, 7, 100'000));
    CHECK_FALSE(c.why);
    CHECK(server.heard() == much);
    CHECK(c.plain == much);
}

TEST_CASE("a certificate counts only with root, name and time", "[tls]") {
    node_options node = tls_node();
    std::string certificate = "good";
    error_code expected;
    SECTION("all is well") {}
    SECTION("an address in place of the name") { node.host = "127.0.0.1"; }
    SECTION("another address") {
        node.host = "127.0.0.2";
        expected = tls_errc::wrong_name;
    }
    SECTION("an address with its scope, of which certificates know nothing") {
        node.host = "fe80::1%lo";
    }
    SECTION("another address with a scope") {
        node.host = "fe80::2%lo";
        expected = tls_errc::wrong_name;
    }
    SECTION("another name") {
        certificate = "misnamed";
        expected = tls_errc::wrong_name;
    }
    SECTION("another name, which server_name gives") {
        certificate = "misnamed";
        node.tls->server_name = "elsewhere.example";
    }
    SECTION("another root") {
        certificate = "unrelated";
        expected = tls_errc::untrusted;
    }
    SECTION("a time that is over") {
        certificate = "expired";
        make_valid_from(-2, certificate);
        expected = tls_errc::expired;
    }
    SECTION("a time that has not begun") {
        certificate = "early";
        make_valid_from(1, certificate);
        expected = tls_errc::not_yet_valid;
    }
    SECTION("a time that has begun, and is not over") {
        certificate = "present";
        make_valid_from(0, certificate);
    }
    SECTION("the system's roots") {
        node.tls->ca_file.clear();
        expected = tls_errc::untrusted;
    }
    SECTION("any, where nothing is verified") {
        certificate = "unrelated";
        node.host = "nowhere";
        node.tls->verify = false;
    }
    tls_server server(certificate);
    const auto made = connected_to(server, node);
    tls_stream& client = *made;
    const auto c = talk(client, server, "PING");
    CHECK(c.why == expected);
    CHECK(client.is_ready() == !expected);
    CHECK(server.heard() == (expected ? "" : "PING"));
}

TEST_CASE("a server that wants a client certificate gets one, or the client says that it has none", "[tls]") {
    const auto version = GENERATE(TLS1_2_VERSION, TLS1_3_VERSION);
    tls_server server("good", true, version);
    node_options node = tls_node();
    SECTION("with one") {
        node.tls->cert_file = papers().file("client");
        node.tls->key_file = papers().key("client");
        const auto made = connected_to(server, node);
        tls_stream& client = *made;
        const auto c = talk(client, server, "PING");
        CHECK_FALSE(c.why);
        CHECK(c.plain == "PING");
    }
    SECTION("without") {
        const auto made = connected_to(server, node);
        tls_stream& client = *made;
        const auto c = talk(client, server, "PING");
        CHECK(c.why == tls_errc::wants_certificate);
        CHECK(client.at_end(boost::asio::error::eof) == tls_errc::wants_certificate);
        CHECK(c.plain.empty());
    }
}

TEST_CASE("the next connection resumes the session of the last", "[tls]") {
    const auto version = GENERATE(TLS1_2_VERSION, TLS1_3_VERSION);
    tls_server server("good", false, version);
    const auto made = connected_to(server, tls_node());
    tls_stream& client = *made;
    CHECK_FALSE(talk(client, server, "one").why);
    CHECK_FALSE(client.is_resumed());
    client.end();
    server.accept();
    REQUIRE_FALSE(client.begin());
    const auto c = talk(client, server, "two");
    CHECK_FALSE(c.why);
    CHECK(c.plain == "two");
    CHECK(client.is_resumed());
}

TEST_CASE("what is no TLS ends the connection, and says what it is", "[tls]") {
    tls_server server("good");
    const auto made = connected_to(server, tls_node());
    tls_stream& client = *made;
    std::string plain;
    SECTION("a server without TLS answers") {
        CHECK(client.feed("-ERR unknown command\r\n", plain) == tls_errc::no_tls);
    }
    SECTION("the handshake is cut, at each byte") {
        std::size_t cut = 0;
        for (;; ++cut) {
            INFO("after " << cut << " bytes");
            server.accept();
            REQUIRE_FALSE(client.begin());
            const std::string answer = server.feed(std::exchange(client.to_send(), {}));
            if (cut >= answer.size()) break;  // its length varies with its signature
            CHECK_FALSE(client.feed(std::string_view(answer).substr(0, cut), plain));
            CHECK_FALSE(client.is_ready());
            CHECK(client.at_end(boost::asio::error::eof) == tls_errc::cut);
        }
        CHECK(cut > 500);
    }
    SECTION("bytes are changed on the way") {
        CHECK_FALSE(talk(client, server, "PING").why);
        REQUIRE_FALSE(client.encrypt("PING"));
        std::string answer = server.feed(std::exchange(client.to_send(), {}));
        REQUIRE_FALSE(answer.empty());
        answer.back() = static_cast<char>(answer.back() ^ 1);
        CHECK(client.feed(answer, plain));
    }
    CHECK(plain.empty());
}

TEST_CASE("files that can't be used are named", "[tls]") {
    node_options node = tls_node();
    std::string field;
    std::string why;
    SECTION("no root") {
        node.tls->ca_file = papers().file("none");
        field = "/tls/ca_file";
        why = "No such file or directory";
    }
    SECTION("what is no certificate") {
        node.tls->ca_file = papers().key("ca");
        field = "/tls/ca_file";
        why = "no certificate or crl found";
    }
    SECTION("no certificate") {
        node.tls->cert_file = papers().file("none");
        node.tls->key_file = papers().key("client");
        field = "/tls/cert_file";
    }
    SECTION("no key") {
        node.tls->cert_file = papers().file("client");
        node.tls->key_file = papers().file("none");
        field = "/tls/key_file";
    }
    SECTION("a key with a passphrase, without a prompt for it") {
        node.tls->cert_file = papers().file("client");
        papers().lock_key("client", "locked");
        node.tls->key_file = papers().key("locked");
        field = "/tls/key_file";
    }
    SECTION("another's key") {
        node.tls->cert_file = papers().file("client");
        node.tls->key_file = papers().key("good");
        field = "/tls/key_file";
    }
    try {
        detail::make_tls_setup(node);
        FAIL("it was taken");
    } catch (const std::invalid_argument& e) {
        INFO(e.what());
        CHECK(std::string(e.what()).starts_with(field));
        CHECK(std::string(e.what()).find(" can't be used: " + why) != std::string::npos);
        CHECK(std::string(e.what()).find("error:") == std::string::npos);
    }
}

TEST_CASE("changed files count from the next connection on, and only where they fit", "[tls]") {
    const std::string folder = papers().file("ca") + ".d/";
    std::filesystem::create_directories(folder);
    const auto put = [&](const std::string& from, const std::string& to) {
        std::filesystem::copy_file(from, folder + "next",
                                   std::filesystem::copy_options::overwrite_existing);
        std::filesystem::rename(folder + "next", folder + to);
    };
    put(papers().file("ca"), "ca");
    put(papers().file("client"), "cert");
    put(papers().key("client"), "key");
    node_options node = tls_node();
    node.tls->ca_file = folder + "ca";
    node.tls->cert_file = folder + "cert";
    node.tls->key_file = folder + "key";
    const auto setup = detail::make_tls_setup(node);
    CHECK(read_again_tls(*setup).empty());

    tls_server server("good", true);
    tls_stream old(setup);
    server.accept();
    REQUIRE_FALSE(old.begin());
    REQUIRE_FALSE(talk(old, server, "x").why);
    REQUIRE(old.is_ready());

    // The certificate comes first, and does not fit the key.
    put(papers().file("good"), "cert");
    const std::string misfit = read_again_tls(*setup);
    INFO(misfit);
    CHECK(misfit.starts_with("tls/key_file: " + folder + "key can't be used: "));
    tls_stream next(setup);
    server.accept();
    REQUIRE_FALSE(next.begin());
    CHECK_FALSE(talk(next, server, "x").why);
    CHECK(next.is_resumed());
    put(papers().key("good"), "key");
    CHECK(read_again_tls(*setup).empty());
    std::filesystem::remove(folder + "key");
    CHECK(read_again_tls(*setup).find("No such file") != std::string::npos);
    put(papers().key("good"), "key");

    // Another root: the old session must not stand in for the server's certificate.
    put(papers().file("other"), "ca");
    CHECK(read_again_tls(*setup).empty());
    CHECK_FALSE(old.encrypt("the old connection goes on"));
    tls_stream distrustful(setup);
    server.accept();
    REQUIRE_FALSE(distrustful.begin());
    CHECK(talk(distrustful, server).why == tls_errc::untrusted);
}

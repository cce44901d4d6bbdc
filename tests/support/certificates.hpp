// Certificates for tests, made by the openssl command; knows no server and no client.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>

namespace redlock::testing {

/// Two roots, "ca" and "other", and certificates by the first, each as NAME.pem and NAME.key in a
/// folder that is removed with the object: "good" for localhost, 127.0.0.1 and fe80::1, "misnamed" for
/// another host, "client" for a client; "unrelated" is by the other root.
class certificates {
public:
    certificates() {
        std::string name = (std::filesystem::temp_directory_path() / "redlock-tls-XXXXXX").string();
        if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("mkdtemp");
        folder_ = name;
        for (const char* const root : {"ca", "other"}) {
            run("req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=" +
                std::string(root) + " -keyout " + key(root) + " -out " + file(root));
        }
        make("good", "ca", "DNS:localhost,IP:127.0.0.1,IP:fe80::1");
        make("misnamed", "ca", "DNS:elsewhere.example");
        make("client", "ca", "DNS:client");
        make("unrelated", "other", "DNS:localhost,IP:127.0.0.1");
    }
    ~certificates() {
        std::error_code ignored;
        std::filesystem::remove_all(folder_, ignored);
    }
    certificates(const certificates&) = delete;
    certificates& operator=(const certificates&) = delete;

    /// Whether the openssl command is there.
    static bool can_be_made() { return succeeds("openssl version"); }

    std::string file(const std::string& name) const { return (folder_ / (name + ".pem")).string(); }
    /// Makes LOCKED.key of NAME.key, with a passphrase.
    void lock_key(const std::string& name, const std::string& locked) const {
        run("ec -aes256 -passout pass:secret -in " + key(name) + " -out " + key(locked));
    }
    std::string key(const std::string& name) const { return (folder_ / (name + ".key")).string(); }

    /// Another one by "ca", for localhost. `clock`: words before the command, which set its clock.
    void make_at(const std::string& clock, const std::string& name) {
        make(name, "ca", "DNS:localhost,IP:127.0.0.1", clock);
    }

private:
    static bool succeeds(const std::string& command) {
        return std::system((command + " >/dev/null 2>&1").c_str()) == 0;
    }
    static void run(const std::string& words, const std::string& clock = {}) {
        const std::string command = clock + " openssl " + words;
        if (!succeeds(command)) throw std::runtime_error(command);
    }
    void make(const std::string& name, const std::string& root, const std::string& names,
              const std::string& clock = {}) {
        const std::string request = (folder_ / (name + ".csr")).string();
        const std::string extension = (folder_ / (name + ".ext")).string();
        std::ofstream(extension) << "subjectAltName=" << names << "\n";
        run("req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=" + name +
            " -keyout " + key(name) + " -out " + request);
        run("x509 -req -days 2 -CAcreateserial -in " + request + " -CA " + file(root) + " -CAkey " +
                key(root) + " -extfile " + extension + " -out " + file(name),
            clock);
    }

    std::filesystem::path folder_;
};

}  // namespace redlock::testing

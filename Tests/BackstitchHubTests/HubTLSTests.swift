import Foundation
import RawConnection
import TestBudget
import Testing
import Waiting

@testable import BackstitchHub
@testable import BackstitchHubCore

/// What a hub speaks where it has a certificate, as `openssl` sees it.
@Suite(
    "TLS of a hub", .budgeted,
    .enabled(if: access("/usr/bin/openssl", X_OK) == 0, "openssl is missing"))
struct HubTLSTests {
    private static func openssl(_ arguments: [String]) async throws -> (code: Int32, text: String) {
        try await withCheckedThrowingContinuation { continuation in
            DispatchQueue.global().async {
                continuation.resume(
                    with: Result {
                        let process = Process()
                        process.executableURL = URL(fileURLWithPath: "/usr/bin/openssl")
                        process.arguments = arguments
                        process.standardInput = FileHandle.nullDevice
                        let pipe = Pipe()
                        process.standardOutput = pipe
                        process.standardError = FileHandle.nullDevice
                        try process.run()
                        let output = pipe.fileHandleForReading.readDataToEndOfFile()
                        process.waitUntilExit()
                        return (
                            process.terminationStatus, String(decoding: output, as: UTF8.self)
                        )
                    })
            }
        }
    }

    /// Makes a certificate that says who it is of, and its key.
    private static func certificate(_ name: String) async throws -> (pem: String, key: String) {
        let folder = FileManager.default.temporaryDirectory
            .appendingPathComponent("tls-\(UUID().uuidString)").path
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let made = try await openssl([
            "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj",
            "/CN=\(name)", "-keyout", folder + "/key.pem", "-out", folder + "/cert.pem",
        ])
        #expect(made.code == 0)
        return (
            try String(contentsOfFile: folder + "/cert.pem", encoding: .utf8),
            try String(contentsOfFile: folder + "/key.pem", encoding: .utf8)
        )
    }

    private static func configuration(_ name: String) async throws -> HubServer.Configuration {
        var configuration = HubServer.Configuration()
        let (pem, key) = try await certificate(name)
        (configuration.certificatePEM, configuration.keyPEM) = (pem, key)
        return configuration
    }

    @Test func `new connections get another certificate, and a bad one changes nothing`()
        async throws
    {
        let fixture = try await HubFixture()
        var configuration = try await Self.configuration("first")
        // A busy machine takes its time, and the connection that waits is not to end meanwhile.
        (configuration.limits.idleSeconds, configuration.limits.headSeconds) = (900, 900)
        let server = try HubServer(fixture.hub, configuration: configuration)
        let address = String(server.address.dropFirst("https://".count))
        func name() async throws -> String {
            let result = try await Self.openssl(["s_client", "-connect", address])
            let line = result.text.split(separator: "\n").first { $0.hasPrefix("subject=") }
            return String(line ?? "")
        }
        #expect(try await name() == "subject=CN = first")
        // It waits for its handshake, and is the first daemon's to its end.
        let open = try RawConnection(url: server.address)
        let (second, third) = (
            try await Self.certificate("second"), try await Self.certificate("third")
        )
        for (pem, key) in [("none", "none"), (second.pem, third.key), (second.pem, "")] {
            #expect(throws: HubError.self) {
                try server.replaceCertificate(pem: pem, keyPEM: key)
            }
            #expect(try await name() == "subject=CN = first")
        }
        try server.replaceCertificate(pem: second.pem, keyPEM: second.key)
        for _ in 0..<5 { #expect(try await name() == "subject=CN = second") }
        try server.replaceCertificate(pem: third.pem, keyPEM: third.key)
        for _ in 0..<5 { #expect(try await name() == "subject=CN = third") }
        try await eventually { await server.isResponsive(within: 20_000) }
        #expect(server.connectionCount >= 1)
        withExtendedLifetime(open) {}
        await server.stop()
        let plain = try HubServer(try await HubFixture().hub)
        #expect(throws: HubError.self) {
            try plain.replaceCertificate(pem: second.pem, keyPEM: second.key)
        }
        await plain.stop()
    }

    @Test func `keys are made for each connection, or there is none`() async throws {
        let fixture = try await HubFixture()
        let configuration = try await Self.configuration("localhost")
        let server = try HubServer(fixture.hub, configuration: configuration)
        let address = String(server.address.dropFirst("https://".count))
        func connect(_ options: String...) async throws -> Bool {
            let result = try await Self.openssl(
                ["s_client", "-connect", address, "-brief"] + options)
            return result.code == 0
        }
        #expect(try await connect("-tls1_3"))
        for cipher in [
            "ECDHE-RSA-AES256-GCM-SHA384", "ECDHE-RSA-AES128-GCM-SHA256",
            "ECDHE-RSA-CHACHA20-POLY1305",
        ] {
            #expect(try await connect("-tls1_2", "-cipher", cipher), "\(cipher)")
        }
        for cipher in [
            "AES256-GCM-SHA384", "AES128-GCM-SHA256", "AES256-CCM", "AES128-CCM", "AES256-SHA",
            "AES128-SHA", "ECDHE-RSA-AES256-SHA", "ECDHE-RSA-AES128-SHA", "DHE-RSA-AES256-SHA",
        ] {
            #expect(
                try await !connect("-tls1_2", "-cipher", cipher + ":@SECLEVEL=0"), "\(cipher)")
        }
        #expect(try await !connect("-tls1_1", "-cipher", "ALL:@SECLEVEL=0"))
        await server.stop()
    }
}

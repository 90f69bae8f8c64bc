import Foundation
import Testing

@testable import BackstitchHub
@testable import BackstitchHubCore

/// What a hub speaks where it has a certificate, as `openssl` sees it.
@Suite("TLS of a hub", .enabled(if: access("/usr/bin/openssl", X_OK) == 0, "openssl is missing"))
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

    @Test func `keys are made for each connection, or there is none`() async throws {
        let folder = FileManager.default.temporaryDirectory
            .appendingPathComponent("tls-\(UUID().uuidString)").path
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let made = try await Self.openssl([
            "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj",
            "/CN=localhost", "-keyout", folder + "/key.pem", "-out", folder + "/cert.pem",
        ])
        #expect(made.code == 0)
        let fixture = try await HubFixture()
        var configuration = HubServer.Configuration()
        configuration.certificatePEM = try String(
            contentsOfFile: folder + "/cert.pem", encoding: .utf8)
        configuration.keyPEM = try String(contentsOfFile: folder + "/key.pem", encoding: .utf8)
        let server = try HubServer(fixture.hub, configuration: configuration)
        let address = String(server.url.dropFirst("https://".count))
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

import BackstitchTesting
import Glibc
import TestBudget
import Testing

@testable import BackstitchHubCore

/// Addresses are read as the system reads them.
@Suite(.budgeted) struct NetworkAddressTests {
    /// What the system makes of a text; nil if it is no address.
    private static func bytes(_ text: String) -> [UInt8]? {
        var four = [UInt8](repeating: 0, count: 4)
        if inet_pton(AF_INET, text, &four) == 1 { return four }
        var sixteen = [UInt8](repeating: 0, count: 16)
        let host = String(text.prefix { $0 != "%" })
        guard inet_pton(AF_INET6, host, &sixteen) == 1 else { return nil }
        let mapped: [UInt8] = Array(repeating: 0, count: 10) + [0xFF, 0xFF]
        return sixteen.starts(with: mapped) ? Array(sixteen[12...]) : sixteen
    }

    @Test(arguments: [
        "127.0.0.1", "256.1.1.1", "1.2.3", "1.2.3.4.5", "01.2.3.4", "0.0.0.0", "1.2.3.", "", " ",
        "::", "::1", "1::", ":1", "1:", ":::", "1:::2", "1::2::3", "fe80::1%eth0", "%eth0", "::%",
        "::ffff:10.0.0.1", "::10.0.0.1", "10.0.0.1::", "1:2:3:4:5:6:7:8", "1:2:3:4:5:6:7::",
        "::2:3:4:5:6:7:8", "::1:2:3:4:5:6:7:8", "1:2:3:4:5:6:10.0.0.1", "1:2:3:4:5:10.0.0.1",
        "1:2:3:4:5:6:7:10.0.0.1", "12345::", "00001::", "g::", "FFFF::aBcD", "1.2.3.4%eth0", "a",
    ])
    func `a text is an address if the system says so`(text: String) {
        #expect(NetworkAddress(text)?.bytes == Self.bytes(text))
    }

    @Test func `so are random texts`() {
        var random = SeededGenerator(seed: 17)
        var count = 0
        for _ in 0..<50_000 {
            let parts = ["0", "1", "ff", "10.0.0.1", "12345", "255", ":", ":", ":", "::", "."]
            let text = (0..<Int.random(in: 1...12, using: &random)).map { _ in
                parts[Int.random(in: 0..<parts.count, using: &random)]
            }.joined()
            let expected = Self.bytes(text)
            if expected != nil { count += 1 }
            #expect(NetworkAddress(text)?.bytes == expected, "\(text)")
        }
        #expect(count > 100)
    }
}

import Synchronization

/// Names of replies: UUIDs of version 4 that no two replies have.
///
/// A name opens nothing, so that random numbers are taken once, and each name is a number of its own mixed
/// with them.
final class ReplyNames: Sendable {
    private let last = Atomic<UInt64>(0)
    private let seeds: (UInt64, UInt64)

    /// - Parameter secret: Returns random bytes.
    init(secret: (_ count: Int) -> [UInt8]) {
        func number() -> UInt64 { secret(8).reduce(0) { $0 << 8 | UInt64($1) } }
        seeds = (number(), number())
    }

    /// The next name.
    func next() -> String {
        let number = last.wrappingAdd(1, ordering: .relaxed).newValue
        // Different numbers stay different: each step of mixing can be undone.
        let high = Self.mixed(seeds.0 &+ number) & ~0xF000 | 0x4000
        let low = Self.mixed(seeds.1 &+ number) & ~(3 << 62) | 2 << 62
        return Self.text(high, low)
    }

    /// A step of SplitMix64.
    private static func mixed(_ number: UInt64) -> UInt64 {
        var value = number &* 0x9E37_79B9_7F4A_7C15
        value = (value ^ (value >> 30)) &* 0xBF58_476D_1CE4_E5B9
        value = (value ^ (value >> 27)) &* 0x94D0_49BB_1331_11EB
        return value ^ (value >> 31)
    }

    /// The form of a UUID (RFC 9562, section 4).
    private static func text(_ high: UInt64, _ low: UInt64) -> String {
        unsafe String(unsafeUninitializedCapacity: 36) { text in
            var place = 0
            for index in 0..<16 {
                if index >= 4, index <= 10, index.isMultiple(of: 2) {
                    unsafe text[place] = UInt8(ascii: "-")
                    place += 1
                }
                let half = index < 8 ? high : low
                let byte = UInt8(truncatingIfNeeded: half >> (56 - 8 * (index & 7)))
                unsafe text[place] = digit(byte >> 4)
                unsafe text[place + 1] = digit(byte & 0xF)
                place += 2
            }
            return place
        }
    }

    private static func digit(_ value: UInt8) -> UInt8 {
        value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "A") - 10 + value
    }
}

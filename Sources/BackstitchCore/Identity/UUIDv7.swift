package import Foundation

/// Makes UUIDs of version 7 (RFC 9562, section 5.7) that ascend within one generator.
///
/// The first 48 bits are Unix milliseconds; the 12 bits after the version count up within a
/// millisecond, so that ids made in one go sort in the order they were made. A clock that goes
/// back does not make the ids go back.
package struct UUIDv7Generator: Sendable {
    private var lastMilliseconds: UInt64 = 0
    private var counter: UInt64 = 0

    /// A generator that has made no id yet.
    package init() {}

    /// The next id for a time in Unix milliseconds and 64 random bits.
    package mutating func next(milliseconds: UInt64, random: UInt64) -> UUID {
        if milliseconds > lastMilliseconds {
            lastMilliseconds = milliseconds
            counter = (random >> 62) << 8
        } else {
            counter += 1
            if counter > 0xFFF {
                lastMilliseconds += 1
                counter = 0
            }
        }
        let high = (lastMilliseconds << 16) | 0x7000 | counter
        let low = random & 0x3FFF_FFFF_FFFF_FFFF | 0x8000_0000_0000_0000
        return UUID(high, low)
    }
}

extension UUID {
    /// A UUID of version 8 (RFC 9562, section 5.8) for something that was computed.
    package init(computed high: UInt64, _ low: UInt64) {
        self.init(
            high & ~0xF000 | 0x8000, low & 0x3FFF_FFFF_FFFF_FFFF | 0x8000_0000_0000_0000)
    }

    fileprivate init(_ high: UInt64, _ low: UInt64) {
        let bytes = (high.bigEndian, low.bigEndian)
        unsafe self.init(uuid: unsafeBitCast(bytes, to: uuid_t.self))
    }
}
